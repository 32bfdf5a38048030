"""C++ extensions against torch_npu's headers, which are not there."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch_npu.utils.cpp_extension",
    functions="NpuExtension",
    remedy="torch.utils.cpp_extension builds against this package's headers, and torch.npu.ascendc_load kernels in AscendC",
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
