"""`vmap`: a function over each slice of its arguments, all slices at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.batched import in_vmap
from mindtorch_v2._core.autograd import batched
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that maps `func` over a dimension of its arguments.

    `in_dims` is an int or None, or a tree of them as the arguments are: the dimension that is mapped over, None for
    arguments that every slice sees whole. `out_dims` says where the results' new dimension goes. Inside, `func` sees
    tensors without the mapped dimension; each operator works on all slices at once. `randomness` says what operators
    that draw random numbers do: "error", "different" numbers for each slice, or the "same". With `chunk_size` so many
    slices are computed at a time.

    Raises ValueError if the dimensions do not fit the arguments or results.

    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec, dims, size = _flat_arguments(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _run(func, leaves, spec, dims, size, out_dims, randomness, kwargs)
        return _in_chunks(func, leaves, spec, dims, size, out_dims, randomness, kwargs, chunk_size)

    return mapped


def _name(func) -> str:
    return getattr(func, "__name__", repr(func))


def _flat_arguments(func, in_dims, args) -> tuple:
    name = _name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = pytree.tree_flatten(args)
    dims = pytree._broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {pytree.tree_structure(in_dims)} but inputs has structure {spec}."
        )
    dims = [_check_dim(name, in_dims, leaf, dim) for leaf, dim in zip(leaves, dims)]
    all_sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]
    if not all_sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != all_sizes[0] for size in all_sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {all_sizes} "
            "for the mapped dimension"
        )
    return leaves, spec, dims, all_sizes[0]


def _check_dim(name, in_dims, leaf, dim) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be "
            "either an integer dimension or None."
        )
    if not isinstance(leaf, torch.Tensor):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of "
            f"type {type(leaf)}. We cannot vmap over non-Tensor arguments, please use None as the respective "
            "in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is "
            f"a Tensor of dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < "
            f"{leaf.dim()}."
        )
    return dim % leaf.dim()


def _run(func, leaves, spec, dims, size, out_dims, randomness, kwargs):
    with in_vmap(size, randomness) as level:
        given = [leaf if dim is None else batched.hide(leaf, dim, level.number) for leaf, dim in zip(leaves, dims)]
        result = func(*spec.unflatten(given), **kwargs)
        return _shown(_name(func), result, out_dims, level)


def _out_dims(name, out_dims, spec) -> list[int | None]:
    if not all(
        dim is None or isinstance(dim, int) for dim in pytree.tree_leaves(out_dims, is_leaf=lambda d: d is None)
    ):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    dims = pytree._broadcast_to_and_flatten(out_dims[0] if _is_single(out_dims, spec) else out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {pytree.tree_structure(out_dims)} but outputs has structure "
            f"{spec}."
        )
    return dims


def _is_single(out_dims, spec) -> bool:
    """One tensor may come with a tuple of one dimension."""
    return isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.num_leaves == 1 and spec.is_leaf()


def _shown(name, result, out_dims, level):
    outputs, spec = pytree.tree_flatten(result)
    made = []
    for output, dim in zip(outputs, _out_dims(name, out_dims, spec)):
        if not isinstance(output, torch.Tensor):
            if dim is None:
                made.append(output)
                continue
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean "
                "to set out_dims= to None for output?"
            )
        if dim is None:
            if level.number in batched.levels_of(output):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            made.append(output)
            continue
        tensor = batched.show(output, level.number, level.size)
        made.append(tensor if dim == 0 else tensor.movedim(0, dim))
    return spec.unflatten(made)


def _in_chunks(func, leaves, spec, dims, size, out_dims, randomness, kwargs, chunk_size):
    results = []
    state = torch.get_rng_state() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:  # the numbers of the other chunks
            torch.set_rng_state(state)
        count = min(chunk_size, size - start)
        part = [leaf if dim is None else leaf.narrow(dim, start, count) for leaf, dim in zip(leaves, dims)]
        results.append(_run(func, part, spec, dims, count, out_dims, randomness, kwargs))
    out_spec = pytree.tree_structure(results[0])
    columns = zip(*(pytree.tree_leaves(result) for result in results))
    joined = [
        column[0] if dim is None else torch.cat(column, dim)
        for column, dim in zip(columns, _out_dims(_name(func), out_dims, out_spec))
    ]
    return out_spec.unflatten(joined)
