"""Nested tensors of the layout `torch.strided`: entries of any sizes, each worked on by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.dimensions import wrap_dim

from .nested_tensor import ELEMENTWISE

__all__ = ["StridedNestedTensor", "strided_from_list"]

_KEEP_DIMS = frozenset("dropout relu gelu silu linear clone to float double half bfloat16 contiguous".split())
_OF_DIM = frozenset("softmax log_softmax sum mean select transpose squeeze unsqueeze chunk narrow".split())


class _Entries(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return tuple(entry.detach() for entry in x._tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _FromEntries.apply(*grads)


class _FromEntries(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return StridedNestedTensor(tuple(t.detach() for t in tensors))

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return tuple(grad.unbind())


class StridedNestedTensor(torch.Tensor):
    """Entries that differ in any of their sizes. Made by :func:`torch.nested.nested_tensor`.

    Only `size(0)` and the sizes that all entries share are known; `shape` and `len` raise RuntimeError, as in PyTorch.
    """

    _tensors: tuple[Any, ...]

    @staticmethod
    def __new__(cls: type, tensors: tuple[Any, ...], requires_grad: bool = False) -> Any:
        first = tensors[0] if tensors else torch.empty(0)
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]  # (not in the stub)
            cls, [len(tensors), *first.shape], dtype=first.dtype, device=first.device, requires_grad=requires_grad
        )

    def __init__(self, tensors: tuple[Any, ...], requires_grad: bool = False) -> None:
        self._tensors = tuple(t.detach() for t in tensors)
        self._shown: Any = None

    def _is_view(self) -> bool:
        """Whether it shows the memory of a tensor that it was made of."""
        return self._shown is not None

    @property
    def _base(self) -> Any:
        return self._shown

    def unbind(self, dim: int = 0) -> Any:
        """The entries."""
        if dim != 0:
            raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 but got dimension {dim} instead.")
        return _Entries.apply(self) if self._tensors else ()

    @property
    def shape(self) -> Any:
        """RuntimeError: there is no one size."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        """The size that all entries share in a dimension; RuntimeError where they differ."""
        if dim is None:
            return self.shape
        dim = dim % self.dim()
        if dim == 0:
            return len(self._tensors)
        sizes = {t.shape[dim - 1] for t in self._tensors}
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop() if sizes else 0

    def __len__(self) -> int:
        return self.shape

    def stride(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        """RuntimeError: there are no strides that hold for all entries."""
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def values(self) -> Any:
        """The elements of all entries, one after the other."""
        return torch.cat([entry.reshape(-1) for entry in self.unbind()]) if self._tensors else torch.empty(0)

    def dim(self) -> int:
        """How many dimensions there are, that of the batch included."""
        return 1 + (self._tensors[0].dim() if self._tensors else 0)

    ndim = property(dim)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """A dense tensor of the entries, each filled up with `padding`."""
        return _padded(self, padding, output_size)

    def numel(self) -> int:
        """How many elements all entries have."""
        return sum(t.numel() for t in self._tensors)

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether each entry is contiguous."""
        return all(t.is_contiguous() for t in self._tensors)

    @property
    def is_nested(self) -> bool:
        """True."""
        return True

    def _nested_tensor_size(self) -> Any:
        return torch.tensor([list(t.shape) for t in self._tensors], dtype=torch.int64)

    def _nested_tensor_strides(self) -> Any:
        return torch.tensor([list(t.stride()) for t in self._tensors], dtype=torch.int64)

    def _nested_tensor_storage_offsets(self) -> Any:
        if self._in_one_storage():
            return torch.tensor([t.storage_offset() for t in self._tensors], dtype=torch.int64)
        sizes = [0, *(t.numel() for t in self._tensors)]
        return torch.tensor(sizes[:-1], dtype=torch.int64).cumsum(0)

    def _in_one_storage(self) -> bool:
        """Whether the entries are parts of one tensor that have gaps between them."""
        return not self.is_contiguous() and len({t.untyped_storage()._cdata for t in self._tensors}) == 1

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]  # (Tensor's has no name for it in the stub)
        entries = ",\n".join("  " + repr(t).replace("\n", "\n  ") for t in self._tensors)
        return f"nested_tensor([\n{entries}\n])"

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if isinstance(index[0], int):
            entry = self.unbind()[index[0]]
            return entry[index[1:]] if len(index) > 1 else entry
        entries = self.unbind()[index[0]] if isinstance(index[0], slice) else self.unbind()
        return _FromEntries.apply(*(entry[index[1:]] if len(index) > 1 else entry for entry in entries))

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __reduce_ex__(self, protocol: Any) -> Any:
        if torch._utils.skipping.skip_data:
            raise RuntimeError("Cannot serialize nested tensor under skip_data context manager")
        if self._in_one_storage():
            buffer, strides = self._tensors[0].new_empty(0), self._nested_tensor_strides()
            buffer.set_(self._tensors[0].untyped_storage())
        else:
            buffer = self.detach().values()
            strides = torch.tensor(
                [[*torch.empty(t.shape, device="meta").stride()] for t in self._tensors], dtype=torch.int64
            )
        parts = (buffer, self._nested_tensor_size(), strides, self._nested_tensor_storage_offsets())
        return torch._utils._rebuild_nested_tensor, parts

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "to_padded_tensor":
            return _padded(*args, **kwargs)
        if name == "is_same_size":
            return [t.shape for t in args[0]._tensors] == [t.shape for t in args[1]._tensors]
        if name == "copy_" and _shapes(args[0]) != _shapes(args[1]):
            raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
        if name == "clone" and kwargs.get("memory_format") not in (
            None,
            torch.preserve_format,
            torch.contiguous_format,
        ):
            raise RuntimeError(
                "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
                + {torch.channels_last: "ChannelsLast", torch.channels_last_3d: "ChannelsLast3d"}[
                    kwargs["memory_format"]
                ]
            )
        if name in _ATTENTION:
            return _attended(func, *args, **kwargs)
        if name == "linear":
            _check_linear(*args)
        if name in ("softmax", "log_softmax") and wrap_dim(args[1], args[0].dim()) == 0:
            raise RuntimeError("Cannot apply softmax across nested dimension 0")
        if name == "narrow":
            return _narrowed(*args, **kwargs)
        if (
            name in ELEMENTWISE
            or name in _KEEP_DIMS
            or name in ("matmul", "bmm", "__matmul__", "layer_norm", "rms_norm")
        ):
            return _each(func, args, kwargs)
        if name in _OF_DIM:
            return _of_dim(func, args, kwargs)
        if name.removesuffix("_as") in ("reshape", "view"):
            return _reshaped(name, *args, **kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name in ("new_empty_strided", "empty_strided"):
            return StridedNestedTensor(tuple(torch.empty_like(t) for t in args[0]._tensors))
        if name == "copy_":
            for into, entry in zip(args[0]._tensors, args[1]._tensors, strict=True):
                into.copy_(entry)
            return args[0]
        if name in ("zero_", "fill_"):
            for entry in args[0]._tensors:
                func(entry, *args[1:])
            return args[0]
        if name in (
            "detach",
            "clone",
            "add",
            "_to_copy",
            "ones_like",
            "zeros_like",
            "empty_like",
            "mul",
            "alias",
        ):
            many = len(next(x for x in args if isinstance(x, StridedNestedTensor))._tensors)
            rows = [[x._tensors[i] if isinstance(x, StridedNestedTensor) else x for x in args] for i in range(many)]
            return StridedNestedTensor(tuple(func(*row, **(kwargs or {})) for row in rows))
        raise NotImplementedError(f"{func}")


def _check_linear(x: Any, weight: Any, bias: Any = None) -> None:
    if not isinstance(x, StridedNestedTensor):
        return
    if weight.is_nested:
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    if x.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {x.dim()}. Dense tensor dim: "
            f"{weight.dim()}"
        )
    if not x.is_contiguous():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    widths = {entry.shape[-1] for entry in x._tensors}
    if len(widths) > 1:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{x._nested_tensor_size()[:, -1]}"
        )
    if widths and weight.shape[1] not in widths:
        raise RuntimeError(
            f"Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal 'weight.size(1), but "
            f"got: last_dim = {widths.pop()}, and weight.size(1) = {weight.shape[1]}"
        )


def _check_squeeze(x: StridedNestedTensor, dim: int | None = None) -> None:
    if dim is None:
        raise RuntimeError(
            "For nested tensors, squeeze without the dim argument is not supported at the moment, however you can use "
            "squeeze(Tensor self, int dim) instead if you need this feature."
        )
    place = wrap_dim(dim, x.dim())
    if place == 0:
        raise RuntimeError("For nested tensors, squeezing dimension 0 is not supported at the moment.")
    if place == 1 and x.dim() == 2:
        raise RuntimeError("For nested tensors, squeezing a nested tensor of singleton tensors is not supported.")


def _narrowed(x: StridedNestedTensor, dim: int, start: int, length: int) -> Any:
    if dim != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got dim={dim}")
    if not x.is_contiguous():
        raise RuntimeError("narrow(): only contiguous nested tensors supported")
    if not 0 <= start <= start + length <= len(x._tensors):
        raise IndexError(f"narrow(): start ({start}) and length ({length}) exceed the {len(x._tensors)} entries")
    made = _FromEntries.apply(*x.unbind()[start : start + length])
    made._shown = x
    return made


def _shapes(x: Any) -> list | None:
    """Of the entries; None if it is not nested."""
    return [t.shape for t in x._tensors] if isinstance(x, StridedNestedTensor) else None


def strided_from_dense(dense: Any) -> Any:
    """A nested tensor whose entries are the rows of a dense tensor."""
    made = strided_from_list(list(dense.contiguous().unbind()))
    made._shown = dense if dense.is_contiguous() else None
    return made


def _each(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A function on entry after entry of the nested arguments."""
    nested = [x for x in args if isinstance(x, StridedNestedTensor)]
    many = len(nested[0]._tensors)
    if any(len(x._tensors) != many for x in nested):
        raise RuntimeError("nested tensors of different numbers of entries do not go together")
    columns = [x.unbind() if isinstance(x, StridedNestedTensor) else [x] * many for x in args]
    if func.__name__ in ("bmm", "matmul", "__matmul__"):
        columns = [
            list(x) if isinstance(x, torch.Tensor) and x.dim() == 3 and not x.is_nested else c
            for x, c in zip(args, columns, strict=True)
        ]
        func = torch.matmul
    if func.__name__.endswith("_") and not func.__name__.endswith("__"):
        for row in zip(*(x._tensors if isinstance(x, StridedNestedTensor) else [x] * many for x in args), strict=True):
            func(*row, **kwargs)
        return args[0]
    return _FromEntries.apply(*(func(*row, **kwargs) for row in zip(*columns, strict=True)))


def _reshaped(name: str, x: StridedNestedTensor, *sizes: Any, **keywords: Any) -> Any:
    """Entry after entry in other sizes: by those of another nested tensor's entries, or by one list for all."""
    if keywords:
        sizes = tuple(keywords.values())
    if name.endswith("_as"):
        shapes = [other.shape for other in sizes[0].unbind()]
    else:
        asked = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        if asked[0] != len(x._tensors):
            raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
        shapes = [_sizes_of_entry(entry, asked) for entry in x._tensors]
    change = torch.Tensor.view if name.startswith("view") else torch.Tensor.reshape
    return _FromEntries.apply(*(change(entry, shape) for entry, shape in zip(x.unbind(), shapes, strict=True)))


def _sizes_of_entry(entry: Any, asked: tuple[int, ...]) -> list[int]:
    """The sizes of an entry where -1 keeps the size that it has in that dimension."""
    found: list[int] = []
    for place, size in enumerate(asked[1:]):
        if size == -1:
            if place >= entry.dim():
                raise RuntimeError("nested tensor does not infer shape")
            if len(asked) - 1 > entry.dim() and -1 in asked[1 : place + 1]:
                raise RuntimeError("only one dimension can be inferred")
            size = entry.shape[place]
        elif size < 0:
            raise RuntimeError(f"invalid shape dimension {size}")
        found.append(size)
    if math.prod(found) != entry.numel():
        raise RuntimeError(f"shape '{list(asked)}' is invalid for input of size {entry.numel()}")
    return found


def _of_dim(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A function with dimensions, of entries, which have one less."""
    x, many = args[0], args[0].dim()
    if not x._tensors and func.__name__ in ("softmax", "log_softmax"):
        return x
    if func.__name__ == "squeeze":
        _check_squeeze(x, *args[1:], **kwargs)
    positions = {"transpose": (1, 2), "chunk": (2,)}.get(func.__name__, (1,))

    def inner(dim: Any) -> Any:
        if not isinstance(dim, int):
            return type(dim)(inner(d) for d in dim)
        place = dim + many + (func.__name__ == "unsqueeze") if dim < 0 else dim
        if place == 0:
            raise RuntimeError(f"{func.__name__}(): the batch dimension of a nested tensor takes no part in it")
        return place - 1

    if func.__name__ == "select" and args[1] == 0:
        return x.unbind()[args[2]]
    if len(args) == 1 and "dim" not in kwargs:
        return func(torch.cat([entry.reshape(-1) for entry in x.unbind()]), **kwargs)
    shifted = [inner(value) if place in positions else value for place, value in enumerate(args)]
    keywords = {key: inner(value) if key == "dim" else value for key, value in kwargs.items()}
    found = [func(entry, *shifted[1:], **keywords) for entry in x.unbind()]
    if isinstance(found[0], (tuple, list)):
        return tuple(_FromEntries.apply(*part) for part in zip(*found, strict=True))
    return _FromEntries.apply(*found)


def _padded(x: StridedNestedTensor, padding: float, output_size: Any = None) -> Any:
    entries = x.unbind()
    if not entries:
        return torch.empty(0)
    widths = [max(sizes) for sizes in zip(*(e.shape for e in entries), strict=True)]
    if output_size is not None:
        if any(asked < needed for asked, needed in zip(output_size[1:], widths, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            )
        widths = list(output_size[1:])
    rows = []
    for entry in entries:
        pads: list[int] = []
        for size, width in zip(reversed(entry.shape), reversed(widths), strict=True):
            pads += [0, width - size]
        rows.append(torch.nn.functional.pad(entry, pads, value=padding))
    return torch.stack(rows)


def strided_from_list(tensors: Sequence[Any], requires_grad: bool = False) -> Any:
    """A nested tensor of entries: with their history, or a leaf."""
    if len({t.dim() for t in tensors}) > 1:
        raise RuntimeError(
            "All Tensors given to nested_tensor must have the same dimension. Found dimension "
            f"{tensors[1].dim()} for Tensor at index 1 and dimension {tensors[0].dim()} for Tensor at index 0."
        )
    if not tensors:
        return StridedNestedTensor((), requires_grad)
    return _FromEntries.apply(*tensors)


# Where the mask stands among the arguments.
_ATTENTION = {"_native_multi_head_attention": 9, "_transformer_encoder_layer_fwd": 18}


def _attended(func: Any, first: Any, *args: Any, mask: Any = None, mask_type: Any = None, **kwargs: Any) -> Any:
    """Attention with its projections, of entries padded to the longest; nested again, but for the weights."""
    before = _ATTENTION[func.__name__] - 1
    for name, value in zip(("mask", "need_weights", "average_attn_weights"), args[before:]):
        kwargs[name] = value
    args = args[:before]
    if mask is not None or kwargs.pop("mask", None) is not None:
        raise RuntimeError("NestedTensor with mask is not supported yet")
    lengths = torch.tensor([len(entry) for entry in first._tensors])
    padding = torch.arange(int(lengths.max())) >= lengths.unsqueeze(1)
    dense = [_padded(x, 0.0) if isinstance(x, StridedNestedTensor) else x for x in (first, *args)]
    made = func(*dense, mask=padding, mask_type=1, **kwargs)
    several = isinstance(made, tuple)
    result = made[0] if several else made
    nested = _FromEntries.apply(*(row[: len(entry)] for row, entry in zip(result, first._tensors, strict=True)))
    if not several:
        return nested
    weights = made[1]
    if weights is not None:
        queries = padding.view(len(padding), *[1] * (weights.dim() - 3), -1, 1)
        weights = weights.masked_fill(queries, 0.0)
    return nested, weights
