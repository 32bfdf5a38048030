"""Arithmetic, comparison, logic, and functions of one element."""

from __future__ import annotations

from typing import Any

from .. import apis as ge
from .. import attr
from ..types import DataType
from ._table import binary, comparison, converts, kind, operand, unary
from .layout import halves, joined

for _name in ("abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "log", "log1p", "neg", "reciprocal", "round"):
    unary(f"{_name}.default", _name.capitalize())
for _name in ("rsqrt", "sigmoid", "sign", "sin", "sqrt", "square", "tanh", "relu"):
    unary(f"{_name}.default", _name.capitalize())
unary("silu.default", "Swish")

for _name, _ge in (("eq", "Equal"), ("ne", "NotEqual"), ("gt", "Greater"), ("ge", "GreaterEqual"), ("lt", "Less")):
    comparison(_name, _ge)
comparison("le", "LessEqual")

binary("mul", "Mul")
binary("div", "RealDiv")
binary("remainder", "FloorMod")
_BITS = {"bitwise_and": "LogicalAnd", "bitwise_or": "LogicalOr", "bitwise_xor": "NotEqual"}


def _truths(name: str) -> None:
    """On booleans the bits are truths, for which GE has other operators."""

    @converts(f"{name}.Tensor", f"{name}.Scalar")
    def convert(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
        made = kind(meta_outputs)
        ge_name = _BITS[name] if made == DataType.DT_BOOL else "Bitwise" + name.removeprefix("bitwise_").capitalize()
        return ge.function(ge_name)(operand(self, made), operand(other, made))


for _name in _BITS:
    _truths(_name)


_SAME_BITS = {4: DataType.DT_INT32, 2: DataType.DT_INT16, 8: DataType.DT_INT64}


@converts("signbit.default")
def signbit(self: Any) -> Any:
    if self.meta.dtype.is_floating_point:  # that of -0.0 is one too
        whole = _SAME_BITS[self.meta.dtype.itemsize]
        self = ge.custom_op("Bitcast", inputs={"x": self}, outputs=["y"], attrs={"type": attr.DataType(whole)})
        self.dtype, self.shape = whole, self.op.inputs[0][1].shape
    return ge.function("Less")(self, ge.Const(0, self.dtype))


def _scaled(value: Any, alpha: Any, made: DataType) -> Any:
    value = operand(value, made)
    return value if alpha == 1 else ge.function("Mul")(value, ge.Const(alpha, made))


@converts("add.Tensor", "add.Scalar")
def add(self: Any, other: Any, alpha: Any = 1, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    if made == DataType.DT_BOOL:
        return ge.function("LogicalOr")(operand(self, made), _scaled(other, alpha, made))
    return ge.function("Add")(operand(self, made), _scaled(other, alpha, made))


@converts("sub.Tensor", "sub.Scalar")
def sub(self: Any, other: Any, alpha: Any = 1, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("Sub")(operand(self, made), _scaled(other, alpha, made))


@converts("rsub.Tensor", "rsub.Scalar")
def rsub(self: Any, other: Any, alpha: Any = 1, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("Sub")(operand(other, made), _scaled(self, alpha, made))


@converts("div.Tensor_mode", "div.Scalar_mode")
def div(self: Any, other: Any, *, rounding_mode: Any = None, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    if rounding_mode == "trunc":
        raise NotImplementedError("div with rounding_mode='trunc'")
    name = "RealDiv" if rounding_mode is None else "FloorDiv"
    return ge.function(name)(operand(self, made), operand(other, made))


@converts("floor_divide.default", "floor_divide.Scalar")
def floor_divide(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("FloorDiv")(operand(self, made), operand(other, made))


@converts("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def pow_(self: Any, exponent: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    if not isinstance(exponent, ge.Tensor) and exponent == 2:
        return ge.function("Square")(operand(self, made))
    return ge.function("Pow")(operand(self, made), operand(exponent, made))


@converts("maximum.default", "max.other")
def maximum(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("Maximum")(operand(self, made), operand(other, made))


@converts("minimum.default", "min.other")
def minimum(self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("Minimum")(operand(self, made), operand(other, made))


@converts("clamp.default", "clamp.Tensor")
def clamp(self: Any, min: Any = None, max: Any = None, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    value = operand(self, made)
    if min is not None:
        value = ge.function("Maximum")(value, operand(min, made))
    return value if max is None else ge.function("Minimum")(value, operand(max, made))


@converts("logical_not.default")
def logical_not(self: Any) -> Any:
    return ge.function("LogicalNot")(operand(self, DataType.DT_BOOL))


@converts("bitwise_not.default")
def bitwise_not(self: Any) -> Any:
    if self.dtype != DataType.DT_BOOL:
        raise NotImplementedError("bitwise_not of integers")
    return ge.function("LogicalNot")(self)


@converts("logical_and.default")
def logical_and(self: Any, other: Any) -> Any:
    return ge.function("LogicalAnd")(operand(self, DataType.DT_BOOL), operand(other, DataType.DT_BOOL))


@converts("logical_or.default")
def logical_or(self: Any, other: Any) -> Any:
    return ge.function("LogicalOr")(operand(self, DataType.DT_BOOL), operand(other, DataType.DT_BOOL))


@converts("where.self", "where.Scalar", "where.ScalarOther", "where.ScalarSelf")
def where(condition: Any, self: Any, other: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("SelectV2")(operand(condition, DataType.DT_BOOL), operand(self, made), operand(other, made))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(self: Any, mask: Any, value: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs)
    return ge.function("SelectV2")(operand(mask, DataType.DT_BOOL), operand(value, made), operand(self, made))


# ---- gradients of functions of one element ----


@converts("tanh_backward.default")
def tanh_backward(grad_output: Any, output: Any) -> Any:
    return ge.function("TanhGrad")(output, grad_output)


@converts("sigmoid_backward.default")
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    return ge.function("SigmoidGrad")(output, grad_output)


@converts("glu.default")
def glu(self: Any, dim: int = -1) -> Any:
    value, gate = halves(self, dim)
    return ge.function("Mul")(value, ge.function("Sigmoid")(gate))


@converts("glu_backward.default")
def glu_backward(grad_output: Any, self: Any, dim: int) -> Any:
    value, gate = halves(self, dim)
    opened = ge.function("Sigmoid")(gate)
    to_gate = ge.function("SigmoidGrad")(opened, ge.function("Mul")(grad_output, value))
    return joined([ge.function("Mul")(grad_output, opened), to_gate], dim % self.rank)


@converts("silu_backward.default")
def silu_backward(grad_output: Any, self: Any) -> Any:
    return ge.function("SwishGrad")(grad_output, self, ge.function("Swish")(self))


@converts("threshold_backward.default")
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    if threshold == 0:
        return ge.function("ReluGrad")(grad_output, self)
    above = ge.function("Greater")(self, threshold)
    return ge.function("SelectV2")(above, grad_output, ge.Const(0, grad_output.dtype))


@converts("gelu.default")
def gelu(self: Any, *, approximate: str = "none") -> Any:
    return ge.function("GeluV2")(self, approximate=approximate)


@converts("gelu_backward.default")
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    return ge.function("GeluGradV2")(grad_output, self, approximate=approximate)


# ---- dropout ----


def _mask(like: Any, keep: float, made: DataType) -> Any:
    seed, offset = ge.graph.current().random_state()
    prob = ge.Const(float(keep), DataType.DT_FLOAT)
    return ge.function("StatelessBernoulli")(list(like.shape), prob, seed, offset, dtype=made)


def _masked(value: Any, mask: Any, scale: float) -> Any:
    kept = ge.function("Mul")(value, operand(mask, value.dtype))
    return ge.function("Muls")(kept, value=float(scale))


@converts("_fused_dropout.default")
def fused_dropout(self: Any, p: float, generator: Any = None, *, meta_outputs: Any = None) -> Any:
    if generator is not None:
        raise NotImplementedError("a generator of its own")
    mask = _mask(self, p, kind(meta_outputs[1]))
    return _masked(self, mask, 0.0 if p == 0 else 1.0 / p), mask


@converts("bernoulli.p")
def bernoulli(self: Any, p: float, *, generator: Any = None) -> Any:
    if generator is not None:
        raise NotImplementedError("a generator of its own")
    return operand(_mask(self, p, self.dtype), self.dtype)


@converts("native_dropout.default")
def native_dropout(input: Any, p: float, train: Any, *, meta_outputs: Any = None) -> Any:
    made = kind(meta_outputs[1])
    if train is False:
        return input, ge.function("Fill")(list(input.shape), ge.Const(1, made))
    mask = _mask(input, 1.0 - p, made)
    return _masked(input, mask, 0.0 if p == 1 else 1.0 / (1.0 - p)), mask


@converts("_masked_scale.default")
def masked_scale(self: Any, mask: Any, scale: float) -> Any:
    return _masked(self, mask, scale)


@converts("native_dropout_backward.default")
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return _masked(grad_output, mask, scale)
