"""How operators run on sharded tensors: a rule for each family, most of them from what rows state anyway."""

from . import (  # each registers its rules
    _shared,
    arithmetic,
    attention,
    cast,
    conv,
    creation,
    embedding,
    index,
    join,
    loss,
    matmul,
    norm,
    view,
)
from ._call import RULES, Call, Operand, Strategy, bound, called, register_shared, rule_of, strategies
from .placements import NormPartial, Partial, Placement, Replicate, Shard, StridedShard, chunk_bounds

register_shared()

__all__ = [
    "RULES",
    "Call",
    "NormPartial",
    "Operand",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "Strategy",
    "StridedShard",
    "bound",
    "called",
    "chunk_bounds",
    "rule_of",
    "strategies",
]
