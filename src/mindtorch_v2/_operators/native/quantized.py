"""Products of whole numbers of eight bits, and rounding to them: what layers of quantized tensors are made of."""

from ..table import op

_WEIGHT = "Tensor weight, Tensor weight_sums, Tensor weight_scales, Tensor weight_zeros, Tensor? bias"

op(
    f"mindtorch::quantized_conv(Tensor self, float scale, int zero_point, {_WEIGHT}, int[] stride, int[] padding, "
    "int[] dilation, int groups, float output_scale, int output_zero, bool relu, bool scaled_first) -> Tensor",
    "A convolution of whole numbers (uint8, by int8), whose exact sums become uint8 again; channels last.",
    grad=None,
    samples=None,
    dtypes="uint8",
)

op(
    f"mindtorch::quantized_linear(Tensor self, float scale, int zero_point, {_WEIGHT}, float output_scale, "
    "int output_zero, bool relu) -> Tensor",
    "A linear layer of whole numbers (uint8, by int8), whose exact sums become uint8 again.",
    grad=None,
    samples=None,
    dtypes="uint8",
)

op(
    "mindtorch::quantized_floats(Tensor self, float scale, int zero_point) -> Tensor",
    "self * scale - zero_point * scale, rounded once: the numbers that element-wise operators compute with.",
    grad=None,
    samples=None,
    dtypes="int8 uint8 int32",
)

op(
    "mindtorch::quantized_numbers(Tensor self, float scale, int zero_point, ScalarType dtype, bool zero_after=False) -> Tensor",
    "round(self / scale + zero_point), kept in the range of int8 or uint8; `zero_after`: the zero point is added to what is rounded.",
    grad=None,
    samples=None,
    dtypes="float32",
)

op(
    "mindtorch::quantized_sums(Tensor self, int zero_point, Tensor weight, Tensor weight_sums, Tensor weight_zeros) -> Tensor",
    "The products of the rows of whole numbers (uint8) with those of a weight (int8), without their zero points, in int32.",
    grad=None,
    samples=None,
    dtypes="uint8",
)
