"""The key Batched: what an operator does to tensors that vmap maps over, a rule for each family of operators."""

from . import _linear, _matrices, _norms, _picking, _pointwise, _reductions, _shapes  # noqa: F401  (each registers its rules)
from ._call import RULES, VmapInfo, register_composites
from ._levels import active_levels, current, in_vmap

register_composites()

__all__ = ["RULES", "VmapInfo", "active_levels", "current", "in_vmap"]
