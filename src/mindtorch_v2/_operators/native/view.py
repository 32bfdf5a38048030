"""Views: other sizes and strides over the same storage, their gradients, and operators that write through a view."""

from ... import _C
from ..._core.autograd import batched
from ..table import S, T, aten, op, rule


def _reshaped_tangent(self_t, size):
    return self_t.reshape(size)  # a tangent may lie in memory in another order


def _as_strided_tangent(self, self_t, size, stride, storage_offset):
    """as_strided of a tangent, laid out first as its tensor is."""
    if batched.levels_of(self_t):
        raise NotImplementedError("forward AD of as_strided with a tangent that vmap maps over is not implemented")
    start = self.storage_offset()
    wanted = start if storage_offset is None else storage_offset
    first = min(start, wanted)
    span = max(_reach(self.shape, self.stride(), start - first), _reach(size, stride, wanted - first))
    memory = aten.zeros([span], dtype=self_t.dtype, device=self_t.device)
    if _overlaps(self.shape, self.stride()):  # as of expand: what lies at one place has one tangent
        places = aten.arange(span, device=self_t.device).as_strided(self.shape, self.stride(), start - first)
        memory = memory.index_put([places.reshape(-1)], self_t.reshape(-1))
    else:
        memory.as_strided(self.shape, self.stride(), start - first).copy_(self_t)
    return memory.as_strided(size, stride, wanted - first)


def _inverse(dims):
    """The permutation that undoes ``dims``."""
    n = len(dims)
    result = [0] * n
    for i, d in enumerate(dims):
        result[d % n] = i
    return result


def _unsqueeze_back(grad, sizes, dims):
    """Dimensions of size one that a squeeze took away, put back."""
    n = len(sizes)
    for d in sorted(d % n for d in dims) if n else ():
        if sizes[d] == 1:
            grad = grad.unsqueeze(d)
    return grad


def _gathered(grads, sizes, dim, lengths):
    """Gradients of parts joined along ``dim``; parts that nothing used count as zeros."""
    model = next(g for g in grads if g is not None)
    parts = []
    for grad, length in zip(grads, lengths, strict=True):
        if grad is None:
            part_sizes = list(sizes)
            part_sizes[dim] = length
            grad = model.new_zeros(part_sizes)
        parts.append(grad)
    return aten.cat(parts, dim)


def _split_backward(grads, self_sizes, split_size, dim):
    dim %= len(self_sizes)
    size = self_sizes[dim]
    lengths = [min(split_size, size - start) for start in range(0, size, split_size)] if split_size else [size]
    return _gathered(grads, self_sizes, dim, lengths or [0])


def _split_with_sizes_backward(grads, self_sizes, split_sizes, dim):
    return _gathered(grads, self_sizes, dim % len(self_sizes), split_sizes)


def _unbind_backward(grads, dim):
    model = next(g for g in grads if g is not None)
    return aten.stack([model.new_zeros(model.shape) if g is None else g for g in grads], dim)


def _slice_backward(grad, self_sizes, dim, start, end, step):
    size = self_sizes[dim]
    return aten.slice_backward(grad, self_sizes, dim, 0 if start is None else start, size if end is None else end, step)


def _reach(sizes, strides, offset):
    """How many elements a storage needs for this view."""
    if 0 in sizes:
        return offset
    return offset + 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))


def _overlaps(sizes, strides) -> bool:
    """Whether several positions may name one element."""
    covered = 0
    for step, n in sorted((step, n) for n, step in zip(sizes, strides, strict=True) if n > 1):
        if step <= covered:
            return True
        covered += (n - 1) * step
    return False


def _as_strided_grad(grad, self_geometry, size, stride, storage_offset):
    """Add the gradient into a storage at the view's positions, and read it at the input's."""
    sizes, strides, offset = self_geometry
    start = offset if storage_offset is None else storage_offset
    first = min(offset, start)
    extent = [max(_reach(sizes, strides, offset - first), _reach(size, stride, start - first))]
    storage = aten._as_strided_backward(grad, extent, size, stride, start - first)
    if _overlaps(sizes, strides):
        ones = aten.ones(sizes, dtype=grad.dtype, device=grad.device)
        storage = storage / aten._as_strided_backward(ones, extent, sizes, strides, offset - first)
    return aten.as_strided(storage, sizes, strides, offset - first)


def _as_strided_scatter_self(grad, size, stride, storage_offset):
    return aten.as_strided_scatter(grad, grad.new_zeros(size), size, stride, storage_offset)


def _as_strided_scatter_src(grad, self_geometry, size, stride, storage_offset):
    sizes, strides, offset = self_geometry
    if _overlaps(sizes, strides):
        laid_out = _row_major(grad)
    else:
        laid_out = aten.copy_(aten.new_empty_strided(grad, sizes, strides), grad)
    return aten.as_strided(laid_out, size, stride, storage_offset or 0)


def _lazy_view_backward(grad, conjugate, negate):
    grad = grad.neg() if negate else grad
    return grad.conj() if conjugate else grad


def _narrow_backward(grad, self_sizes, dim, start, length):
    start = start + self_sizes[dim] if start < 0 else start
    return aten.slice_backward(grad, self_sizes, dim, start, start + length, 1)


def _row_major(x):
    return aten.clone(x, memory_format=_C.contiguous_format)


_ALL = "all"

op(
    "_as_strided_backward(Tensor grad, SymInt[] input_sizes, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor",
    "Gradient of `as_strided` for a row-major input: overlapping elements are summed.",
    linear="grad",
    meta=rule("sizes_from_list"),
    grad={
        "grad": lambda grad, size, stride, storage_offset: aten.as_strided(
            _row_major(grad), size, stride, storage_offset
        )
    },
)
op(
    "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
    "A view with sizes and strides that are known to fit.",
    tangent=_reshaped_tangent,
    grad={"self": lambda grad, self_sizes: grad.reshape(self_sizes)},
)
op(
    "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    "`view` of a tensor that nobody else sees: the result does not count as a view.",
    bind="generated_out",
    tangent=_reshaped_tangent,
    grad={"self": lambda grad, self_sizes: grad.reshape(self_sizes)},
    key="CompositeExplicitAutograd",
    unmarked="self",
    samples=[S(T(3, 4), [2, 6])],
)
op(
    "alias(Tensor(a) self) -> Tensor(a)",
    "A view of the whole tensor.",
    batching="whole",
    tags="core",
    grad={"self": lambda grad: grad},
    samples=[S(3, 4)],
    dtypes=_ALL,
)
op(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    "A view with any sizes and strides over the storage.",
    bind="function method",
    tags="core",
    tangent=_as_strided_tangent,
    grad={"self": _as_strided_grad},
    samples=[S(T(3, 4), [2, 2], [4, 1], 1), S(T(4), [2, 2], [1, 1])],
    dtypes=_ALL,
)
op(
    "as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)",
    "Gives the tensor itself other sizes and strides.",
    bind="function method",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad={"self": _as_strided_grad},
)
op(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
    "A copy of `self` whose strided view is replaced by `src`.",
    bind="function method out",
    out_tags="generated",
    meta=rule("view_scatter", "self"),
    grad={"self": _as_strided_scatter_self, "src": _as_strided_scatter_src},
)
op(
    "detach(Tensor(a) self) -> Tensor(a)",
    "The same data without history.",
    bind="function method",
    batching="whole",
    grad=None,
    samples=[S(3, 4)],
    dtypes=_ALL,
)
op(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    "The diagonal of two dimensions, as last dimension.",
    bind="function method",
    batching="dims",
    tags="core",
    grad={
        "self": lambda grad, self_sizes, offset, dim1, dim2: aten.diagonal_backward(
            grad, self_sizes, offset, dim1, dim2
        )
    },
    samples=[S(3, 4), S(T(2, 3, 4), 1, 0, 2), S(T(3, 4), -1)],
    dtypes=_ALL,
)
op(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    "Zeros with a diagonal filled.",
    bind="generated_out",
    batching="dims",
    linear="grad_output",
    meta=rule("sizes_from_list"),
    grad={"grad_output": lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2)},
    samples=[S(T(3), [3, 4], 0, 0, 1)],
)
op(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    "A copy of `self` with a diagonal replaced by `src`.",
    bind="function method out",
    out_dtype="exact",
    batching="dims",
    out_tags="generated",
    meta=rule("view_scatter", "self"),
    grad={
        "self": lambda grad, offset, dim1, dim2: aten.diagonal_scatter(
            grad, aten.zeros_like(grad.diagonal(offset, dim1, dim2)), offset, dim1, dim2
        ),
        "src": lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2),
    },
    samples=[S(T(3, 4), T(3)), S(T(3, 4), T(3), 1)],
)
op(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    "Matrices with the last dimension on their diagonals.",
    bind="function method out",
    out_dtype="exact",
    out_tags="generated",
    linear="self",
    meta=rule("diag_embed"),
    grad={"self": lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2)},
    samples=[S(3), S(T(2, 3), 1), S(T(2, 3), -1, 0, 1)],
    dtypes=_ALL,
)
op(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    "Dimensions of size one repeated without copying; -1 keeps a size.",
    bind="method",
    tags="core",
    grad={"self": lambda grad: grad},
    samples=[S(T(3, 1), [3, 4]), S(T(3), [2, -1])],
    dtypes=_ALL,
)
op(
    "imag(Tensor(a) self) -> Tensor(a)",
    "The imaginary parts, as a view.",
    bind="function",
    batching="whole",
    grad={"self": lambda grad: aten.complex(aten.zeros_like(grad), grad)},
    samples=[S(T(3, 4, dtype="complex64"))],
    dtypes="complex",
    node="SelectBackward0",
)
op(
    "_lazy_view(Tensor(a) self, bool conjugate, bool negate) -> Tensor(a)",
    "The conjugates, or the negatives, as a view: worked out where they are read.",
    batching="whole",
    grad={"self": _lazy_view_backward},
    node="ConjBackward0",
)
op(
    "lift_fresh(Tensor(a) self) -> Tensor(a)",
    "A new constant entering a program.",
    batching="whole",
    lifts=True,
    grad={"self": lambda grad: grad},
    samples=[S(3, 4)],
)
op(
    "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
    "`length` elements of a dimension from `start` on.",
    bind="function method",
    batching="dims",
    grad={"self": _narrow_backward},
    samples=[S(T(3, 4), 1, 1, 2), S(T(3, 4), 0, -2, 2)],
    dtypes=_ALL,
    node="SliceBackward0",
)
op(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    "Dimensions in another order.",
    bind="function method",
    tags="core",
    grad={"self": lambda grad, dims: grad.permute(_inverse(dims))},
    samples=[S(T(2, 3, 4), [2, 0, 1]), S(T(2, 3, 4), [-1, 0, 1])],
    dtypes=_ALL,
)
op(
    "resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    "Other sizes; the storage grows if need be, new elements are uninitialised.",
    bind="method",
    tags="core inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
    unfilled=True,
)
op(
    "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    "The sizes of another tensor.",
    bind="method function",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
    unfilled=True,
)
op(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    "One position of a dimension, which goes away.",
    bind="function method",
    batching="dims",
    tags="core",
    grad={"self": lambda grad, self_sizes, dim, index: aten.select_backward(grad, self_sizes, dim, index)},
    samples=[S(T(3, 4), 1, 2), S(T(3, 4), 0, -1)],
    dtypes=_ALL,
)
op(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    "Zeros with one position of a dimension filled.",
    bind="generated_out",
    batching="dims",
    linear="grad_output",
    meta=rule("sizes_from_list"),
    grad={"grad_output": lambda grad, dim, index: grad.select(dim, index)},
    samples=[S(T(3), [3, 4], 1, 2)],
)
op(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    "A copy of `self` with one position of a dimension replaced by `src`.",
    bind="function method out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    out_tags="generated",
    meta=rule("view_scatter", "self"),
    grad={
        "self": lambda grad, dim, index: aten.select_scatter(
            grad, aten.zeros_like(grad.select(dim, index)), dim, index
        ),
        "src": lambda grad, dim, index: grad.select(dim, index),
    },
    samples=[S(T(3, 4), T(4), 0, 1)],
)
op(
    "set_(Tensor(a!) self) -> Tensor(a!)",
    "An empty storage of its own.",
    bind="method",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
)
op(
    "set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)",
    "The whole of a storage, one-dimensional.",
    bind="method",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
)
op(
    "set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    "A part of a storage with the given sizes and strides.",
    bind="method",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
)
op(
    "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)",
    "The storage, sizes and strides of another tensor.",
    bind="method",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
    devices={"source": "any"},
)
op(
    "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)",
    "The storage of another tensor with the given offset, sizes and strides.",
    tags="inplace_view",
    key="CompositeExplicitAutograd",
    grad=None,
    devices={"source": "any"},
)
op(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    "Every `step`-th position of a dimension from `start` to before `end`.",
    batching="dims",
    tags="core",
    grad={"self": _slice_backward},
    samples=[S(T(5, 4), 0, 1, 4), S(T(5, 4), 0, 0, 5, 2), S(T(3, 4), 1, -2)],
    dtypes=_ALL,
)
op(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor",
    "Zeros with a slice filled.",
    bind="generated_out",
    batching="dims",
    linear="grad_output",
    meta=rule("sizes_from_list"),
    grad={"grad_output": lambda grad, dim, start, end, step: aten.slice(grad, dim, start, end, step)},
    samples=[S(T(2, 4), [5, 4], 0, 1, 5, 2)],
)
op(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    "A copy of `self` with a slice replaced by `src`.",
    bind="function method out",
    out_dtype="exact",
    batching="dims",
    tags="core view_copy",
    out_tags="view_copy generated",
    meta=rule("view_scatter", "self"),
    grad={
        "self": lambda grad, dim, start, end, step: aten.slice_scatter(
            grad, aten.zeros_like(aten.slice(grad, dim, start, end, step)), dim, start, end, step
        ),
        "src": lambda grad, dim, start, end, step: aten.slice(grad, dim, start, end, step),
    },
    samples=[S(T(5, 4), T(2, 4), 0, 1, 5, 2)],
)
op(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "Parts of `split_size`, the last one shorter.",
    bind="method",
    batching="dims",
    grad={"self": _split_backward},
    samples=[S(T(5, 4), 2), S(T(3, 4), 2, 1)],
    dtypes=_ALL,
)
op(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    "Parts of the given sizes.",
    bind="function method",
    batching="dims",
    tags="core",
    grad={"self": _split_with_sizes_backward},
    samples=[S(T(5, 4), [2, 3]), S(T(3, 4), [1, 3], 1)],
    dtypes=_ALL,
)
op(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    "Without dimensions of size one.",
    bind="function method",
    grad={"self": lambda grad, self_sizes: grad.reshape(self_sizes)},
    samples=[S(1, 3, 1)],
    dtypes=_ALL,
)
op(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    "Without this dimension if its size is one.",
    bind="function method",
    tags="core",
    grad={"self": lambda grad, self_sizes, dim: _unsqueeze_back(grad, self_sizes, (dim,))},
    samples=[S(T(1, 3, 1), 0), S(T(1, 3, 1), 1)],
    dtypes=_ALL,
)
op(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    "Without these dimensions where their size is one.",
    bind="function method",
    tags="core",
    grad={"self": lambda grad, self_sizes, dim: _unsqueeze_back(grad, self_sizes, dim)},
    samples=[S(T(1, 3, 1), [0, 2])],
    dtypes=_ALL,
)
for _schema, _formula, _node in (
    ("squeeze_(Tensor(a!) self) -> Tensor(a!)", lambda grad, self_sizes: grad.reshape(self_sizes), "SqueezeBackward3"),
    (
        "squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)",
        lambda grad, self_sizes, dim: _unsqueeze_back(grad, self_sizes, (dim,)),
        "SqueezeBackward4",
    ),
    (
        "squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
        lambda grad, self_sizes, dim: _unsqueeze_back(grad, self_sizes, dim),
        "SqueezeBackward5",
    ),
    ("t_(Tensor(a!) self) -> Tensor(a!)", lambda grad: grad.t(), "TBackward1"),
    (
        "transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)",
        lambda grad, dim0, dim1: grad.transpose(dim0, dim1),
        "TransposeBackward1",
    ),
    ("unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", lambda grad, dim: grad.squeeze(dim), "UnsqueezeBackward1"),
):
    op(
        _schema,
        "Changes the tensor's own sizes and strides.",
        bind="method",
        tags="inplace_view",
        key="CompositeExplicitAutograd",
        grad={"self": _formula},
        node=_node,
    )
op(
    "t(Tensor(a) self) -> Tensor(a)",
    "The transposed matrix; tensors of less than two dimensions as they are.",
    bind="function method",
    grad={"self": lambda grad: grad.t()},
    samples=[S(3, 4), S(3)],
    dtypes=_ALL,
)
op(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    "Two dimensions exchanged.",
    bind="function method",
    batching="dims",
    alias="swapdims",
    grad={"self": lambda grad, dim0, dim1: grad.transpose(dim0, dim1)},
    samples=[S(T(2, 3, 4), 0, 2), S(T(3, 4), -1, 0)],
    dtypes=_ALL,
    node="TransposeBackward0",
)
op(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    "One tensor for each position of a dimension.",
    bind="function method",
    batching="dims",
    grad={"self": _unbind_backward},
    samples=[S(3, 4), S(T(3, 4), 1)],
    dtypes=_ALL,
)
op(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    "Windows of a dimension, as a new last dimension.",
    bind="method",
    batching="dims",
    grad={
        "self": lambda grad, self_sizes, dimension, size, step: aten.unfold_backward(
            grad, self_sizes, dimension, size, step
        )
    },
    samples=[S(T(7, 2), 0, 3, 2), S(T(2, 7), 1, 2, 1)],
    dtypes=_ALL,
)
op(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    "Windows added back to where they were taken from.",
    bind="generated_out",
    batching="dims",
    linear="grad_in",
    meta=rule("sizes_from_list"),
    grad={"grad_in": lambda grad, dim, size, step: grad.unfold(dim, size, step)},
    samples=[S(T(3, 2, 3), [7, 2], 0, 3, 2)],
)
op(
    "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    "`split` whose parts do not count as views.",
    bind="function method generated_out",
    batching="dims",
    linear="self",
    key="CompositeExplicitAutograd",
    grad={"self": _split_backward},
    unmarked="self",
    samples=[S(T(5, 4), 2)],
)
op(
    "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    "`split_with_sizes` whose parts do not count as views.",
    bind="function method generated_out",
    batching="dims",
    linear="self",
    key="CompositeExplicitAutograd",
    grad={"self": _split_with_sizes_backward},
    unmarked="self",
    samples=[S(T(5, 4), [2, 3])],
)
op(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    "A new dimension of size one.",
    bind="function method",
    batching="dims+1",
    tags="core",
    grad={"self": lambda grad, dim: grad.squeeze(dim)},
    samples=[S(T(3, 4), 1), S(T(3), -1)],
    dtypes=_ALL,
)
op(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "Other sizes over the same elements; RuntimeError if the strides do not allow it.",
    bind="method",
    tags="core",
    tangent=_reshaped_tangent,
    grad={"self": lambda grad, self_sizes: grad.reshape(self_sizes)},
    samples=[S(T(3, 4), [2, 6]), S(T(3, 4), [-1])],
    dtypes=_ALL,
)
op(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    "The same bytes read as another dtype.",
    bind="method",
    grad=None,
)
op(
    "view_as_complex(Tensor(a) self) -> Tensor(a)",
    "Pairs of the last dimension as complex numbers.",
    bind="function",
    batching="whole",
    autocast="float32",
    grad={"self": lambda grad: aten.view_as_real(_row_major(grad))},
    samples=[S(3, 2)],
    dtypes="float",
)
op(
    "view_as_real(Tensor(a) self) -> Tensor(a)",
    "Complex numbers as pairs in a new last dimension.",
    bind="function",
    batching="whole",
    grad={"self": lambda grad: aten.view_as_complex(_row_major(grad))},
    samples=[S(T(3, 4, dtype="complex64"))],
    dtypes="complex",
)


# ---- operators that call others: native because programs call them all the time ----

for _schema, _doc, _words, _gives_back in (
    (
        "reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
        "A view where the strides allow it, else a copy.",
        "function method",
        False,
    ),
    (
        "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        "Dimensions merged into one.",
        "function method",
        True,
    ),
    (
        "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        "Expanded to the sizes of another tensor.",
        "method",
        False,
    ),
    ("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", "Viewed with the sizes of another tensor.", "method", False),
    (
        "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
        "At most `chunks` parts of equal size, the last one shorter.",
        "function method",
        False,
    ),
    ("numpy_T(Tensor(a) self) -> Tensor(a)", "Dimensions in reverse order.", "", False),
    ("mT(Tensor(a) self) -> Tensor(a)", "The last two dimensions exchanged.", "", False),
):
    op(_schema, _doc, bind=_words, gives_back=_gives_back, key="CompositeImplicitAutograd", grad=None)
