"""Products of matrices of few bits: whole numbers, and 8-bit floats with scales."""

from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite

_BYTES = (DTYPES["int8"], DTYPES["uint8"])
_FLOAT8 = tuple(dtype for name, dtype in DTYPES.items() if name.startswith("float8_e"))
_FLOAT32 = DTYPES["float32"]


@composite(
    "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    "The product of two matrices of 8-bit whole numbers, in int32.",
    bind="function out",
    out_dtype="int_mm_out_cpu: Expected result dtype to be of type kInt but got {out_cpp}",
    batching="body",
    explicit=True,
    grad=None,
    samples=[
        S(T(3, 4, dtype="int8", low=-128, high=128, grad=False), T(4, 5, dtype="int8", low=-128, high=128, grad=False)),
    ],
    dtypes="int8",
)
def _int_mm(self, mat2):
    for name, x in (("self", self), ("mat2", mat2)):
        if x.dim() != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {x.dim()}")
    if self.size(1) != mat2.size(0):
        raise RuntimeError(
            f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {self.size(1)} and {mat2.size(0)}"
        )
    for name, x in (("self", self), ("mat2", mat2)):
        if x.dtype not in _BYTES:
            given = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
            short = str(x.dtype).rpartition(".")[2]
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {name} dtype to be int8 or uint8 but got {given.get(short, short)}"
            )
    return aten.mm(self.to(DTYPES["int32"]), mat2.to(DTYPES["int32"]))


def _check_scales(self, mat2, scale_a, scale_b) -> None:
    rows, columns = self.size(0), mat2.size(1)
    floats = self.dtype in _FLOAT8 and mat2.dtype in _FLOAT8 and scale_a.dtype == scale_b.dtype == _FLOAT32
    single = scale_a.numel() == scale_b.numel() == 1
    by_row = list(scale_a.shape) == [rows, 1] and list(scale_b.shape) == [1, columns]
    by_row = by_row and scale_a.is_contiguous() and scale_b.is_contiguous()
    if floats and (single or by_row):
        return
    raise ValueError(
        "Invalid scaling configuration.\n"
        "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
        f"- For RowWise scaling, a and b should be float8, scales should be float, scale_a should be ({rows}, 1) and "
        f"scale_b should be (1, {columns}), and both should be contiguous.\n"
        f"Got mat_a.dtype()={self.dtype}, scale_a.dtype()={scale_a.dtype}, scale_a.size()={list(scale_a.shape)}, "
        f"mat_b.dtype()={mat2.dtype}, scale_b.dtype()={scale_b.dtype}, scale_b.size()={list(scale_b.shape)}"
    )


@composite(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None,"
    " Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    "The product of two float8 matrices, each times its scale: one number, or one for each row of the product (M, 1)"
    " and each column (1, N).",
    bind="function out",
    tags="needs_exact_strides",
    explicit=True,
    grad=None,
)
def _scaled_mm(self, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    for name, x in (("mat1", self), ("mat2", mat2)):
        if x.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if self.size(1) != mat2.size(0):
        raise RuntimeError(
            f"mat_a and mat_b shapes cannot be multiplied ({self.size(0)}x{self.size(1)} and "
            f"{mat2.size(0)}x{mat2.size(1)})"
        )
    _check_scales(self, mat2, scale_a, scale_b)
    out = aten.mm(self.to(_FLOAT32) * scale_a, mat2.to(_FLOAT32) * scale_b)
    if bias is not None:
        out = out + bias.to(_FLOAT32)
    return out.to(self.dtype if out_dtype is None else out_dtype)  # PyTorch's CPU kernel does not read scale_result


@composite(
    "_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b,"
    " int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor",
    "The product of scaled matrices by the recipes of GPUs, which PyTorch has for no CPU: it raises.",
    bind="function out",
    tags="needs_exact_strides",
    explicit=True,
    grad=None,
)
def _scaled_mm_v2(self, *rest, **named):
    raise NotImplementedError(
        f"Could not run 'aten::_scaled_mm_v2' with arguments from the '{self.device.type.upper()}' backend."
    )
