"""Gradients of operators that pick, order, multiply up or scatter elements, and of a few others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.autograd.backward import grad
from ..._core.autograd.grad_mode import enable_grad
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor

_INDEX = {"dtype": "int64", "low": 0, "high": 3}


def by_recording(function: Any, inputs: Any, grads: Any) -> list:
    """The gradients of `function(*inputs)` for those inputs that are marked as wanting them; None for the others.

    `inputs` are pairs of a tensor and the mark. The call is recorded for this alone.
    """
    include, exclude = keys = _C._tls_keys()
    _C._set_tls_keys(include, exclude & ~_AUTOGRAD)  # kernels of other operators may have called
    try:
        return _recorded(function, inputs, grads)
    finally:
        _C._set_tls_keys(*keys)


_AUTOGRAD = _C._key_bit("AutogradCPU") | _C._key_bit("AutogradCUDA") | _C._key_bit("ADInplaceOrView")


def _recorded(function, inputs, grads) -> list:
    with enable_grad():
        values = [x if x is None or not wanted else x.detach().requires_grad_() for x, wanted in inputs]
        results = function(*values)
        wanted = [x for x in values if x is not None and x.requires_grad]
        found = iter(grad(results, wanted, grads, allow_unused=True) if wanted else ())
    return [next(found) if x is not None and mark else None for x, mark in inputs]


@composite(
    "trace_backward(Tensor grad, SymInt[] sizes) -> Tensor",
    "The gradient of `trace`, as a matrix of these sizes.",
    samples=[S(T(), [3, 4])],
)
def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    if len(sizes) != 2:
        raise RuntimeError("expected matrix input")
    ones = grad.new_zeros([]).expand(list(sizes)).clone(memory_format=_C.contiguous_format)
    return aten.diagonal_scatter(ones, grad.expand([min(sizes)]))


@composite(
    "masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor",
    "The gradient of the source of `masked_scatter`, in its sizes.",
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), [3, 4])],
)
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    numel = 1
    for size in sizes:
        numel *= size
    if grad_output.is_meta:
        return grad_output.new_empty(list(sizes))
    picked = aten.masked_select(grad_output, mask)
    missing = numel - picked.numel()
    if missing > 0:  # the mask took the first elements only
        picked = aten.cat([picked, picked.new_zeros([missing])])
    return picked.view(list(sizes))


@composite(
    "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor",
    "The gradient of a reduction that picks one element along `dim`.",
    samples=[S(T(3), 1, T(3, **_INDEX), [3, 4], False), S(T(1, 4), 0, T(1, 4, **_INDEX), [3, 4], True)],
)
def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool
) -> Tensor:
    if not keepdim and sizes:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return aten.scatter(grad.new_zeros(list(sizes)), dim, indices, grad)


@composite(
    "gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor",
    "The gradient of `gather`, as a sparse tensor if that is asked for.",
    samples=[S(T(3, 4), T(3, 4), 0, T(3, 4, **_INDEX), False)],
)
def gather_backward(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    if sparse_grad:
        return aten._gather_sparse_backward(self, dim, index, grad)
    return aten.scatter_add(grad.new_zeros(self.shape), dim, index, grad)


@composite(
    "_gather_sparse_backward(Tensor self, int dim, Tensor index, Tensor grad) -> Tensor",
    "The gradient of `gather`, as a sparse tensor with the elements in their order.",
    samples=None,
)
def _gather_sparse_backward(self, dim, index, grad):
    dim = dim + self.dim() if dim < 0 else dim
    if not self.dim():
        at = index.new_empty([0, grad.numel()])
        return aten._sparse_coo_tensor_unsafe(at, grad.reshape([-1]), self.shape)
    if not grad.dim():
        at = aten.reshape(index, [1, 1])
        return aten._sparse_coo_tensor_unsafe(at, grad.reshape([1]), self.shape)
    rows = []
    for place, size in enumerate(grad.shape):
        if place == dim:
            rows.append(index.reshape([-1]))
            continue
        shape = [size if i == place else 1 for i in range(grad.dim())]
        counted = aten.arange(size, device=grad.device).reshape(shape)
        rows.append(counted.expand(grad.shape).reshape([-1]))
    return aten._sparse_coo_tensor_unsafe(aten.stack(rows), grad.reshape([-1]), self.shape)


@composite(
    "cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor",
    "The gradient of `cummax` and `cummin`.",
    samples=[S(T(3, 4), T(3, 4, grad=False), T(3, 4, **_INDEX), 0)],
)
def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    if not input.numel():
        return input
    return aten.scatter_add(aten.zeros_like(input), dim, indices, grad)


@composite(
    "cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor",
    "The gradient of `cumprod`, which gave `output`.",
    samples=None,  # what it gives for an output that is another follows from no rule
)
def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    if not input.dim() or input.numel() <= 1:
        return grad
    if input.is_meta or not aten.eq(input, 0).any().item():
        after = (grad * output.conj()).flip([dim]).cumsum(dim).flip([dim])
        return after / input.conj()
    # Products of all but one: of those before it, and of those between it and each later one.
    n = input.size(dim)
    parts = []
    for place in range(n):
        before = input.narrow(dim, 0, place).prod(dim, keepdim=True)
        later = input.narrow(dim, place + 1, n - place - 1)
        between = aten.cat([aten.ones_like(before), later.cumprod(dim)], dim)
        weight = (before * between).conj()
        parts.append((grad.narrow(dim, place, n - place) * weight).sum(dim, keepdim=True))
    return aten.cat(parts, dim)


@composite(
    "embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq,"
    " bool sparse) -> Tensor",
    "The gradient of `embedding`, dense or sparse.",
    samples=[S(T(5, 3), T(5, dtype="int64", low=0, high=4), 4, -1, False, False)],
)
def embedding_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    name = "embedding_sparse_backward" if sparse else "embedding_dense_backward"
    return getattr(aten, name)(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


@composite(
    "_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size,"
    " Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse,"
    " Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
    "The gradient of `embedding_bag`, dense or sparse.",
    explicit=True,
)
def _embedding_bag_backward(
    grad,
    indices,
    offsets,
    offset2bag,
    bag_size,
    maximum_indices,
    num_weights,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    padding_idx=-1,
):
    if not offset2bag.numel():  # what a forward pass that kept none of it leaves
        at, ones = offsets.to(indices.dtype), aten.ones_like(indices)
        count = indices.new_zeros([indices.size(0) + 1]).index_add(0, at, aten.ones_like(at))
        offset2bag = count.narrow(0, 0, indices.size(0)).cumsum(0).to(indices.dtype) - ones
    if sparse:
        return aten._embedding_bag_sparse_backward(
            grad, indices, offsets, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx
        )  # fmt: skip
    return aten._embedding_bag_dense_backward(
        grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights,
        padding_idx,
    )  # fmt: skip


@composite(
    "_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor",
    "The gradient of `_pack_padded_sequence`: every step's rows, with zeros behind them.",
    samples=None,
)
def _pack_padded_sequence_backward(grad, input_size, batch_sizes, batch_first):
    sizes = list(input_size)
    if batch_first:
        sizes[:2] = sizes[1], sizes[0]
    steps, at = [], 0
    for count in batch_sizes.tolist():
        step = grad.narrow(0, at, count)
        if count < sizes[1]:
            step = aten.cat([step, grad.new_zeros([sizes[1] - count, *sizes[2:]])])
        steps.append(step)
        at += count
    for _ in range(sizes[0] - len(steps)):
        steps.append(grad.new_zeros(sizes[1:]))
    padded = aten.stack(steps)
    return padded.transpose(0, 1) if batch_first else padded


@composite(
    "matrix_exp_backward(Tensor self, Tensor grad) -> Tensor",
    "The gradient of `matrix_exp`: a part of the exponential of a matrix twice as large.",
    samples=[S(T(3, 3), T(3, 3))],
    dtypes="float",
)
def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    n = self.size(-1)
    turned = self.mH
    above = aten.cat([turned, grad], -1)
    below = aten.cat([aten.zeros_like(turned), turned], -1)
    return aten.matrix_exp(aten.cat([above, below], -2)).narrow(-2, 0, n).narrow(-1, n, n)


@composite(
    "to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor",
    "The gradient of `to_dense`: of a sparse input where it has elements, or wherever there is one if it is not masked.",
    samples=None,
)
def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: bool | None = None) -> Tensor:
    if input.layout == _C.strided:
        return grad.to(input.dtype)
    if masked_grad is False:
        return grad.to_sparse(input.sparse_dim()) if input.is_sparse else grad.to_sparse(layout=input.layout)
    return aten.sparse_mask(grad, input.coalesce() if input.is_sparse else input)
