"""The version that is advertised as PyTorch's, and which accelerator libraries were built in (none)."""

from mindtorch_v2._as_torch import TORCH_VERSION

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = TORCH_VERSION
debug = False
cuda: str | None = None
git_version = "unknown"
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
