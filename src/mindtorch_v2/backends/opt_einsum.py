"""The order in which `torch.einsum` contracts: from left to right."""

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether the package opt_einsum is used: False."""
    return False


def get_opt_einsum() -> None:
    """The package opt_einsum, or None."""
    return None
