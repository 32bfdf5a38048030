"""Products, sums, normalisations, losses, and their gradients."""

from __future__ import annotations

import math
from typing import Any

from .. import apis as ge
from .. import attr
from ..types import DataType
from ._table import converts, kind, operand, reshape
from .layout import broadcast

# ---- products ----


def product(a: Any, b: Any, swap_a: bool = False, swap_b: bool = False) -> Any:
    """A product of matrices or of batches of them; either may be taken with its last two dimensions swapped."""
    if a.rank == 2 and b.rank == 2:
        return ge.function("MatMulV2")(a, b, transpose_x1=swap_a, transpose_x2=swap_b)
    return ge.function("BatchMatMulV2")(a, b, adj_x1=swap_a, adj_x2=swap_b)


def _rows(x: Any) -> Any:
    return x if x.rank == 2 else reshape(x, [math.prod(x.shape[:-1]), x.shape[-1]])


@converts("mm.default", "bmm.default")
def mm(self: Any, mat2: Any) -> Any:
    return product(self, mat2)


@converts("matmul.default", "mv.default", "dot.default")
def matmul(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
    a = reshape(self, [1, *self.shape]) if self.rank == 1 else self
    b = reshape(other, [*other.shape, 1]) if other.rank == 1 else other
    return reshape(product(a, b), meta_outputs.shape)


def _added(self: Any, made: Any, beta: Any, alpha: Any) -> Any:
    if alpha != 1:
        made = ge.function("Muls")(made, value=float(alpha))
    if beta == 0:
        return made
    if beta != 1:
        self = ge.function("Muls")(self, value=float(beta))
    return ge.function("Add")(made, self)


@converts("addmm.default")
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    if beta == 1 and alpha == 1 and self.rank == 1 and self.shape[0] == mat2.shape[1]:
        return ge.function("MatMulV2")(mat1, mat2, self)
    return _added(self, product(mat1, mat2), beta, alpha)


@converts("baddbmm.default")
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return _added(self, product(batch1, batch2), beta, alpha)


@converts("linear.default")
def linear(input: Any, weight: Any, bias: Any = None, *, meta_outputs: Any = None) -> Any:
    if weight.rank == 1:
        made = reshape(product(_rows(input), reshape(weight, [*weight.shape, 1])), meta_outputs.shape)
        return made if bias is None else ge.function("Add")(made, bias)
    made = ge.function("MatMulV2")(_rows(input), weight, bias, transpose_x2=True)
    return reshape(made, meta_outputs.shape)


@converts("linear_backward.default")
def linear_backward(self: Any, grad_output: Any, weight: Any, output_mask: Any, *, meta_outputs: Any = None) -> Any:
    rows, upstream = _rows(self), _rows(grad_output)
    wanted = [each is not None and asked for each, asked in zip(meta_outputs, output_mask, strict=True)]
    return (
        reshape(product(upstream, weight), self.shape) if wanted[0] else None,
        product(upstream, rows, swap_a=True) if wanted[1] else None,
        summed(upstream, [0]) if wanted[2] else None,
    )


def _to_sizes(x: Any, sizes: list[int]) -> Any:
    """The sum over what was broadcast."""
    extra = x.rank - len(sizes)
    axes = [d for d in range(x.rank) if d < extra or (sizes[d - extra] == 1 and x.shape[d] != 1)]
    return reshape(summed(x, axes) if axes else x, sizes)


@converts("matmul_backward.default")
def matmul_backward(grad_output: Any, self: Any, other: Any, mask: Any, *, meta_outputs: Any = None) -> Any:
    a = reshape(self, [1, *self.shape]) if self.rank == 1 else self
    b = reshape(other, [*other.shape, 1]) if other.rank == 1 else other
    shape = list(grad_output.shape)
    if other.rank == 1:
        shape.append(1)
    if self.rank == 1:
        shape.insert(-1, 1)
    upstream = reshape(grad_output, shape)
    return (
        reshape(_to_sizes(product(upstream, b, swap_b=True), a.shape), self.shape) if mask[0] else None,  # type: ignore[arg-type]  # (no gradient is asked for)
        reshape(_to_sizes(product(a, upstream, swap_a=True), b.shape), other.shape) if mask[1] else None,  # type: ignore[arg-type]  # (no gradient is asked for)
    )


# ---- sums ----


def summed(x: Any, axes: Any, keepdim: bool = False, name: str = "ReduceSum") -> Any:
    """A reduction over axes; over none it is the value itself."""
    return ge.function(name)(x, list(axes), keep_dims=keepdim) if axes else x


def _axes(x: Any, dim: Any) -> list[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.rank))
    return [d % max(x.rank, 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim])] if x.rank else []


def _reduction(name: str, ge_name: str) -> None:
    @converts(name)
    def convert(
        self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, meta_outputs: Any = None
    ) -> Any:
        return summed(operand(self, kind(meta_outputs)), _axes(self, dim), keepdim, ge_name)


for _name, _ge in (("sum", "ReduceSum"), ("mean", "ReduceMean")):
    _reduction(f"{_name}.default", _ge)
    _reduction(f"{_name}.{'dim_IntList' if _name == 'sum' else 'dim'}", _ge)
for _name, _ge in (("amax", "ReduceMax"), ("amin", "ReduceMin"), ("any", "ReduceAny"), ("all", "ReduceAll")):
    _reduction(f"{_name}.default", _ge)
for _name, _ge in (("any", "ReduceAny"), ("all", "ReduceAll")):
    _reduction(f"{_name}.dim", _ge)
    _reduction(f"{_name}.dims", _ge)
for _name, _ge in (("max", "ReduceMax"), ("min", "ReduceMin")):
    _reduction(f"{_name}.default", _ge)


@converts("argmax.default")
def argmax(self: Any, dim: Any = None, keepdim: bool = False, *, meta_outputs: Any = None) -> Any:
    x = reshape(self, [ge.numel(self)]) if dim is None else self
    made = ge.function("ArgMaxV2")(x, [0 if dim is None else dim % max(self.rank, 1)])
    return reshape(made, meta_outputs.shape)


def _largest(name: str, ge_name: str) -> None:
    @converts(f"{name}.dim")
    def convert(self: Any, dim: int, keepdim: bool = False, *, meta_outputs: Any = None) -> Any:
        attrs = {"dimension": attr.Int(dim), "keep_dims": attr.Bool(keepdim)}
        places, values = ge.custom_op(ge_name, inputs={"x": self}, outputs=["indice", "values"], attrs=attrs)
        return values, _of_int64(places, meta_outputs[1])


def _of_int64(places: Any, meta: Any) -> Any:
    """Places that GE gives as int32."""
    places.dtype, places.shape = DataType.DT_INT32, list(meta.shape)
    return ge.Cast(places, dst_type=DataType.DT_INT64)


_largest("max", "ArgMaxWithValue")
_largest("min", "ArgMinWithValue")


@converts("sort.stable")
def sort_stable(self: Any, *, stable: Any, dim: int = -1, descending: bool = False, meta_outputs: Any = None) -> Any:
    attrs = {"axis": attr.Int(dim), "descending": attr.Bool(descending), "stable": attr.Bool(bool(stable))}
    values, places = ge.custom_op("Sort", inputs={"x": self}, outputs=["y1", "y2"], attrs=attrs)
    return values, _of_int64(places, meta_outputs[1])


@converts("sort.default")
def sort(self: Any, dim: int = -1, descending: bool = False, *, meta_outputs: Any = None) -> Any:
    return sort_stable(self, stable=False, dim=dim, descending=descending, meta_outputs=meta_outputs)


@converts("cumsum.default")
def cumsum(self: Any, dim: int, *, dtype: Any = None, meta_outputs: Any = None) -> Any:
    return ge.function("Cumsum")(operand(self, kind(meta_outputs)), [dim % max(self.rank, 1)])


# ---- softmax ----


@converts("_softmax.default")
def softmax(self: Any, dim: int, half_to_float: bool, *, meta_outputs: Any = None) -> Any:
    return ge.function("SoftmaxV2")(operand(self, kind(meta_outputs)), axes=[dim])


@converts("_safe_softmax.default")
def safe_softmax(self: Any, dim: int, dtype: Any = None, *, meta_outputs: Any = None) -> Any:
    x = operand(self, kind(meta_outputs))
    closed = ge.function("Equal")(x, ge.Const(-math.inf, x.dtype))
    none_open = ge.function("ReduceAll")(closed, [dim % x.rank], keep_dims=True)
    return ge.function("SelectV2")(none_open, ge.Const(0, x.dtype), ge.function("SoftmaxV2")(x, axes=[dim]))


@converts("_softmax_backward_data.default")
def softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any, *, meta_outputs: Any = None) -> Any:
    return ge.Cast(ge.function("SoftmaxGrad")(output, grad_output, axes=[dim]), dst_type=kind(meta_outputs))


@converts("_log_softmax.default")
def log_softmax(self: Any, dim: int, half_to_float: bool, *, meta_outputs: Any = None) -> Any:
    return ge.function("LogSoftmaxV2")(operand(self, kind(meta_outputs)), axes=[dim])


@converts("_log_softmax_backward_data.default")
def log_softmax_backward(grad_output: Any, output: Any, dim: int, input_dtype: Any, *, meta_outputs: Any = None) -> Any:
    return ge.Cast(ge.function("LogSoftmaxGrad")(grad_output, output, axis=[dim]), dst_type=kind(meta_outputs))


# ---- norms ----


@converts("_fused_rms_norm.default")
def rms_norm(input: Any, normalized_shape: Any, weight: Any, eps: Any) -> Any:
    gain = ge.function("Fill")(list(normalized_shape), ge.Const(1, input.dtype)) if weight is None else weight
    attrs = {} if eps is None else {"epsilon": attr.Float(eps)}
    return ge.custom_op("RmsNorm", inputs={"x": input, "gamma": gain}, outputs=["y", "rstd"], attrs=attrs)


@converts("native_layer_norm.default")
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, *, meta_outputs: Any = None
) -> Any:
    made = ge.function("LayerNormV4")(input, list(normalized_shape), weight, bias, epsilon=eps)
    return tuple(ge.Cast(each, dst_type=kind(meta)) for each, meta in zip(made, meta_outputs, strict=True))


@converts("native_layer_norm_backward.default")
def layer_norm_backward(
    grad_out: Any,
    input: Any,
    normalized_shape: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    bias: Any,
    output_mask: Any,
    *,
    meta_outputs: Any = None,
) -> Any:
    gain = weight
    if gain is None:
        gain = ge.function("Fill")(list(normalized_shape), ge.Const(1, input.dtype))
    made = ge.function("LayerNormGradV3")(grad_out, input, rstd, mean, gain)
    return tuple(each if meta is not None else None for each, meta in zip(made, meta_outputs, strict=True))


# ---- losses and embeddings ----

_REDUCTIONS = ("none", "mean", "sum")


def _class_weights(self: Any, weight: Any) -> Any:
    if weight is not None:
        return weight
    return ge.function("Fill")([self.shape[0] if self.rank == 1 else self.shape[1]], ge.Const(1, self.dtype))


@converts("nll_loss_forward.default")
def nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    return ge.function("NLLLoss")(
        self, target, _class_weights(self, weight), reduction=_REDUCTIONS[reduction], ignore_index=ignore_index
    )


@converts("nll_loss_backward.default")
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any
) -> Any:
    return ge.function("NLLLossGrad")(
        self,
        grad_output,
        target,
        _class_weights(self, weight),
        total_weight,
        reduction=_REDUCTIONS[reduction],
        ignore_index=ignore_index,
    )


@converts("embedding_dense_backward.default")
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    return ge.function("EmbeddingDenseGrad")(
        grad_output,
        indices,
        num_weights=num_weights,
        padding_idx=padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
    )


@converts("mse_loss.default")
def mse_loss(self: Any, target: Any, reduction: int = 1, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    each = ge.function("Square")(ge.function("Sub")(operand(self, made), operand(target, made)))
    return summed(each, range(each.rank), False, ("", "ReduceMean", "ReduceSum")[reduction]) if reduction else each


@converts("mse_loss_backward.default")
def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    apart = ge.function("Sub")(self, target)
    scale = 2.0 / ge.numel(apart) if reduction == 1 else 2.0
    return ge.function("Mul")(ge.function("Muls")(apart, value=scale), broadcast(grad_output, apart.shape))
