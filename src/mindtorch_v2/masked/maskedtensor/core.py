"""`MaskedTensor`: a tensor and a mask that says which of its elements count."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

import mindtorch_v2 as torch

__all__ = ["MaskedTensor", "is_masked_tensor"]

_DTYPES = (
    torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64,
)  # fmt: skip
# What functions, taken over before autograd, and operators, below it, do to MaskedTensors: `_ops_refs` fills them.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
OPERATORS: dict[Any, Callable[..., Any]] = {}
_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)


def is_masked_tensor(obj: Any, /) -> TypeGuard[MaskedTensor]:
    """Whether `obj` is a MaskedTensor.

    >>> torch.masked.is_masked_tensor(torch.ones(1))
    False
    """
    return isinstance(obj, MaskedTensor)


def _get_data(a: Any) -> Any:
    """The data of a MaskedTensor, without history; anything else as it is."""
    return a._masked_data if is_masked_tensor(a) else a


def _maybe_get_mask(a: Any) -> Any:
    """The mask of a MaskedTensor, else None."""
    return a._masked_mask if is_masked_tensor(a) else None


def _tensors_match(
    a: torch.Tensor, b: torch.Tensor, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Whether two plain tensors have the same sizes and (`exact`) the same numbers, of sparse ones in the same places."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if a.shape != b.shape or (exact and a.dtype != b.dtype):
        return False
    if a.layout == torch.strided:
        pairs = [(a, b)]
    elif a.layout == torch.sparse_coo:
        a, b = a.coalesce(), b.coalesce()
        pairs = [(a.indices(), b.indices()), (a.values(), b.values())]
    else:
        pairs = [(a.crow_indices(), b.crow_indices()), (a.col_indices(), b.col_indices()), (a.values(), b.values())]
    for number, (one, other) in enumerate(pairs):
        last = number == len(pairs) - 1
        if one.shape != other.shape:
            return False
        same = (one == other).all() if exact or not last else torch.allclose(one, other, rtol=rtol, atol=atol)
        if not bool(same):
            return False
    return True


def _masks_match(a: Any, b: Any) -> bool:
    """Whether two MaskedTensors have the same mask; what has none matches all."""
    if is_masked_tensor(a) and is_masked_tensor(b):
        return _tensors_match(a._masked_mask, b._masked_mask, exact=True)
    return True


def _map_mt_args_kwargs(
    args: Any, kwargs: dict[str, Any], map_fn: Callable[[Any], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments with `map_fn` applied to each MaskedTensor in them."""

    def mapped(value: Any) -> Any:
        if is_masked_tensor(value):
            return map_fn(value)
        return type(value)(mapped(each) for each in value) if type(value) in (list, tuple) else value

    return [mapped(value) for value in args], {name: mapped(value) for name, value in kwargs.items()}


def _wrap_result(data: Any, mask: Any) -> Any:
    """MaskedTensors of data and masks that come alone or in sequences."""
    if isinstance(data, (list, tuple)):
        return type(data)(map(_wrap_result, data, mask))
    if not isinstance(data, torch.Tensor):
        raise TypeError(f"expected a tensor or a sequence of tensors, got {type(data)}")
    return MaskedTensor(data, mask)


def _on_values(x: torch.Tensor, fn: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """`fn` on the elements that a tensor holds, all of them if it is not sparse."""
    if x.layout == torch.sparse_coo:
        x = x.coalesce()
        return torch.sparse_coo_tensor(x.indices(), fn(x.values()), x.shape, is_coalesced=True)
    if x.layout == torch.sparse_csr:
        return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), fn(x.values()), x.shape)
    return fn(x)


def _check(data: Any, mask: Any) -> None:
    if type(data) is not type(mask):
        raise TypeError(f"data and mask must have the same type. Got {type(data)} and {type(mask)}")
    if data.layout not in _LAYOUTS:
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout == torch.sparse_coo and not _tensors_match(data.indices(), mask.indices()):
        raise ValueError("data and mask are both sparse COO tensors but do not have the same indices.")
    if data.layout == torch.sparse_csr and not (
        _tensors_match(data.crow_indices(), mask.crow_indices())
        and _tensors_match(data.col_indices(), mask.col_indices())
    ):
        raise ValueError("data and mask are both sparse CSR tensors but do not share either crow or col indices.")
    if mask.dtype != torch.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _text(data: torch.Tensor, mask: torch.Tensor) -> str:
    """The elements in nested brackets, "--" for those that do not count."""
    if data.layout != torch.strided:
        data, mask = data.to_dense(), mask.to_dense()
    if data.dim() == 1:
        shown = (
            "      --" if not counts else f"{value:8.4f}" if isinstance(value, float) else str(value)
            for value, counts in zip(data.tolist(), mask.tolist(), strict=True)
        )
        return "[" + ", ".join(shown) + "]"
    rows = [_text(d, m) for d, m in zip(data, mask, strict=True)]
    return "[\n" + ",\n".join("\n".join("  " + line for line in row.split("\n")) for row in rows) + "\n]"


class _GetData(torch.autograd.Function):
    """The data of a MaskedTensor; gradients of it are masked."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask = x._masked_mask
        return x._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        data, mask = _get_data(grad), ctx.mask
        if data.layout != mask.layout and mask.layout != torch.strided:
            data = data.sparse_mask(mask)
        return MaskedTensor(data, mask)


class _FromValues(torch.autograd.Function):
    """A MaskedTensor of data with history."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad, None


class MaskedTensor(torch.Tensor):
    """A tensor and a mask of its sizes, True where an element counts.

    Element-wise operators work on the data and keep the mask; those of two MaskedTensors want equal masks. Reductions leave
    out what does not count, and results of which no element counts are masked. Operators that have no meaning for masks
    raise TypeError. Made by :func:`masked_tensor` (data without history) or :func:`as_masked_tensor` (with).

        >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([True, False, True]))
        >>> (x * 2).to_tensor(0)
        tensor([2., 0., 6.])
        >>> x.sum()
        MaskedTensor(  4.0000, True)
    """

    _masked_data: torch.Tensor
    _masked_mask: torch.Tensor

    @staticmethod
    def __new__(cls: type, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        if is_masked_tensor(data) or not isinstance(data, torch.Tensor):
            raise TypeError("data must be a Tensor")
        if is_masked_tensor(mask) or not isinstance(mask, torch.Tensor):
            raise TypeError("mask must be a Tensor")
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                "data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]  # (not in the stub)
            cls,
            data.size(),
            strides=data.stride() if data.layout == torch.strided else None,
            dtype=data.dtype,
            device=data.device,
            requires_grad=requires_grad,
        )

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        if data.layout != mask.layout:
            raise TypeError("data and mask must have the same layout.")
        if data.layout == torch.sparse_coo:
            data, mask = data.coalesce(), mask.coalesce()
            if data._nnz() != mask._nnz():
                data = data.sparse_mask(mask)
        self._masked_data, self._masked_mask = data.detach().clone(), mask.detach().clone()
        _check(self._masked_data, self._masked_mask)

    @staticmethod
    def _from_values(data: Any, mask: Any) -> Any:
        """A MaskedTensor of data with history: gradients go on to it."""
        return _FromValues.apply(data, mask)

    def get_data(self) -> Any:
        """The data, those elements that do not count included; gradients of it are masked."""
        return _GetData.apply(self)

    def get_mask(self) -> torch.Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> torch.Tensor:
        """A plain tensor, with `value` in place of what does not count."""
        return self.get_data().masked_fill(~self.get_mask(), value)

    @property
    def layout(self) -> Any:
        """The data's layout."""
        return self._masked_data.layout

    def is_sparse_coo(self) -> bool:
        """Whether the data is sparse, by coordinates."""
        return self.layout == torch.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]  # (PyTorch's is a method here, and an attribute of Tensor)
        """Whether the data is sparse, by rows."""
        return self.layout == torch.sparse_csr

    @property
    def is_sparse(self) -> bool:
        """Whether the data is sparse."""
        return self.is_sparse_coo() or self.is_sparse_csr()

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether data and mask are contiguous; ValueError for sparse data."""
        self._check_dense("is_contiguous")
        return self._masked_data.is_contiguous(*args, **kwargs)

    def _check_dense(self, what: str) -> None:
        if self.is_sparse:
            raise ValueError(f"MaskedTensors with sparse data do not have {what}")

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]  # (Tensor's has no name for it in the stub)
        data, mask = self._masked_data, self._masked_mask
        if self.dim() == 0:
            value = data.to_dense().item() if self.is_sparse else data.item()
            counts = mask.to_dense().item() if self.is_sparse else mask.item()
            shown = "--" if not counts else f"{value:8.4f}" if isinstance(value, float) else str(value)
            return f"MaskedTensor({shown}, {counts})"
        lines = _text(data, mask).split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"

    def __lt__(self, other: Any) -> Any:
        return MaskedTensor(_get_data(self) < _get_data(other), self._masked_mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = FUNCTIONS.get(func)
        if rule is not None:
            return rule(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = OPERATORS.get(func.overloadpacket)
        if rule is None:
            warnings.warn(
                f"{func.overloadpacket.__name__} is not implemented in __torch_dispatch__ for MaskedTensor.",
                stacklevel=2,
            )
            return NotImplemented
        return rule(func.overloadpacket, *args, **(kwargs or {}))
