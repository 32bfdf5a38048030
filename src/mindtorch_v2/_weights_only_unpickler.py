"""A pickle reader that runs nothing: tensors, plain containers, and the globals that the user allows.

It knows only the opcodes that saved weights need. A global is looked up in a fixed table, never imported; calls are
made only to functions of the table, and attributes set only on objects of classes in it.
"""

from __future__ import annotations

import collections
import copyreg
import struct
import threading
import types
import warnings
from collections.abc import Sequence
from pickle import UnpicklingError
from types import TracebackType
from typing import Any

import mindtorch_v2 as torch

_BLOCKED_MODULES = ("sys", "os", "posix", "nt")

_user_globals: dict = {}
_lock = threading.Lock()


def _path_of(entry) -> tuple:
    """The dotted name and the object of an entry given to `add_safe_globals`."""
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise ValueError("safe_globals: expected a tuple of (callable, full path of callable)")
        obj, path = entry
        return path, obj
    if not hasattr(entry, "__module__"):
        return entry.__name__, entry
    name = getattr(entry, "__qualname__", None) or entry.__name__
    return _normalized(entry.__module__, name), entry


def _add_safe_globals(safe_globals) -> None:
    with _lock:
        for entry in safe_globals:
            path, obj = _path_of(entry)
            _user_globals[path] = (obj, entry)


def _get_safe_globals() -> list:
    return [entry for _, entry in _user_globals.values()]


def _clear_safe_globals() -> None:
    with _lock:
        _user_globals.clear()


def _remove_safe_globals(globals_to_remove) -> None:
    with _lock:
        for entry in globals_to_remove:
            _user_globals.pop(_path_of(entry)[0], None)


class _safe_globals:
    """Context manager: allows more globals while entered.

    >>> import io
    >>> from collections import Counter
    >>> file = io.BytesIO()
    >>> torch.save(Counter("aab"), file)
    >>> _ = file.seek(0)
    >>> with torch.serialization.safe_globals([Counter]):
    ...     torch.load(file)
    Counter({'a': 2, 'b': 1})
    """

    def __init__(self, safe_globals: Sequence[type]) -> None:
        self.safe_globals = safe_globals
        self.added: list[Any] = []

    def __enter__(self) -> None:
        known = {path for path in _user_globals}
        self.added = [entry for entry in self.safe_globals if _path_of(entry)[0] not in known]
        _add_safe_globals(self.added)

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _remove_safe_globals(self.added)


def _encode(obj, encoding):
    """How protocol 2 spells bytes: `codecs.encode(text, "latin1")`, and nothing else."""
    if not isinstance(obj, str) or encoding not in ("latin1", "ascii"):
        raise UnpicklingError("_codecs.encode is allowed with text and latin1 only")
    return obj.encode(encoding)


def _bytearray(*content):
    """A bytearray of what the file holds; a number would ask for as many bytes that it does not hold."""
    if any(isinstance(part, int) for part in content):
        raise UnpicklingError("bytearray is allowed with the bytes that it holds only")
    return bytearray(*content)


def _own_globals():
    """The names that every file may use: PyTorch's dotted names, and what they stand for here."""
    table = {
        "collections.OrderedDict": collections.OrderedDict,
        "collections.Counter": collections.Counter,
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.nn.parameter.Buffer": getattr(torch.nn, "Buffer", None),
        "torch.serialization._get_layout": torch.serialization._get_layout,
        "torch.Size": torch.Size,
        "torch.Tensor": torch.Tensor,
        "torch.device": torch.device,
        "_codecs.encode": _encode,
        "builtins.bytearray": _bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch._tensor._rebuild_from_type_v2": torch._utils._rebuild_from_type_v2,
        "torch.storage.UntypedStorage": torch.serialization.StorageType("UntypedStorage"),
        "torch.storage.TypedStorage": torch.storage.TypedStorage,
    }
    for name in (
        "_rebuild_tensor",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
        "_rebuild_meta_tensor_no_storage",
        "_rebuild_sparse_tensor",
        "_rebuild_nested_tensor",
        "_rebuild_qtensor",
        "_rebuild_wrapper_subclass",
        "_rebuild_device_tensor_from_cpu_tensor",
        "_rebuild_device_tensor_from_numpy",
    ):
        table[f"torch._utils.{name}"] = getattr(torch._utils, name)
    for value in vars(torch).values():
        if isinstance(value, torch.dtype):
            table[f"torch.{str(value).removeprefix('torch.')}"] = value
    for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
        if hasattr(torch, name):
            table[f"torch.{name}"] = getattr(torch, name)
    for name in (
        "per_tensor_affine",
        "per_tensor_symmetric",
        "per_channel_affine",
        "per_channel_symmetric",
        "per_channel_affine_float_qparams",
    ):
        table[f"torch.{name}"] = getattr(torch, name)
    for name in torch.storage._dtype_to_storage_type_map().values():
        table[f"torch.{name}"] = torch.serialization.StorageType(name)
    return table


_table = None


def _get_allowed_globals():
    global _table
    if _table is None:
        _table = _own_globals()
    return _table


def _normalized(module, name) -> str:
    """The dotted name under which the tables know a global: Python 2's builtins and our own module names included."""
    if module in ("__builtin__", "builtins"):
        return f"builtins.{name}"
    if module == "mindtorch_v2" or module.startswith("mindtorch_v2."):
        module = "torch" + module[len("mindtorch_v2") :]
    return f"{module}.{name}"


def _shown(path):
    return path.removeprefix("builtins.")


# The longest name of a global, and what a file may ask to be read at once before it is known to hold so much.
_LINE_BYTES = 1 << 16
_READ_BYTES = 1 << 20


class TruncatedError(UnpicklingError, EOFError):
    """The file ends before its object does; an EOFError too, as PyTorch raises."""


def _readline(file):
    line = file.readline(_LINE_BYTES)
    if not line.endswith(b"\n"):
        raise TruncatedError("Ran out of input")
    return line[:-1].decode("utf-8")


class _Tuples:
    """How large and how deep the file's tuples are if each is counted wherever it stands.

    Hashing and comparing walk a tuple that way, without memory of what they have seen and without a limit of depth: 60
    tuples of which each holds the one before twice would take for ever, a million inside each other the whole stack.
    """

    MOST, DEEPEST = 10_000_000, 500

    def __init__(self) -> None:
        # With the tuple itself, so that its id stays its own. Only those that hold tuples are kept.
        self._measured: dict[int, tuple[tuple, int, int]] = {}

    def made(self, value: tuple) -> tuple:
        """`value`, measured; UnpicklingError if it is beyond the limits."""
        count, depth, nested = 1 + len(value), 1, False
        for item in value:
            if type(item) is not tuple:
                continue
            nested = True
            _, more, below = self._measured.get(id(item)) or (item, 1 + len(item), 1)
            count += more
            depth = max(depth, below + 1)
        if count > self.MOST or depth > self.DEEPEST:
            raise UnpicklingError(
                f"a tuple of {count} parts, {depth} deep if written out: at most {self.MOST} and {self.DEEPEST} are read"
            )
        if nested:
            self._measured[id(value)] = value, count, depth
        return value


class Unpickler:
    """Read one object from `file`; `persistent_load(id)` gives the storages."""

    functions: tuple[Any, ...] = ()
    """Functions that a subclass has for its files, beside those of the table."""

    def __init__(self, file: Any, *, encoding: str = "bytes") -> None:
        self.encoding = encoding
        self._file = file
        self.memo: dict[Any, Any] = {}
        self.tuples = _Tuples()
        self.proto = -1

    def persistent_load(self, pid: Any) -> Any:
        raise UnpicklingError("unsupported persistent id encountered")

    def find_global(self, module: str, name: str) -> Any:
        """The object that a file's global stands for; UnpicklingError if it is not allowed."""
        path = _normalized(module, name)
        if path in _get_allowed_globals() and _get_allowed_globals()[path] is not None:
            return _get_allowed_globals()[path]
        # Before what the user allows: nobody has a good reason to let a file start programs.
        if module.partition(".")[0] in _BLOCKED_MODULES:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {module}.{name} whose module {module.partition('.')[0]} is blocked."
            )
        for spelled in (path, _shown(path), f"{module}.{name}"):
            if spelled in _user_globals:
                return _user_globals[spelled][0]
        shown = _shown(path)
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def load(self) -> Any:
        """The object; UnpicklingError for anything that is not allowed, and (an EOFError too) if the file ends first."""
        self.stack: list[Any] = []
        self.metastack: list[Any] = []
        read = self._file.read
        while True:
            key = read(1)
            if not key:
                raise TruncatedError("Ran out of input")
            if key == b".":
                return self._pop()
            if key == _PERSISTENT:
                self.stack.append(self.persistent_load(_persistent_id(self)))
                continue
            handler = _HANDLERS.get(key)
            if handler is None:
                raise UnpicklingError(f"Unsupported operand {key[0]}")
            try:
                handler(self)
            except (UnpicklingError, RuntimeError, Warning):
                raise
            except Exception as error:
                raise UnpicklingError(f"{type(error).__name__}: {error}") from error

    def _read(self, count):
        if count <= _READ_BYTES:
            data = self._file.read(count)
        else:
            data = bytearray()
            while len(data) < count and (more := self._file.read(min(_READ_BYTES, count - len(data)))):
                data += more
            data = bytes(data)
        if len(data) != count:
            raise TruncatedError("Ran out of input")
        return data

    def _pop(self):
        if not self.stack:
            raise UnpicklingError("unexpected end of the stack")
        return self.stack.pop()

    def _top(self):
        if not self.stack:
            raise UnpicklingError("unexpected end of the stack")
        return self.stack[-1]

    def _pop_mark(self):
        if not self.metastack:
            raise UnpicklingError("could not find MARK")
        items = self.stack
        self.stack = self.metastack.pop()
        return items

    def _take(self, count):
        if len(self.stack) < count:
            raise UnpicklingError("unexpected end of the stack")
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def _is_allowed_class(self, kind) -> bool:
        return any(kind is obj for obj, _ in _user_globals.values())


def _proto(u) -> None:
    u.proto = ord(u._read(1))
    if u.proto != 2:
        warnings.warn(
            f"Detected pickle protocol {u.proto} in the checkpoint, which was not the default pickle protocol used by "
            "`torch.load` (2). The weights_only Unpickler might not support all instructions implemented by this "
            "protocol, please file an issue for adding support if you encounter this.",
            stacklevel=4,
        )


def _global(u) -> None:
    module = _readline(u._file)
    u.stack.append(u.find_global(module, _readline(u._file)))


def _stack_global(u) -> None:
    module, name = u._take(2)
    if not isinstance(module, str) or not isinstance(name, str):
        raise UnpicklingError("STACK_GLOBAL requires str")
    u.stack.append(u.find_global(module, name))


def _is_callable_here(u, func) -> bool:
    if any(func is allowed for allowed in _get_allowed_globals().values() if callable(allowed)):
        return True
    return any(func is obj for obj, _ in _user_globals.values()) or any(func is own for own in u.functions)


def _reduce(u) -> None:
    func, args = u._take(2)
    if not _is_callable_here(u, func):
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {func}")
    if not isinstance(args, tuple):
        raise UnpicklingError("REDUCE requires a tuple of arguments")
    if func is torch._utils._rebuild_from_type_v2:
        _check_rebuild_from_type(u, args)
    u.stack.append(func(*args))


def _check_rebuild_from_type(u, args) -> None:
    """Its first argument is called and its second instantiated: both must be allowed on their own."""
    if len(args) != 4 or not _is_callable_here(u, args[0]):
        raise UnpicklingError(f"Trying to call reduce for unrecognized function {args[:1]}")
    if args[1] not in (torch.Tensor, torch.nn.Parameter) and not u._is_allowed_class(args[1]):
        raise UnpicklingError(f"Trying to rebuild a tensor of unrecognized type {args[1]}")


def _build(u) -> None:
    state = u._pop()
    inst = u._top()
    kind = type(inst)
    if kind is torch.Tensor:
        storage, *place = state
        if isinstance(storage, torch.storage.TypedStorage):
            storage = storage._untyped_storage
        torch._utils.set_checked(inst, storage, *place)
    elif kind is torch.nn.Parameter:
        inst.__setstate__(state)
    elif kind is collections.OrderedDict:
        inst.__dict__.update(state)
    elif u._is_allowed_class(kind):
        if hasattr(inst, "__setstate__"):
            inst.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            inst.__dict__.update(state)
        for name, value in (slots or {}).items():
            setattr(inst, name, value)
    else:
        raise UnpicklingError(
            f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got {kind}"
        )


def _newobj(u):
    cls, args = u._take(2)
    if cls is torch.nn.Parameter:
        u.stack.append(torch.nn.Parameter(*args))
    elif isinstance(cls, type) and (
        u._is_allowed_class(cls) or cls in (collections.OrderedDict, collections.Counter, set, torch.Size)
    ):
        if not isinstance(args, tuple):
            raise UnpicklingError("NEWOBJ requires a tuple of arguments")
        made = copyreg.__newobj__(cls, *args)  # type: ignore[attr-defined]  # (pickle's own, which typeshed leaves out)
        u.stack.append(made)
    else:
        raise UnpicklingError(
            f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {cls}"
        )


def _append(u) -> None:
    item = u._pop()
    target = u._top()
    if type(target) is not list:
        raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
    target.append(item)


def _appends(u) -> None:
    items = u._pop_mark()
    target = u._top()
    if type(target) is not list:
        raise UnpicklingError(f"Can only extend lists, but got {type(target)}")
    target.extend(items)


def _additems(u) -> None:
    items = u._pop_mark()
    target = u._top()
    if type(target) is not set:
        raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
    target.update(items)


def _settable(u, opcode):
    target = u._top()
    if type(target) not in (dict, collections.OrderedDict, collections.Counter) and not u._is_allowed_class(
        type(target)
    ):
        raise UnpicklingError(
            f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
        )
    return target


def _setitem(u) -> None:
    key, value = u._take(2)
    _settable(u, "SETITEM")[key] = value


def _setitems(u) -> None:
    items = u._pop_mark()
    target = _settable(u, "SETITEMS")
    if len(items) % 2:
        raise UnpicklingError("odd number of items for SETITEMS")
    for i in range(0, len(items), 2):
        target[items[i]] = items[i + 1]


def _tuple(u) -> None:
    made = u.tuples.made(tuple(u._pop_mark()))  # before u.stack is looked at: popping a mark puts another there
    u.stack.append(made)


def _short_tuple(count):
    return lambda u: u.stack.append(u.tuples.made(tuple(u._take(count))))


def _mark(u) -> None:
    u.metastack.append(u.stack)
    u.stack = []


def _persistent_id(u):
    pid = u._pop()
    if type(pid) is not tuple and type(pid) is not int:
        raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
    if type(pid) is tuple and pid and _text(pid[0]) != "storage":
        raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0])}")
    return pid


def _text(value):
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _long1(u) -> None:
    size = ord(u._read(1))
    u.stack.append(int.from_bytes(u._read(size), "little", signed=True))


def _short_binstring(u) -> None:
    raw = u._read(ord(u._read(1)))
    # Python 2's strings: text where the caller says so.
    u.stack.append(raw if u.encoding == "bytes" else raw.decode(u.encoding, "strict"))


def _memoized(u, index) -> None:
    if index not in u.memo:
        raise UnpicklingError(f"Memo value not found at index {index}")
    u.stack.append(u.memo[index])


def _put(u, index) -> None:
    u.memo[index] = u._top()


def _unpack(u, layout):
    return struct.unpack(layout, u._read(struct.calcsize(layout)))[0]


def _decode(u, size):
    return u._read(size).decode("utf-8", "surrogatepass")


# Apart from the others: what it calls (`map_location`) is the caller's, whose exceptions are handed on.
_PERSISTENT = b"Q"

_HANDLERS = {
    b"\x80": _proto,
    b"c": _global,
    b"\x93": _stack_global,
    b"R": _reduce,
    b"b": _build,
    b"\x81": _newobj,
    b"a": _append,
    b"e": _appends,
    b"s": _setitem,
    b"u": _setitems,
    b"(": _mark,
    b"]": lambda u: u.stack.append([]),
    b"}": lambda u: u.stack.append({}),
    b")": lambda u: u.stack.append(()),
    b"\x8f": lambda u: u.stack.append(set()),
    b"\x90": _additems,
    b"t": _tuple,
    b"\x85": _short_tuple(1),
    b"\x86": _short_tuple(2),
    b"\x87": _short_tuple(3),
    b"N": lambda u: u.stack.append(None),
    b"\x89": lambda u: u.stack.append(False),
    b"\x88": lambda u: u.stack.append(True),
    b"K": lambda u: u.stack.append(ord(u._read(1))),
    b"M": lambda u: u.stack.append(_unpack(u, "<H")),
    b"J": lambda u: u.stack.append(_unpack(u, "<i")),
    b"\x8a": _long1,
    b"G": lambda u: u.stack.append(_unpack(u, ">d")),
    b"X": lambda u: u.stack.append(_decode(u, _unpack(u, "<I"))),
    b"\x8c": lambda u: u.stack.append(_decode(u, ord(u._read(1)))),
    b"U": _short_binstring,
    b"h": lambda u: _memoized(u, ord(u._read(1))),
    b"j": lambda u: _memoized(u, _unpack(u, "<I")),
    b"q": lambda u: _put(u, ord(u._read(1))),
    b"r": lambda u: _put(u, _unpack(u, "<I")),
    b"\x94": lambda u: _put(u, len(u.memo)),
    b"\x95": lambda u: u._read(8) and None,
    b"B": lambda u: u.stack.append(u._read(_unpack(u, "<I"))),
    b"C": lambda u: u.stack.append(u._read(ord(u._read(1)))),
}


def load(file: Any, *, encoding: str = "ASCII") -> Any:
    """Read one object from `file`."""
    return Unpickler(file, encoding=encoding).load()


class _GlobalCollector(Unpickler):
    """Go through a pickle and note its globals; make nothing of them."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self.found: list[Any] = []

    def find_global(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        if path not in self.found:
            self.found.append(path)
        return types.SimpleNamespace(path=path)

    def persistent_load(self, pid: Any) -> None:
        return None

    def _is_allowed_class(self, kind) -> bool:
        return True


def get_globals_in_pkl(file: Any) -> set:
    """The dotted names of all globals that a pickle refers to; runs nothing."""
    collector = _GlobalCollector(file)
    collector.stack, collector.metastack = [], []
    while True:
        key = collector._read(1)
        if key == b".":
            return set(collector.found)
        replacement = _COLLECTING.get(key) or _HANDLERS.get(key)
        if replacement is None:
            raise UnpicklingError(f"Unsupported operand {key[0]}")
        replacement(collector)


# Under collection, calls leave a placeholder and changes to objects are dropped.
_COLLECTING = {
    b"R": lambda u: (u._take(2), u.stack.append(None)),
    b"\x81": lambda u: (u._take(2), u.stack.append(None)),
    b"b": lambda u: u._take(1),
    b"a": lambda u: u._take(1),
    b"e": lambda u: u._pop_mark(),
    b"s": lambda u: u._take(2),
    b"u": lambda u: u._pop_mark(),
    b"\x90": lambda u: u._pop_mark(),
    b"Q": lambda u: (u._take(1), u.stack.append(None)),
}
