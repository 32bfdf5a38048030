"""Complex numbers: what ACLNN's operators for real ones do to their parts.

A kernel that is stated for a row (table.py) is given what is here beside it, and takes it where numbers are complex. Parts are
views of pairs in memory, so nothing is moved; a real number has zero for its other part, as it has where PyTorch promotes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import _C
from ..._operators.table import aten

BY_RESULT: dict[str, Callable[..., Any]] = {}  # row -> its form, taken where the result is complex
BY_ARGUMENTS: dict[str, Callable[..., Any]] = {}  # taken where any tensor is complex
_NUMBERS = (bool, int, float, complex)


def with_form(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a row, which goes to the form for complex numbers where there is one and they are."""
    if name in BY_RESULT:
        form = BY_RESULT[name]

        def by_result(*values: Any) -> Any:
            return form(*values) if values[-1].is_complex() else compute(*values)

        return by_result
    if name in BY_ARGUMENTS:
        form = BY_ARGUMENTS[name]

        def by_arguments(*values: Any) -> Any:
            if any(isinstance(each, _C.TensorBase) and each.is_complex() for each in values):
                return form(*values)
            return compute(*values)

        return by_arguments
    return compute


def _form(forms: dict[str, Callable[..., Any]], *names: str) -> Callable[[Callable], Callable]:
    def state(function: Callable) -> Callable:
        forms.update(dict.fromkeys(names, function))
        return function

    return state


def parts(x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a tensor or number; what is real has zero for the other."""
    if isinstance(x, _NUMBERS):
        return complex(x).real, complex(x).imag
    if x.is_cpu and x.dim() == 0:
        return parts(x.item())
    if not x.is_complex():
        return x, 0.0
    pairs = aten.view_as_real(aten.resolve_conj(x))
    return pairs.select(-1, 0), pairs.select(-1, 1)


def _write(out: Any, re: Any, im: Any) -> None:
    """Both parts of a result; numbers in the place of tensors fill it."""
    for target, part in zip(parts(out), (re, im), strict=True):
        if isinstance(part, _NUMBERS):
            aten.fill_(target, part)
        else:
            aten.copy_(target, part)


def _times(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _over(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """The quotient; by the larger part of the divisor first, so that no square overflows. By zero, each part is."""
    c, d = b
    if isinstance(c, _NUMBERS) and isinstance(d, _NUMBERS):
        if c == 0 and d == 0:
            return a[0] / 0.0, a[1] / 0.0
        size = max(abs(c), abs(d))
    else:
        size = aten.maximum(aten.abs(c), aten.abs(d)) if isinstance(d, _C.TensorBase) else aten.abs(c)
    x, y = a[0] / size, a[1] / size
    c, d = c / size, d / size
    re, im = _times((x, y), (c, -d))
    square = c * c + d * d
    if isinstance(size, _NUMBERS):
        return re / square, im / square
    zero = size == 0
    return aten.where(zero, x, re / square), aten.where(zero, y, im / square)


def _scaled(x: tuple[Any, Any], factor: Any) -> tuple[Any, Any]:
    return x if isinstance(factor, _NUMBERS) and factor == 1 else _times(x, parts(factor))


def _plus(a: tuple[Any, Any], b: tuple[Any, Any], sign: int = 1) -> tuple[Any, Any]:
    return (a[0] + b[0], a[1] + b[1]) if sign > 0 else (a[0] - b[0], a[1] - b[1])


# ---- arithmetic ----


@_form(BY_RESULT, "add.Tensor", "add.Scalar")
def add(self: Any, other: Any, alpha: Any, out: Any) -> None:
    """self + alpha * other."""
    _write(out, *_plus(parts(self), _scaled(parts(other), alpha)))


@_form(BY_RESULT, "sub.Tensor", "sub.Scalar")
def sub(self: Any, other: Any, alpha: Any, out: Any) -> None:
    """self - alpha * other."""
    _write(out, *_plus(parts(self), _scaled(parts(other), alpha), -1))


@_form(BY_RESULT, "rsub.Tensor", "rsub.Scalar")
def rsub(self: Any, other: Any, alpha: Any, out: Any) -> None:
    """other - alpha * self."""
    sub(other, self, alpha, out)


@_form(BY_RESULT, "mul.Tensor", "mul.Scalar")
def mul(self: Any, other: Any, out: Any) -> None:
    """The product."""
    _write(out, *_times(parts(self), parts(other)))


@_form(BY_RESULT, "div.Tensor", "div.Scalar")
def div(self: Any, other: Any, out: Any) -> None:
    """The quotient."""
    _write(out, *_over(parts(self), parts(other)))


@_form(BY_RESULT, "addcmul")
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any, out: Any) -> None:
    """self + value * tensor1 * tensor2."""
    _write(out, *_plus(parts(self), _scaled(_times(parts(tensor1), parts(tensor2)), value)))


@_form(BY_RESULT, "addcdiv")
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any, out: Any) -> None:
    """self + value * tensor1 / tensor2."""
    _write(out, *_plus(parts(self), _scaled(_over(parts(tensor1), parts(tensor2)), value)))


@_form(BY_RESULT, "lerp.Scalar", "lerp.Tensor")
def lerp(self: Any, end: Any, weight: Any, out: Any) -> None:
    """self + weight * (end - self)."""
    a, b = parts(self), parts(end)
    _write(out, *_plus(a, _times(parts(weight), _plus(b, a, -1))))


@_form(BY_RESULT, "neg")
def neg(self: Any, out: Any) -> None:
    """The negative."""
    re, im = parts(self)
    _write(out, -re, -im)


@_form(BY_RESULT, "_conj_physical")
def conj(self: Any, out: Any) -> None:
    """The conjugate."""
    re, im = parts(self)
    _write(out, re, -im)


@_form(BY_RESULT, "reciprocal")
def reciprocal(self: Any, out: Any) -> None:
    """1 / self."""
    _write(out, *_over((1.0, 0.0), parts(self)))


@_form(BY_RESULT, "square")
def square(self: Any, out: Any) -> None:
    """self * self."""
    mul(self, self, out)


# ---- size and angle ----


def _size(x: tuple[Any, Any]) -> Any:
    return aten.hypot(*x)


def _angle(x: tuple[Any, Any]) -> Any:
    return aten.atan2(x[1], x[0])


@_form(BY_ARGUMENTS, "abs")
def absolute(self: Any, out: Any) -> None:
    """The distance from zero."""
    size = _size(parts(self))
    _write(out, size, 0.0) if out.is_complex() else aten.copy_(out, size)


@_form(BY_ARGUMENTS, "angle")
def angle(self: Any, out: Any) -> None:
    """The angle."""
    aten.copy_(out, _angle(parts(self)))


@_form(BY_RESULT, "sgn")
def sgn(self: Any, out: Any) -> None:
    """The number of size 1 in the same direction; 0 for 0."""
    re, im = parts(self)
    size = _size((re, im))
    size = aten.where(size == 0, 1.0, size)
    _write(out, re / size, im / size)


@_form(BY_RESULT, "complex")
def complex_pair(real: Any, imag: Any, out: Any) -> None:
    """Complex numbers of their parts."""
    _write(out, real, imag)


@_form(BY_RESULT, "polar")
def polar(abs: Any, angle: Any, out: Any) -> None:
    """Complex numbers of sizes and angles."""
    _write(out, abs * aten.cos(angle), abs * aten.sin(angle))


# ---- functions ----


def _exp(x: tuple[Any, Any]) -> tuple[Any, Any]:
    size = aten.exp(x[0])
    return size * aten.cos(x[1]), size * aten.sin(x[1])


def _log(x: tuple[Any, Any]) -> tuple[Any, Any]:
    return aten.log(_size(x)), _angle(x)


@_form(BY_RESULT, "exp")
def exp(self: Any, out: Any) -> None:
    """e to the power of self."""
    _write(out, *_exp(parts(self)))


@_form(BY_RESULT, "log")
def log(self: Any, out: Any) -> None:
    """The logarithm whose angle is between -pi and pi."""
    _write(out, *_log(parts(self)))


@_form(BY_RESULT, "log2")
def log2(self: Any, out: Any) -> None:
    """The logarithm to base 2."""
    _write(out, *(part / math.log(2) for part in _log(parts(self))))


@_form(BY_RESULT, "log10")
def log10(self: Any, out: Any) -> None:
    """The logarithm to base 10."""
    _write(out, *(part / math.log(10) for part in _log(parts(self))))


@_form(BY_RESULT, "sinh")
def sinh(self: Any, out: Any) -> None:
    """The hyperbolic sine."""
    re, im = parts(self)
    _write(out, aten.sinh(re) * aten.cos(im), aten.cosh(re) * aten.sin(im))


@_form(BY_RESULT, "cosh")
def cosh(self: Any, out: Any) -> None:
    """The hyperbolic cosine."""
    re, im = parts(self)
    _write(out, aten.cosh(re) * aten.cos(im), aten.sinh(re) * aten.sin(im))


@_form(BY_RESULT, "tanh")
def tanh(self: Any, out: Any) -> None:
    """The hyperbolic tangent, of the tangents of both parts."""
    re, im = parts(self)
    flat, turned = aten.tanh(re), aten.tan(im)
    below = 1 + (flat * turned).square()
    _write(out, flat * (1 + turned.square()) / below, turned * (1 - flat.square()) / below)


@_form(BY_RESULT, "sigmoid")
def sigmoid(self: Any, out: Any) -> None:
    """1 / (1 + exp(-self))."""
    re, im = parts(self)
    re, im = _exp((-re, -im))
    _write(out, *_over((1.0, 0.0), (1 + re, im)))


@_form(BY_RESULT, "tanh_backward")
def tanh_backward(grad_output: Any, output: Any, out: Any) -> None:
    """The gradient of the hyperbolic tangent by its result."""
    aten.copy_(out, grad_output * (1 - output * output).conj())


@_form(BY_RESULT, "sigmoid_backward")
def sigmoid_backward(grad_output: Any, output: Any, out: Any) -> None:
    """The gradient of the sigmoid by its result."""
    aten.copy_(out, grad_output * ((1 - output) * output).conj())


@_form(BY_RESULT, "sin")
def sin(self: Any, out: Any) -> None:
    """The sine."""
    re, im = parts(self)
    _write(out, aten.sin(re) * aten.cosh(im), aten.cos(re) * aten.sinh(im))


@_form(BY_RESULT, "cos")
def cos(self: Any, out: Any) -> None:
    """The cosine."""
    re, im = parts(self)
    _write(out, aten.cos(re) * aten.cosh(im), -aten.sin(re) * aten.sinh(im))


@_form(BY_RESULT, "sqrt")
def sqrt(self: Any, out: Any) -> None:
    """The root whose real part is not negative."""
    re, im = parts(self)
    half = aten.sqrt((aten.abs(re) + _size((re, im))) / 2)  # the larger part of the root
    other = aten.where(half == 0, 0.0, aten.abs(im) / (2 * aten.where(half == 0, 1.0, half)))
    left = re < 0
    _write(out, aten.where(left, other, half), aten.copysign(aten.where(left, half, other), im))


def _power(base: tuple[Any, Any], exponent: tuple[Any, Any]) -> tuple[Any, Any]:
    """exp(exponent * log(base)); 1 where the exponent is zero, 0 where the base is."""
    size = _size(base)
    zero = size == 0
    re, im = _exp(_times(exponent, (aten.log(aten.where(zero, 1.0, size)), _angle(base))))
    none = (exponent[0] == 0) & (exponent[1] == 0)
    if isinstance(none, _NUMBERS):
        at_zero = 1.0 if none else 0.0
        return aten.where(zero, at_zero, re), aten.where(zero, 0.0, im)
    return aten.where(zero, none.to(re.dtype), re), aten.where(zero, 0.0, im)


@_form(BY_RESULT, "pow.Tensor_Scalar", "pow.Tensor_Tensor")
def power(self: Any, exponent: Any, out: Any) -> None:
    """The power; small whole numbers by products."""
    base = parts(self)
    if isinstance(exponent, _NUMBERS) and exponent in (1, 2, 3):
        result = base
        for _ in range(int(complex(exponent).real) - 1):
            result = _times(result, base)
    else:
        result = _power(base, parts(exponent))
    _write(out, *result)


@_form(BY_RESULT, "pow.Scalar")
def power_of_number(self: Any, exponent: Any, out: Any) -> None:
    """A number to the power of a tensor."""
    base = aten.full([], complex(self), dtype=out.dtype, device=out.device)
    _write(out, *_power(parts(base), parts(exponent)))


# ---- comparison, choice ----


@_form(BY_ARGUMENTS, "eq.Tensor", "eq.Scalar")
def eq(self: Any, other: Any, out: Any) -> None:
    """Whether both parts are the same."""
    a, b = parts(self), parts(other)
    aten.copy_(out, (a[0] == b[0]) & (a[1] == b[1]))


@_form(BY_ARGUMENTS, "ne.Tensor", "ne.Scalar")
def ne(self: Any, other: Any, out: Any) -> None:
    """Whether a part differs."""
    a, b = parts(self), parts(other)
    aten.copy_(out, (a[0] != b[0]) | (a[1] != b[1]))


@_form(BY_ARGUMENTS, "isfinite")
def isfinite(self: Any, out: Any) -> None:
    """Whether both parts are finite."""
    re, im = parts(self)
    aten.copy_(out, aten.isfinite(re) & aten.isfinite(im))


@_form(BY_ARGUMENTS, "isinf")
def isinf(self: Any, out: Any) -> None:
    """Whether a part is infinite."""
    re, im = parts(self)
    aten.copy_(out, aten.isinf(re) | aten.isinf(im))


def is_set(self: Any) -> Any:
    """Whether an element is not zero."""
    re, im = parts(self)
    return (re != 0) | (im != 0)


def _of_truth(function: Callable[..., Any]) -> Callable[..., None]:
    """The form of an operator that asks of each element only whether it is zero."""

    def compute(self: Any, *rest: Any) -> None:
        *options, out = rest
        aten.copy_(out, function(is_set(self), *options))

    return compute


_form(BY_ARGUMENTS, "all", "all.dim", "all.dims")(_of_truth(aten.all))
_form(BY_ARGUMENTS, "any", "any.dim", "any.dims")(_of_truth(aten.any))
_form(BY_ARGUMENTS, "logical_not")(_of_truth(aten.logical_not))


@_form(BY_ARGUMENTS, "nonzero")
def nonzero(self: Any) -> Any:
    """The places of elements that are not zero."""
    return aten.nonzero(is_set(self))


@_form(BY_RESULT, "where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(condition: Any, self: Any, other: Any, out: Any) -> None:
    """Elements of one or the other."""
    a, b = parts(self), parts(other)
    chosen = [aten.where(condition, *pair) for pair in zip(a, b)]
    _write(out, *(part.to(out.real.dtype) for part in chosen))


@_form(BY_RESULT, "masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Any, mask: Any, value: Any, out: Any) -> None:
    """A number where the mask is true."""
    value = value.item() if isinstance(value, _C.TensorBase) else value
    _write(out, *(aten.masked_fill(part, mask, n) for part, n in zip(parts(self), parts(value))))


@_form(BY_RESULT, "ones", "ones_like", "new_ones")
def ones(*arguments: Any) -> None:
    """Ones."""
    _write(arguments[-1], 1.0, 0.0)


@_form(BY_RESULT, "full", "full_like", "new_full", "scalar_tensor")
def full(*arguments: Any) -> None:
    """A number everywhere."""
    numbers = [each for each in arguments[:-1] if isinstance(each, _NUMBERS)]
    _write(arguments[-1], *parts(numbers[0]))


@_form(BY_RESULT, "eye", "eye.m")
def eye(*arguments: Any) -> None:
    """A diagonal of ones."""
    out = arguments[-1]
    _write(out, 0.0, 0.0)
    aten.fill_(aten.diagonal(parts(out)[0]), 1.0)


# ---- sums ----


def _reduced(name: str, reduce: Callable[..., Any]) -> None:
    """A linear reduction of both parts."""

    @_form(BY_RESULT, name)
    def compute(self: Any, *rest: Any) -> None:
        *options, _, out = rest  # dtype is the result's
        _write(out, *(reduce(part, *options) for part in _tensors(self)))


def _tensors(x: Any) -> tuple[Any, Any]:
    re, im = parts(x)
    return re, aten.zeros_like(re) if isinstance(im, _NUMBERS) else im


_reduced("sum", lambda x: aten.sum(x))
_reduced("sum.dim_IntList", lambda x, dim, keepdim: aten.sum(x, dim, keepdim))
_reduced("mean", lambda x: aten.mean(x))
_reduced("mean.dim", lambda x, dim, keepdim: aten.mean(x, dim, keepdim))
_reduced("cumsum", lambda x, dim: aten.cumsum(x, dim))


@_form(BY_RESULT, "trace")
def trace(self: Any, out: Any) -> None:
    """The sum of the diagonal."""
    _write(out, *(aten.trace(part) for part in parts(self)))


@_form(BY_ARGUMENTS, "var.correction")
def var(self: Any, dim: Any, correction: Any, keepdim: bool, out: Any) -> None:
    """The variance: that of both parts."""
    re, im = (aten.var(part, dim, correction=correction, keepdim=keepdim) for part in parts(self))
    aten.copy_(out, re + im)


@_form(BY_ARGUMENTS, "std.correction")
def std(self: Any, dim: Any, correction: Any, keepdim: bool, out: Any) -> None:
    """The root of the variance."""
    aten.copy_(out, aten.sqrt(aten.var(self, dim, correction=correction, keepdim=keepdim)))


@_form(BY_ARGUMENTS, "linalg_vector_norm")
def vector_norm(self: Any, order: Any, dim: Any, keepdim: bool, dtype: Any, out: Any) -> None:
    """The norm of the distances from zero."""
    aten.copy_(out, aten.linalg_vector_norm(_size(parts(self)), order, dim, keepdim))


def _along(x: Any, dim: int) -> tuple[Any, Any]:
    """The product along a dimension, half with half."""
    re, im = _tensors(x)
    while re.shape[dim] > 1:
        half = re.shape[dim] // 2
        pairs = [tuple(part.narrow(dim, start, half) for part in (re, im)) for start in (0, half)]
        made = _times(pairs[0], pairs[1])
        if re.shape[dim] % 2:
            rest = [part.narrow(dim, 2 * half, 1) for part in (re, im)]
            made = aten.cat([made[0], rest[0]], dim), aten.cat([made[1], rest[1]], dim)
        re, im = made
    return re, im


@_form(BY_RESULT, "prod")
def prod(self: Any, dtype: Any, out: Any) -> None:
    """The product of all elements."""
    prod_dim(self.reshape(-1), 0, False, dtype, out)


@_form(BY_RESULT, "prod.dim_int")
def prod_dim(self: Any, dim: int, keepdim: bool, dtype: Any, out: Any) -> None:
    """The product along a dimension."""
    if self.dim() == 0:
        aten.copy_(out, self)
    elif self.shape[dim] == 0:
        _write(out, 1.0, 0.0)
    else:
        _write(out, *(part if keepdim else part.squeeze(dim) for part in _along(self, dim)))


# ---- products ----


def _product(product: Callable[..., Any], a: Any, b: Any) -> tuple[Any, Any]:
    (re, im), (c, d) = _tensors(a), _tensors(b)
    return product(re, c) - product(im, d), product(re, d) + product(im, c)


def _products(name: str, product: Callable[..., Any]) -> None:
    @_form(BY_RESULT, name)
    def compute(self: Any, other: Any, out: Any) -> None:
        _write(out, *_product(product, self, other))


_products("bmm", aten.bmm)
_products("dot", aten.dot)
_products("matmul", aten.matmul)
_products("mm", aten.mm)
_products("mv", aten.mv)


@_form(BY_RESULT, "vdot")
def vdot(self: Any, other: Any, out: Any) -> None:
    """The product with the conjugate of the first."""
    re, im = parts(self)
    c, d = parts(other)
    _write(out, aten.dot(re, c) + aten.dot(im, d), aten.dot(re, d) - aten.dot(im, c))


def _added(name: str, product: Callable[..., Any]) -> None:
    """beta * self + alpha * product."""

    @_form(BY_RESULT, name)
    def compute(self: Any, a: Any, b: Any, beta: Any, alpha: Any, out: Any) -> None:
        made = _scaled(_product(product, a, b), alpha)
        _write(out, *(made if beta == 0 else _plus(_scaled(parts(self), beta), made)))


_added("addmm", aten.mm)
_added("baddbmm", aten.bmm)
_added("addmv", aten.mv)


@_form(BY_ARGUMENTS, "linear_backward")
def linear_backward(
    self: Any,
    grad_output: Any,
    weight: Any,
    output_mask: Sequence[bool],
    grad_self: Any,
    grad_weight: Any,
    grad_bias: Any,
) -> None:
    """The gradients that are wanted: products with conjugates."""
    whole = weight.dim() == 2
    rows, upstream = self.reshape(-1, self.shape[-1]), grad_output.reshape(-1, weight.shape[0] if whole else 1)
    matrix = weight if whole else weight.unsqueeze(0)
    if grad_self is not None:
        aten.copy_(grad_self, aten.mm(upstream, matrix.conj()).view(grad_self.shape))
    if grad_weight is not None:
        aten.copy_(grad_weight, aten.mm(upstream.t(), rows.conj()).view(grad_weight.shape))
    if grad_bias is not None:
        aten.copy_(grad_bias, upstream.sum(0).view(grad_bias.shape))


@_form(BY_RESULT, "linear")
def linear(input: Any, weight: Any, bias: Any, out: Any) -> None:
    """input @ weight.T + bias."""
    made = _product(aten.linear, input, weight)
    _write(out, *(made if bias is None else _plus(made, parts(bias))))


# ---- elements in other places: pairs move as they are ----


def pairs(x: Any) -> Any:
    """A tensor's pairs of parts, a dimension more; itself if it is real."""
    return aten.view_as_real(aten.resolve_conj(x)) if x.is_complex() else x


def _moved(name: str, move: Callable[..., Any]) -> None:
    @_form(BY_RESULT, name)
    def compute(self: Any, *rest: Any) -> None:
        *options, out = rest
        aten.copy_(pairs(out), move(self, *options))


def _apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one tensor, of both parts."""
    return lambda self, *options: aten.stack([function(part, *options) for part in parts(self)], -1)


@_form(BY_RESULT, "gather")
def gather(self: Any, dim: int, index: Any, sparse_grad: bool, out: Any) -> None:
    """Elements at the places that `index` has along a dimension."""
    _write(out, *(aten.gather(part, dim, index) for part in parts(self)))


_moved("flip", _apart(aten.flip))
_moved("index_select", _apart(aten.index_select))
_moved("repeat", _apart(aten.repeat))
_moved("roll", _apart(aten.roll))
_moved("take", _apart(aten.take))
_moved("tril", _apart(aten.tril))
_moved("triu", _apart(aten.triu))


@_form(BY_RESULT, "cat")
def cat(tensors: Sequence[Any], dim: int, out: Any) -> None:
    """Tensors behind one another; what is real among them gets zeros."""
    _write(out, *(aten.cat(list(each), dim) for each in zip(*map(_tensors, tensors))))


@_form(BY_RESULT, "stack")
def stack(tensors: Sequence[Any], dim: int, out: Any) -> None:
    """Tensors beside one another."""
    _write(out, *(aten.stack(list(each), dim) for each in zip(*map(_tensors, tensors))))


@_form(BY_ARGUMENTS, "index.Tensor", "_unsafe_index.Tensor")
def index(self: Any, indices: Sequence[Any]) -> Any:
    """Elements at places that tensors name."""
    return aten.view_as_complex(aten.index(pairs(self), indices).contiguous())


@_form(BY_ARGUMENTS, "masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    """Elements where the mask is true."""
    shape = aten.broadcast_tensors([self, mask])[0].shape
    re, im = (aten.masked_select(part.expand(shape), mask) for part in parts(self))
    return aten.view_as_complex(aten.stack([re, im], -1))


def _written_apart(name: str, write: Callable[..., Any], given: int) -> None:
    """An operator that writes what is the argument `given` into the first: both parts of both."""

    @_form(BY_RESULT, name)
    def compute(*values: Any) -> None:
        *arguments, out = values
        results = []
        for place in range(2):
            each = list(arguments)
            each[0], each[given] = _tensors(arguments[0])[place], parts(arguments[given])[place]
            results.append(write(*each))
        _write(out, *results)


_written_apart("scatter.src", lambda self, dim, index, src: aten.scatter(self, dim, index, src), 3)
_written_apart("scatter_add", lambda self, dim, index, src: aten.scatter_add(self, dim, index, src), 3)
_written_apart("index_copy", lambda self, dim, index, source: aten.index_copy(self, dim, index, source), 3)


@_form(BY_RESULT, "index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any, out: Any) -> None:
    """Rows added at the places that `index` has."""
    scaled = _scaled(parts(source), alpha)
    _write(out, *(aten.index_add(a, dim, index, b) for a, b in zip(_tensors(self), scaled)))


@_form(BY_RESULT, "index_put", "_index_put_impl_", "_unsafe_index_put")
def index_put(self: Any, indices: Sequence[Any], values: Any, accumulate: bool, *rest: Any) -> None:
    """Elements written at places that tensors name."""
    out = rest[-1]
    if out.data_ptr() != self.data_ptr() or out.stride() != self.stride():
        aten.copy_(out, self)
    for target, part in zip(parts(out), _tensors(values.to(self.device))):
        aten.index_put_(target, indices, part, accumulate)


@_form(BY_RESULT, "constant_pad_nd")
def constant_pad(self: Any, pad: Sequence[int], value: Any, out: Any) -> None:
    """A border of a number."""
    _write(out, *(aten.constant_pad_nd(part, pad, n) for part, n in zip(parts(self), parts(value))))
