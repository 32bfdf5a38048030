"""Memory of scripted classes between calls: none is kept, so that there is nothing to forget."""

__all__: list[str] = []


def _clear_class_state() -> None:
    """Forget scripted classes: none are kept."""
