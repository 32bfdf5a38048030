"""Tensor methods whose signatures PyTorch writes in Python: they take what no schema can say, or return what depends on flags."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .. import _C
from .._core.overridable import overridable
from .._core.warn_once import warn_once
from .table import aten, class_name


def as_subclass(self: Any, cls: type) -> Any:
    """This tensor as an instance of ``cls``: a view of it, with its history.

    >>> torch.ones(1).as_subclass(torch.nn.Parameter).__class__.__name__
    'Parameter'
    """
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
    made._keep_class()
    return made


@overridable
def apply_(self: Any, callable: Any) -> Any:
    """Replace each element by what ``callable`` gives for it, a Python number. Slow, and on the CPU only.

    >>> torch.tensor([1.0, 2.0]).apply_(lambda value: value + 1)
    tensor([2., 3.])
    """
    return _each(self, "apply_", callable)


def _each(self: Any, name: str, callable: Any, *others: Any) -> Any:
    if self.requires_grad or any(other.requires_grad for other in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    names = ("argument 'x'", "argument 'y'") if len(others) > 1 else ("'other'",) * len(others)
    for argument, other in zip(names, others, strict=True):
        if other.dtype != self.dtype:
            wanted, came = (f"torch.{class_name(x.dtype)}Tensor" for x in (self, other))
            raise TypeError(f"{name}: expected {wanted} for {argument} (got {came})")
    columns = [x.expand(self.shape).reshape(-1).tolist() for x in (self, *others)]
    found = [callable(*values) for values in zip(*columns, strict=True)]
    for place, value in zip(self.view(-1) if self.is_contiguous() else _elements(self), found, strict=True):
        aten.fill_(place, value)
    return self


def _elements(x: Any) -> Any:
    return [x] if x.dim() == 0 else [item for row in aten.unbind(x) for item in _elements(row)]


@overridable
def lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """The LU factorisation: (LU, pivots), and with ``get_infos`` also the error codes (as ``torch.lu``).

    >>> factors, pivots = torch.eye(2).lu()
    >>> factors
    tensor([[1., 0.],
            [0., 1.]])
    """
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future "
        "PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\nand\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\nshould be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    factors, pivots, infos = aten.linalg_lu_factor_ex(self, pivot=pivot, check_errors=not get_infos)
    return (factors, pivots, infos) if get_infos else (factors, pivots)


@overridable
def map_(self: Any, tensor: Any, callable: Any) -> Any:
    """Replace each element by what ``callable`` gives for it and that of ``tensor``. Slow, and on the CPU only.

    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    return _each(self, "map_", callable, tensor)


@overridable
def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """As ``map_`` with two more tensors.

    >>> x = torch.tensor([1.0, 2.0])
    >>> x.map2_(torch.tensor([10.0, 20.0]), torch.tensor([3.0, 4.0]), lambda a, b, c: a + b * c)
    tensor([31., 82.])
    """
    return _each(self, "map2_", callable, x, y)


@overridable
def norm(self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The norm of all elements or along ``dim``; ``p`` is a number, "fro" or "nuc" (as in ``torch.norm``).

    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if p == "nuc":
        return aten.linalg_matrix_norm(self, "nuc", [-2, -1] if dims is None else dims, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return aten.linalg_vector_norm(self, 2.0 if p in (None, "fro") else p, dims, keepdim, dtype=dtype)


@overridable
def polygamma(self: Any, n: int) -> Any:
    """The ``n``-th derivative of digamma: the tensor is the operator's second argument.

    >>> torch.ones(1).polygamma(1)
    tensor([1.6449])
    """
    return aten.polygamma(n, self)


@overridable
def resize(self: Any, *sizes: int) -> Any:
    """The elements in other sizes: the old form of ``reshape``, which warns.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.arange(4).resize(2, 2).shape
    torch.Size([2, 2])
    """
    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    return _resized(self, sizes)


@overridable
def resize_as(self: Any, tensor: Any) -> Any:
    """The elements in the sizes of another tensor: the old form of ``view_as``, which warns.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.arange(4).resize_as(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    warnings.warn("non-inplace resize_as is deprecated", UserWarning, stacklevel=2)
    return _resized(self, tensor.shape)


def _resized(self: Any, sizes: Any) -> Any:
    if math.prod(sizes) != self.numel():
        asked, here = ("x".join(map(str, each)) for each in (sizes, self.shape))
        raise RuntimeError(
            f"requested resize to {asked} ({math.prod(sizes)} elements in total), but the given tensor has a size of {here} "
            f"({self.numel()} elements). autograd's resize can only change the shape of a given tensor, while preserving "
            "the number of elements. "
        )
    return self.contiguous().view(sizes)


@overridable
def stft(
    self: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The short-time Fourier transform of signals (T,) or (B, T) (as ``torch.stft``).

    >>> torch.ones(16).stft(n_fft=8, window=torch.ones(8), return_complex=True).shape
    torch.Size([5, 9])
    """
    signal = self
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        half = n_fft // 2
        rows = self.reshape([1] * (3 - self.dim()) + list(self.shape))
        padded = getattr(aten, _PADDINGS[pad_mode])(rows, [half, half])
        signal = padded.reshape([*self.shape[:-1], padded.size(-1)])
    return aten.stft(
        signal, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


_PADDINGS = {
    "reflect": "reflection_pad1d",
    "replicate": "replication_pad1d",
    "constant": "constant_pad_nd",
    "circular": "_pad_circular",
}


@overridable
def unique(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Distinct elements, or slices along ``dim`` (as ``torch.unique``).

    >>> torch.tensor([3, 1, 3]).unique()
    tensor([1, 3])
    """
    if dim is None:
        found = aten._unique2(self, sorted, return_inverse, return_counts)
    else:
        found = aten.unique_dim(self, dim, sorted, return_inverse, return_counts)
    return _wanted(found, return_inverse, return_counts)


@overridable
def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One element, or slice along ``dim``, of each run of equal neighbours (as ``torch.unique_consecutive``).

    >>> torch.tensor([3, 1, 1, 3]).unique_consecutive()
    tensor([3, 1, 3])
    """
    found = aten.unique_consecutive(self, return_inverse, return_counts, dim)
    return _wanted(found, return_inverse, return_counts)


@overridable
def where(self: Any, condition: Any, other: Any) -> Any:
    """This tensor where ``condition`` is True, ``other`` elsewhere: the tensor is the operator's second argument.

    >>> torch.tensor([1.0, -2.0]).where(torch.tensor([True, False]), torch.zeros(2))
    tensor([1., 0.])
    """
    return aten.where(condition, self, other)


def _wanted(found: tuple, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = found
    results = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return results if len(results) > 1 else values


def attach(tensor: type) -> None:
    """Give the tensor class these methods."""
    for function in (
        apply_,
        as_subclass,
        lu,
        map_,
        map2_,
        norm,
        polygamma,
        resize,
        resize_as,
        stft,
        unique,
        unique_consecutive,
        where,
    ):
        setattr(tensor, function.__name__, function)
