"""OpenMP, which runs the kernels' loops on several cores."""

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether loops run on several cores: True.

    >>> torch.backends.openmp.is_available()
    True
    """
    return True
