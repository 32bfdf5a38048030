"""The registration of ATB's operators."""


def _register_atb_extensions() -> None:
    """Do nothing: they are registered with all others."""
