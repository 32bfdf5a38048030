"""Meanings of functions for NestedTensors, by name: on the buffer where they may, entry by entry where they must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

from .nested_int import NestedInt
from .nested_tensor import ELEMENTWISE, RULES, NestedTensor, _place, elementwise, jagged_from_list

__all__: list[str] = []

F = torch.nn.functional

ELEMENTWISE.update(
    row.partition(".")[0] for row, facts in ((name, row.facts) for name, row in ROWS.items()) if facts.elementwise
)
ELEMENTWISE.update(
    "dropout alpha_dropout logsigmoid softsign tanhshrink to type float double half bfloat16 bool int long cpu zeros_like "
    "ones_like empty_like full_like rand_like randn_like bernoulli subtract multiply divide true_divide absolute negative "
    "arctan2".split()
)
ELEMENTWISE.update(name + "_" for name in tuple(ELEMENTWISE) if not name.endswith("_"))
ELEMENTWISE.update(
    f"__{side}{name}__" for name in "add sub mul truediv floordiv mod pow and or xor".split() for side in ("", "r", "i")
)
ELEMENTWISE.update("__neg__ __pos__ __abs__ __invert__ __lt__ __le__ __gt__ __ge__ __eq__ __ne__".split())


def _rule(*names: str) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _whole(x: NestedTensor) -> NestedTensor:
    """The same entries side by side, without gaps."""
    return x if x._lengths is None else jagged_from_list(x._entries())[0]


def _inner(x: NestedTensor, dim: int, name: str) -> int:
    """A dimension behind the ragged one, as one of the buffer."""
    place = _place(x, dim)
    if place == x._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if place < x._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim={place}")
    return place - 1


def _of_buffer(*names: str) -> None:
    for name in names:
        RULES[name] = lambda func, x, *args, **kwargs: x._with(func(x.values(), *args, **kwargs))


def _same_or(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return func(x, *args, **kwargs)


# ---- parts and forms ----


@_rule("unbind")
def _unbind(func: Any, x: Any, dim: int = 0) -> Any:
    if _place(x, dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple(x._entries())


@_rule("__iter__")
def _iter(func: Any, x: Any) -> Any:
    return iter(x._entries())


@_rule("select", "__getitem__")
def _select(func: Any, x: Any, *where: Any) -> Any:
    if func.__name__ == "select":
        dim, index = where
        if _place(x, dim) == 0:
            return x._entries()[index]
        return x._with(x.values().select(_inner(x, dim, "select"), index))
    index = where[0] if isinstance(where[0], tuple) else (where[0],)
    if isinstance(index[0], int):
        entry = x._entries()[index[0]]
        return entry[index[1:]] if len(index) > 1 else entry
    many = x._ragged_idx + 1
    if any(each is not Ellipsis and each != slice(None) for each in index[:many]):
        raise RuntimeError("NestedTensors are indexed by entry, or behind the ragged dimension")
    if Ellipsis in index:
        place = index.index(Ellipsis)
        index = index[:place] + (slice(None),) * (x.dim() - len(index) + 1) + index[place + 1 :]
    return x._with(x.values()[index[1:]])


@_rule("detach")
def _detach(func: Any, x: Any) -> Any:
    return _same_or(func, x)


@_rule("contiguous")
def _contiguous(func: Any, x: Any, **kwargs: Any) -> Any:
    return x if x.is_contiguous() else _whole(x) if x._ragged_idx == 1 else x._with(x.values().contiguous())


@_rule("is_same_size")
def _is_same_size(func: Any, x: Any, other: Any) -> bool:
    return isinstance(other, torch.Tensor) and tuple(x.shape) == tuple(other.shape)


@_rule("transpose", "swapaxes", "swapdims")
def _transpose(func: Any, x: Any, first: int, second: int) -> Any:
    first, second = _place(x, first), _place(x, second)
    if first == second:
        return x
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    place = {first: second, second: first}.get(x._ragged_idx, x._ragged_idx)
    return x._with(x.values().transpose(first - 1, second - 1), place)


@_rule("unsqueeze")
def _unsqueeze(func: Any, x: Any, dim: int) -> Any:
    dim = dim + x.dim() + 1 if dim < 0 else dim
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return x._with(x.values().unsqueeze(dim - 1), x._ragged_idx + (dim <= x._ragged_idx))


@_rule("squeeze")
def _squeeze(func: Any, x: Any, dim: int) -> Any:
    place = _place(x, dim)
    if place in (0, x._ragged_idx):
        return x
    values = x.values()
    return (
        x
        if values.shape[place - 1] != 1
        else x._with(values.squeeze(place - 1), x._ragged_idx - (place < x._ragged_idx))
    )


@_rule("view", "reshape", "_unsafe_view")
def _view(func: Any, x: Any, *shape: Any) -> Any:
    sizes = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
    ragged = [i for i, size in enumerate(sizes) if isinstance(size, NestedInt)]
    if not ragged and len(sizes) > 1 and sizes[1] == -1 and x._ragged_idx == 1:
        ragged = [1]
    if len(ragged) != 1 or sizes[0] not in (-1, x._size[0]):
        raise RuntimeError(f"{func.__name__}(): cannot view shape {x._size} as {sizes}")
    place = ragged[0]
    if isinstance(sizes[place], NestedInt) and sizes[place] != x._size[x._ragged_idx]:
        raise RuntimeError(f"{func.__name__}(): cannot view shape {x._size} as {sizes}")
    inner = list(sizes[1:])
    inner[place - 1] = x._values.shape[x._ragged_idx - 1]
    return x._with(getattr(x.values(), func.__name__.removeprefix("_unsafe_"))(inner), place)


@_rule("flatten", "unflatten")
def _flatten(func: Any, x: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    if func.__name__ == "flatten":
        end = kwargs.get("end_dim", args[0] if args else -1)
        return x._with(x.values().flatten(_inner(x, dim, "flatten"), _inner(x, end, "flatten")))
    return x._with(x.values().unflatten(_inner(x, dim, "unflatten"), *args, **kwargs))


@_rule("split", "chunk", "split_with_sizes")
def _split(func: Any, x: Any, sizes: Any, dim: int = 0) -> Any:
    place = _inner(x, dim, func.__name__)
    return tuple(x._with(part) for part in getattr(x.values(), func.__name__)(sizes, place))


@_rule("cat", "concat")
def _cat(func: Any, tensors: Any, dim: int = 0) -> Any:
    like = next(t for t in tensors if isinstance(t, NestedTensor))
    if any(
        not isinstance(t, NestedTensor) or t._size[: like._ragged_idx + 1] != like._size[: like._ragged_idx + 1]
        for t in tensors
    ):
        raise RuntimeError("cat(): NestedTensors of the same entries' lengths are joined")
    return like._with(torch.cat([t.values() for t in tensors], _inner(like, dim, "cat")))


@_rule("to_padded_tensor")
def _to_padded_tensor(func: Any, x: Any, padding: float, output_size: Any = None) -> Any:
    entries, dim = x._entries(), x._ragged_idx - 1
    width = x._get_max_seqlen() if output_size is None else output_size[x._ragged_idx]
    rows = []
    for entry in entries:
        missing = list(entry.shape)
        missing[dim] = width - entry.shape[dim]
        rows.append(torch.cat([entry, entry.new_full(missing, padding)], dim))
    return torch.stack(rows)


# ---- reductions ----


def _reduction(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    name = func.__name__
    names = (
        ("p", "dim", "keepdim", "dtype")
        if name == "norm"
        else ("unbiased",)
        if name in ("var", "std") and args and isinstance(args[0], bool)
        else ("dim", "keepdim", "dtype")
    )
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    dim, keepdim = given.pop("dim", None), given.pop("keepdim", False)
    if given.get("p") == "nuc":
        raise NotImplementedError("norm(): there is no nuclear norm of NestedTensors; take that of each of unbind()")
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return getattr(torch, name)(_whole(x).values(), **given)
    one = isinstance(dim, int)
    if x._lengths is not None and x._ragged_idx in [_place(x, d) for d in ([dim] if one else dim)]:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"
        )
    places = sorted({_place(x, d) for d in ([dim] if one else dim)})
    run = getattr(torch, name)

    def along(values: Any, dims: list[int]) -> Any:
        return run(values, dim=dims[0] if one else dims, keepdim=keepdim, **given)

    if 0 in places:
        if x._ragged_idx not in places:
            raise RuntimeError(
                f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested "
                "tensors"
            )
        found = run(_whole(x).values(), dim=[d - 1 for d in places if d], keepdim=keepdim, **given)
        return found.unsqueeze(0) if keepdim else found
    inner = [d - 1 for d in places]
    if x._ragged_idx in places:
        parts = [along(entry, inner) for entry in x._entries()]
        if isinstance(parts[0], tuple):
            return type(parts[0])([torch.stack(each) for each in zip(*parts, strict=True)])
        return torch.stack(parts)
    before = 0 if keepdim else sum(d < x._ragged_idx for d in places)
    found = along(x.values(), inner)
    if isinstance(found, tuple):
        return type(found)([x._with(each, x._ragged_idx - before) for each in found])
    return x._with(found, x._ragged_idx - before)


RULES.update(
    dict.fromkeys(
        "sum mean prod amax amin max min all any argmax argmin var std norm logsumexp count_nonzero".split(), _reduction
    )
)


@_rule("max", "min")
def _extremum(func: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    if args and isinstance(args[0], torch.Tensor):
        return elementwise(func, (x, *args), kwargs)
    return _reduction(func, x, *args, **kwargs)


def ELEMENT(func: Any, args: Any, kwargs: Any) -> Any:
    from .nested_tensor import elementwise

    return elementwise(func, args, kwargs)


@_rule("softmax", "log_softmax", "_softmax", "softmin", "cumsum", "cumprod")
def _along(func: Any, x: Any, dim: int, *args: Any, **kwargs: Any) -> Any:
    place = _place(x, dim)
    if place == 0:
        raise RuntimeError(f"{func.__name__}(): not supported when reducing over the batch dimension for NestedTensor")
    if place != x._ragged_idx:
        return x._with(func(x.values(), place - 1, *args, **kwargs))
    if func.__name__ in ("cumsum", "cumprod"):
        raise NotImplementedError(f"aten.{func.__name__}.default")
    if x._lengths is not None:
        raise RuntimeError(
            f"{func.__name__}(): not supported where lengths is not None if reducing across the ragged dimension for NestedTensor"
        )
    parts = [func(entry, place - 1, *args, **kwargs) for entry in x._entries()]
    return x._with(torch.cat(parts, place - 1))


# ---- layers ----


@_rule("linear")
def _linear(func: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    if weight.is_nested or not x.is_nested:
        raise ValueError("linear(): the weight must be a tensor that is not nested, and the input a nested one")
    return x._with(F.linear(x.values(), weight, bias))


@_rule("embedding")
def _embedding(func: Any, indices: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:
    return indices._with(F.embedding(indices.values(), weight, *args, **kwargs))


@_rule("layer_norm", "rms_norm")
def _layer_norm(func: Any, x: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    name, first = func.__name__, x.dim() - len(normalized_shape)
    if first <= 0:
        raise RuntimeError(f"{name}(): not supported when normalizing over the batch dimension for NestedTensor")
    if first <= x._ragged_idx:
        if x._lengths is not None:
            raise RuntimeError(f"{name}(): not supported where there are gaps between the entries of a NestedTensor")
        if any(each is not None for each in args[:2]) or any(
            kwargs.get(each) is not None for each in ("weight", "bias")
        ):
            raise RuntimeError(f"{name}(): a weight has no size of its own for the ragged dimension of a NestedTensor")
        parts = [func(entry, entry.shape[first - 1 :], *args, **kwargs) for entry in x._entries()]
        return x._with(torch.cat(parts, x._ragged_idx - 1))
    return x._with(func(x.values(), normalized_shape, *args, **kwargs))


@_rule("matmul", "__matmul__", "bmm", "mm")
def _matmul(func: Any, x: Any, y: Any) -> Any:
    if isinstance(x, NestedTensor) and not isinstance(y, NestedTensor):
        if y.dim() <= 2 and x._ragged_idx < x.dim() - 1:
            return x._with(torch.matmul(x.values(), y))
        return _entry_by_entry(lambda a, b: a @ b, x, y)
    if isinstance(x, NestedTensor):
        return _entry_by_entry(lambda a, b: a @ b, x, y)
    raise RuntimeError("matmul(): a dense tensor on the left of a NestedTensor is not supported")


def _entry_by_entry(run: Callable[..., Any], *operands: Any) -> Any:
    """The results for each entry: nested again where they differ in size, else stacked."""
    each = [x._entries() if isinstance(x, NestedTensor) else list(x) for x in operands]
    found = [run(*entries) for entries in zip(*each, strict=True)]
    if len({tuple(entry.shape) for entry in found}) == 1 and not _is_ragged(found[0], operands[0]):
        return torch.stack(found)
    like = operands[0]
    made, _ = jagged_from_list(found, like._offsets if like._lengths is None else None)
    return made


def _is_ragged(entry: Any, like: NestedTensor) -> bool:
    """Whether the entries of a result still have the size that differed, though all may be equal by chance."""
    return like._ragged_idx < like.dim() - 1 and entry.dim() == like.dim() - 1


@_rule("scaled_dot_product_attention")
def _attention(func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention(): NestedTensors take no attn_mask; is_causal=True is per entry"
        )
    if all(isinstance(x, NestedTensor) and x._ragged_idx == 1 for x in (query, key, value)):
        buffers = [x.values() for x in (query, key, value)]  # every entry's own batch: they lie side by side
        return query._with(F.scaled_dot_product_attention(buffers[0], buffers[1], buffers[2], None, *args, **kwargs))
    if not all(isinstance(x, NestedTensor) and x.dim() == 4 and x._ragged_idx == 2 for x in (query, key, value)):
        raise RuntimeError(
            "scaled_dot_product_attention(): expected query, key and value to be NestedTensors of size (batch, heads, j, width)"
        )
    parts = [
        F.scaled_dot_product_attention(q, k, v, None, *args, **kwargs)
        for q, k, v in zip(query._entries(), key._entries(), value._entries(), strict=True)
    ]
    return _whole(query)._with(torch.cat(parts, 1)) if query._lengths is not None else query._with(torch.cat(parts, 1))


_of_buffer("bernoulli")


@_rule("normalize")
def _normalize(func: Any, x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    return x._with(func(x.values(), p, _inner(x, dim, "normalize"), eps, out))
