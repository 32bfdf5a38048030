"""`torch.testing`: comparing results, and making inputs."""

from mindtorch_v2.testing import _utils as _utils
from mindtorch_v2.testing._comparison import assert_allclose, assert_close
from mindtorch_v2.testing._creation import make_tensor
from mindtorch_v2.testing._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
