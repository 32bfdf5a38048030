"""Operators that choose one of their operands: larger, smaller, clamped, masked."""

from ..table import S, T, aten, like, not_recorded, op, pointwise, rule


def _larger(grad, self, other):
    """The gradient of the operand `self` of maximum: halved where both are equal."""
    return aten.where(self == other, grad / 2, grad).masked_fill(self < other, 0)


def _smaller(grad, self, other):
    return aten.where(self == other, grad / 2, grad).masked_fill(self > other, 0)


def _fmax_self(grad, self, other):
    return grad.masked_fill(~((self >= other) | other.isnan()), 0)


def _fmin_self(grad, self, other):
    return grad.masked_fill(~((self <= other) | other.isnan()), 0)


def _clamp_min_grad(grad, self, min, max):
    if min is None:
        return None
    chosen = self < min if max is None else (self < min) & (min < max)
    return aten.where(chosen, grad, 0)


def _clamp_max_grad(grad, self, min, max):
    if max is None:
        return None
    chosen = self > max if min is None else (self > max) | (max < min)
    return aten.where(chosen, grad, 0)


def _clamp_self(grad, self, min, max):
    if min is None and max is None:
        return grad
    inside = self >= min if max is None else self <= max if min is None else (self >= min) & (self <= max)
    return aten.where(inside, grad, 0)


def _copysign_grad(grad, self, result):
    return grad * (result / self).masked_fill(self == 0, 0)


op(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    "`self` moved into [min, max].",
    bind="function method inplace out",
    out_dtype="found",
    tags="core pointwise",
    meta=pointwise("self", "min", "max"),
    grad={"self": _clamp_self},
    samples=[S(T(3, 4), -0.5, 0.5), S(T(3, 4), min=0), S(T(3, 4), max=0.25)],
    dtypes="real",
    alias="clip",
    node="ClampBackward1",
)
op(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    "`self` moved into [min, max].",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", "min", "max"),
    grad={"self": _clamp_self, "min": _clamp_min_grad, "max": _clamp_max_grad},
    samples=[S(T(3, 4), T(3, 4, low=-1, high=0), T(4, low=0.1, high=1)), S(T(3, 4), min=T(4))],
    dtypes="real",
    alias="clip",
)

op(
    "clamp_max(Tensor self, Scalar max) -> Tensor",
    "The smaller of `self` and `max`.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise",
    meta=pointwise("self", "max"),
    grad={"self": lambda grad, self, max: aten.where(self <= max, grad, 0)},
    samples=[S(T(3, 4), 0.25)],
    dtypes="real",
)
op(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    "The smaller of `self` and `max`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "max"),
    grad={
        "self": lambda grad, self, max: aten.where(self <= max, grad, 0),
        "max": lambda grad, self, max: aten.where(self > max, grad, 0),
    },
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
    node="ClampMaxBackward1",
)

op(
    "clamp_min(Tensor self, Scalar min) -> Tensor",
    "The larger of `self` and `min`.",
    bind="function method inplace out",
    out_dtype="found",
    tags="pointwise",
    meta=pointwise("self", "min"),
    grad={"self": lambda grad, self, min: aten.where(self >= min, grad, 0)},
    samples=[S(T(3, 4), 0.25)],
    dtypes="real",
)
op(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    "The larger of `self` and `min`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "min"),
    grad={
        "self": lambda grad, self, min: aten.where(self >= min, grad, 0),
        "min": lambda grad, self, min: aten.where(self < min, grad, 0),
    },
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
    node="ClampMinBackward1",
)

op(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    "The size of `self` with the sign of `other`.",
    bind="function method inplace out",
    tags="pointwise",
    inplace_tags="",
    meta=pointwise("self", "other", to="float"),
    grad={"self": _copysign_grad, "other": lambda grad: aten.zeros_like(grad)},
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
)
op(
    "copysign.Scalar(Tensor self, Scalar other) -> Tensor",
    "The size of `self` with the sign of `other`.",
    bind="function method inplace out",
    tags="pointwise",
    inplace_tags="",
    meta=pointwise("self", "other", to="float"),
    grad={"self": _copysign_grad},
    samples=[S(T(3, 4), -1)],
    dtypes="real",
    node="CopysignBackward1",
)

op(
    "fmax(Tensor self, Tensor other) -> Tensor",
    "The larger operand; a NaN is passed over.",
    bind="function method out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={"self": _fmax_self, "other": lambda grad, self, other: grad.masked_fill((self >= other) | other.isnan(), 0)},
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
)

op(
    "fmin(Tensor self, Tensor other) -> Tensor",
    "The smaller operand; a NaN is passed over.",
    bind="function method out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={"self": _fmin_self, "other": lambda grad, self, other: grad.masked_fill((self <= other) | other.isnan(), 0)},
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
)

op(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    "0 below zero, 1 above, `values` at zero.",
    bind="function method inplace out",
    out_dtype="heaviside is not yet implemented for tensors with different dtypes.",
    tags="pointwise",
    inplace_tags="",
    meta=pointwise("self", "values"),
    grad={("self", "values"): not_recorded("heaviside")},
    node="NotImplemented",
    samples=[S(T(3, 4, grad=False), T(4, grad=False))],
    dtypes="real",
)

op(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    "`value` where `mask` is True, `self` elsewhere.",
    bind="function method inplace out",
    out_dtype="exact",
    tags="pointwise",
    inplace_tags="",
    out_tags="generated",
    meta=rule("masked_fill", "self", "mask"),
    grad={"self": lambda grad, mask: grad.masked_fill(mask, 0)},
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), 2), S(T(3, 4), T(4, dtype="bool"), 0.5)],
    dtypes="all",
    written_twice="tensor[mask] = scalar",
)
op(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    "`value`, a 0-dim tensor, where `mask` is True, `self` elsewhere.",
    bind="function method inplace out",
    out_dtype="exact",
    out_overload="Tensor_out",
    out_tags="generated",
    elementwise=True,
    linear="self value",
    meta=rule("masked_fill", "self", "mask"),
    grad={
        "self": lambda grad, mask: grad.masked_fill(mask, 0),
        "value": lambda grad, mask: aten.where(mask, grad, 0).sum(),
    },
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), T())],
    dtypes="all",
    node="MaskedFillBackward1",
    written_twice="tensor[mask] = scalar",
)

op(
    "maximum(Tensor self, Tensor other) -> Tensor",
    "The larger operand, NaN if either is; equal operands share the gradient.",
    bind="function method out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={"self": _larger, "other": lambda grad, self, other: _larger(grad, other, self)},
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
)

op(
    "minimum(Tensor self, Tensor other) -> Tensor",
    "The smaller operand, NaN if either is; equal operands share the gradient.",
    bind="function method out",
    tags="core pointwise",
    meta=pointwise("self", "other"),
    grad={"self": _smaller, "other": lambda grad, self, other: _smaller(grad, other, self)},
    samples=[S(T(3, 4), T(4))],
    dtypes="real",
)

op(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    "NaN and infinities replaced: by 0 and the largest and smallest finite number, or as given.",
    bind="function method inplace out",
    out_dtype="nan_to_num: dtype of out: {out} should be same as input: {result}",
    tags="pointwise",
    keeps_zero=True,
    meta=like("self"),
    grad={"self": lambda grad, self: grad * self.isfinite()},
    samples=[S(T(3, 4)), S(T(3, 4), nan=1.0, posinf=2.0, neginf=-2.0)],
    dtypes="all",
)

op(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    "The next number after `self` toward `other`.",
    bind="function method inplace out",
    tags="pointwise",
    meta=pointwise("self", "other"),
    grad={
        "self": lambda grad, self, other: aten.where(self == other, 0, grad),
        "other": lambda grad: aten.zeros_like(grad),
    },
    samples=[S(T(3, 4, grad=False), T(4, grad=False))],
    dtypes="float32 float64 bfloat16",
)


def _where_self(grad, condition):
    return aten.where(condition, grad, 0)


def _where_other(grad, condition):
    return aten.where(condition, 0, grad)


op(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "`self` where `condition` is True, `other` elsewhere.",
    bind="function out",
    out_dtype="Expected out type to be {result} but got {out}",
    out_overload="self_out",
    out_tags="",
    tags="core pointwise",
    meta=rule("where", "condition", "self", "other"),
    grad={"self": _where_self, "other": _where_other},
    samples=[S(T(3, 4, dtype="bool"), T(3, 4), T(4))],
    dtypes="all",
)
op(
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "`self` where `condition` is True, `other` elsewhere.",
    bind="function",
    elementwise=True,
    meta=rule("where", "condition", "self", "other"),
    grad={"other": _where_other},
    edges="WhereBackward0: - other",
    samples=[S(T(3, 4, dtype="bool"), 1.5, T(4))],
    dtypes="all",
    node="WhereBackward0",
)
op(
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "`self` where `condition` is True, `other` elsewhere.",
    bind="function",
    elementwise=True,
    meta=rule("where", "condition", "self", "other"),
    grad={"self": _where_self},
    edges="WhereBackward0: self -",
    samples=[S(T(3, 4, dtype="bool"), T(4), 1.5)],
    dtypes="all",
    node="WhereBackward0",
)
op(
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    "`self` where `condition` is True, `other` elsewhere.",
    bind="function",
    elementwise=True,
    meta=rule("where", "condition", "self", "other"),
    grad=None,
    samples=[S(T(3, 4, dtype="bool"), 1.5, 2)],
    dtypes="all",
)
