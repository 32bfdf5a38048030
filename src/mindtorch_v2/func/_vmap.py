"""`vmap`: a function over each slice of its arguments, the results stacked."""

import functools

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["vmap"]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """The function that maps `func` over a dimension of its arguments.

    `in_dims` is an int or None, or a tree of them as the arguments are: the dimension that is mapped over, None for
    arguments that every slice sees whole. `out_dims` says where the results' new dimension goes. Slices are computed
    one after the other, with the results (and gradients) that batching would give; `randomness` "same" lets each slice
    draw the same numbers.

    Raises ValueError if the dimensions do not fit the arguments.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        return _map(func, in_dims, out_dims, randomness, args, kwargs)

    return mapped


def _map(func, in_dims, out_dims, randomness, args, kwargs):
    name = getattr(func, "__name__", repr(func))
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
    sizes = {leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None}
    if not sizes:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): at least one input must be mapped over, all "
            "in_dims are None"
        )
    if len(sizes) > 1:
        all_sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims) if dim is not None]
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {all_sizes} "
            "for the mapped dimension"
        )
    (size,) = sizes
    results = []
    columns = [leaf.unbind(dim) if dim is not None else None for leaf, dim in zip(leaves, dims)]
    state = torch.get_rng_state() if randomness == "same" else None
    for i in range(size):
        if state is not None:
            torch.set_rng_state(state)
        slices = [leaf if column is None else column[i] for leaf, column in zip(leaves, columns)]
        results.append(func(*spec.unflatten(slices), **kwargs))
    return _stack(name, results, out_dims, size)


def _check_dim(name, in_dims, leaf, dim):
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


def _stack(name, results, out_dims, size):
    if not results:
        raise NotImplementedError("vmap over a dimension of size 0 is not implemented in mindtorch_v2")
    spec = pytree.tree_structure(results[0])
    columns = list(zip(*(pytree.tree_leaves(result) for result in results)))
    dims = pytree._broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {pytree.tree_structure(out_dims)} but outputs has structure "
            f"{spec}."
        )
    stacked = []
    for column, dim in zip(columns, dims):
        if not isinstance(column[0], torch.Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(column[0])}. Did you mean "
                "to set out_dims= to None for output?"
            )
        stacked.append(column[0] if dim is None else torch.stack(column, dim))
    return spec.unflatten(stacked)
