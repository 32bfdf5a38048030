"""`torch.sparse`: operators on sparse tensors. See docs/sparse.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import functools

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sparse.create import checks_invariants, set_checks_invariants
from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function
from mindtorch_v2.sparse._types import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "SparseSemiStructuredTensor",
    "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
    "to_sparse_semi_structured",
]

SparseSemiStructuredTensor = unavailable_class("torch.sparse.SparseSemiStructuredTensor")
SparseSemiStructuredTensorCUSPARSELT = unavailable_class("torch.sparse.SparseSemiStructuredTensorCUSPARSELT")
SparseSemiStructuredTensorCUTLASS = unavailable_class("torch.sparse.SparseSemiStructuredTensorCUTLASS")
as_sparse_gradcheck = unavailable_function("torch.sparse.as_sparse_gradcheck")
spsolve = unavailable_function("torch.sparse.spsolve")
to_sparse_semi_structured = unavailable_function("torch.sparse.to_sparse_semi_structured")


def mm(mat1: torch.Tensor, mat2: torch.Tensor, reduce: str | None = None) -> torch.Tensor:
    """The product of two matrices of which one is sparse, (n, k) and (k, m).

    With a dense matrix it is dense, of two sparse ones sparse. The gradient of a sparse matrix has values where the matrix
    has them, other than with `torch.mm`, which gives it a dense one.

    With `reduce` ("sum", "mean", "max" or "amax", "min" or "amin") a csr matrix times a dense one, whose terms are joined that way: only those
    of stored values; a row without any gives zeros.

    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> torch.sparse.mm(x, torch.ones(3, 1))
    tensor([[3.],
            [4.]])
    >>> torch.sparse.mm(torch.tensor([[1.0, 2.0], [0.0, 0.0]]).to_sparse_csr(), torch.ones(2, 1), "amax")
    tensor([[2.],
            [0.]])
    """
    return torch._sparse_mm(mat1, mat2) if reduce is None else torch._sparse_mm(mat1, mat2, reduce)


def sampled_addmm(
    input: torch.Tensor,
    mat1: torch.Tensor,
    mat2: torch.Tensor,
    *,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` where the csr matrix `input` (n, m) has values; `mat1` (n, k), `mat2` (k, m).

    The dense product is not computed. RuntimeError for other layouts, sizes or dtypes than these.

    >>> x = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(x, torch.ones(2, 3), torch.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    if out is None:
        return torch.ops.aten.sparse_sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return torch.ops.aten.sparse_sampled_addmm.out(input, mat1, mat2, beta=beta, alpha=alpha, out=out)


def spdiags(
    diagonals: torch.Tensor, offsets: torch.Tensor, shape: tuple[int, int], layout: torch.layout | None = None
) -> torch.Tensor:
    """A sparse matrix of these sizes, of some of its diagonals: element j of diagonal k stands at (j - offsets[k], j).

    Args:
        diagonals: (number of diagonals, length), or one diagonal (length).
        offsets: whole numbers (int64), a distinct one for each diagonal: 0 the main diagonal, 1 the one above.
        shape: rows and columns.
        layout: `torch.sparse_coo` (the default), `torch.sparse_csr` or `torch.sparse_csc`.

    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    return torch._spdiags(diagonals, offsets, shape, layout)


def addmm(
    mat: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> torch.Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, with `mat` dense and `mat1` sparse; gradients as those of `mm`.

    >>> torch.sparse.addmm(torch.zeros(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return torch._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: torch.Tensor, dim: Any = None, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The sum of a coordinate tensor, of all elements or over the dimensions `dim` (an int or several).

    The result is sparse as long as a sparse dimension is left.

    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> torch.sparse.sum(x)
    tensor(7.)
    """
    options = {} if dtype is None else {"dtype": dtype}
    return torch._sparse_sum(input, **options) if dim is None else torch._sparse_sum(input, dim, **options)


def softmax(input: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Softmax over a dimension of a coordinate tensor: what is not stored counts as minus infinity.

    >>> torch.sparse.softmax(torch.eye(2).to_sparse(), dim=1).to_dense()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return torch._sparse_softmax(input, dim, dtype=dtype)


def log_softmax(input: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The logarithm of `softmax`.

    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), dim=1).to_dense()
    tensor([[0., 0.],
            [0., 0.]])
    """
    return torch._sparse_log_softmax(input, dim, dtype=dtype)


class check_sparse_tensor_invariants:
    """Whether new sparse tensors are checked: indices against sizes, and what was promised of them. Off at first.

    As a context manager or decorator for a time, or with `enable()` and `disable()` from now on.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.0], (2,))
    Traceback (most recent call last):
        ...
    RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self._before: list[Any] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether they are checked now."""
        return checks_invariants()

    @staticmethod
    def enable() -> None:
        """Check them from now on."""
        set_checks_invariants(True)

    @staticmethod
    def disable() -> None:
        """Stop checking them from now on."""
        set_checks_invariants(False)

    def __enter__(self) -> None:
        self._before.append(checks_invariants())
        set_checks_invariants(self.state)

    def __exit__(self, *exception: Any) -> None:
        set_checks_invariants(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
