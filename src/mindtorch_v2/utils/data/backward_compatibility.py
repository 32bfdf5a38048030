"""Names of `torch.utils.data` that old programs use."""

from __future__ import annotations

from typing_extensions import deprecated

__all__ = ["worker_init_fn"]


@deprecated(
    "Usage of `backward_compatibility.worker_init_fn` is deprecated "
    "as `DataLoader` automatically applies sharding in every worker",
    category=FutureWarning,
)
def worker_init_fn(worker_id: int) -> None:
    """Do nothing: each worker of a `DataLoader` takes its part of the data by itself. Deprecated.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> from mindtorch_v2.utils.data.backward_compatibility import worker_init_fn
    >>> worker_init_fn(0)
    """
