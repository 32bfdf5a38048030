"""Assertions that give a token, so that a program without effects orders them by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


def _ordered(schema, of, bind="function") -> None:
    @composite(
        schema,
        f"`{of}`; gives a copy of the token that what comes after it takes.",
        bind=bind,
        explicit=True,
        samples=None,
    )
    def checked(*args: Any) -> Tensor:
        *given, token = args
        getattr(aten, of)(*given)
        return token.clone()


_ordered("_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor", "_assert_async")
_ordered("_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor", "_assert_scalar")


def _ranged(name, of) -> None:
    @composite(
        f"{name}(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
        f"`{of}`; gives a copy of the token that what comes after it takes.",
        bind="function",
        explicit=True,
        samples=None,
    )
    def ranged(size: Number, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
        getattr(aten, of)(size, min=min, max=max)
        return dep_token.clone()


_ranged("_functional_sym_constrain_range", "sym_constrain_range")
_ranged("_functional_sym_constrain_range_for_size", "sym_constrain_range_for_size")


@composite(
    "_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,"
    " MemoryFormat? memory_format=None) -> Tensor",
    "The first token of such a program.",
    bind="function",
    explicit=True,
    unfilled=True,
)
def _make_dep_token(*, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return aten.empty([], dtype=dtype, device=device)


@composite("_print(str s) -> ()", "Print a text.", bind="function", explicit=True)
def _print(s) -> None:
    print(s)
