"""`DTensor` and its makers where earlier programs import them from; by their names."""

from mindtorch_v2.distributed.tensor._api import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]
