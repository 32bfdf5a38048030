"""Tensor methods whose signatures PyTorch writes in Python: they take what no schema can say, or return what depends on flags."""

from __future__ import annotations

from typing import Any

from .. import _C
from ._table import aten


def as_subclass(self: Any, cls: type) -> Any:
    """This tensor as an instance of ``cls``: a view of it, with its history."""
    if not (isinstance(cls, type) and issubclass(cls, _C.TensorBase)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            "class inherits from Tensor."
        )
    before = _C._disable_function_overrides(True)  # neither classes nor modes are to see the view made
    try:
        view = aten.alias(self)
    finally:
        _C._disable_function_overrides(before)
    made = _C.TensorBase._make_subclass(cls, view)
    made._swap_contents(view)  # history and all; the class stays
    return made


def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of all elements or along ``dim``; ``p`` is a number, "fro" or "nuc" (as in ``torch.norm``)."""
    dims = [dim] if isinstance(dim, int) else dim
    if p == "nuc":
        return aten.linalg_matrix_norm(self, "nuc", [-2, -1] if dims is None else dims, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return aten.linalg_vector_norm(self, 2.0 if p in (None, "fro") else p, dims, keepdim, dtype=dtype)


def polygamma(self: Any, n: int) -> Any:
    """The ``n``-th derivative of digamma: the tensor is the operator's second argument."""
    return aten.polygamma(n, self)


def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Distinct elements, or slices along ``dim`` (as ``torch.unique``)."""
    if dim is None:
        found = aten._unique2(self, sorted, return_inverse, return_counts)
    else:
        found = aten.unique_dim(self, dim, sorted, return_inverse, return_counts)
    return _wanted(found, return_inverse, return_counts)


def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One element, or slice along ``dim``, of each run of equal neighbours (as ``torch.unique_consecutive``)."""
    found = aten.unique_consecutive(self, return_inverse, return_counts, dim)
    return _wanted(found, return_inverse, return_counts)


def where(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where ``condition`` is True, ``other`` elsewhere: the tensor is the operator's second argument."""
    return aten.where(condition, self, other)


def _wanted(found: tuple, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    results = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return results if len(results) > 1 else values


def attach(tensor: type) -> None:
    """Give the tensor class these methods."""
    for function in (as_subclass, norm, polygamma, unique, unique_consecutive, where):
        setattr(tensor, function.__name__, function)
