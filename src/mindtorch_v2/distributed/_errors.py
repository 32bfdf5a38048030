"""The exceptions of `torch.distributed`. All are RuntimeErrors."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something of `torch.distributed` failed.

    >>> import datetime
    >>> try:
    ...     torch.distributed.HashStore().wait(["never set"], datetime.timedelta(milliseconds=10))
    ... except torch.distributed.DistError as error:
    ...     print(type(error).__name__)
    DistStoreError
    """


class DistBackendError(DistError):
    """A communication library failed.

    >>> issubclass(torch.distributed.DistBackendError, torch.distributed.DistError)
    True
    """


class DistNetworkError(DistError):
    """A connection could not be made, or broke.

    >>> import datetime
    >>> short = datetime.timedelta(milliseconds=10)
    >>> try:
    ...     store = torch.distributed.TCPStore("127.0.0.1", 1, 1, is_master=False, timeout=short)
    ... except torch.distributed.DistNetworkError as error:
    ...     print(type(error).__name__)
    DistNetworkError
    """


class DistStoreError(DistError):
    """A store did not do what it was asked for, or not in time.

    >>> import datetime
    >>> try:
    ...     torch.distributed.HashStore().wait(["never set"], datetime.timedelta(milliseconds=10))
    ... except torch.distributed.DistStoreError as error:
    ...     print(type(error).__name__)
    DistStoreError
    """


class QueueEmptyError(DistStoreError):
    """`queue_pop` of a store found nothing.

    >>> try:
    ...     torch.distributed.HashStore().queue_pop("jobs", False)
    ... except torch.distributed.QueueEmptyError as error:
    ...     print(type(error).__name__)
    QueueEmptyError
    """


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"
