"""`NestedTensor`: entries of different lengths side by side in one buffer (the layout `torch.jagged`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.dimensions import wrap_dim
from mindtorch_v2._ops import OpOverload

from .nested_int import ragged_size

__all__ = ["NestedTensor", "buffer_from_jagged", "jagged_from_list", "jagged_from_tensor_and_lengths"]

# By the name of a function: what it does to NestedTensors. `ops` fills it.
RULES: dict[str, Callable[..., Any]] = {}
ELEMENTWISE: set[str] = set()


class _Values(torch.autograd.Function):
    """The buffer of a NestedTensor; its gradient is nested."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.like = x.detach()
        return x._values.detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _FromValues.apply(grad, ctx.like)


class _FromValues(torch.autograd.Function):
    """A NestedTensor of a buffer, with the offsets of another."""

    @staticmethod
    def forward(ctx: Any, values: Any, like: Any) -> Any:
        return NestedTensor(
            values.detach(), like._offsets, lengths=like._lengths, _ragged_idx=like._ragged_idx, _cache=like._cache
        )

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return (grad.values() if isinstance(grad, NestedTensor) else grad), None


class _Structure:
    """Parts of a NestedTensor beside its buffer."""

    def __init__(self, offsets: Any, lengths: Any, ragged_idx: int, cache: dict[str, int]) -> None:
        self._offsets, self._lengths, self._ragged_idx, self._cache = offsets, lengths, ragged_idx, cache


class NestedTensor(torch.Tensor):
    """Entries that differ in one dimension: size `(batch, j, ...)`, where `j` stands for each entry's own size.

    `values()` is the buffer in which they lie one after the other along dimension `_ragged_idx - 1`, `offsets()` says where
    each begins; with `lengths()` an entry ends before the next one begins. Made by :func:`torch.nested.nested_tensor` with
    `layout=torch.jagged` and by :func:`torch.nested.nested_tensor_from_jagged`.
    """

    _values: Any
    _offsets: Any
    _lengths: Any
    _ragged_idx: int

    @staticmethod
    def __new__(cls: type, values: Any, offsets: Any, *, lengths: Any = None, **options: Any) -> Any:
        place = options.get("_ragged_idx", 1)
        longest = options.get("_cache", {}).get("max")
        if longest is None:
            sizes = offsets.diff() if lengths is None else lengths
            longest = int(sizes.max()) if sizes.numel() else 0
        physical = [offsets.shape[0] - 1, *values.shape]
        physical[place] = longest
        strides = [0] * len(physical)
        for dim in range(1, len(physical)):
            strides[dim] = values.stride(dim - 1)
        strides[0] = max(longest, 1) * (strides[place] or 1)
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]  # (not in the stub)
            cls,
            physical,
            strides=strides,
            dtype=values.dtype,
            device=values.device,
            requires_grad=options.get("requires_grad", False),
        )

    def __init__(self, values: Any, offsets: Any, *, lengths: Any = None, **options: Any) -> None:
        self._values, self._offsets, self._lengths = values.detach(), offsets, lengths
        self._ragged_idx = options.get("_ragged_idx", 1)
        self._cache: dict[str, int] = dict(options.get("_cache", {}))
        size: list[Any] = [offsets.shape[0] - 1, *values.shape]
        size[self._ragged_idx] = ragged_size(offsets if lengths is None else lengths)
        self._size = tuple(size)
        self._shown: tuple[Any, Callable[[Any], Any]] | None = None

    # ---- views ----

    def _viewing(self, base: Any, again: Callable[[Any], Any]) -> Any:
        """This tensor, as one that shows the memory of `base`; `again` makes such a one of another tensor like it."""
        self._shown = (base, again)
        return self

    def _is_view(self) -> bool:
        """Whether it shows the memory of a tensor that it was made of."""
        return self._shown is not None

    @property
    def _base(self) -> Any:
        return None if self._shown is None else self._shown[0]

    def _view_func(self, new_base: Any) -> Any:
        """The same view of another tensor."""
        if self._shown is None:
            raise RuntimeError("Cannot call _view_func() on a tensor that is no view")
        return self._shown[1](new_base)

    # ---- parts ----

    def values(self) -> Any:
        """The buffer; gradients go through it."""
        return _Values.apply(self)

    def offsets(self) -> Any:
        """Where each entry begins, and where the last one ends."""
        return self._offsets

    def lengths(self) -> Any:
        """How long each entry is, where the buffer has gaps; else None."""
        return self._lengths

    def _sizes(self) -> list[int]:
        """How long each entry is."""
        return (self._offsets.diff() if self._lengths is None else self._lengths).tolist()

    def _get_max_seqlen(self) -> int:
        if "max" not in self._cache:
            self._cache["max"] = max(self._sizes(), default=0)
        return self._cache["max"]

    def _get_min_seqlen(self) -> int:
        if "min" not in self._cache:
            self._cache["min"] = min(self._sizes(), default=0)
        return self._cache["min"]

    _max_seqlen = property(_get_max_seqlen)
    _min_seqlen = property(_get_min_seqlen)
    _maybe_max_seqlen = property(lambda self: self._cache.get("max"))
    _maybe_min_seqlen = property(lambda self: self._cache.get("min"))

    @property
    def _metadata_cache(self) -> dict[str, Any]:
        """The longest and the shortest entry's length, as sizes of empty tensors, where they are known."""
        return {f"{key}_seqlen": torch.empty(value, 0) for key, value in self._cache.items()}

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """A dense tensor of the entries, each filled up with `padding`."""
        return RULES["to_padded_tensor"](None, self, padding, output_size)

    def _with(self, values: Any, ragged_idx: int | None = None) -> Any:
        """A NestedTensor with the same entries' lengths and another buffer, which may have history."""
        place = self._ragged_idx if ragged_idx is None else ragged_idx
        return _FromValues.apply(values, _Structure(self._offsets, self._lengths, place, self._cache))

    def _entries(self) -> list[Any]:
        """The entries, views of the buffer."""
        values, dim = self.values(), self._ragged_idx - 1
        starts = self._offsets.tolist()
        return [values.narrow(dim, start, size) for start, size in zip(starts, self._sizes(), strict=False)]

    # ---- sizes ----

    @property
    def shape(self) -> Any:
        """The sizes, with a symbol for the ragged one."""
        return torch.Size(self._size)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        """The sizes, or one of them."""
        return self.shape if dim is None else self._size[_place(self, dim)]

    def stride(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        """The strides: of the buffer, with a multiple of the ragged size for the batch."""
        inner = self._values.stride()
        strides = (self._size[self._ragged_idx] * inner[self._ragged_idx - 1], *inner)
        return strides if dim is None else strides[_place(self, dim)]

    def dim(self) -> int:
        """How many dimensions there are, that of the batch included."""
        return len(self._size)

    ndim = property(dim)

    def numel(self) -> int:
        """How many elements all entries have."""
        rest = 1
        for place, size in enumerate(self._values.shape):
            rest *= size if place != self._ragged_idx - 1 else 1
        return rest * sum(self._sizes())

    def __len__(self) -> int:
        return self._size[0]

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    @property
    def layout(self) -> Any:
        """`torch.jagged`."""
        return torch.jagged

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the entries lie side by side without gaps, in order."""
        return self._lengths is None and self._ragged_idx == 1 and self._values.is_contiguous(*args, **kwargs)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]  # (Tensor's has no name for it in the stub)
        history = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        return f"NestedTensor(size={self._size}, offsets={self._offsets}{history}, contiguous={self._lengths is None})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = (self._values, self._offsets, self._lengths, self._ragged_idx, self.requires_grad)
        return _rebuild_njt, state

    def __tensor_flatten__(self) -> Any:
        parts = ["_values", "_offsets"] + (["_lengths"] if self._lengths is not None else [])
        return parts, {"ragged_idx": self._ragged_idx, "requires_grad": self.requires_grad}

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Any], meta: Any, outer_size: Any, outer_stride: Any) -> Any:
        return NestedTensor(
            inner["_values"], inner["_offsets"], lengths=inner.get("_lengths"), _ragged_idx=meta["ragged_idx"],
            requires_grad=meta["requires_grad"],
        )  # fmt: skip

    # ---- calls ----

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, OpOverload):
            func = func.overloadpacket
        name = getattr(func, "__name__", "")
        rule = RULES.get(name)
        if rule is not None:
            return rule(func, *args, **kwargs)
        if name in ELEMENTWISE:
            return elementwise(func, args, kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in ("new_empty_strided", "empty_strided"):
            return _buffer_call(torch.ops.aten.empty_like.default, (args[0],), {})
        if func.overloadpacket.__name__.rstrip("_") in ELEMENTWISE or func.overloadpacket.__name__ in _OF_AUTOGRAD:
            return _buffer_call(func, args, kwargs or {})
        rule = RULES.get(func.overloadpacket.__name__)
        if rule is not None and not any(isinstance(x, NestedTensor) and x.requires_grad for x in args):
            return rule(func.overloadpacket, *args, **(kwargs or {}))  # an operator by its name in torch.ops
        raise NotImplementedError(f"{func}")


_OF_AUTOGRAD = frozenset(
    "detach clone copy_ _to_copy fill_ zero_ ones_like zeros_like empty_like full_like view".split()
)


def _buffer_call(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operator below autograd on the buffers."""
    nested = [x for x in args if isinstance(x, NestedTensor)]
    inner = [x._values if isinstance(x, NestedTensor) else x for x in args]
    if func.overloadpacket.__name__ == "view":
        return args[0].detach()
    found = func(*inner, **kwargs)
    like = nested[0]
    if isinstance(args[0], NestedTensor) and found is args[0]._values:
        return args[0]
    return NestedTensor(found, like._offsets, lengths=like._lengths, _ragged_idx=like._ragged_idx, _cache=like._cache)


def _place(x: NestedTensor, dim: int) -> int:
    return wrap_dim(dim, len(x._size))


def _fitted(x: Any, like: NestedTensor, name: str) -> Any:
    """A dense operand, as it stands against the buffer of a NestedTensor."""
    inside, place = like.dim(), like._ragged_idx
    if x.dim() == 0 or x.dim() < inside - place:
        return x
    sizes = (1,) * (inside - x.dim()) + tuple(x.shape)
    if len(sizes) == inside and sizes[place] == 1:
        x = x.reshape(sizes)
        if sizes[0] == 1:
            return x.squeeze(0)
        if sizes[0] == like._size[0]:  # one for each entry
            of_entry = torch.repeat_interleave(torch.tensor(like._sizes()))
            return x.squeeze(place).movedim(0, place - 1).index_select(place - 1, of_entry)
    raise RuntimeError(
        f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {like._size} and {tuple(x.shape)}"
    )


def elementwise(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A function of each element, on the buffers of NestedTensors with the same offsets."""
    name = func.__name__
    everything = [*args, *kwargs.values()]
    nested = [x for x in everything if isinstance(x, NestedTensor)]
    like = nested[0]
    for other in nested[1:]:
        if other._size[: like._ragged_idx + 1] != like._size[: like._ragged_idx + 1]:
            raise RuntimeError(
                f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {like._size} and {other._size}"
            )

    def inner(x: Any) -> Any:
        if isinstance(x, NestedTensor):
            return x.values()
        return _fitted(x, like, name) if isinstance(x, torch.Tensor) else x

    if name.endswith("_") and not name.endswith("__"):
        if torch.is_grad_enabled() and any(x.requires_grad for x in nested):
            raise NotImplementedError(
                f"{name}: NestedTensors that require grad are not written in place; use {name[:-1]}"
            )
        func(like._values, *[x._values if isinstance(x, NestedTensor) else inner(x) for x in args[1:]], **kwargs)
        return like
    return like._with(func(*[inner(x) for x in args], **{key: inner(x) for key, x in kwargs.items()}))


def _rebuild_njt(values: Any, offsets: Any, lengths: Any, ragged_idx: int, requires_grad: bool) -> NestedTensor:
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged_idx, requires_grad=requires_grad)


def buffer_from_jagged(jagged: NestedTensor) -> Any:
    """The buffer of a NestedTensor; gradients go through it."""
    return jagged.values()


def jagged_from_list(tensors: Sequence[Any], offsets: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """A NestedTensor of entries, which may have history, and its offsets."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len({t.dtype for t in tensors}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dtype")
    if len({t.device for t in tensors}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must be on the same device")
    if len({t.dim() for t in tensors}) != 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim")
    if tensors[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    ragged = {dim for t in tensors for dim, (a, b) in enumerate(zip(t.shape, tensors[0].shape, strict=True)) if a != b}
    if len(ragged) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only allows "
            "for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    dim = ragged.pop() if ragged else 0
    sizes = [t.shape[dim] for t in tensors]
    if offsets is None:
        offsets = torch.tensor([0, *sizes], device=tensors[0].device).cumsum(0)
    elif offsets.shape[0] != len(tensors) + 1:
        raise RuntimeError(f"expected {len(tensors) + 1} offsets, got {offsets.shape[0]}")
    values = torch.cat([t.to(device=device, dtype=dtype) for t in tensors], dim)
    cache = {"max": max(sizes), "min": min(sizes)}
    return _FromValues.apply(values, _Structure(offsets, None, dim + 1, cache)), offsets


def jagged_from_tensor_and_lengths(tensor: Any, starts: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """Of each row of a dense tensor the part that begins at `starts` and is `lengths` long, as a NestedTensor."""
    many, width = tensor.shape[:2]
    starts = torch.as_tensor(starts, device=tensor.device).expand(many)
    lengths = torch.as_tensor(lengths, device=tensor.device).expand(many)
    if bool((starts + lengths > width).any()) or bool((starts < 0).any()) or bool((lengths < 0).any()):
        raise RuntimeError(f"narrow(): parts of rows of length {width} were asked for that lie outside of them")
    offsets = torch.cat(
        [starts + torch.arange(many, device=tensor.device) * width, (starts[-1:] + lengths[-1:]) + (many - 1) * width]
    )
    values = tensor.reshape(many * width, *tensor.shape[2:])
    whole = bool((offsets[1:] - offsets[:-1] == lengths).all())
    kept = None if whole else lengths.contiguous()
    cache = {"max": int(lengths.max()), "min": int(lengths.min())} if many else {}
    return _FromValues.apply(values, _Structure(offsets, kept, 1, cache)), offsets, kept


def nested_view_from_values_offsets(
    values: Any, offsets: Any, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None
) -> Any:
    """A NestedTensor of a buffer and offsets; gradients go on to the buffer."""
    return nested_view_from_values_offsets_lengths(values, offsets, None, ragged_idx, min_seqlen, max_seqlen)


def nested_view_from_values_offsets_lengths(
    values: Any,
    offsets: Any,
    lengths: Any,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:
    """A NestedTensor of a buffer, offsets and lengths; gradients go on to the buffer."""
    cache = {key: value for key, value in (("max", max_seqlen), ("min", min_seqlen)) if value is not None}

    def nested(values: Any) -> Any:
        return _FromValues.apply(values, _Structure(offsets, lengths, ragged_idx, cache))

    made = nested(values)
    if not values._is_view():
        return made._viewing(values, nested)
    behind = values.storage_offset() - values._base.storage_offset()

    def again(base: Any) -> Any:
        return nested(base.as_strided(values.size(), values.stride(), base.storage_offset() + behind))

    return made._viewing(values._base, again)


def jagged_from_dense(dense: Any) -> NestedTensor:
    """A NestedTensor whose entries are the rows of a dense tensor: all of one length."""
    many, size = dense.shape[:2]
    offsets = torch.arange(many + 1, device=dense.device) * size

    def nested(dense: Any) -> Any:
        return nested_view_from_values_offsets(dense.flatten(0, 1), offsets, 1, size, size)

    made: NestedTensor = nested(dense)
    if not dense.is_contiguous():
        made._shown = None
        return made
    return made._viewing(dense, nested)


def nested_from_padded(
    padded: Any,
    offsets: Any,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
    sum_S: int | None = None,
) -> Any:
    """A NestedTensor of what of a padded tensor lies before each entry's end."""
    sizes = offsets.diff().tolist()
    values = torch.cat(
        [row.narrow(ragged_idx - 1, 0, size) for row, size in zip(padded, sizes, strict=True)], ragged_idx - 1
    )
    return nested_view_from_values_offsets(values, offsets, ragged_idx, min_seqlen, max_seqlen)
