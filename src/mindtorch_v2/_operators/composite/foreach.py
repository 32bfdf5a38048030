"""Operators on lists of tensors: each is its one-tensor operator, applied to every item.

Calls cost a fraction of a microsecond here, so a loop serves; the fused optimizers have kernels of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
_BINARY = {
    "add": "add",
    "clamp_max": "minimum",
    "clamp_min": "maximum",
    "div": "div",
    "maximum": "maximum",
    "minimum": "minimum",
    "mul": "mul",
    "sub": "sub",
}
_PAIR = (T(3, 4, low=0.5, high=0.9), T(2, low=0.5, high=0.9))  # inside the domain of every operator here
_INPLACE = {"maximum": "clamp_min", "minimum": "clamp_max"}
_BOUNDS = {"clamp_max": "clamp_max", "clamp_min": "clamp_min", "maximum": "clamp_min", "minimum": "clamp_max"}


def _same_length(lists) -> None:
    n = len(lists[0])
    for other in lists[1:]:
        if len(other) != n:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {n} and {len(other)}")
    if n == 0:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _check_written(tensors) -> None:
    """All of them, before the first is written."""
    if not _C.is_grad_enabled():
        return
    for t in tensors:
        base = t._base if t._is_view() else t
        if (t.requires_grad or base.requires_grad) and base.is_leaf:
            view = "" if base is t else "view of a leaf"
            raise RuntimeError(
                f"a {view or 'leaf'} Variable that requires grad is being used in an in-place operation."
            )


def _same_length_numbers(self, scalars) -> None:
    if len(self) == 0:
        raise RuntimeError("Tensor list must have at least one tensor.")
    if len(self) != len(scalars):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _same_length_last(self, last) -> None:
    """Check the last list of a call: PyTorch takes an empty one for a list of numbers."""
    if len(last) == 0:
        _same_length_numbers(self, last)
    _same_length((self, last))


def _sample(args):
    """One call of the operator whose arguments, the first being the list, are `args` of its schema."""
    given = {"Tensor[]": list(_PAIR), "Scalar[]": [0.5, 2.0], "Scalar": 2, "Tensor": T()}
    values = []
    for argument in args.rstrip(")").split(", ")[1:]:
        kind, _, name = argument.partition(" ")
        if kind == "*" or "=" in name:
            break
        values.append(T(2, low=0.5, high=0.9) if argument == "Tensor scalars" else given[kind])
    return S(list(_PAIR), *values)


def _both_forms(schema, doc, function, name) -> None:
    """State the form that returns new tensors and the one that writes into the first list.

    ``function`` yields for each item the arguments after the first of the one-tensor operator called ``name``.
    """
    head, _, args = schema.partition("(")
    base, _, overload = head.partition(".")
    suffix = f".{overload}" if overload else ""

    @composite(f"{base}{suffix}({args} -> Tensor[]", doc, bind="function generated_out", samples=[_sample(args)])
    def new(self: Sequence[Tensor], *rest: Any, **options: Any) -> list:
        one = getattr(aten, name)
        return [one(t, *a, **k) for t, a, k in function(self, *rest, **options)]

    @composite(
        f"{base}_{suffix}({args.replace('Tensor[] self', 'Tensor(a!)[] self', 1)} -> ()",
        doc + " In place.",
        bind="function",
    )
    def inplace(self: Sequence[Tensor], *rest: Any, **options: Any) -> None:
        one = getattr(aten, _INPLACE.get(name, name) + "_")
        calls = list(function(self, *rest, **options))
        _check_written(self)
        for t, a, k in calls:
            one(t, *a, **k)


def _alone(self) -> list:
    _same_length((self,))
    return [(t, (), {}) for t in self]


def _with_list(self, other, **options) -> list:
    _same_length_last(self, other)
    return [(t, (o,), options) for t, o in zip(self, other, strict=True)]


def _with_one(self, other, **options) -> list:
    _same_length((self,))
    return [(t, (other,), options) for t in self]


def _with_numbers(self, scalars) -> list:
    _same_length_numbers(self, scalars)
    return [(t, (s,), {}) for t, s in zip(self, scalars, strict=True)]


def _two_lists(self, tensor1, tensor2, value=1) -> list:
    _same_length((self, tensor1, tensor2))
    return [(t, (a, b), {"value": value}) for t, a, b in zip(self, tensor1, tensor2, strict=True)]


def _two_lists_numbers(self, tensor1, tensor2, scalars) -> list:
    _same_length((self, tensor1, tensor2))
    if not isinstance(scalars, (list, tuple)):
        if scalars.device.type != "cpu":
            raise RuntimeError(f"Expected scalars to be on CPU, got {scalars.device} instead.")
        if scalars.dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {scalars.dim()} instead.")
        if scalars.numel() != len(self):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(self)} but got {scalars.numel()} instead."
            )
        scalars = scalars.tolist()
    _same_length_numbers(self, scalars)
    return [(t, (a, b), {"value": s}) for t, a, b, s in zip(self, tensor1, tensor2, scalars, strict=True)]


def _lerp_lists(self, tensors1, weights) -> list:
    _same_length((self, tensors1))
    _same_length_last(self, weights)
    return [(t, (a, w), {}) for t, a, w in zip(self, tensors1, weights, strict=True)]


def _lerp_number(self, tensors1, weight) -> list:
    _same_length((self, tensors1))
    return [(t, (a, weight), {}) for t, a in zip(self, tensors1, strict=True)]


for _name in _UNARY:
    _both_forms(f"_foreach_{_name}(Tensor[] self)", f"`{_name}` of each tensor.", _alone, _name)

for _name, _one in _BINARY.items():
    _alpha = ", *, Scalar alpha=1" if _name in ("add", "sub") else ""
    _number = _BOUNDS.get(_name, _one)
    _doc = f"`{_name}` of each tensor and its operand."
    _both_forms(f"_foreach_{_name}.List(Tensor[] self, Tensor[] other{_alpha})", _doc, _with_list, _one)
    _both_forms(f"_foreach_{_name}.Scalar(Tensor[] self, Scalar scalar)", _doc, _with_one, _number)
    _both_forms(f"_foreach_{_name}.ScalarList(Tensor[] self, Scalar[] scalars)", _doc, _with_numbers, _number)
for _name in ("add", "div", "mul"):
    _alpha = ", *, Scalar alpha=1" if _name == "add" else ""
    _both_forms(
        f"_foreach_{_name}.Tensor(Tensor[] self, Tensor other{_alpha})",
        f"`{_name}` of each tensor and `other`.",
        _with_one,
        _name,
    )

for _name in ("addcdiv", "addcmul"):
    _lists = "Tensor[] self, Tensor[] tensor1, Tensor[] tensor2"
    _both_forms(f"_foreach_{_name}.Scalar({_lists}, Scalar value=1)", f"`{_name}` of each triple.", _two_lists, _name)
    _both_forms(
        f"_foreach_{_name}.ScalarList({_lists}, Scalar[] scalars)",
        f"`{_name}` of each triple.",
        _two_lists_numbers,
        _name,
    )
    _both_forms(
        f"_foreach_{_name}.Tensor({_lists}, Tensor scalars)", f"`{_name}` of each triple.", _two_lists_numbers, _name
    )

_both_forms(
    "_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights)",
    "`lerp` of each pair.",
    _lerp_lists,
    "lerp",
)
_both_forms(
    "_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight)",
    "`lerp` of each pair.",
    _lerp_number,
    "lerp",
)
_both_forms(
    "_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight)",
    "`lerp` of each pair.",
    _lerp_lists,
    "lerp",
)

_both_forms("_foreach_pow.List(Tensor[] self, Tensor[] exponent)", "`pow` of each tensor.", _with_list, "pow")
_both_forms("_foreach_pow.Scalar(Tensor[] self, Scalar exponent)", "`pow` of each tensor.", _with_one, "pow")
_both_forms("_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent)", "`pow` of each tensor.", _with_numbers, "pow")


@composite(
    "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
    "A number to the power of each tensor.",
    bind="function",
    samples=[S(1.5, list(_PAIR))],
)
def _foreach_pow_number(self, exponent) -> list:
    return [aten.pow(self, e) for e in exponent]


@composite(
    "_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]",
    "The matrix product of each tensor with its partner.",
    bind="function",
    samples=[S([T(2, 3), T(1, 2)], [T(3, 2), T(2, 4)])],
)
def _foreach_mm(self, mat2) -> list:
    _same_length((self, mat2))
    return [aten.mm(a, b) for a, b in zip(self, mat2, strict=True)]


@composite("_foreach_zero_(Tensor(a!)[] self) -> ()", "Sets every tensor to 0.", bind="function")
def _foreach_zero_(self) -> None:
    _check_written(self)
    for t in self:
        aten.zero_(t)


@composite(
    "_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()",
    "Copies each `src` into its tensor.",
    bind="function",
)
def _foreach_copy_(self, src, non_blocking=False) -> None:
    _same_length((self, src))
    _check_written(self)
    for t, s in zip(self, src, strict=True):
        aten.copy_(t, s, non_blocking)


@composite(
    "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]",
    "A copy of each tensor.",
    bind="function generated_out",
    samples=[S(list(_PAIR))],
)
def _foreach_clone(self, memory_format=None) -> list:
    return [aten.clone(t, memory_format=memory_format) for t in self]


@composite(
    "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
    "The vector norm of each tensor.",
    bind="function generated_out",
    samples=[S(list(_PAIR)), S(list(_PAIR), 1)],
)
def _foreach_norm(self, ord=2, dtype=None) -> list:
    return [aten.linalg_vector_norm(t, ord, dtype=dtype) for t in self]


@composite(
    "_foreach_max(Tensor[] self) -> Tensor[]",
    "The largest element of each tensor.",
    bind="function generated_out",
    samples=[S(list(_PAIR))],
)
def _foreach_max(self) -> list:
    return [aten.max(t) for t in self]
