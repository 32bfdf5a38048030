"""The key Batched: what an operator does to tensors that vmap maps over, a rule for each family of operators."""

from . import (  # each registers its rules
    _shared,
    activation,
    attention,
    cast,
    assertion,
    comparison,
    conv,
    creation,
    distance,
    distribution,
    dropout,
    embedding,
    extremum,
    image,
    index,
    join,
    linalg,
    loss,
    matmul,
    norm,
    rearrange,
    reduction,
    rnn,
    sort,
    sparse,
    view,
)
from ._call import RULES, VmapInfo, register_composites, register_shared
from ._levels import active_levels, current, in_place_of, in_vmap

register_shared()
register_composites()

__all__ = ["RULES", "VmapInfo", "active_levels", "current", "in_place_of", "in_vmap"]
