"""The pickler of saved files: storages go out of band, and our globals are named as PyTorch's."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

_OWN = "mindtorch_v2"
# What PyTorch keeps in another module than we do.
_MOVED = {
    ("mindtorch_v2._utils", "_rebuild_from_type_v2"): ("torch._tensor", "_rebuild_from_type_v2"),
    ("mindtorch_v2._core.dtype", "Size"): ("torch", "Size"),
    ("mindtorch_v2._core.storage", "UntypedStorage"): ("torch.storage", "UntypedStorage"),
}
_PLAIN = {int, float, bool, str, type(None)}
# Below this the fast path costs more than it gains.
_FAST_LENGTH = 64


def public_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """Under which `(module, name)` PyTorch knows one of our functions, classes or dtypes; None for strangers."""
    if isinstance(obj, torch.dtype):
        return "torch", str(obj).removeprefix("torch.")
    name = name or getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or name is None:
        return None
    if (module, name) in _MOVED:
        return _MOVED[module, name]
    if module == "torch":
        return module, name
    if module == _OWN or module.startswith(f"{_OWN}."):
        if getattr(torch, name, None) is obj and module in (_OWN, f"{_OWN}._C"):
            return "torch", name
        return f"torch{module[len(_OWN) :]}", name
    return None


def stored(item: Any) -> tuple | None:
    """Of a storage that a file keeps: its memory, its class and length as files name them, its dtype. None for other objects."""
    if isinstance(item, torch.storage.TypedStorage):
        return item._untyped_storage, getattr(torch, item.pickle_storage_type()), item.size(), item.dtype
    if isinstance(item, torch.UntypedStorage):
        return item, torch.UntypedStorage, item.nbytes(), torch.uint8
    return None


class Pickler(pickle._Pickler):
    """`persistent_id(storage)` is given by the caller.

    Written in Python because the C pickler offers no way to name a global differently; long lists and dicts of plain
    numbers and strings are still handed to the C one.
    """

    memoize: Any
    proto: Any
    save: Any
    write: Any

    def __init__(self, file: Any, protocol: int, persistent_id: Callable[..., Any]) -> None:
        super().__init__(file, protocol=protocol)
        self.persistent_id = persistent_id  # type: ignore[method-assign]  # (one for each file)

    dispatch = pickle._Pickler.dispatch.copy()

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, torch.dtype):
            # The global `torch.float32`, not a call.
            return str(obj).removeprefix("torch.")
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        own = public_name(obj, name)
        if own is None:
            super().save_global(obj, name)  # type: ignore[misc]  # (not in the stubs of the library)
            return
        module, name = own
        if self.proto < 4 and "." in name:
            raise pickle.PicklingError(f"Can't pickle {obj!r}: a class inside of another one needs protocol 4")
        self.save_named(obj, module, name)

    def save_named(self, obj: Any, module: str, name: str) -> None:
        """Write an object as the global of a module; a name with dots needs protocol 4."""
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_type(self, obj: Any) -> None:
        if obj in (type(None), type(NotImplemented), type(...)):
            super().save_type(obj)  # type: ignore[misc]  # (not in the stubs of the library)
        else:
            self.save_global(obj)

    dispatch[type] = save_type  # type: ignore[assignment]  # (called as unbound functions)
    dispatch[type(torch.Tensor)] = save_type  # type: ignore[assignment]  # (called as unbound functions)

    def save_function(self, obj: Any) -> None:
        self.save_global(obj)

    dispatch[type(public_name)] = save_function  # type: ignore[assignment]  # (called as unbound functions)

    def _save_plain(self, obj) -> None:
        """Pickle a container of plain values with the C pickler, without memo, and strip its frame."""
        payload = _fast_dumps(obj, self.proto)
        self.write(payload)
        self.memoize(obj)

    def save_list(self, obj: Any) -> None:
        if len(obj) > _FAST_LENGTH and self.proto < 4 and set(map(type, obj)) <= _PLAIN:
            self._save_plain(obj)
        else:
            super().save_list(obj)  # type: ignore[misc]  # (not in the stubs of the library)

    dispatch[list] = save_list  # type: ignore[assignment]  # (called as unbound functions)

    def save_dict(self, obj: Any) -> None:
        if (
            len(obj) > _FAST_LENGTH
            and self.proto < 4
            and set(map(type, obj)) <= _PLAIN
            and set(map(type, obj.values())) <= _PLAIN
        ):
            self._save_plain(obj)
        else:
            super().save_dict(obj)  # type: ignore[misc]  # (not in the stubs of the library)

    dispatch[dict] = save_dict  # type: ignore[assignment]  # (called as unbound functions)


class _Sink:
    def __init__(self) -> None:
        self.parts: list[Any] = []

    def write(self, data: bytes) -> None:
        self.parts.append(bytes(data))


def _fast_dumps(obj, protocol):
    """The opcodes of `obj` alone, without protocol header, memo and stop."""
    sink = _Sink()
    pickler = pickle.Pickler(sink, protocol)
    pickler.fast = True
    pickler.dump(obj)
    payload = b"".join(sink.parts)
    header = pickle.PROTO + struct.pack("<B", protocol) if protocol >= 2 else b""
    return payload.removeprefix(header).removesuffix(pickle.STOP)
