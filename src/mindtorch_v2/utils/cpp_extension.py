"""Building PyTorch extensions in C++: their binary interface is PyTorch's own, so none can be loaded here."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CUDA_HOME",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]

_REMEDY = "register the kernel from Python with torch.library"

CUDA_HOME: str | None = None
BuildExtension = unavailable_class("torch.utils.cpp_extension.BuildExtension", _REMEDY)
CUDAExtension = unavailable_function("torch.utils.cpp_extension.CUDAExtension", _REMEDY)
CppExtension = unavailable_function("torch.utils.cpp_extension.CppExtension", _REMEDY)
include_paths = unavailable_function("torch.utils.cpp_extension.include_paths", _REMEDY)
library_paths = unavailable_function("torch.utils.cpp_extension.library_paths", _REMEDY)
load = unavailable_function("torch.utils.cpp_extension.load", _REMEDY)
load_inline = unavailable_function("torch.utils.cpp_extension.load_inline", _REMEDY)
