"""Functions of `torch.*` that are composed in Python rather than being one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

import functools
import itertools
import operator
import string

import mindtorch_v2 as torch
from mindtorch_v2._core import tracer
from mindtorch_v2._core.dimensions import wrap_dim
from mindtorch_v2._core.overridable import overridable, overridable_as
from mindtorch_v2._core.warn_once import warn_once
from mindtorch_v2._lowrank import pca_lowrank, svd_lowrank
from mindtorch_v2.functional import _einsum

if TYPE_CHECKING:
    from mindtorch_v2._core.dtype import Size


__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "dsmm",
    "einsum",
    "gradient",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "spmm",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def _sequence(tensors):
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _atleast(name, tensors, grow) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], torch.Tensor):
        return grow(tensors[0])
    tensors = _sequence(tensors)
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(
                f"{name}(): argument 'tensors' must be tuple of Tensors, but found element of type "
                f"{type(tensor).__name__}"
            )
    return tuple(grow(tensor) for tensor in tensors)


def _grow_1d(tensor) -> torch.Tensor:
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def _grow_2d(tensor) -> torch.Tensor:
    return tensor.reshape(1, 1) if tensor.dim() == 0 else tensor.unsqueeze(0) if tensor.dim() == 1 else tensor


def _grow_3d(tensor):
    if tensor.dim() == 0:
        return tensor.reshape(1, 1, 1)
    if tensor.dim() == 1:
        return tensor.unsqueeze(0).unsqueeze(-1)
    return tensor.unsqueeze(-1) if tensor.dim() == 2 else tensor


@overridable
def atleast_1d(*tensors: Any) -> Any:
    """Each tensor with at least one dimension: scalars become shape (1,). One tensor in, one out; else a tuple.

    >>> torch.atleast_1d(torch.tensor(1.0))
    tensor([1.])
    """
    return _atleast("atleast_1d", tensors, _grow_1d)


@overridable
def atleast_2d(*tensors: Any) -> Any:
    """Each tensor with at least two dimensions, new ones in front.

    >>> torch.atleast_2d(torch.tensor(1.0))
    tensor([[1.]])
    """
    return _atleast("atleast_2d", tensors, _grow_2d)


@overridable
def atleast_3d(*tensors: Any) -> Any:
    """Each tensor with at least three dimensions: (n,) becomes (1, n, 1), (n, m) becomes (n, m, 1).

    >>> torch.atleast_3d(torch.tensor(1.0))
    tensor([[[1.]]])
    """
    return _atleast("atleast_3d", tensors, _grow_3d)


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to; an int n is the shape (n,).

    Raises RuntimeError if they do not fit.

    >>> broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[Any] = []
    for position, shape in enumerate(shapes):
        sizes = [shape] if isinstance(shape, int) else list(shape)
        if any(size < 0 for size in sizes):
            negative = next(size for size in sizes if size < 0)
            raise RuntimeError(f"Trying to create tensor with negative dimension ({negative}): ({negative})")
        result = [1] * (len(sizes) - len(result)) + result
        for i in range(-1, -1 - len(sizes), -1):
            if sizes[i] == 1 or sizes[i] == result[i]:
                continue
            if result[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {sizes[i]} at {i}! Mismatching argument at index "
                    f"{position} had {tuple(sizes) if isinstance(shape, int) else shape}; but expected shape should be broadcastable to {result}"
                )
            result[i] = sizes[i]
    return torch.Size(result)


@overridable
def broadcast_tensors(*tensors: torch.Tensor) -> tuple:
    """The tensors, expanded to their common shape (views).

    >>> torch.broadcast_tensors(torch.ones(2, 1), torch.zeros(2))
    (tensor([[1., 1.],
            [1., 1.]]), tensor([[0., 0.],
            [0., 0.]]))
    """
    tensors = _sequence(tensors)
    return tuple(torch._VF.broadcast_tensors(tensors))


@overridable
def block_diag(*tensors: Any) -> torch.Tensor:
    """A matrix with the given matrices (scalars, vectors as rows) along its diagonal.

    >>> torch.block_diag(torch.ones(1, 2), torch.ones(1, 1))
    tensor([[1., 1., 0.],
            [0., 0., 1.]])
    """
    blocks = [_grow_2d(tensor) for tensor in tensors] or [torch.empty(1, 0)]
    for i, block in enumerate(blocks):
        if block.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{i} has {block.dim()} dimensions"
            )
    dtype = functools.reduce(torch.promote_types, (block.dtype for block in blocks))
    width = sum(block.shape[1] for block in blocks)
    rows, left = [], 0
    for block in blocks:
        block = block.to(dtype)
        height, right = block.shape[0], width - left - block.shape[1]
        rows.append(torch.cat([block.new_zeros(height, left), block, block.new_zeros(height, right)], 1))
        left += block.shape[1]
    return torch.cat(rows, 0)


@overridable
def cartesian_prod(*tensors: torch.Tensor) -> torch.Tensor:
    """Every combination of elements of the vectors, one a row; of one vector: itself.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = _sequence(tensors)
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return torch.stack([grid.flatten() for grid in grids], dim=1)


@overridable
def cdist(
    x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> torch.Tensor:
    """Distances in the p-norm between each row of `x1` (..., P, M) and each of `x2` (..., R, M): (..., P, R).

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return torch._VF.cdist(x1, x2, p, modes[compute_mode])


@overridable
def chain_matmul(*matrices: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """The product of the matrices, in the order that multiplies least.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1))
    tensor([[12.],
            [12.]])
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    product: Any = torch._VF.chain_matmul  # the stub does not have `out`
    return product(_sequence(matrices), out=out)


def einsum(*args: Any) -> torch.Tensor:
    """Sums of products by Einstein's notation: `einsum("bij,bjk->bik", a, b)`, or with lists of ints for subscripts.

    Operands are contracted from left to right. Raises ValueError or RuntimeError for equations that do not fit.

    >>> torch.einsum("ij,j->i", torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2))
    tensor([3., 7.])
    """
    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])  # those who take the call over see it with its operands apart
    return _einsum_of(*args)


@overridable_as("einsum")
def _einsum_of(*args: Any) -> torch.Tensor:
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
    else:
        equation, operands = _equation_of_lists(args)
    if tracer.records_here():  # as one operator, which PyTorch's is
        return torch.ops.aten.einsum(equation, operands)
    return _einsum.contract(equation, operands)


def _equation_of_lists(args) -> tuple:
    letters = string.ascii_uppercase + string.ascii_lowercase

    def text(subscripts: Any) -> str:
        parts = []
        for subscript in subscripts:
            if subscript is Ellipsis:
                parts.append("...")
            elif 0 <= subscript < len(letters):
                parts.append(letters[subscript])
            else:
                raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join(parts)

    equation = ",".join(text(subscripts) for subscripts in args[1::2])
    if len(args) % 2 == 1:
        return equation + "->" + text(args[-1]), args[:-1:2]
    return equation, args[::2]


@overridable
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[torch.Tensor, ...]:
    """Coordinates of a grid: of N vectors, N tensors of N dimensions.

    `indexing` "ij" keeps the order of the vectors (the default), "xy" swaps the first two dimensions.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    vectors = list(_sequence(tensors))
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in vectors:
        if tensor.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor!r}")
    if any(tensor.dtype != vectors[0].dtype for tensor in vectors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(tensor.device != vectors[0].device for tensor in vectors):
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    swapped = indexing == "xy" and len(vectors) >= 2
    if swapped:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    shape = [tensor.numel() for tensor in vectors]
    grids = [
        tensor.reshape([-1 if i == j else 1 for j in range(len(vectors))]).expand(shape)
        for i, tensor in enumerate(vectors)
    ]
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@overridable
def norm(
    input: torch.Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    out: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """The norm of a tensor: of vectors over `dim` (one or several), or of all elements.

    `p` is a number, inf, -inf, "fro" (the square root of the sum of squares) or "nuc" (the sum of singular values of
    matrices). `torch.linalg.vector_norm` and `matrix_norm` are the newer functions.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if dim is not None:
        dims = [dim] if isinstance(dim, int) else list(dim)
    else:
        dims = None
    if p == "nuc":
        matrix_dims = (-2, -1) if dims is None else tuple(dims)
        if len(matrix_dims) != 2 or (dims is None and input.dim() != 2):
            raise RuntimeError(
                f"norm with p='nuc' expects two dimensions, but got dim={dim} of a {input.dim()}D tensor"
            )
        return torch.linalg.matrix_norm(input, "nuc", matrix_dims, keepdim, dtype=dtype, out=out)
    if p == "fro":
        p = 2.0
    elif isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return torch.linalg.vector_norm(input, 2.0 if p is None else p, dims, keepdim, dtype=dtype, out=out)


@overridable
def split(tensor: torch.Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[torch.Tensor, ...]:
    """Views of the tensor, in pieces of `split_size_or_sections` along `dim` (the last may be smaller), or of the
    sizes in that list.

    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    return tensor.split(split_size_or_sections, dim)


def dsmm(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """The matrix product, under another name that PyTorch gives it for a sparse `input` (n, m).

    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return torch.mm(input, mat2)


def spmm(input: torch.Tensor, mat2: torch.Tensor) -> torch.Tensor:
    """The matrix product, under the name that PyTorch gives it for a sparse `input` (n, m).

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return torch.mm(input, mat2)


@overridable
def stft(
    input: torch.Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> torch.Tensor:
    """The short-time Fourier transform of signals (T,) or (B, T): (B?, N, frames), complex.

    `center` pads both ends by n_fft // 2 in `pad_mode`. `hop_length` defaults to n_fft // 4.

    >>> torch.stft(torch.ones(16), n_fft=8, window=torch.ones(8), return_complex=True).shape
    torch.Size([5, 9])
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        signal_dim = input.dim()
        extended = [1] * (3 - signal_dim) + list(input.size())
        pad = n_fft // 2
        input = torch.nn.functional.pad(input.view(extended), [pad, pad], pad_mode)
        input = input.view(input.shape[-signal_dim:])
    return torch._VF.stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


def _slope_weights(spacing, dim, like) -> tuple:
    """Weights of the three points of an inner slope where they are not even, and the two outer distances, along a dimension."""
    if isinstance(spacing, torch.Tensor):
        steps = spacing.diff()
        left, right = steps[:-1], steps[1:]
        both = left + right
        weights = (-right / (left * both), (right - left) / (left * right), left / (right * both))
        sizes = [-1 if d == dim else 1 for d in range(like.dim())]
        n = len(steps)
        return [w.reshape(sizes) for w in weights], [steps[i] for i in (0, min(1, n - 1), max(0, n - 2), n - 1)]
    return [], [spacing] * 4


def _slope(input, dim, spacing, edge_order) -> torch.Tensor:
    n = input.size(dim)
    weights, steps = _slope_weights(spacing, dim, input)
    at = [input.narrow(dim, i, 1) for i in (0, 1, 2, n - 3, n - 2, n - 1) if 0 <= i < n]
    parts = [input.narrow(dim, i, n - 2) for i in range(3)] if n > 2 else []
    if edge_order == 1:
        first, last = (at[1] - at[0]) / steps[0], (at[-1] - at[-2]) / steps[-1]
    elif not isinstance(spacing, torch.Tensor):
        first = (-1.5 * at[0] + 2.0 * at[1] - 0.5 * at[2]) / spacing
        last = (0.5 * at[-3] - 2.0 * at[-2] + 1.5 * at[-1]) / spacing
    else:
        a, b = steps[0], steps[1]
        first = -(2 * a + b) / (a * (a + b)) * at[0] + (a + b) / (a * b) * at[1] - a / (b * (a + b)) * at[2]
        a, b = steps[-2], steps[-1]
        last = b / (a * (a + b)) * at[-3] - (a + b) / (a * b) * at[-2] + (a + 2 * b) / (b * (a + b)) * at[-1]
    if not parts:
        return torch.cat([first, last], dim)
    if isinstance(spacing, torch.Tensor):
        inner = sum(w * part for w, part in zip(weights, parts, strict=True))
    else:
        inner = (parts[2] - parts[0]) / (2 * spacing)  # the point itself has no part in it, were it infinite
    return torch.cat([first, inner, last], dim)


@overridable
def gradient(
    input: torch.Tensor, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple:
    """Slopes along each dimension in `dim` (all by default), from differences of neighbours: a tuple of tensors.

    `spacing` is one distance, a distance for each dimension, or a tensor of coordinates for each; `edge_order` 2 takes three
    points at the ends.

    Example::

        >>> import mindtorch_v2 as torch
        >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
        (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, input.dim()) for d in dims]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        if input.size(d) < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if not isinstance(spacing, (list, tuple)):
        spacing = [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        if dim is None:
            wanted = (
                f", or a list of length equal to 'self.dim() = {input.dim()}', since dim argument was not given, but got a "
                f"list of length {len(spacing)}"
            )
        else:
            wanted = (
                " or it's spacing and dim arguments to have the same length, but got a spacing argument of length "
                f"{len(spacing)} and a dim argument of length {len(dims)}."
            )
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar{wanted}")
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(torch.get_default_dtype())
    return tuple(_slope(input, d, h, edge_order) for d, h in zip(dims, spacing, strict=True))


def istft(*args: Any, **kwargs: Any) -> torch.Tensor:
    """The inverse of `stft`.

    >>> window = torch.ones(8)
    >>> spectrum = torch.stft(torch.ones(16), n_fft=8, window=window, return_complex=True)
    >>> torch.istft(spectrum, n_fft=8, window=window).shape
    torch.Size([16])
    """
    return torch._VF.istft(*args, **kwargs)


@overridable
def lu(A: torch.Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[torch.Tensor, ...]:
    """The LU factorisation: (LU, pivots), and with `get_infos` also the error codes.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     LU, pivots = torch.lu(torch.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> LU, pivots
    (tensor([[4.0000, 4.0000],
            [0.2500, 1.0000]]), tensor([2, 2], dtype=torch.int32))
    """
    LU, pivots, infos = A.lu(pivot, get_infos=True) if get_infos else (*A.lu(pivot), None)
    result = (LU, pivots, infos) if get_infos else (LU, pivots)
    if out is None:
        return result
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    for target, value in zip(out, result):
        target.resize_as_(value).copy_(value)
    return out


@overridable
def tensordot(a: torch.Tensor, b: torch.Tensor, dims: Any = 2, out: torch.Tensor | None = None) -> torch.Tensor:
    """Contract the last `dims` dimensions of `a` with the first of `b`, or the two lists of dimensions in `dims`.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, torch.Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = ([each] if isinstance(each, int) else list(each) for each in dims)
    else:
        dims = operator.index(dims)
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    if out is None:
        return torch._VF.tensordot(a, b, dims_a, dims_b)
    return torch._VF.tensordot(a, b, dims_a, dims_b, out=out)


def _results(values, inverse, counts, return_inverse, return_counts):
    chosen = [values] + ([inverse] if return_inverse else []) + ([counts] if return_counts else [])
    return tuple(chosen) if len(chosen) > 1 else values


@overridable
def unique(
    input: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along `dim`), and on request where each input went and how often each comes.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_inverse=True, return_counts=True)
    (tensor([1, 3]), tensor([1, 0, 1]), tensor([1, 2]))
    """
    if dim is None:
        results: Any = torch._unique2(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    else:
        results = torch._VF.unique_dim(input, dim, sorted, return_inverse, return_counts)
    values, inverse, counts = results
    return _results(values, inverse, counts, return_inverse, return_counts)


@overridable
def unique_consecutive(
    input: torch.Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) without those equal to the one before them; extras as `unique`'s.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]), return_counts=True)
    (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    results: Any = torch._VF.unique_consecutive(input, return_inverse, return_counts, dim)
    values, inverse, counts = results
    return _results(values, inverse, counts, return_inverse, return_counts)


@overridable
def unravel_index(indices: torch.Tensor, shape: int | Sequence[int]) -> tuple[torch.Tensor, ...]:
    """Coordinates in an array of `shape` of flat `indices`: one tensor for each dimension.

    Raises ValueError for a shape with a negative size, TypeError for indices that are no integers.

    >>> torch.unravel_index(torch.tensor([5]), (2, 3))
    (tensor([1]), tensor([2]))
    """
    if indices.is_floating_point() or indices.is_complex() or indices.dtype == torch.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, (int, torch.SymInt)):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    strides = [1, *itertools.accumulate(reversed(sizes), operator.mul)][-2::-1]
    rows = torch.tensor([strides, sizes], dtype=torch.int64, device=indices.device)
    return torch.remainder(indices.unsqueeze(-1).floor_divide(rows[0]), rows[1]).unbind(-1)


def __getattr__(name: str) -> Any:
    if name == "F":  # by which PyTorch's own module knows torch.nn.functional
        return torch.nn.functional
    raise AttributeError(f"module 'torch.functional' has no attribute {name!r}")
