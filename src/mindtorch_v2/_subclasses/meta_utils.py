"""Tensors held against their fakes."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.weak import WeakIdKeyDictionary


def is_sparse_any(t: torch.Tensor) -> bool:
    """Whether a tensor is sparse, in any layout."""
    return t.layout not in (torch.strided, torch._mkldnn, torch.jagged)


def assert_metadata_eq(
    assert_eq: Any, m1: torch.Tensor, m2: torch.Tensor, *, skip_symbolic: bool = False, skip_leaf: bool = False
) -> None:
    """Hold what is known of two tensors without their values against each other, by a function that compares two values."""
    assert_eq(m1.dtype, m2.dtype)
    if not skip_symbolic:
        assert_eq(m1.shape, m2.shape)
    assert_eq(m1.requires_grad, m2.requires_grad)
    if not skip_leaf:
        assert_eq(m1.is_leaf, m2.is_leaf)
    assert_eq(m1.is_inference(), m2.is_inference())
    assert_eq(m1.is_conj(), m2.is_conj())
    assert_eq(m1.is_neg(), m2.is_neg())
    assert_eq(is_sparse_any(m1), is_sparse_any(m2))
    if is_sparse_any(m1):
        if m1.layout == torch.sparse_coo:
            assert_eq(m1.dense_dim(), m2.dense_dim())
            assert_eq(m1.sparse_dim(), m2.sparse_dim())
            assert_eq(m1.is_coalesced(), m2.is_coalesced())
        return
    if not skip_symbolic:
        assert_eq(m1.stride(), m2.stride())
        assert_eq(m1.storage_offset(), m2.storage_offset())
    assert_eq(m1._is_view(), m2._is_view())
    if m1._is_view():
        assert m1._base is not None
        assert m2._base is not None
        assert_metadata_eq(assert_eq, m1._base, m2._base, skip_symbolic=skip_symbolic, skip_leaf=skip_leaf)


class MetaConverter:
    """Make tensors on the meta device: of the same sizes, strides and dtype, views of the same bases, leaves where they were.

    A tensor that was converted gives the same one again, as long as it lives; `hit` counts that, `miss` what cannot be
    converted (NotImplemented is returned for it).

    >>> converter = torch._subclasses.meta_utils.MetaConverter()
    >>> converter(torch.ones(2, 3).t()).stride()
    (1, 3)
    """

    def __init__(self) -> None:
        self.tensor_memo: Any = WeakIdKeyDictionary()
        self.hit = 0
        self.miss = 0

    def successful(self) -> bool:
        """Whether tensors were converted, and all that came."""
        return self.hit > 0 and self.miss == 0

    def __call__(self, t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        if t.layout != torch.strided:
            self.miss += 1
            return NotImplemented
        self.hit += 1
        return self._converted(t)

    def _converted(self, t: torch.Tensor) -> torch.Tensor:
        known = self.tensor_memo.get(t)
        if known is not None:
            return known
        if t._is_view() and t._base is not None and t._base.dtype == t.dtype:
            with torch.set_grad_enabled(t.grad_fn is not None):
                made = self._converted(t._base).as_strided(t.shape, t.stride(), t.storage_offset())
        else:
            made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
            if t.requires_grad:
                made.requires_grad_()
                if not t.is_leaf:
                    with torch.enable_grad():
                        made = made.clone()
        if type(t) is torch.nn.Parameter:
            made = torch.nn.Parameter(made.detach(), requires_grad=t.requires_grad)
        self.tensor_memo[t] = made
        return made
