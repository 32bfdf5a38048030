"""Casts of tensors between storage formats, for those who hold tensors."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.storage import UntypedStorage, copies, orders
from ..._operators.table import aten
from . import state
from .storage_formats import _BY_RANK, IN_ROWS, Format, Layout, described, layout_of


def format_of(tensor: Any) -> Format:
    """The format of a tensor's storage; outside of NPUs, that of its rank."""
    if tensor.device.type != "npu" or not state.started():
        return _BY_RANK.get(tensor.dim(), Format.ND)
    return state.get().formats.of(*described(_C._describe(tensor)), tensor.dim())


def is_in_rows(tensor: Any) -> bool:
    """Whether the elements lie in memory as sizes and strides say."""
    if tensor.device.type != "npu" or not state.started():
        return True
    in_blocks = state.get().formats.in_blocks
    return not in_blocks or described(_C._describe(tensor)) not in in_blocks


def check_exportable(tensor: Any) -> None:
    """BufferError for a tensor that another library would read in the wrong order."""
    if not is_in_rows(tensor):
        raise BufferError(
            f"Cannot pack tensors on {tensor.device} that lie in memory in the format {format_of(tensor).name}: DLPack knows of "
            "rows only; cast it first, torch_npu.npu_format_cast(x, 2)"
        )


def require_rows(what: str, tensor: Any) -> None:
    """RuntimeError for a tensor whose address says nothing to who does not know of its format."""
    if not is_in_rows(tensor):
        raise RuntimeError(
            f"{what}: the tensor of shape {list(tensor.shape)} lies in memory in the format {format_of(tensor).name}, and what is "
            "given only its address would take the elements in the wrong order; cast it first, torch_npu.npu_format_cast(x, 2)"
        )


def in_rows(tensor: Any) -> Any:
    """The tensor itself, or a copy of one that does not lie in rows."""
    return tensor if is_in_rows(tensor) else aten.clone(tensor)


def checked(operator: str, acl_format: Any) -> Format:
    """The format of a number. RuntimeError for a number that is none."""
    try:
        return Format(int(acl_format))
    except ValueError:
        known = ", ".join(f"{int(each)} ({each.name})" for each in Format)
        raise RuntimeError(f"{operator}(): {acl_format} is no format; known are {known}") from None


def _on_npu(operator: str, tensor: Any, wanted: Format) -> None:
    if tensor.device.type != "npu":
        raise RuntimeError(
            f"{operator}(): {wanted.name} is an order of elements in the memory of NPUs, but the tensor is on {tensor.device}; move "
            "it there first, x.npu()"
        )


def cast(tensor: Any, wanted: Format) -> Any:
    """A copy with the same numbers in another format; FRACTAL_NZ of fewer than two dimensions is in rows, as torch_npu has it."""
    if wanted == Format.FRACTAL_NZ and tensor.dim() < 2:
        wanted = Format.ND
    if wanted in IN_ROWS or tensor.device.type == "meta":
        made = aten.contiguous(aten.clone(tensor))
        if made.device.type == "npu":
            _name(made, wanted)
        return made
    _on_npu("npu_format_cast", tensor, wanted)
    layout = layout_of(tensor, wanted)
    whole = tensor.is_contiguous() and tensor.storage_offset() == 0 and is_in_rows(tensor)
    source = tensor if whole else _in_new_rows(tensor)
    made = _laid_out(layout, tensor)
    if made.numel():
        held = state.get()
        device, address = described(_C._describe(made))
        held.caller.cast(layout, device, address, described(_C._describe(source))[1], into_rows=False)
    return made


def cast_(tensor: Any, wanted: Format, has_room: bool = False) -> Any:
    """The same in place: the storage is laid out anew, under all of its views; `has_room`: it may have the room of the blocks already."""
    if format_of(tensor) == wanted:
        return tensor
    if wanted in IN_ROWS and is_in_rows(tensor):
        if tensor.device.type == "npu":
            _name(tensor, wanted)
        return tensor
    _on_npu("npu_format_cast_", tensor, wanted)
    held, storage = state.get(), tensor.untyped_storage()
    rows = _in_new_rows(tensor)
    nbytes = tensor.numel() * tensor.element_size()
    layout = None if wanted in IN_ROWS else layout_of(tensor, wanted)
    in_blocks = held.formats.in_blocks.get(described(_C._describe(tensor)))
    own = nbytes == storage.nbytes() if in_blocks is None else in_blocks.is_of(tuple(tensor.shape))
    own = own or (has_room and layout is not None and layout.nbytes == storage.nbytes())
    if not own or not tensor.is_contiguous() or tensor.storage_offset():
        raise RuntimeError(
            "npu_format_cast_(): a storage is laid out as a whole, but this tensor is a view of a part of one; use "
            "npu_format_cast(), which copies"
        )
    if layout is not None and layout.nbytes > storage.nbytes():
        storage.resize_(layout.nbytes)
    device, address = described(_C._describe(tensor))
    held.formats.forget(device, address)
    held.caller.descriptors.forget_storage(device, address)
    if layout is None:
        aten.copy_(tensor, rows)
        _name(tensor, wanted)
    else:
        held.formats.in_blocks[device, address] = layout
        held.caller.cast(layout, device, address, described(_C._describe(rows))[1], into_rows=False)
    return tensor


def empty(sizes: list[int], wanted: Format, **options: Any) -> Any:
    """An uninitialised tensor in a format."""
    if wanted in IN_ROWS:
        made = aten.empty(sizes, **options)
        if made.device.type == "npu":
            _name(made, wanted)
        return made
    like = aten.empty(sizes, **{**options, "device": "meta", "pin_memory": None})
    where = _C.device(options.get("device") or "cpu")
    if where.type == "meta":
        return like
    if where.type != "npu":
        _on_npu("empty_with_format", aten.empty([0], device=where), wanted)
    return _laid_out(layout_of(like, wanted), like, where)


def _in_new_rows(tensor: Any) -> Any:
    made = aten.empty(list(tensor.shape), dtype=tensor.dtype, device=tensor.device)
    return aten.copy_(made, tensor)


def _laid_out(layout: Layout, like: Any, device: Any = None) -> Any:
    """A new tensor of the sizes of `like` over a storage in a layout."""
    count = layout.nbytes // like.element_size()
    storage = aten.empty([count], dtype=like.dtype, device=device or like.device).untyped_storage()
    steps = aten.empty(list(like.shape), dtype=like.dtype, device="meta").stride()
    made = aten.empty([0], dtype=like.dtype, device=device or like.device)
    made.set_(storage, 0, list(like.shape), list(steps))
    held = state.get()
    place = described(_C._describe(made))
    held.caller.descriptors.forget_storage(*place)
    if made.numel():
        held.formats.in_blocks[place] = layout
    return made


def _name(tensor: Any, wanted: Format) -> None:
    """Remember the name of a storage in rows, where it is not that of its rank."""
    formats, place = state.get().formats, described(_C._describe(tensor))
    if wanted == _BY_RANK.get(tensor.dim(), Format.ND):
        formats.named.pop(place, None)
    else:
        formats.named[place] = wanted


def _copied(storage: UntypedStorage) -> UntypedStorage:
    """A copy of a storage in the same format."""
    held, rows = state.get(), storage.clone()
    formats, device = held.formats, storage.device.index
    source, place = (device, storage.data_ptr()), (device, rows.data_ptr())
    layout, name = formats.in_blocks.get(source), formats.named.get(source)
    if name is not None:
        formats.named[place] = name
    if layout is None:
        return rows
    made = UntypedStorage(storage.nbytes(), device=storage.device)
    place = (device, made.data_ptr())
    held.caller.descriptors.forget_storage(*place)
    formats.in_blocks[place] = layout
    held.caller.cast(layout, device, made.data_ptr(), rows.data_ptr(), into_rows=False)
    return made


_WORD = "npu_format_/"  # as torch_npu writes it


def _words(tensor: Any) -> dict[str, bool]:
    """The name of a format that is not that of the tensor's rank."""
    found = format_of(tensor)
    return {} if found == _BY_RANK.get(tensor.dim(), Format.ND) else {_WORD + found.name: True}


def _restore(tensor: Any, words: dict[str, bool]) -> None:
    """Put a tensor that was read into the format of its words, if it is all of its storage: what is a part goes with the whole."""
    names = [word.removeprefix(_WORD) for word in words if word.startswith(_WORD)]
    if not names or names[0] not in Format.__members__ or not tensor.is_contiguous() or tensor.storage_offset():
        return
    wanted, nbytes = Format[names[0]], tensor.untyped_storage().nbytes()
    if wanted in IN_ROWS:
        whole = tensor.numel() * tensor.element_size() == nbytes
    else:
        whole = nbytes in (tensor.numel() * tensor.element_size(), layout_of(tensor, wanted).nbytes)
    if whole:
        cast_(tensor.detach(), wanted, has_room=True)


copies["npu"] = _copied
orders["npu"] = _words, _restore
