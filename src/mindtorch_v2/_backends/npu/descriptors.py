"""Descriptors of ACLNN: what its operators take in place of tensors, numbers and lists.

A tensor's descriptor is kept by all that it says, the address included, and is never changed; a training loop, whose tensors
come back to the same places, makes none. What there is too much of is destroyed when no thread can be in a call that uses it.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Iterable
from ctypes import c_bool, c_double, c_float, c_int, c_int64, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dtype import NUMBERED
from . import runtime as _runtime
from .errors import NPUError
from .storage_formats import Layout, StorageFormats, described

# PyTorch's number of a dtype -> aclDataType
ACL_DTYPES = {
    0: 4, 1: 2, 2: 6, 3: 3, 4: 9, 5: 1, 6: 0, 7: 11, 9: 16, 10: 17, 11: 12, 15: 27, 23: 35, 24: 36, 27: 7, 28: 8, 29: 10, 44: 37,
}  # fmt: skip
_ND = 2
_FORMATS = {3: 47, 4: 0, 5: 30}  # by rank: NCL, NCHW, NCDHW; anything else is ND
_BOOL, _INT64, _DOUBLE = 12, 9, 11
# name -> (result, argument types); everything that returns c_int is a status
META_SIGNATURES: dict[str, tuple] = {
    "aclCreateBoolArray": (c_void_p, c_void_p, c_uint64),
    "aclCreateFloatArray": (c_void_p, c_void_p, c_uint64),
    "aclCreateIntArray": (c_void_p, c_void_p, c_uint64),
    "aclCreateScalar": (c_void_p, c_void_p, c_int),
    "aclCreateTensor": (
        c_void_p,
        c_void_p,
        c_uint64,
        c_int,
        c_void_p,
        c_int64,
        c_int,
        c_void_p,
        c_uint64,
        c_void_p,
    ),
    "aclCreateTensorList": (c_void_p, c_void_p, c_uint64),
    "aclDestroyAclOpExecutor": (c_int, c_void_p),
    "aclDestroyBoolArray": (c_int, c_void_p),
    "aclDestroyFloatArray": (c_int, c_void_p),
    "aclDestroyIntArray": (c_int, c_void_p),
    "aclDestroyScalar": (c_int, c_void_p),
    "aclDestroyTensor": (c_int, c_void_p),
    "aclDestroyTensorList": (c_int, c_void_p),
    "aclGetViewShape": (c_int, c_void_p, c_void_p, c_void_p),
}
_ARRAYS = {"IA": ("IntArray", c_int64), "FA": ("FloatArray", c_float), "BA": ("BoolArray", c_bool)}
_KEPT = 4096  # descriptors of tensors that are kept; and as many from before
_MAX_RANK = 8  # of aclCreateTensor
_KEPT_NUMBERS = 512  # of numbers, and of lists; an optimizer's step sizes are never the same
_describe = _C._describe


class Descriptors:
    """Descriptors made by `libnnopbase`, and those that are kept."""

    if TYPE_CHECKING:  # CANN's functions, by their names

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, runtime: _runtime.Runtime) -> None:
        self.runtime = runtime
        for name, (result, *arguments) in META_SIGNATURES.items():
            function = getattr(runtime.libraries.base, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.lock = threading.RLock()
        self.formats = StorageFormats()
        self.tensors: dict[
            bytes, tuple[int, int]
        ] = {}  # key -> (descriptor, device), those used lately; always this dict
        self.tensors_before: dict[bytes, tuple[int, int]] = {}  # the rest
        self.scalars: dict[tuple, int] = {}
        self.arrays: dict[tuple, int] = {}
        self.epoch = 0  # moves on when descriptors are dropped
        self.dropped: list[tuple[int, Callable, list[int]]] = []  # (epoch until which threads may use them, ...)
        runtime.finalizers.append(self.clear)

    def _made(self, function: str, handle: int | None) -> int:
        if not handle:
            raise NPUError(function, 161002, self.runtime.message())
        return handle

    # ---- tensors ----

    def new_tensor(self, key: bytes, layout: Layout | None = None) -> int:
        """A descriptor that no one keeps, of a tensor in rows, or in a layout."""
        _, address, dtype, rank, offset, elements, *dims = struct.unpack(f"{len(key) // 8}q", key)
        code = ACL_DTYPES.get(dtype)
        if code is None:
            raise NotImplementedError(f"NPU: tensors of {NUMBERED[dtype]} are not supported")
        if rank > _MAX_RANK:
            raise RuntimeError(
                f"NPU: operators take tensors of at most {_MAX_RANK} dimensions, got {rank} (shape {list(dims[:rank])}). "
                "Join some of them: tensor.flatten(start, end) before the operator, and .view(...) after it"
            )
        sizes, strides = (c_int64 * rank)(*dims[:rank]), (c_int64 * rank)(*dims[rank:])
        stored = (elements,) if layout is None else layout.stored
        storage = (c_int64 * len(stored))(*stored)
        format_number = _FORMATS.get(rank, _ND) if layout is None else int(layout.format)
        handle = self.aclCreateTensor(
            sizes, rank, code, strides, offset, format_number, storage, len(stored), address or None
        )
        return self._made("aclCreateTensor", handle)

    def tensor(self, key: bytes) -> tuple[int, int] | None:
        """The kept descriptor for what `_C._describe` says of a tensor, and its device; None for a tensor of the host, and for one
        whose storage is not in rows."""
        found = self.tensors.get(key)
        if found is not None:
            return found
        device = int.from_bytes(key[:8], "little", signed=True)
        if device < 0 or (self.formats.in_blocks and described(key) in self.formats.in_blocks):
            return None
        with self.lock:
            found = self.tensors.get(key) or self.tensors_before.pop(key, None)
            if found is None:
                found = self.new_tensor(key), device
            if len(self.tensors) >= _KEPT:
                gone, self.tensors_before = self.tensors_before, dict(self.tensors)
                self.tensors.clear()
                self._drop(self.aclDestroyTensor, [handle for handle, _ in gone.values()])
            self.tensors[key] = found
        return found

    def forget_storage(self, device: int, address: int) -> None:
        """Destroy the kept descriptors of tensors over a storage, which is laid out anew."""
        begin = struct.pack("2q", device, address)
        with self.lock:
            for kept in (self.tensors, self.tensors_before):
                gone = [kept.pop(key)[0] for key in [key for key in kept if key.startswith(begin)]]
                if gone:
                    self._drop(self.aclDestroyTensor, gone)

    def tensor_list(self, tensors: Iterable[Any], made: Callable[[bytes], int]) -> tuple[int, int]:
        """A list's descriptor, to be destroyed by the caller, and the device of its tensors (-1 if there is none). `made` gives the
        descriptor of a tensor that `_C._describe` tells of."""
        handles: list[int] = []
        device = -1
        try:
            for tensor in tensors:
                if tensor is None:  # an index that is left out: a tensor without elements or memory
                    handles.append(self.new_tensor(struct.pack("8q", 0, 0, 4, 1, 0, 0, 0, 1)))
                    continue
                key = _describe(tensor)
                index = int.from_bytes(key[:8], "little", signed=True)
                if index < 0:
                    raise RuntimeError(
                        "Expected all tensors to be on the same device, but found at least two devices, npu and cpu!"
                    )
                device = index
                handles.append(made(key))
            cells = (c_void_p * len(handles))(*handles)
            return self._made("aclCreateTensorList", self.aclCreateTensorList(cells, len(handles))), device
        except BaseException:
            for handle in handles:
                self.aclDestroyTensor(handle)
            raise

    def view_shape(self, handle: int) -> tuple[int, ...]:
        """The sizes of a tensor; of a data-dependent output, those that the operator found."""
        sizes, rank = ctypes.POINTER(c_int64)(), c_uint64()
        code = self.aclGetViewShape(handle, ctypes.byref(sizes), ctypes.byref(rank))
        if code:
            raise NPUError("aclGetViewShape", code, self.runtime.message())
        return tuple(sizes[i] for i in range(rank.value))

    # ---- numbers and lists ----

    def scalar(self, value: Any) -> int:
        """The kept descriptor of a number."""
        key = (value.__class__, value or str(value))  # 0.0 and -0.0 are equal, and two numbers
        found = self.scalars.get(key)
        if found is not None:
            return found
        if isinstance(value, bool):
            cell: Any
            cell, code = c_bool(value), _BOOL
        elif isinstance(value, int):
            cell, code = c_int64(value), _INT64
        elif isinstance(value, float):
            cell, code = c_double(value), _DOUBLE
        else:
            raise NotImplementedError(f"NPU: a number of type {type(value).__name__} is not supported")
        with self.lock:
            if len(self.scalars) >= _KEPT_NUMBERS:
                gone = list(self.scalars.values())
                self.scalars.clear()
                self._drop(self.aclDestroyScalar, gone)
            made = self._made("aclCreateScalar", self.aclCreateScalar(ctypes.byref(cell), code))
            if self.scalars.setdefault(key, made) != made:
                self.aclDestroyScalar(made)
            return self.scalars[key]

    def array(self, code: str, values: Any) -> int:
        """The kept descriptor of a list of numbers; one number stands for a list of it."""
        items = (values,) if isinstance(values, (int, float)) else tuple(values)
        key = (code, *items)
        found = self.arrays.get(key)
        if found is not None:
            return found
        kind, cell = _ARRAYS[code]
        with self.lock:
            if len(self.arrays) >= _KEPT_NUMBERS:
                gone = list(self.arrays.items())
                self.arrays.clear()
                for of, (name, _) in _ARRAYS.items():
                    self._drop(getattr(self, f"aclDestroy{name}"), [handle for key, handle in gone if key[0] == of])
            create, destroy = getattr(self, f"aclCreate{kind}"), getattr(self, f"aclDestroy{kind}")
            made = self._made(f"aclCreate{kind}", create((cell * len(items))(*items), len(items)))  # type: ignore[operator]  # (an array type that is made at run time)
            if self.arrays.setdefault(key, made) != made:
                destroy(made)
            return self.arrays[key]

    # ---- the end of descriptors ----

    def _drop(self, destroy: Callable, handles: list[int]) -> None:
        """Destroy descriptors that nobody can find any more, when no call of another thread can still use them."""
        self.dropped.append((self.epoch, destroy, handles))
        self.epoch += 1
        busy = [state.epoch for state in self.runtime.thread_states() if state.epoch is not None]
        oldest = min(busy, default=self.epoch)
        for _, destroy_them, gone in [entry for entry in self.dropped if entry[0] < oldest]:
            for handle in gone:
                destroy_them(handle)
        self.dropped = [entry for entry in self.dropped if entry[0] >= oldest]

    def clear(self) -> None:
        """Destroy what is kept; no call is under way."""
        with self.lock:
            for _, destroy, handles in self.dropped:
                for handle in handles:
                    destroy(handle)
            for kept in (self.tensors, self.tensors_before):
                for handle, _ in kept.values():
                    self.aclDestroyTensor(handle)
            for handle in self.scalars.values():
                self.aclDestroyScalar(handle)
            for (code, *_), handle in self.arrays.items():
                getattr(self, f"aclDestroy{_ARRAYS[code][0]}")(handle)
            for store in (self.dropped, self.tensors, self.tensors_before, self.scalars, self.arrays):
                store.clear()
