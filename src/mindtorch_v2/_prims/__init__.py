"""`torch._prims`: in PyTorch, the smallest operators that `torch._refs` are written in. Of these here is what names them."""

from mindtorch_v2 import _prims_common as utils
from mindtorch_v2._core.unavailable import unavailable_names

_NAMES = unavailable_names(
    "torch._prims",
    functions="bessel_i0 bessel_i1 broadcast_in_dim collapse collapse_view convert_element_type copy_strided copy_to "
    "device_put empty_permuted erf_inv expand_dims fft_c2c fft_c2r fft_r2c iota maximum_value minimum_value normal rev "
    "shift_left shift_right_arithmetic shift_right_logical slice spherical_bessel_j0 split_dim view_element_type view_of "
    "xor_sum",
    classes="RETURN_TYPE",
)
globals().update(_NAMES)
__all__ = sorted([*_NAMES, "utils"])
