"""`torch.distributed.constants`: how long a process group waits where nothing else is said."""

from ._groups import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = None
"""The time of groups on NCCL, of which there are none."""
