"""Elements picked and written by index tensors and masks."""

from ... import _C
from ..._core.autograd.function import DelayedError
from ..._core.dimensions import broadcast_sizes
from ..._core.dtype import DTYPES
from ..table import S, T, aten, like, not_recorded, op, rule


def _has_mask(self, indices) -> bool:
    """Whether an index is a mask, which stands for the positions where it holds."""
    return any(index is not None and index.dtype in (DTYPES["bool"], DTYPES["uint8"]) for index in indices)


def _zeros(grad, sizes):
    return grad.new_zeros(sizes)


def _index_backward(grad, self_sizes, indices):
    return aten.index_put_(grad.new_zeros(self_sizes), indices, grad, True)


def _index_put_self(grad, indices, accumulate):
    return grad if accumulate else aten.index_put(grad, indices, grad.new_zeros(()), False)


def _masked_select_backward(grad, self_sizes, mask):
    return aten.masked_scatter(grad.new_zeros(broadcast_sizes(self_sizes, mask.shape)), mask, grad)


def _masked_scatter_source(grad, mask, source_sizes):
    """The gradient of the elements that were used, zeros for the rest."""
    used = aten.masked_select(grad, mask)
    rest = 1
    for size in source_sizes:
        rest *= size
    rest -= used.numel()
    if rest > 0:
        used = aten.cat([used, used.new_zeros([rest])], 0)
    return used.reshape(source_sizes)


def _once_only(grad, zeros, name, argument):
    """The gradient of factors, to be differentiated no further where several zeros meet: each hides the others' share."""
    if not _C.is_grad_enabled() or grad.is_meta or not (zeros > 1).any().item():
        return grad
    message = (
        f"{name}(): Double backward is unsupported for {argument} when >1 zeros in {argument} are scattered to the same "
        "position in self"
    )
    return DelayedError(message, 1)(grad)


def _scatter_reduce_backward(grad, needs, self, dim, index, src, reduce, include_self, result) -> tuple:
    """Gradients of both inputs; `amax` and `amin` share theirs evenly among the elements that attain the result."""
    if reduce == "sum":
        grad_self, grad_src = grad, grad.gather(dim, index)
    elif reduce == "mean":
        count = aten.ones_like(grad) if include_self else aten.zeros_like(grad)
        count = aten.scatter_add(count, dim, index, aten.ones_like(src))
        count = count.masked_fill(count == 0, 1)
        grad_self = grad / count
        grad_src = (grad / count).gather(dim, index)
    elif reduce in ("amax", "amin"):
        value = result.gather(dim, index)
        self_hit = (self == result).to(grad.dtype)
        src_hit = (src == value).to(grad.dtype)
        share = grad / aten.scatter_add(self_hit, dim, index, src_hit)
        grad_self = share * self_hit
        grad_src = share.gather(dim, index) * src_hit
    else:
        masked_self = self.masked_fill(self == 0, 1)
        other = aten.scatter_reduce(masked_self, dim, index, src, "prod", include_self=include_self)
        grad_self = grad * other / masked_self
        zero = src == 0
        zeros = aten.scatter_add(aten.zeros_like(self), dim, index, zero.to(self.dtype)).gather(dim, index)
        lone = zero & (zeros == 1)
        without = aten.scatter_reduce(self, dim, index, src.masked_fill(lone, 1), "prod", include_self=include_self)
        grad_src = aten.where(
            lone, (grad * without).gather(dim, index), (grad * result).gather(dim, index) / src.masked_fill(zero, 1)
        )
        grad_src = _once_only(grad_src, zeros, "scatter_reduce", "src")
    if not include_self:
        grad_self = aten.scatter(grad_self, dim, index, 0)
    return grad_self, grad_src


def _index_reduce_backward(grad, self, dim, index, source, reduce, include_self, result) -> tuple:
    """As for scatter_reduce, on whole slices."""
    if reduce == "mean":
        count = aten.ones_like(grad) if include_self else aten.zeros_like(grad)
        count = aten.index_add(count, dim, index, aten.ones_like(source))
        count = count.masked_fill(count == 0, 1)
        grad_self = grad / count
        grad_source = (grad / count).index_select(dim, index)
    elif reduce in ("amax", "amin"):
        value = result.index_select(dim, index)
        self_hit = (self == result).to(grad.dtype)
        source_hit = (source == value).to(grad.dtype)
        share = grad / aten.index_add(self_hit, dim, index, source_hit)
        grad_self = share * self_hit
        grad_source = share.index_select(dim, index) * source_hit
    else:
        masked_self = self.masked_fill(self == 0, 1)
        other = aten.index_reduce(masked_self, dim, index, source, "prod", include_self=include_self)
        grad_self = grad * other / masked_self
        zero = source == 0
        zeros = aten.index_add(aten.zeros_like(self), dim, index, zero.to(self.dtype)).index_select(dim, index)
        lone = zero & (zeros == 1)
        without = aten.index_reduce(self, dim, index, source.masked_fill(lone, 1), "prod", include_self=include_self)
        grad_source = aten.where(
            lone,
            (grad * without).index_select(dim, index),
            (grad * result).index_select(dim, index) / source.masked_fill(zero, 1),
        )
        grad_source = _once_only(grad_source, zeros, "index_reduce", "source")
    if not include_self:
        grad_self = aten.index_fill(grad_self, dim, index, 0)
    return grad_self, grad_source


def _index_meta(self, indices):
    """Result on meta tensors: masks have a size that only data could tell."""
    shapes, dims = [], []
    for position, index in enumerate(indices):
        if index is not None:
            if str(index.dtype).rpartition(".")[2] in ("bool", "uint8"):
                raise NotImplementedError("index(): a mask gives a size that a meta tensor does not have")
            shapes.append(tuple(index.shape))
            dims.append(position)
    common: list[int] = []
    for shape in shapes:
        common = broadcast_sizes(common, shape)
    sizes = [s for d, s in enumerate(self.shape) if d not in dims]
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    at = dims[0] if adjacent else 0
    return self.new_empty(sizes[:at] + common + sizes[at:])


_ALL = "all"
_INDEX = T(4, dtype="int64", low=0, high=3)


def _gather_backward(grad, self_sizes, dim, index, sparse_grad):
    if sparse_grad and not self_sizes:
        return aten._sparse_coo_tensor_unsafe(index.new_empty([0, grad.numel()]), grad.reshape(-1), self_sizes)
    if sparse_grad:
        index, grad = (index, grad) if index.dim() else (index.reshape(1), grad.reshape(1))
        places = aten.nonzero(index == index).t().contiguous()
        places[dim] = index.reshape(-1)
        return aten._sparse_coo_tensor_unsafe(places, grad.reshape(-1), self_sizes)
    return aten.scatter_add_(_zeros(grad, self_sizes), dim, index, grad)


op(
    "_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)",
    "`index_put_` as formulas call it.",
    meta=like("self"),
    kernel="_index_put_impl",
    grad={
        "self": _index_put_self,
        "values": lambda grad, indices: aten.index(grad, indices),
    },
    devices={"indices": "host", "values": "number"},
)
op(
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "`index` by indices known to be in bounds.",
    linear="self",
    grad={"self": _index_backward},
    meta_kernel=_index_meta,
    devices={"indices": "host"},
)
op(
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "`index_put` by indices known to be in bounds.",
    meta=like("self"),
    grad={"self": _index_put_self, "values": lambda grad, indices: aten.index(grad, indices)},
    devices={"indices": "host", "values": "number"},
)
op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    "out[i][j] = self[index[i][j]][j] for dim 0, and so on.",
    bind="function method out",
    out_apart="self",
    out_dtype="exact",
    batching="dims",
    tags="core",
    linear="self",
    meta=rule("gather"),
    grad={"self": _gather_backward},
    samples=[
        S(T(3, 4), 1, T(3, 2, dtype="int64", low=0, high=4)),
        S(T(3, 4), 0, T(2, 4, dtype="int64", low=0, high=3)),
    ],
    dtypes=_ALL,
)
op(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "The elements at the positions that the index tensors name; what self[indices] calls.",
    bind="out",
    out_overload="Tensor_out",
    unlisted=True,
    tags="core dynamic_output_shape",
    out_tags="",
    linear="self",
    sizes_by_values=_has_mask,
    grad={"self": _index_backward},
    meta_kernel=_index_meta,
    devices={"indices": "host"},
    samples=[
        S(T(3, 4), [T(2, 2, dtype="int64", low=0, high=3)]),
        S(T(3, 4), [None, T(5, dtype="int64", low=0, high=4)]),
    ],
    dtypes=_ALL,
)
op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    "Slices of `source`, times alpha, added to the slices of `self` that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    meta=like("self"),
    grad={
        "self": lambda grad: grad,
        "source": lambda grad, dim, index, alpha: grad.index_select(dim, index) * alpha,
    },
    samples=[S(T(3, 4), 0, _INDEX, T(4, 4)), S(T(3, 4), 1, T(2, dtype="int64", low=0, high=4), T(3, 2), alpha=2)],
    dtypes=_ALL,
)
op(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    "The slices that `index` names, replaced by those of `source`.",
    bind="function method inplace out",
    out_dtype="exact",
    autocast="promote",
    meta=like("self"),
    grad={
        "self": lambda grad, dim, index: grad.index_fill(dim, index, 0),
        "source": lambda grad, dim, index: grad.index_select(dim, index),
    },
    samples=[S(T(3, 4), 1, T(1, dtype="int64", low=0, high=4), T(3, 1))],
    dtypes=_ALL,
)
op(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    "The slices that `index` names, filled with a number.",
    bind="function method inplace generated_out",
    meta=like("self"),
    grad={"self": lambda grad, dim, index: grad.index_fill(dim, index, 0)},
    samples=[S(T(3, 4), 0, T(2, dtype="int64", low=0, high=3), 2)],
    dtypes=_ALL,
    written_twice="tensor[mask] = scalar",
)
op(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    "The slices that `index` names, filled with the value of a 0-dim tensor.",
    bind="function method inplace generated_out",
    meta=like("self"),
    grad={
        "self": lambda grad, dim, index: grad.index_fill(dim, index, 0),
        "value": lambda grad, dim, index: grad.index_select(dim, aten._unique(index, False)[0]).sum(),
    },
    devices={"value": "number"},
    samples=[S(T(3, 4), 1, T(3, dtype="int64", data=[1, 1, 3]), T())],
    written_twice="tensor[mask] = scalar",
)
op(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    "`values` put (or added) at the positions that the index tensors name.",
    bind="function method inplace generated_out",
    tags="core",
    meta=like("self"),
    grad={"self": _index_put_self, "values": lambda grad, indices: aten.index(grad, indices)},
    devices={"indices": "host", "values": "number"},
    samples=[
        S(T(3, 4), [T(2, dtype="int64", low=0, high=3)], T(4), True),
        S(T(3, 4), [None, T(1, dtype="int64", low=0, high=4)], T(3, 1)),
    ],
    dtypes=_ALL,
    written_twice="tensor[indices] = tensor",
)
op(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    "Slices of `source` reduced (prod, mean, amax, amin) into the slices of `self` that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    meta=like("self"),
    grad={("self", "source"): _index_reduce_backward},
    samples=[S(T(3, 4), 0, _INDEX, T(4, 4), "amax"), S(T(3, 4), 0, _INDEX, T(4, 4), "mean", include_self=False)],
)
op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    "The slices along `dim` that `index` names.",
    bind="function method out",
    out_apart="self index",
    out_dtype="index_select(): self and result must have the same scalar type",
    tags="core",
    linear="self",
    meta=rule("index_select"),
    grad={"self": lambda grad, self_sizes, dim, index: aten.index_add_(_zeros(grad, self_sizes), dim, index, grad)},
    samples=[S(T(3, 4), 0, _INDEX), S(T(3, 4), 1, T(2, dtype="int64", low=0, high=4))],
    dtypes=_ALL,
)
op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    "The elements under the mask, replaced by those of `source` one after the other.",
    bind="function method inplace out",
    out_dtype="exact",
    tags="core",
    out_tags="generated",
    meta=rule("masked_scatter"),
    grad={
        "self": lambda grad, mask: grad.masked_fill(mask, 0),
        "source": _masked_scatter_source,
    },
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), T(12))],
    dtypes=_ALL,
)
op(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    "The elements under the mask, one-dimensional.",
    bind="function method out",
    out_apart="self mask",
    out_dtype="masked_select(): self and result must have the same scalar type",
    batching="refused",
    tags="dynamic_output_shape",
    linear="self",
    grad={"self": _masked_select_backward},
    samples=[S(T(3, 4), T(3, 4, dtype="bool"))],
    dtypes=_ALL,
)
op(
    "nonzero(Tensor self) -> Tensor",
    "The positions of the elements that are not zero, one row each.",
    bind="method out",
    out_dtype="nonzero: Expected out tensor to have scalar type Long but got scalar type{out}",
    batching="refused",
    tags="core dynamic_output_shape",
    grad=None,
    samples=[S(3, 4)],
    dtypes=_ALL,
)
op(
    "nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    "`nonzero` cut or filled up to `size` rows.",
    bind="function method out",
    out_dtype="nonzero_static: Expected out tensor to have scalar type Long but got scalar type{out}",
    meta=rule("nonzero_static"),
    grad=None,
    samples=[S(T(3, 4), size=5)],
)
op(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    "`source` put (or added) at positions of the flattened tensor.",
    bind="function method inplace generated_out",
    meta=like("self"),
    grad={
        "self": lambda grad, index, accumulate: (
            grad if accumulate else aten.put(grad, index, index.new_zeros(index.shape, dtype=grad.dtype))
        ),
        "source": lambda grad, index, source_sizes: grad.take(index).reshape(source_sizes),
    },
    samples=[S(T(3, 4), T(2, dtype="int64", low=0, high=12), T(2), True)],
    dtypes=_ALL,
)
op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    "`src` added to or multiplied into the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    meta=rule("scatter", "self"),
    grad={("self", "src"): not_recorded("scatter")},
    node="NotImplemented",
    samples=[S(T(3, 4, grad=False), 1, T(3, 2, dtype="int64", low=0, high=4), T(3, 2, grad=False), reduce="add")],
)
op(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    "`src` written to the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    linear="self src",
    meta=rule("scatter", "self"),
    grad={
        "self": lambda grad, dim, index: aten.scatter(grad, dim, index, 0),
        "src": lambda grad, dim, index: grad.gather(dim, index),
    },
    samples=[S(T(3, 4), 1, T(3, 1, dtype="int64", low=0, high=4), T(3, 2))],
    dtypes=_ALL,
)
op(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    "A number written to the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("scatter", "self"),
    grad={"self": lambda grad, dim, index: aten.scatter(grad, dim, index, 0)},
    samples=[S(T(3, 4), 1, T(3, 2, dtype="int64", low=0, high=4), 2)],
    dtypes=_ALL,
)
op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    "A number added to or multiplied into the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    meta=rule("scatter", "self"),
    grad={"self": not_recorded("scatter")},
    node="NotImplemented",
)
op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    "`src` added to the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("scatter", "self"),
    grad={"self": lambda grad: grad, "src": lambda grad, dim, index: grad.gather(dim, index)},
    samples=[S(T(3, 4), 1, T(3, 2, dtype="int64", low=0, high=4), T(3, 2))],
    dtypes=_ALL,
)
op(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    "`src` reduced (sum, prod, mean, amax, amin) into the positions that `index` names.",
    bind="function method inplace out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("scatter", "self"),
    grad={("self", "src"): _scatter_reduce_backward},
    samples=[
        S(T(3, 4), 1, T(3, 2, dtype="int64", low=0, high=4), T(3, 2), "sum"),
        S(T(3, 4), 1, T(3, 2, dtype="int64", low=0, high=4), T(3, 2), "amax"),
        S(T(3, 4), 0, T(2, 4, dtype="int64", low=0, high=3), T(2, 4), "mean", include_self=False),
    ],
)
op(
    "take(Tensor self, Tensor index) -> Tensor",
    "Elements by their position in the flattened tensor.",
    bind="function method out",
    out_apart="self index",
    out_dtype="take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = "
    "{out}",
    linear="self",
    meta=rule("take"),
    grad={"self": lambda grad, self_sizes, index: aten.put(_zeros(grad, self_sizes), index, grad, True)},
    samples=[S(T(3, 4), T(2, 2, dtype="int64", low=0, high=12))],
    dtypes=_ALL,
)
