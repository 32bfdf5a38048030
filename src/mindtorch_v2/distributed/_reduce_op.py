"""`ReduceOp`: how collectives combine the ranks' numbers."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["ReduceOp", "supports_complex"]


class RedOpType(enum.Enum):
    """The operations by name; `ReduceOp.SUM` and the others are these."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class _ReduceOpType(type):
    # In PyTorch, as here, ReduceOp.SUM is of another type, and programs ask isinstance(op, ReduceOp).
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType) or super().__instancecheck__(instance)


class ReduceOp(metaclass=_ReduceOpType):
    """`ReduceOp.SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`, `BOR`, `BXOR`; `ReduceOp(op)` wraps one of them.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([3])
    >>> dist.all_reduce(x, op=dist.ReduceOp.MAX)
    >>> x
    tensor([3])
    >>> dist.destroy_process_group()
    """

    RedOpType = RedOpType
    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __init__(self, op: Any) -> None:
        self.op = reduce_type(op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReduceOp) and self.op is reduce_type(other)

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"ReduceOp({self.op})"


RedOpType.__qualname__ = "ReduceOp.RedOpType"


def reduce_type(op: Any) -> RedOpType:
    """The `RedOpType` of what a program gave as `op`; TypeError for anything else."""
    if isinstance(op, RedOpType):
        return op
    if type(op) is ReduceOp:
        return op.op
    raise TypeError(f"op must be a torch.distributed.ReduceOp, got {type(op).__name__}: {op!r}")


def supports_complex(reduceOp: ReduceOp | RedOpType) -> bool:
    """Whether complex numbers can be combined so: sums and averages can, an order or bits they have not.

    >>> from mindtorch_v2.distributed.distributed_c10d import supports_complex
    >>> supports_complex(torch.distributed.ReduceOp.SUM), supports_complex(torch.distributed.ReduceOp.MAX)
    (True, False)
    """
    return not any(reduceOp == getattr(RedOpType, name) for name in ("MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR"))
