"""The exceptions of `torch.distributed`. All are RuntimeErrors."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something of `torch.distributed` failed."""


class DistBackendError(DistError):
    """A communication library failed."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not do what it was asked for, or not in time."""


class QueueEmptyError(DistStoreError):
    """`queue_pop` of a store found nothing."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"
