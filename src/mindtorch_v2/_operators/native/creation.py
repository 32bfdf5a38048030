"""New tensors: constants, ranges, identity, complex numbers from parts."""

from ..table import S, T, aten, op, rule

_FACTORY = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_FACTORY}, MemoryFormat? memory_format=None"
_REAL = "all"

op(
    f"arange(Scalar end, {_FACTORY}) -> Tensor",
    "0, 1, ... below `end`.",
    bind="function",
    cheap=True,
    meta=rule("arange"),
    grad=None,
)
op(
    f"arange.start(Scalar start, Scalar end, {_FACTORY}) -> Tensor",
    "`start`, `start + 1`, ... below `end`.",
    bind="function",
    cheap=True,
    meta=rule("arange.start"),
    grad=None,
)
op(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, {_FACTORY}) -> Tensor",
    "`start`, `start + step`, ... before `end`.",
    bind="function",
    tags="core",
    cheap=True,
    meta=rule("arange.start_step"),
    grad=None,
)
op(
    "complex(Tensor real, Tensor imag) -> Tensor",
    "Complex numbers from their real and imaginary parts.",
    bind="function out",
    out_dtype="Expected object of scalar type {result} but got scalar type {out} for argument 'out'",
    elementwise=True,
    meta=rule("complex_pair"),
    grad={"real": lambda grad: aten.real(grad), "imag": lambda grad: aten.imag(grad)},
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 1), T(4))],
    dtypes="float",
)
op(
    f"empty.memory_format(SymInt[] size, {_LIKE}) -> Tensor",
    "Uninitialised.",
    bind="function",
    tags="core",
    meta=rule("factory", "size", "dtype", "memory_format"),
    grad=None,
    unfilled=True,
)
op(
    f"empty_like(Tensor self, {_LIKE}) -> Tensor",
    "Uninitialised, shaped like `self`.",
    bind="function generated_out",
    meta=rule("factory_like", "self", "dtype", "memory_format"),
    grad=None,
    unfilled=True,
)
op(
    f"empty_permuted(SymInt[] size, int[] physical_layout, {_FACTORY}) -> Tensor",
    "Uninitialised, with the dimensions in the given order in memory.",
    bind="function generated_out",
    meta=rule("empty_permuted"),
    grad=None,
    unfilled=True,
)
op(
    f"empty_strided(SymInt[] size, SymInt[] stride, {_FACTORY}) -> Tensor",
    "Uninitialised, with the given strides.",
    bind="function generated_out",
    tags="core",
    meta=rule("empty_strided"),
    grad=None,
    unfilled=True,
)
op(
    f"eye(SymInt n, {_FACTORY}) -> Tensor",
    "The identity matrix.",
    bind="function",
    meta=rule("eye", "n", -1, "dtype"),
    grad=None,
)
op(
    f"eye.m(SymInt n, SymInt m, {_FACTORY}) -> Tensor",
    "Ones on the diagonal of an n by m matrix.",
    bind="function",
    meta=rule("eye", "n", "m", "dtype"),
    grad=None,
)
op(
    f"full(SymInt[] size, Scalar fill_value, {_FACTORY}) -> Tensor",
    "One number everywhere; its kind gives the dtype.",
    bind="function",
    tags="core",
    cheap=True,
    meta=rule("full", "size", "fill_value", "dtype"),
    grad=None,
)
op(
    f"full_like(Tensor self, Scalar fill_value, {_LIKE}) -> Tensor",
    "One number everywhere, shaped like `self`.",
    bind="function generated_out",
    batching="whole",
    tags="core",
    cheap=True,
    meta=rule("factory_like", "self", "dtype", "memory_format"),
    grad=None,
    samples=[S(T(3, 4), 2)],
    dtypes=_REAL,
)
op(
    f"linspace(Scalar start, Scalar end, int steps, {_FACTORY}) -> Tensor",
    "Evenly spaced numbers, both ends included.",
    bind="function",
    meta=rule("steps", "start", "end", "steps", "dtype"),
    grad=None,
)
op(
    f"logspace(Scalar start, Scalar end, int steps, float base=10., {_FACTORY}) -> Tensor",
    "`base` to the power of evenly spaced exponents.",
    bind="function",
    meta=rule("steps", "start", "end", "steps", "dtype"),
    grad=None,
)
op(
    f"new_empty(Tensor self, SymInt[] size, {_FACTORY}) -> Tensor",
    "Uninitialised, with the dtype and device of `self`.",
    bind="method generated_out",
    meta=rule("factory_new", "self", "size", "dtype"),
    grad=None,
    unfilled=True,
)
op(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, {_FACTORY}) -> Tensor",
    "Uninitialised, with the given strides and the dtype and device of `self`.",
    bind="method generated_out",
    meta=rule("new_empty_strided"),
    grad=None,
    unfilled=True,
)
op(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, {_FACTORY}) -> Tensor",
    "One number everywhere, with the dtype and device of `self`.",
    bind="method generated_out",
    meta=rule("factory_new", "self", "size", "dtype"),
    grad=None,
    samples=[S(T(3), [2, 2], 4)],
    dtypes=_REAL,
)
op(
    f"new_ones(Tensor self, SymInt[] size, {_FACTORY}) -> Tensor",
    "Ones, with the dtype and device of `self`.",
    bind="method generated_out",
    meta=rule("factory_new", "self", "size", "dtype"),
    grad=None,
    samples=[S(T(3), [2, 2])],
    dtypes=_REAL,
)
op(
    f"new_zeros(Tensor self, SymInt[] size, {_FACTORY}) -> Tensor",
    "Zeros, with the dtype and device of `self`.",
    bind="method generated_out",
    meta=rule("factory_new", "self", "size", "dtype"),
    grad=None,
    samples=[S(T(3), [2, 2])],
    dtypes=_REAL,
)
op(
    f"ones(SymInt[] size, {_FACTORY}) -> Tensor",
    "Ones.",
    bind="function",
    cheap=True,
    meta=rule("factory", "size", "dtype"),
    grad=None,
)
op(
    f"ones_like(Tensor self, {_LIKE}) -> Tensor",
    "Ones, shaped like `self`.",
    bind="function generated_out",
    batching="whole",
    cheap=True,
    meta=rule("factory_like", "self", "dtype", "memory_format"),
    grad=None,
    samples=[S(3, 4)],
    dtypes=_REAL,
)
op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    "Complex numbers from their magnitudes and angles.",
    bind="function out",
    out_dtype="Expected object of scalar type {result} but got scalar type {out} for argument 'out'",
    elementwise=True,
    autocast="float32",
    meta=rule("complex_pair"),
    grad={("abs", "angle"): lambda grad, result: _polar_backward(grad, result)},
    samples=[S(T(3, 4), T(3, 4))],
    dtypes="float",
)
op(
    f"scalar_tensor(Scalar s, {_FACTORY}) -> Tensor",
    "A 0-dim tensor of a number, of the default dtype.",
    bind="function generated_out",
    tags="core",
    cheap=True,
    meta=rule("scalar_tensor"),
    grad=None,
)
op(
    f"zeros(SymInt[] size, {_FACTORY}) -> Tensor",
    "Zeros.",
    bind="function",
    cheap=True,
    meta=rule("factory", "size", "dtype"),
    grad=None,
)
op(
    f"zeros_like(Tensor self, {_LIKE}) -> Tensor",
    "Zeros, shaped like `self`.",
    bind="function generated_out",
    batching="whole",
    cheap=True,
    meta=rule("factory_like", "self", "dtype", "memory_format"),
    grad=None,
    samples=[S(3, 4)],
    dtypes=_REAL,
)


def _polar_backward(grad, result) -> tuple:
    """d result = (d abs / abs + i d angle) * result, read off as real numbers."""
    both = grad.conj() * result if grad.is_complex() else grad * result
    size = result.abs()
    unit = aten.where(size == 0, aten.ones_like(result), result / size)
    return aten.real(grad.conj() * unit), -aten.imag(both)
