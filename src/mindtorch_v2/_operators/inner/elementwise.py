"""Arithmetic on each element by names of PyTorch's own, and Python's operators by theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number

_INT = {"dtype": "int64", "low": 0, "high": 8}
_NAMES = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_SIGNS = {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}


def _spelled(name, overload) -> None:
    """`__and__` and `__iand__`: Python's operators as functions."""
    shift = name.endswith("shift")
    if not shift:

        @composite(
            f"__{name}__.{overload}(Tensor self, {overload} other) -> Tensor",
            f"Python's {_SIGNS[name]}.",
            bind="function",
            tags="pointwise" if name == "xor" else "",
            elementwise=True,
            samples=[S(T(3, 4, **_INT), 2 if overload == "Scalar" else T(4, **_INT))],
            dtypes="integer",
        )
        def new(self: Tensor, other: Number | Tensor) -> Tensor:
            return getattr(aten, _NAMES[name])(self, other)

    @composite(
        f"__i{name}__.{overload}(Tensor(a!) self, {overload} other) -> Tensor(a!)",
        f"Python's {_SIGNS[name]}=.",
        tags="pointwise" if name in ("xor", "lshift") else "",
        elementwise=True,
    )
    def in_place(self: Tensor, other: Number | Tensor) -> Tensor:
        return getattr(aten, f"{_NAMES[name]}_")(self, other)


for _name in _NAMES:
    for _overload in ("Tensor", "Scalar"):
        _spelled(_name, _overload)


def _sum_kept_positive(schema, samples=(), **words) -> None:
    writes = schema.startswith("_add_relu_")

    @composite(schema, "`add`, with zero instead of what is negative.", samples=samples, **words)
    def added(self: Tensor, other: Number | Tensor, alpha: Number = 1) -> Tensor:
        made = aten.add(self, other, alpha=alpha).clamp_min(0)
        return aten.copy_(self, made) if writes else made


_sum_kept_positive(
    "_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    [S(T(3, 4, grad=False), T(4, grad=False)), S(T(3, 4, grad=False), T(3, 4, grad=False), alpha=0.5)],
    bind="function out",
    explicit=True,
)
_sum_kept_positive(
    "_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    [S(T(3, 4, grad=False), 0.5)],
    bind="function generated_out",
    explicit=True,
)
_sum_kept_positive(
    "_add_relu_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", bind="function", explicit=True
)
_sum_kept_positive(
    "_add_relu_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)", bind="function", explicit=True
)


@composite("_saturate_weight_to_fp16(Tensor weight) -> Tensor", "Moved into the range of float16.", bind="function")
def _saturate_weight_to_fp16(weight):
    if weight.dtype != _C._dtypes["float32"]:
        raise RuntimeError("_saturate_weight_to_fp16: expected a weight of float32")
    return weight.clamp(-65504.0, 65504.0)


# ---- operators that PyTorch's own tests call ----


@composite(
    "_foobar(Tensor self, bool arg1=True, bool arg2=True, *, bool arg3=True) -> Tensor",
    "The tensor itself: for tests of bindings.",
    bind="function generated_out",
    explicit=True,
    gives_back=True,
)
def _foobar(self, arg1=True, arg2=True, *, arg3=True):
    return self


@composite(
    '_test_string_default(Tensor dummy, str a="\\"\'\\\\", str b="\\"\'\\\\") -> Tensor',
    "The tensor itself.",
    bind="nn",
    gives_back=True,
)
def _test_string_default(dummy, a="\"'\\", b="\"'\\"):
    if a != "\"'\\" or b != "\"'\\":
        raise RuntimeError("_test_string_default: a default has changed")
    return dummy


@composite("_test_ambiguous_defaults.a(Tensor dummy, int a=1, int b=1) -> Tensor", "The number 1.", bind="nn")
def _test_ambiguous_defaults_a(dummy, a=1, b=1):
    if a != 1 or b != 1:
        raise RuntimeError("_test_ambiguous_defaults: expected 1 and 1")
    return aten.scalar_tensor(1, dtype=_C._dtypes["int64"])


@composite('_test_ambiguous_defaults.b(Tensor dummy, int a=2, str b="2") -> Tensor', "The number 2.", bind="nn")
def _test_ambiguous_defaults_b(dummy, a=2, b="2"):
    if a != 2 or b != "2":
        raise RuntimeError('_test_ambiguous_defaults: expected 2 and "2"')
    return aten.scalar_tensor(2, dtype=_C._dtypes["int64"])


@composite(
    "_test_serialization_subcmul(Tensor self, Tensor other, Scalar alpha=1) -> Tensor",
    "`self - alpha * other`.",
    bind="function",
    samples=[S(T(3, 4), T(3, 4), 2)],
)
def _test_serialization_subcmul(self, other, alpha=1):
    return self - other * alpha


@composite(
    "_test_functorch_fallback(Tensor self, Tensor other) -> Tensor",
    "A copy of the first.",
    bind="function generated_out",
    explicit=True,
)
def _test_functorch_fallback(self, other):
    return self.clone()


def _with_addends(name, kind) -> None:
    @composite(
        f"{name}(Tensor values, {kind}? addends) -> Tensor",
        "Each element with its addend.",
        bind="nn generated_out",
        explicit=True,
        gives_back=True,
    )
    def added(values: Tensor, addends: list[float] | None) -> Tensor:
        if addends is None:
            return values
        if values.dim() != 1:
            raise RuntimeError(f"{name}: expected a tensor of one dimension")
        return values + _C.tensor(list(addends), dtype=values.dtype)


_with_addends("_test_optional_intlist", "int[]")
_with_addends("_test_optional_filled_intlist", "int[2]")
_with_addends("_test_optional_floatlist", "float[]")
