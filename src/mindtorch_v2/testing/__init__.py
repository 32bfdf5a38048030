"""`torch.testing`: comparing results, and making inputs."""

from mindtorch_v2.testing._comparison import assert_allclose, assert_close
from mindtorch_v2.testing._creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
