"""The C functions of PyTorch's stable ABI, called by name: ours or, with --live, those of a real PyTorch."""

import ctypes
import importlib
import os
import pathlib
import sys
import types

_I32, _I64, _U32, _U64, _SIZE = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
_NUMBERS = {int: _I64, bool: ctypes.c_bool, float: ctypes.c_double}

Kernel = ctypes.CFUNCTYPE(None, ctypes.POINTER(_U64), _U64, _U64)
LoopBody = ctypes.CFUNCTYPE(None, _I64, _I64, ctypes.c_void_p)
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
VERSION = 2 << 56 | 13 << 48


class Failed(RuntimeError):
    """A function returned 1; the text is what it left."""


def library_of(torch: types.ModuleType) -> ctypes.PyDLL:
    if torch.__name__ == "mindtorch_v2":
        folder = pathlib.Path(torch.__file__).parent / "_lib" / "stable"
    else:
        folder = pathlib.Path(torch.__file__).parent / "lib"
    return ctypes.PyDLL(os.fspath(folder / "libtorch_cpu.so"))


class StableABI:
    """The functions, with failures as exceptions and results as results.

    A call's last argument may be a ctypes type: then the function writes there, and what it wrote is returned.
    """

    def __init__(self, name: str) -> None:
        self.torch = importlib.import_module(name)
        if name == "mindtorch_v2" and "torch" not in sys.modules:
            importlib.import_module("mindtorch_v2._core.stable_libraries").make_visible("a test")
        self.library = library_of(self.torch)
        for text in ("torch_exception_get_what", "torch_exception_get_what_without_backtrace"):
            getattr(self.library, text).restype = ctypes.c_char_p
        self.library.aoti_torch_abi_version.restype = _U64
        self.library.aoti_torch_dtype_element_size.restype = _SIZE
        self._kept: list = []

    def call(self, function, *args, out=None):
        """Call a function that returns an error code; `out`: the type, or types, that it writes."""
        outs = out if isinstance(out, (list, tuple)) else [] if out is None else [out]
        written = [kind() for kind in outs]
        given = [self._argument(a) for a in args] + [ctypes.byref(w) for w in written]
        if getattr(self.library, function)(*given) != 0:
            raise Failed(self.what())
        values = tuple(w.value for w in written)
        return values if isinstance(out, (list, tuple)) else values[0] if values else None

    @staticmethod
    def _argument(a):
        if isinstance(a, str):
            return a.encode()
        return _NUMBERS[type(a)](a) if type(a) in _NUMBERS else a

    def what(self):
        return self.library.torch_exception_get_what_without_backtrace().decode(errors="replace")

    def number(self, function):
        return getattr(self.library, function)()

    # ---- tensors ----

    def tensor(self, values, sizes=None):
        """A handle of a float32 tensor."""
        sizes = [len(values)] if sizes is None else sizes
        h = self.full(sizes, 0.0)
        data = (ctypes.c_float * len(values)).from_address(
            self.call("aoti_torch_get_data_ptr", h, out=ctypes.c_void_p) or 0
        )
        data[:] = values
        return h

    def full(self, sizes, value):
        none = ctypes.c_void_p()
        dtype = ctypes.byref(_I32(6))
        array = (_I64 * len(sizes))(*sizes)
        h = self.call(
            "aoti_torch_aten_full",
            array,
            len(sizes),
            float(value),
            dtype,
            none,
            none,
            _I32(0),
            none,
            out=ctypes.c_void_p,
        )
        return ctypes.c_void_p(h)

    def sizes(self, h):
        n = self.call("aoti_torch_get_dim", h, out=_I64)
        p = self.call("aoti_torch_get_sizes", h, out=ctypes.c_void_p)
        return list((_I64 * n).from_address(p)) if n else []

    def values(self, h):
        """The elements of a contiguous float32 tensor."""
        n = self.call("aoti_torch_get_numel", h, out=_I64)
        return list((ctypes.c_float * n).from_address(self.call("torch_get_const_data_ptr", h, out=ctypes.c_void_p)))

    def delete(self, h):
        self.call("aoti_torch_delete_tensor_object", h)

    # ---- other handles ----

    def string(self, text):
        return self.call("torch_new_string_handle", text, _SIZE(len(text.encode())), out=_U64)

    def text(self, h):
        n = self.call("torch_string_length", ctypes.c_void_p(h), out=_SIZE)
        return ctypes.string_at(self.call("torch_string_c_str", ctypes.c_void_p(h), out=ctypes.c_void_p), n).decode()

    def list(self, items):
        h = self.call("torch_new_list_reserve_size", _SIZE(len(items)), out=_U64)
        for item in items:
            self.call("torch_list_push_back", ctypes.c_void_p(h), _U64(item))
        return h

    def items(self, h):
        n = self.call("torch_list_size", ctypes.c_void_p(h), out=_SIZE)
        return [self.call("torch_list_get_item", ctypes.c_void_p(h), _SIZE(i), out=_U64) for i in range(n)]

    def cell(self, value):
        """A cell of an optional value that is there."""
        address = self.call("torch_new_stable_ivalue", out=ctypes.c_void_p)
        _U64.from_address(address).value = value
        return address

    def inner(self, cell):
        """The value in such a cell, which ends."""
        value = _U64.from_address(cell).value
        self.call("torch_delete_stable_ivalue", ctypes.c_void_p(cell))
        return value

    # ---- operators ----

    def dispatch(self, name, overload, *cells, returns=1):
        """Call an operator; the cells of its results."""
        stack = (_U64 * max(len(cells), returns, 1))(*cells)
        self.call("torch_call_dispatcher", name, overload, stack, _U64(VERSION))
        return list(stack[:returns])

    def init(self, kind, namespace, *key):
        texts = [ctypes.c_char_p(text.encode()) for text in (namespace, *key, "here.cpp")]
        self._kept.append(texts)  # PyTorch does not copy them
        return ctypes.c_void_p(self.call(f"aoti_torch_library_init_{kind}", *texts, _U32(7), out=ctypes.c_void_p))

    def define(self, library, schema):
        self.call("aoti_torch_library_def", library, schema)

    def implement(self, library, name, kernel):
        function = Kernel(kernel)
        self._kept.append(function)
        self.call("torch_library_impl", library, name, function, _U64(VERSION))


def double_bits(value):
    return int.from_bytes(bytes(ctypes.c_double(value)), "little")


def double_of(cell):
    return ctypes.c_double.from_buffer_copy(cell.to_bytes(8, "little")).value
