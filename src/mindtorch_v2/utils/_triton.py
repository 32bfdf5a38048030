"""Whether Triton can compile kernels here: it cannot, those of Ascend are written in AscendC."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """Whether kernels of Triton run on an accelerator of this machine: False."""
    return False


def has_triton_package() -> bool:
    """Whether programs may import Triton for this package's tensors: False."""
    return False
