"""Settings that a compiler would read."""

job_id: str | None = None
cache_key_tag: str = ""
dynamic_sources: str = ""
unbacked_sources: str = ""
force_disable_caches: bool = False
