"""Products with weights of few bits: PyTorch's int8 and int4 weights, and rows of blocks as GGUF files have them."""

from ..table import op, rule

op(
    "_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor",
    "Packs a matrix of whole numbers from 0 to 15 (int32), two to a byte, in an order of this package's own.",
    bind="function",
    meta=rule("int4pack", "self"),
    grad=None,
    samples=None,
    dtypes="int32",
)

op(
    "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
    "Product with the transpose of a packed weight, whose numbers are (q - 8) * scale + zero of their group.",
    bind="function",
    meta=rule("weight_int4pack_mm", "self", "mat2", "qGroupSize", "qScaleAndZeros"),
    grad=None,
    samples=None,
)

op(
    "_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
    "Product with the transpose of an int8 weight, with a scale for each of its rows.",
    bind="function",
    meta=rule("weight_int8pack_mm", "self", "mat2", "scales"),
    grad=None,
    samples=None,
)

op(
    "mindtorch::dynamic_linear(Tensor self, Tensor weight, Tensor scales, Tensor? bias, int most) -> Tensor",
    "A linear layer with an int8 weight, with one scale or one for each row; the input becomes whole numbers from 0 to `most`, by "
    "its least and greatest number.",
    meta=rule("dynamic_linear", "self", "weight", "scales", "bias"),
    grad=None,
    samples=None,
    dtypes="float32",
)

op(
    "mindtorch::int8_product(Tensor self, Tensor other) -> Tensor",
    "The products of the rows of two int8 matrices, in int32.",
    meta=rule("int8_product", "self", "other"),
    grad=None,
    samples=None,
    dtypes="int8",
)

op(
    "mindtorch::packed_linear(Tensor self, Tensor packed, str format) -> Tensor",
    "Product with the transpose of a weight whose rows (uint8) are GGUF's blocks: Q8_0, Q4_0, Q4_K or Q6_K.",
    meta=rule("packed_linear", "self", "packed", "format"),
    grad=None,
    samples=None,
)

op(
    "mindtorch::packed_unpack(Tensor packed, str format) -> Tensor",
    "The float32 numbers of rows of GGUF's blocks.",
    meta=rule("packed_unpack", "packed", "format"),
    grad=None,
    samples=None,
)
