"""Arguments and results as plain Python, so that what one library made the other can take up, in another process."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy


class Strided(NamedTuple):
    """A tensor with the memory that it reaches."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    memory: bytes
    requires_grad: bool
    flags: tuple[bool, bool]  # conjugated, negated

    def array(self) -> numpy.ndarray:
        """The numbers, flags aside; bfloat16, float8 and complex32 as wider ones."""
        kind, wide, parts = _KINDS.get(self.dtype, (self.dtype, None, 1))
        memory = numpy.frombuffer(self.memory, dtype=kind)
        size = memory.itemsize * parts
        if parts == 2:
            memory = memory.reshape(-1, 2)
        steps = [stride * size for stride in self.stride]
        tail = ([], []) if parts == 1 else ([2], [memory.itemsize])
        found = numpy.lib.stride_tricks.as_strided(memory, (*self.shape, *tail[0]), (*steps, *tail[1]), writeable=False)
        if self.dtype == "bfloat16":
            return (found.astype(numpy.uint32) << 16).view(numpy.float32)
        if self.dtype == "complex32":
            return numpy.ascontiguousarray(found.astype(numpy.float32)).view(numpy.complex64)[..., 0]
        return found if wide is None else found.astype(wide)


_KINDS: dict[str, tuple[str, Any, int]] = {
    "bfloat16": ("uint16", None, 1),
    "complex32": ("float16", None, 2),
    **{
        name: ("uint8", None, 1)
        for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
    },
}


class Sparse(NamedTuple):
    """A sparse tensor by its parts."""

    layout: str
    shape: tuple[int, ...]
    parts: list[Any]
    coalesced: bool
    requires_grad: bool


class Bare(NamedTuple):
    """A tensor without memory that counts: its dtype, shape and strides."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: str


class Named(NamedTuple):
    """Something that stands in both libraries by a name: a dtype, a layout, a memory format."""

    name: str


class Device(NamedTuple):
    """A device."""

    name: str


class Size(NamedTuple):
    """A torch.Size."""

    sizes: tuple[int, ...]


class Again(NamedTuple):
    """A tensor that stood before among the arguments of the call: its place among them."""

    place: int


class Part(NamedTuple):
    """A view of a tensor that stood before among the arguments of the call; the offset in elements."""

    place: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class Raised(NamedTuple):
    """An error of a call: the names of the classes, nearest first, and the text."""

    kinds: list[str]
    text: str


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of either library."""
    return hasattr(value, "layout") and hasattr(value, "dim")


def encode_call(torch: ModuleType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments of a call as plain Python; a tensor that stands there twice is one tensor for `decode_call` too.

    Tensors that share memory are views of all that they reach, which travels before them.
    """
    return encode(torch, (_shared_memory(flat([list(args), kwargs])), args, kwargs), seen=[])


def _shared_memory(values: list[Any]) -> list[Any]:
    """For each memory that several dense tensors of one dtype share, all of it that they reach."""
    groups: dict[int, dict[int, Any]] = {}
    for each in values:
        if is_tensor(each) and _name(each.layout) == "strided" and each.numel() and not each.requires_grad:
            groups.setdefault(each.untyped_storage().data_ptr(), {})[id(each)] = each
    found = []
    for members in (list(group.values()) for group in groups.values()):
        if len(members) < 2 or len({(each.dtype, each.is_conj(), each.is_neg()) for each in members}) > 1:
            continue
        begin = min(each.storage_offset() for each in members)
        end = max(each.storage_offset() + _reach(each) for each in members)
        found.append(members[0].as_strided((end - begin,), (1,), begin))
    return found


def _reach(tensor: Any) -> int:
    """The number of elements of memory from the first of a tensor to its last."""
    return sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True)) + 1


def decode_call(torch: ModuleType, plain: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Make the arguments of a call."""
    made: list[Any] = []
    _, args, kwargs = decode(torch, plain, made)
    return args, kwargs


def encode(
    torch: ModuleType, value: Any, bare: bool = False, seen: list[Any] | None = None, device: str = "cpu"
) -> Any:
    """A value as plain Python; LookupError for what has no such form, as tensors that are not on `device`."""
    if is_tensor(value):
        if seen is not None:
            for place, each in enumerate(seen):
                if each is value:
                    return Again(place)
            part = next(filter(None, (_part(place, each, value) for place, each in enumerate(seen))), None)
            seen.append(value)
            if part is not None:
                return part
        return _bare(value) if bare else _tensor(torch, value, device)
    if isinstance(value, torch.Size):
        return Size(tuple(int(each) for each in value))
    if isinstance(value, tuple):
        return tuple(encode(torch, each, bare, seen, device) for each in value)
    if isinstance(value, list):
        return [encode(torch, each, bare, seen, device) for each in value]
    if isinstance(value, dict):
        return {name: encode(torch, each, bare, seen, device) for name, each in value.items()}
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return Named(str(value).rpartition(".")[2])
    if isinstance(value, torch.device):
        return Device(str(value))
    if isinstance(value, slice):
        return slice(*(encode(torch, each) for each in (value.start, value.stop, value.step)))
    if value is None or value is ... or isinstance(value, bool | int | float | complex | str | bytes | numpy.generic):
        return value
    if isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc":
        return value
    raise LookupError(f"{type(value).__name__} has no plain form")


def _part(place: int, of: Any, value: Any) -> Part | None:
    """The view that `value` is of the dense tensor `of`, if it is one."""
    if any(_name(each.layout) != "strided" or not each.numel() for each in (of, value)) or of.dtype != value.dtype:
        return None
    if of.untyped_storage().data_ptr() != value.untyped_storage().data_ptr() or not of.is_contiguous():
        return None
    offset = value.storage_offset() - of.storage_offset()
    if offset < 0 or offset + _reach(value) > of.numel():
        return None
    return Part(place, tuple(value.shape), tuple(value.stride()), offset)


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _bare(tensor: Any) -> Bare:
    stride = tuple(tensor.stride()) if _name(tensor.layout) == "strided" else ()
    return Bare(_name(tensor.dtype), tuple(tensor.shape), stride, tensor.device.type)


def _tensor(torch: ModuleType, tensor: Any, device: str) -> Any:
    if tensor.device.type != device:
        raise LookupError(f"a tensor on {tensor.device}, not {device}, has no plain form")
    grad = tensor.requires_grad
    tensor = tensor.detach().cpu()
    if tensor._is_zerotensor():  # has no memory
        tensor = tensor.clone()
    layout = _name(tensor.layout)
    if tensor.is_quantized or tensor.is_nested:
        raise LookupError("a tensor of another kind has no plain form")
    if layout == "sparse_coo":
        parts = [tensor._indices(), tensor._values()]
        coalesced = tensor.is_coalesced()
    elif layout in ("sparse_csr", "sparse_bsr"):
        parts, coalesced = [tensor.crow_indices(), tensor.col_indices(), tensor.values()], False
    elif layout in ("sparse_csc", "sparse_bsc"):
        parts, coalesced = [tensor.ccol_indices(), tensor.row_indices(), tensor.values()], False
    elif layout == "strided":
        flags = (tensor.is_conj(), tensor.is_neg())
        memory = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy()
        begin = tensor.storage_offset() * tensor.itemsize
        reach = 0 if 0 in tensor.shape else _reach(tensor)
        held = memory[begin : begin + reach * tensor.itemsize].tobytes()
        return Strided(_name(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), held, grad, flags)
    else:
        raise LookupError(f"a tensor of layout {layout} has no plain form")
    return Sparse(layout, tuple(tensor.shape), [_tensor(torch, part, "cpu") for part in parts], coalesced, grad)


def decode(torch: ModuleType, value: Any, made: list[Any] | None = None, device: str = "cpu") -> Any:
    """Make of plain Python what `encode` was given, as `torch` has it; tensors are kept in `made`.

    Tensors are made on `device`, which takes the place of the CPU where a call names it.
    """
    if isinstance(value, Strided | Sparse):
        make = _strided if isinstance(value, Strided) else _sparse
        tensor = make(torch, value, device).requires_grad_(value.requires_grad)
        if made is not None:
            made.append(tensor)
        return tensor
    if isinstance(value, Again):
        return (made or [])[value.place]
    if isinstance(value, Part):
        of = (made or [])[value.place]
        part = of.as_strided(value.shape, value.stride, of.storage_offset() + value.offset)
        (made or []).append(part)
        return part
    if isinstance(value, Named):
        return getattr(torch, value.name)
    if isinstance(value, Device):
        return torch.device(device if value.name == "cpu" else value.name)
    if isinstance(value, Size):
        return torch.Size(value.sizes)
    if isinstance(value, tuple):
        return tuple(decode(torch, each, made, device) for each in value)
    if isinstance(value, list):
        return [decode(torch, each, made, device) for each in value]
    if isinstance(value, dict):
        return {name: decode(torch, each, made, device) for name, each in value.items()}
    return device if isinstance(value, str) and value == "cpu" else value


def _strided(torch: ModuleType, value: Strided, device: str) -> Any:
    dtype = getattr(torch, value.dtype)
    found = torch.empty(0, dtype=dtype)
    if value.memory:
        found = torch.frombuffer(bytearray(value.memory), dtype=torch.uint8).view(dtype)
    found = torch.as_strided(found.to(device), value.shape, value.stride)
    if value.flags[0]:
        found = torch.conj(found)
    return torch._neg_view(found) if value.flags[1] else found


def _sparse(torch: ModuleType, value: Sparse, device: str) -> Any:
    parts = [_strided(torch, part, device) for part in value.parts]
    if value.layout == "sparse_coo":
        return torch.sparse_coo_tensor(*parts, value.shape, is_coalesced=value.coalesced or None)
    return torch.sparse_compressed_tensor(*parts, value.shape, layout=getattr(torch, value.layout))


def flat(value: Any) -> list[Any]:
    """The leaves of lists, tuples and dictionaries."""
    if isinstance(value, dict):
        return [item for part in value.values() for item in flat(part)]
    if isinstance(value, list) or (isinstance(value, tuple) and not _is_leaf(value)):
        return [item for part in value for item in flat(part)]
    return [value]


def _is_leaf(value: Any) -> bool:
    return (
        isinstance(value, Strided | Sparse | Bare | Named | Device | Size | Again | Raised)
        or type(value).__name__ == "Size"
    )
