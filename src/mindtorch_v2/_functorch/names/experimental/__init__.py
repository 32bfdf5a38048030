"""`functorch.experimental`."""

from collections.abc import Callable
from typing import Any

from mindtorch_v2._functorch.names.experimental import control_flow
from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap
from mindtorch_v2.utils import _pytree as pytree

__all__ = [
    "chunk_vmap",
    "cond",
    "control_flow",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
    "vmap",
]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """`vmap` over so many equal parts of the mapped dimension, one after the other.

    Raises ValueError unless there is at least one part.
    """
    if chunks < 1:
        raise ValueError(f"chunk_vmap: `chunks` should be at least 1, got {chunks}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        size = _size_of(args, in_dims)
        step = -(-size // chunks)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(step, 1))(*args, **kwargs)

    return mapped


def _size_of(args: tuple, in_dims: Any) -> int:
    """The size of the mapped dimension of the first argument that has one."""
    dims = pytree._broadcast_to_and_flatten(
        in_dims if isinstance(in_dims, int) else tuple(in_dims), pytree.tree_structure(args)
    )
    for leaf, dim in zip(pytree.tree_leaves(args), dims or (), strict=False):
        if dim is not None and hasattr(leaf, "shape"):
            return int(leaf.shape[dim])
    return 1
