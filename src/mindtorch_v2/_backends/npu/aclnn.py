"""Calling ACLNN operators: one protocol, so one caller.

`operator(symbol)` gives a callable that takes Python values and tensors in the order of the operator's C signature
(`signatures.tsv`). It makes the descriptors, asks for the workspace (phase 1), allocates it, and enqueues the work
(phase 2) on the current stream of the tensors' device. Phase 2 ends the executor's life whatever it returns; the
descriptors may go as soon as it has returned, so those of tensors are kept and given new addresses.
"""

from __future__ import annotations

import ctypes
import pathlib
import struct
import threading
from ctypes import c_bool, c_double, c_float, c_int, c_int8, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from ... import _C
from ..._dtype import DTYPES
from . import runtime as _runtime
from .errors import NPUError

# PyTorch's number of a dtype -> aclDataType
ACL_DTYPES = {0: 4, 1: 2, 2: 6, 3: 3, 4: 9, 5: 1, 6: 0, 7: 11, 9: 16, 10: 17, 11: 12, 15: 27, 27: 7, 28: 8, 29: 10}
_DTYPES = {
    DTYPES[name]: code
    for name, code in (
        ("uint8", 4),
        ("int8", 2),
        ("int16", 6),
        ("int32", 3),
        ("int64", 9),
        ("float16", 1),
        ("float32", 0),
        ("float64", 11),
        ("complex64", 16),
        ("complex128", 17),
        ("bool", 12),
        ("bfloat16", 27),
    )
}
_ND = 2
_FORMATS = {3: 47, 4: 0, 5: 30}  # by rank: NCL, NCHW, NCDHW; anything else is ND
_BOOL, _INT64, _DOUBLE = 12, 9, 11
_CTYPES = {
    **dict.fromkeys(("T", "TL", "S", "SL", "IA", "FA", "BA"), c_void_p),
    "i64": c_int64,
    "u64": c_uint64,
    "i32": c_int32,
    "i8": c_int8,
    "b": c_bool,
    "f64": c_double,
    "f32": c_float,
    "str": ctypes.c_char_p,
    "dt": c_int,
}
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
    "aclSetRawTensorAddr": (c_int, c_void_p, c_void_p),
}
_DESTROY = {"IA": "aclDestroyIntArray", "FA": "aclDestroyFloatArray", "BA": "aclDestroyBoolArray"}
_KEPT = 4096  # descriptors of tensors that are kept, and of numbers and lists
_describe = _C._describe


def signatures() -> dict[str, tuple[str, ...]]:
    """The codes of the parameters of every operator that is bound: {"aclnnAbs": ("T", "T"), ...}."""
    table = {}
    for line in (pathlib.Path(__file__).parent / "signatures.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, parameters = line.split("\t")
            table[name] = tuple(parameters.split(","))
    return table


class _Local(threading.local):
    """Where phase 1 writes its two results."""

    def __init__(self) -> None:
        self.size, self.executor = c_uint64(), c_void_p()
        self.references = ctypes.byref(self.size), ctypes.byref(self.executor)


class Descriptors:
    """Descriptors of ACLNN, made by `libnnopbase`, with those kept that can be used again."""

    def __init__(self, runtime: _runtime.Runtime):
        self.runtime = runtime
        for name, (result, *arguments) in META_SIGNATURES.items():
            function = getattr(runtime.libraries.base, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.tensors: dict[bytes, list[int]] = {}
        self.tensor_count = 0
        self.scalars: dict[tuple[type, Any], int] = {}
        self.arrays: dict[tuple, int] = {}
        runtime.finalizers.append(self.clear)

    def _made(self, function: str, handle: int | None) -> int:
        if not handle:
            raise NPUError(function, 161002, self.runtime.message())
        return handle

    def new_tensor(self, geometry: bytes, address: int) -> int:
        """A descriptor that no one keeps."""
        dtype, rank, offset, elements, *dims = struct.unpack(f"{len(geometry) // 8}q", geometry)
        code = ACL_DTYPES.get(dtype)
        if code is None:
            raise NotImplementedError(f"NPU: tensors of PyTorch's dtype number {dtype} are not supported")
        sizes, strides = (c_int64 * rank)(*dims[:rank]), (c_int64 * rank)(*dims[rank:])
        storage = (c_int64 * 1)(elements)
        handle = self.aclCreateTensor(
            sizes, rank, code, strides, offset, _FORMATS.get(rank, _ND), storage, 1, address or None
        )
        return self._made("aclCreateTensor", handle)

    def tensor(self, geometry: bytes, address: int) -> int:
        """A descriptor with this geometry and address; give it back with `keep`."""
        kept = self.tensors.get(geometry)
        if kept:
            try:
                handle = kept.pop()
            except IndexError:  # another thread took it
                pass
            else:
                self.tensor_count -= 1
                code = self.aclSetRawTensorAddr(handle, address or None)
                if code:
                    self.aclDestroyTensor(handle)
                    raise NPUError("aclSetRawTensorAddr", code, self.runtime.message())
                return handle
        return self.new_tensor(geometry, address)

    def keep(self, geometry: bytes, handle: int) -> None:
        if self.tensor_count >= _KEPT:
            self._drop_tensors()
        self.tensor_count += 1
        try:
            self.tensors[geometry].append(handle)
        except KeyError:
            self.tensors[geometry] = [handle]

    def _drop_tensors(self) -> None:
        dropped, self.tensors, self.tensor_count = self.tensors, {}, 0
        for handles in dropped.values():
            for handle in handles:
                self.aclDestroyTensor(handle)

    def scalar(self, value: Any) -> int:
        key = (type(value), value)
        handle = self.scalars.get(key)
        if handle is not None and value != 0:  # 0.0 and -0.0 are equal keys
            return handle
        if isinstance(value, bool):
            cell, code = c_bool(value), _BOOL
        elif isinstance(value, int):
            cell, code = c_int64(value), _INT64
        elif isinstance(value, float):
            cell, code = c_double(value), _DOUBLE
        else:
            raise NotImplementedError(f"NPU: a number of type {type(value).__name__} is not supported")
        if handle is not None:
            if str(value) != "-0.0":
                return handle
            key = (str, "-0.0")
            if key in self.scalars:
                return self.scalars[key]
        elif str(value) == "-0.0":
            key = (str, "-0.0")
        if len(self.scalars) >= _KEPT:
            self._drop_scalars()
        handle = self._made("aclCreateScalar", self.aclCreateScalar(ctypes.byref(cell), code))
        self.scalars[key] = handle
        return handle

    def _drop_scalars(self) -> None:
        dropped, self.scalars = self.scalars, {}
        for handle in dropped.values():
            self.aclDestroyScalar(handle)

    def array(self, code: str, values: Any) -> int:
        items = (values,) if isinstance(values, int) else tuple(values)
        key = (code, *items)
        handle = self.arrays.get(key)
        if handle is None:
            if len(self.arrays) >= _KEPT:
                self._drop_arrays()
            if code == "IA":
                cells = (c_int64 * len(items))(*items)
                handle = self._made("aclCreateIntArray", self.aclCreateIntArray(cells, len(items)))
            elif code == "FA":
                floats = (c_float * len(items))(*items)
                handle = self._made("aclCreateFloatArray", self.aclCreateFloatArray(floats, len(items)))
            else:
                flags = (c_bool * len(items))(*items)
                handle = self._made("aclCreateBoolArray", self.aclCreateBoolArray(flags, len(items)))
            self.arrays[key] = handle
        return handle

    def _drop_arrays(self) -> None:
        dropped, self.arrays = self.arrays, {}
        for (code, *_), handle in dropped.items():
            getattr(self, _DESTROY[code])(handle)

    def tensor_list(self, tensors: Any) -> tuple[int, int]:
        """A list's descriptor, to be destroyed by the caller, and the device of its tensors (-1 if there is none)."""
        handles: list[int] = []
        device = -1
        try:
            for tensor in tensors:
                if tensor is None:  # an index that is left out: a tensor without elements or memory
                    handles.append(self.new_tensor(struct.pack("6q", 4, 1, 0, 0, 0, 1), 0))
                    continue
                geometry, address, index = _describe(tensor)
                if index < 0:
                    raise RuntimeError(
                        "Expected all tensors to be on the same device, but found at least two devices, npu and cpu!"
                    )
                device = index
                handles.append(self.new_tensor(geometry, address))
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

    def clear(self) -> None:
        """Destroy what is kept."""
        self._drop_tensors()
        self._drop_scalars()
        self._drop_arrays()


class Operator:
    """One ACLNN operator; call it with values in the order of its signature."""

    __slots__ = ("bound", "caller", "codes", "first", "name", "second")
    current: Caller  # set when the device is first asked for

    def __init__(self, name: str, codes: tuple[str, ...]):
        self.name, self.codes = name, codes
        self.bound = False

    def bind(self) -> None:
        """Find the two functions. NotImplementedError that lists every library if there are none."""
        libraries = Operator.current.runtime.libraries
        first, second = libraries.operator(self.name + "GetWorkspaceSize"), libraries.operator(self.name)
        if first is None or second is None:
            tried = "\n  ".join(dict.fromkeys(libraries.searched))
            raise NotImplementedError(
                f"{self.name} or {self.name}GetWorkspaceSize is in none of the operator libraries. Tried:\n  {tried}"
            )
        bind_functions(self, first, second)

    def __call__(self, *arguments: Any) -> None:
        if not self.bound:
            self.bind()
        self.caller.launch(self, arguments, None)

    def sized(self, position: int, *arguments: Any) -> tuple[int, ...]:
        """Call an operator whose output at `position` has sizes that the data decide: waits, and returns them."""
        if not self.bound:
            self.bind()
        sizes = self.caller.launch(self, arguments, position)
        assert sizes is not None
        return sizes


def bind_functions(op: Operator, first: Any, second: Any) -> None:
    """Give an operator the functions of its two phases."""
    first.restype = second.restype = c_int32
    first.argtypes = [*(_CTYPES[code] for code in op.codes), c_void_p, c_void_p]
    second.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]
    op.first, op.second, op.caller, op.bound = first, second, Operator.current, True


_operators: dict[str, Operator] = {}


def operator(name: str) -> Operator:
    """The operator `aclnn...`, which finds its functions when it is first called. NotImplementedError if its signature is
    not known."""
    if not _operators:
        _operators.update({known: Operator(known, codes) for known, codes in signatures().items()})
    found = _operators.get(name)
    if found is None:
        raise NotImplementedError(f"{name}: its signature is not in signatures.tsv")
    return found


class Caller:
    """Calls operators of one process; there is one."""

    def __init__(self, runtime: _runtime.Runtime, memory: Any):
        self.runtime = runtime
        self.memory = memory  # device index -> Allocator
        self.descriptors = Descriptors(runtime)
        self.local = _Local()
        self.host_number: Any = None  # (tensor of the host, the arguments) -> the same on the device
        Operator.current = self

    def launch(self, op: Operator, arguments: tuple, sized: int | None) -> tuple[int, ...] | None:
        """Enqueue an operator. `sized`: the position of an output whose sizes the data decide; they are returned."""
        if len(arguments) != len(op.codes):
            raise TypeError(f"{op.name} takes {len(op.codes)} arguments, {len(arguments)} were given")
        descriptors = self.descriptors
        values: list[Any] = []
        tensors: list[tuple[bytes, int]] = []
        lists: list[int] = []
        alive: list[Any] = []
        device = -1
        try:
            for code, value in zip(op.codes, arguments):
                if code == "T":
                    if value is not None:
                        geometry, address, index = _describe(value)
                        if index < 0:
                            value = self.host_number(value, arguments)
                            alive.append(value)
                            geometry, address, index = _describe(value)
                        device = index
                        value = descriptors.tensor(geometry, address)
                        tensors.append((geometry, value))
                elif code == "S":
                    if value is not None:
                        value = descriptors.scalar(value)
                elif code == "IA" or code == "BA" or code == "FA":
                    if value is not None:
                        value = descriptors.array(code, value)
                elif code == "TL":
                    value, index = descriptors.tensor_list(value)
                    lists.append(value)
                    device = max(device, index)
                elif code == "dt":
                    value = _DTYPES[value]
                elif code == "str":
                    value = value.encode()
                values.append(value)
            runtime = self.runtime
            thread = runtime.thread
            if device < 0:
                device = thread.device
            if thread.active != device:
                runtime.activate(device)
            local = self.local
            code = op.first(*values, *local.references)
            if code:
                raise NPUError(op.name + "GetWorkspaceSize", code, runtime.message())
            size = local.size.value
            stream = thread.handles.get(device, 0)
            if size:
                executor = local.executor.value  # allocation may call operators' ends: keep it
                try:
                    workspace = self.memory[device].allocate(size)
                except BaseException:
                    descriptors.aclDestroyAclOpExecutor(executor)
                    raise
                code = op.second(workspace, size, executor, stream or None)
                self.memory[device].release(workspace)
            else:
                code = op.second(None, 0, local.executor, stream or None)
            if code:
                raise NPUError(op.name, code, runtime.message(), runtime.hint())
            if runtime.blocking:
                self._wait(op, device, stream)
            if sized is not None:
                runtime.synchronize_stream(device, stream)
                return descriptors.view_shape(values[sized])
            return None
        finally:
            for geometry, handle in tensors:
                descriptors.keep(geometry, handle)
            for handle in lists:
                descriptors.aclDestroyTensorList(handle)

    def _wait(self, op: Operator, device: int, stream: int) -> None:
        code = self.runtime.aclrtSynchronizeStream(stream or None)
        if code:
            raise NPUError(op.name, code, self.runtime.message())
