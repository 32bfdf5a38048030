"""Copies of what views give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _copy(schema, view, samples=None, dtypes="floating") -> None:
    name = schema.partition("(")[0]

    @composite(
        schema,
        f"A copy of what `{name.removesuffix('_copy')}` gives.",
        bind="function generated_out",
        tags="view_copy",
        samples=samples,
        dtypes=dtypes,
    )
    def copied(self: Tensor, *args: Any) -> Tensor:
        return aten.clone(view(self, *args), memory_format=_C.contiguous_format)


_copy("_conj_copy(Tensor self) -> Tensor", lambda self: aten._conj(self).resolve_conj(), [S(3, 4)], "complex")
_copy("_neg_view_copy(Tensor self) -> Tensor", lambda self: aten._neg_view(self).resolve_neg(), [S(3, 4)])
_copy(
    "_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
    lambda self, size, stride: aten._reshape_alias(self, size, stride),
    [S(T(3, 4), [2, 6], [6, 1])],
)


@composite(
    "_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
    "A copy in other sizes, of which one may be -1.",
    samples=[S(T(3, 4), [2, -1])],
)
def _reshape_copy(self, size):
    return aten.clone(aten.reshape(self, size), memory_format=_C.contiguous_format)
