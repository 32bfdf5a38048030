"""Elements in another order or repeated, and the triangles of matrices."""

from ..table import S, T, aten, like, op, rule

_FACTORY = "*, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _repeat_backward(grad, self_sizes, repeats):
    """Sum over the repetitions."""
    if 0 in repeats:
        return grad.new_zeros(self_sizes)
    lead = len(repeats) - len(self_sizes)
    split: list[int] = []
    summed: list[int] = []
    for i, times in enumerate(repeats):
        size = self_sizes[i - lead] if i >= lead else 1
        summed.append(len(split))
        split += [times, size]
    grad = grad.reshape(split)
    return grad.sum(summed).reshape(self_sizes) if summed else grad.reshape(self_sizes)


op(
    "flip(Tensor self, int[] dims) -> Tensor",
    "Dimensions in reverse.",
    bind="function method out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    out_tags="generated",
    linear="self",
    meta=like("self"),
    grad={"self": lambda grad, dims: grad.flip(dims)},
    samples=[S(T(3, 4), [0]), S(T(3, 4), [0, 1]), S(T(3, 4), [])],
    dtypes="all",
)
op(
    "repeat(Tensor self, SymInt[] repeats) -> Tensor",
    "The tensor laid side by side.",
    bind="method out",
    out_dtype="exact",
    tags="core",
    out_tags="generated",
    linear="self",
    meta=rule("repeat"),
    grad={"self": _repeat_backward},
    samples=[S(T(3, 4), [2, 1]), S(T(3), [2, 2]), S(T(3), [0])],
    dtypes="all",
)


def _repeat_interleave_meta(repeats, output_size=None):
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return aten.new_empty(repeats, [output_size])


op(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    "0 repeats[0] times, 1 repeats[1] times, and so on.",
    bind="function generated_out",
    tags="dynamic_output_shape",
    sizes_by_values=lambda repeats, output_size=None: output_size is None,
    meta_kernel=_repeat_interleave_meta,
    grad=None,
    samples=[S(T(4, dtype="int64", low=0, high=3))],
    dtypes="integer",
)
op(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    "Elements moved along dimensions; those that leave come in again at the other end.",
    bind="function method out",
    out_tags="generated",
    linear="self",
    meta=rule("roll", "self", "dims"),
    grad={"self": lambda grad, shifts, dims: grad.roll([-s for s in shifts], dims)},
    samples=[S(T(3, 4), 1), S(T(3, 4), [1, -1], [0, 1])],
    dtypes="all",
)
op(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    "The lower triangle of matrices, zeros above.",
    bind="function method inplace out",
    out_dtype="exact",
    linear="self",
    meta=rule("contiguous_like", "self"),
    grad={"self": lambda grad, diagonal: grad.tril(diagonal)},
    samples=[S(3, 4), S(T(2, 4, 3), 1), S(T(4, 4), -1)],
    dtypes="all",
)
op(
    f"tril_indices(int row, int col, int offset=0, {_FACTORY}) -> Tensor",
    "Row and column numbers of the lower triangle.",
    bind="function generated_out",
    meta=rule("tril_indices"),
    grad=None,
)
op(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    "The upper triangle of matrices, zeros below.",
    bind="function method inplace out",
    out_dtype="exact",
    linear="self",
    meta=rule("contiguous_like", "self"),
    grad={"self": lambda grad, diagonal: grad.triu(diagonal)},
    samples=[S(3, 4), S(T(2, 4, 3), 1), S(T(4, 4), -1)],
    dtypes="all",
)
op(
    f"triu_indices(int row, int col, int offset=0, {_FACTORY}) -> Tensor",
    "Row and column numbers of the upper triangle.",
    bind="function generated_out",
    meta=rule("triu_indices"),
    grad=None,
)
