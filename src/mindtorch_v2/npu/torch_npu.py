"""`torch_npu`'s names. The device is part of this package: nothing is registered by the import.

`import torch_npu` finds this module where `torch` means ours, MINDTORCH_AS_TORCH_NPU=1 asks for it, and no other torch_npu is
installed.
"""

from mindtorch_v2 import npu, torchair

__all__ = ["npu", "torchair"]
