"""Pipes that change the order."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch.utils.data.datapipes.iter.combinatorics",
    classes="SamplerIterDataPipe ShufflerIterDataPipe",
    remedy="a DataLoader with shuffle=True, or a sampler, changes the order",
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
