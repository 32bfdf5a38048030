"""Memory of a device shared between processes, which is not there: tensors of NPUs go as copies."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch_npu.multiprocessing.reductions",
    functions="rebuild_npu_tensor reduce_tensor",
    remedy="send tensor.cpu(), or let torch.multiprocessing copy it",
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
