"""Joining tensors."""

from ..table import S, T, op, rule


def _cat_backward(grad, tensors_sizes, dim):
    """The part of the gradient that belongs to each tensor; [0]-shaped ones take no room."""
    model = next((s for s in tensors_sizes if tuple(s) != (0,)), None)
    if model is None:
        return [grad.new_zeros(s) for s in tensors_sizes]
    dim %= len(model)
    start, parts = 0, []
    for sizes in tensors_sizes:
        if tuple(sizes) == (0,) and len(model) != 1:
            parts.append(grad.new_zeros(sizes))
            continue
        parts.append(grad.narrow(dim, start, sizes[dim]))
        start += sizes[dim]
    return parts


op(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    "Tensors one after the other along a dimension.",
    bind="function out",
    tags="core",
    linear="tensors",
    autocast="promote",
    alias="concat concatenate",
    meta=rule("cat"),
    grad={"tensors": _cat_backward},
    samples=[S([T(3, 4), T(2, 4)]), S([T(3, 4), T(3, 1)], 1), S([T(3), T(0)], -1)],
    dtypes="all",
)
op(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    "Tensors of one shape along a new dimension.",
    bind="function out",
    batching="dims+1",
    linear="tensors",
    autocast="promote",
    meta=rule("stack"),
    grad={"tensors": lambda grad, dim: list(grad.unbind(dim))},
    samples=[S([T(3, 4), T(3, 4)]), S([T(3, 4), T(3, 4), T(3, 4)], -1)],
    dtypes="all",
)
