"""The key Batched: what an operator does to tensors that vmap maps over, a rule for each family of operators."""

from . import _linear, _pointwise, _reductions, _shapes  # noqa: F401  (their rules register themselves)
from ._call import RULES, VmapInfo
from ._levels import active_levels, current, in_vmap

__all__ = ["RULES", "VmapInfo", "active_levels", "current", "in_vmap"]
