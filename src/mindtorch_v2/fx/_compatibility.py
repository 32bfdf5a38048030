"""Marks how stable a public name of `torch.fx` is."""

__all__ = ["compatibility"]


def compatibility(is_backward_compatible):
    """A decorator that states how stable a name is; it returns what it decorates."""

    def mark(fn):
        return fn

    return mark
