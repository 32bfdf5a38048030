"""Users' own kernels: those written in AscendC (`KernelLauncher`), and operator packages (`AclnnLauncher`).

    launcher = KernelLauncher("libkernels.so")

    @ascendc_op("mylib::vector_add")
    def vector_add(x: Tensor, y: Tensor) -> Tensor:
        out = alloc_like(x)
        launcher.launch("add_custom", 8, [x, y, out, x.numel()])
        return out

A compiled kernel is a C function `aclrtlaunch_<kernel>(block_dim, stream, arguments...)`. The types of its arguments come from
the header that CANN's build writes beside it, or from a signature in C.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

from ... import _C
from ..._dispatch.schema import schema_of
from ..._library.definition import CustomOpDef, custom_op
from . import state
from .aclnn import Operator, bind_functions, operator, signatures
from .casts import require_rows
from .libraries import custom_operator_libraries

_MAX_BLOCKS = 65535
_LAUNCH = "aclrtlaunch_"
_NUMBERS = {
    "bool": ctypes.c_bool,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}
_C_TYPES = {
    "bool": "bool",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "long long": "int64",
    "unsigned char": "uint8",
    "unsigned short": "uint16",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "float": "float32",
    "double": "float64",
    "half": "half",
    "bfloat16_t": "bfloat16",
    "GM_ADDR": "pointer",
    **{f"{name}_t": name for name in _NUMBERS if name.startswith(("int", "uint"))},
}
_ACLNN_TYPES = {
    "aclTensor*": "T",
    "aclTensorList*": "TL",
    "aclScalar*": "S",
    "aclIntArray*": "IA",
    "aclFloatArray*": "FA",
    "aclBoolArray*": "BA",
    "int64_t": "i64",
    "uint64_t": "u64",
    "int32_t": "i32",
    "int": "i32",
    "int8_t": "i8",
    "bool": "b",
    "double": "f64",
    "float": "f32",
    "char*": "str",
    "aclDataType": "dt",
}


class DevicePointer(int):
    """The address of a tensor's first element, which keeps the tensor alive and knows how far it reaches."""

    tensor: Any

    def __new__(cls, tensor: Any) -> DevicePointer:
        require_rows("tensor_ptr", tensor)
        made = super().__new__(cls, tensor.data_ptr())
        made.tensor = tensor
        return made


def tensor_ptr(tensor: Any) -> int:
    """The device address of a tensor's first element, for a kernel's argument. TypeError if it is not on an NPU.

    The kernel is told nothing of strides; pass `tensor.contiguous()` where it expects elements in a row.
    """
    if not isinstance(tensor, _C.TensorBase) or tensor.device.type != "npu":
        where = f"on {tensor.device}" if isinstance(tensor, _C.TensorBase) else f"of type {type(tensor).__name__}"
        raise TypeError(f"tensor_ptr: expected a tensor on an NPU, got one {where}")
    return DevicePointer(tensor)


def alloc_like(tensor: Any) -> Any:
    """A contiguous tensor with the shape, dtype and device of another, and with no defined contents."""
    return _C._find_operator("aten::empty", "memory_format")(
        list(tensor.shape), dtype=tensor.dtype, device=tensor.device
    )


# ---- types of C ----


def _split_parameters(text: str) -> list[str]:
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    return [" ".join(part.split()) for part in text.split(",") if part.strip() and part.strip() != "void"]


def _plain_type(parameter: str) -> str:
    """The type of a parameter without its name, `const` and address spaces: "aclTensor*", "uint32_t"."""
    text = re.sub(r"\b(const|__gm__|struct|enum|volatile)\b", " ", parameter)
    stars = text.count("*")
    words = text.replace("*", " ").split()
    if len(words) > 1 and " ".join(words) not in _C_TYPES:
        words = words[:-1]  # the name
    return " ".join(words) + "*" * stars


def kernel_codes(signature: str) -> tuple[str, ...]:
    """The codes of a kernel's parameters, from C: "GM_ADDR x, GM_ADDR y, uint32_t n, float alpha".

    A type that is not a number or an address is taken for a structure, which is passed by its address.
    """
    codes = []
    for parameter in _split_parameters(signature):
        plain = _plain_type(parameter)
        codes.append("pointer" if plain.endswith("*") else _C_TYPES.get(plain, "struct"))
    return tuple(codes)


def _header_signatures(library_path: str) -> dict[str, tuple[str, ...]]:
    """The signatures that the headers `aclrtlaunch_*.h` near a library say of its kernels."""
    found: dict[str, tuple[str, ...]] = {}
    here = os.path.dirname(os.path.abspath(library_path))
    for root in (here, os.path.join(here, "include"), os.path.join(os.path.dirname(here), "include")):
        for folder, folders, files in os.walk(root):
            if root == here:
                folders.clear()
            for name in sorted(files):
                if not (name.startswith(_LAUNCH) and name.endswith(".h")):
                    continue
                with open(os.path.join(folder, name)) as file:
                    text = file.read()
                for kernel, parameters in re.findall(rf"\b{_LAUNCH}(\w+)\s*\(([^)]*)\)\s*;", text):
                    found.setdefault(kernel, kernel_codes(parameters)[2:])  # after blockDim and stream
    return found


def _half_bits(value: float) -> int:
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00


def _bfloat16_bits(value: float) -> int:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return 0x7FC0 if value != value else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


# ---- kernels ----


class KernelLauncher:
    """Launch the kernels of a shared library that was built from AscendC.

    Args:
        library_path: the library. OSError if it cannot be loaded.
        signatures: the parameters of kernels in C, {"add_custom": "GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t n"}; needed
            only where there is no generated header (`aclrtlaunch_<kernel>.h`) beside the library or in an `include` next to it.
    """

    def __init__(self, library_path: str | os.PathLike[str], signatures: dict[str, str] | None = None) -> None:
        self.library_path = os.fspath(library_path)
        self._state = state.get()
        self._library = ctypes.CDLL(self.library_path)
        self._codes = _header_signatures(self.library_path)
        self._codes.update({kernel: kernel_codes(text) for kernel, text in (signatures or {}).items()})
        self._functions: dict[str, Any] = {}
        self._launched: set[str] = set()

    def launch(self, kernel_name: str, block_dim: int, args: Iterable[Any], stream: Any = None) -> None:
        """Enqueue a kernel.

        Args:
            kernel_name: its name in the source, without `aclrtlaunch_`.
            block_dim: how many blocks run it, 1 to 65535.
            args: tensors (contiguous, on an NPU), what `tensor_ptr` gave, None for no address, numbers; for a structure bytes
                or a `ctypes.Structure`.
            stream: a `torch.npu.Stream` or a raw handle; the current stream of the tensors' device without.

        Raises AttributeError for a kernel that the library does not have, TypeError, ValueError or OverflowError for arguments
        that do not fit, RuntimeError if the library was built for another SoC, NPUError if the runtime refuses.
        """
        function = self._function(kernel_name)
        if isinstance(block_dim, bool) or not isinstance(block_dim, int) or not 1 <= block_dim <= _MAX_BLOCKS:
            raise ValueError(f"{kernel_name}: block_dim has to be from 1 to {_MAX_BLOCKS}, got {block_dim!r}")
        arguments = list(args)
        codes = self._codes.get(kernel_name)
        if codes is not None and len(codes) != len(arguments):
            raise TypeError(
                f"{kernel_name} takes {len(codes)} arguments ({', '.join(codes)}), {len(arguments)} were given"
            )
        values = []
        tensors: list[Any] = []
        for number, value in enumerate(arguments):
            code = codes[number] if codes is not None else None
            values.append(self._value(f"{kernel_name}: argument {number}", code, value, tensors))
        runtime = self._state.runtime
        devices = {tensor.device.index for tensor in tensors}
        if len(devices) > 1:
            raise ValueError(f"{kernel_name}: tensors on devices {sorted(devices)}; a launch has one")
        device = devices.pop() if devices else runtime.thread.device
        runtime.activate(device)
        handle = self._stream(stream, device, tensors)
        if runtime.libraries.emulated:
            self._allow(device, codes, arguments)
        if kernel_name in self._launched:
            status = function(ctypes.c_uint32(block_dim), ctypes.c_void_p(handle or None), *values)
        else:
            status = self._first(kernel_name, function, block_dim, handle, values)
        if status:
            raise runtime.error(_LAUNCH + kernel_name, status, runtime.hint())
        runtime.note(_LAUNCH + kernel_name, device, handle)
        if runtime.waits:
            runtime.synchronize_stream(device, handle)

    def _function(self, kernel: str) -> Any:
        function = self._functions.get(kernel)
        if function is None:
            try:
                function = getattr(self._library, _LAUNCH + kernel)
            except AttributeError:
                raise AttributeError(
                    f"{self.library_path} has no kernel {kernel} (no symbol {_LAUNCH}{kernel})"
                    + (f"; its headers name {', '.join(sorted(self._codes))}" if self._codes else "")
                ) from None
            function.restype = ctypes.c_uint32
            function.argtypes = None
            self._functions[kernel] = function
            if kernel not in self._codes:
                told = getattr(self._library, f"emulator_signature_{kernel}", None)
                if told is not None:
                    told.restype = ctypes.c_char_p
                    self._codes[kernel] = tuple(part for part in told().decode().split(",") if part)
        return function

    def _value(self, what: str, code: str | None, value: Any, tensors: list[Any]) -> Any:
        if isinstance(value, _C.TensorBase):
            if code not in (None, "pointer"):
                raise TypeError(f"{what} is a tensor, the kernel takes a {code}")
            if value.device.type != "npu":
                raise TypeError(f"{what} is a tensor on {value.device}, expected an NPU")
            if not value.is_contiguous():
                raise ValueError(
                    f"{what} is a tensor of shape {list(value.shape)} with strides {list(value.stride())}; a kernel gets an "
                    "address only: pass it .contiguous(), or tensor_ptr() if the kernel knows of the strides"
                )
            require_rows(what, value)
            tensors.append(value)
            return ctypes.c_void_p(value.data_ptr())
        if isinstance(value, DevicePointer):
            tensors.append(value.tensor)
        if code is None:  # nothing is known of the kernel's types
            if value is None or (isinstance(value, int) and not isinstance(value, bool)):
                return ctypes.c_void_p(value) if value is None or value >= 0 else ctypes.c_int64(value)
            raise TypeError(
                f"{what} is {value!r}, and the type that the kernel takes is not known (a Python float may be a float, a double "
                'or a half): state it, KernelLauncher(path, signatures={"kernel": "GM_ADDR x, float alpha"})'
            )
        if code == "pointer":
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"{what} has to be a tensor, an address or None, got {type(value).__name__}")
            return ctypes.c_void_p(value)
        if code.startswith("struct"):
            return self._structure(what, code, value)
        if isinstance(value, _C.TensorBase) or not isinstance(value, (int, float)):
            raise TypeError(f"{what} has to be a number ({code}), got {type(value).__name__}")
        if code in ("half", "bfloat16"):
            return ctypes.c_uint16(_half_bits(value) if code == "half" else _bfloat16_bits(value))
        if code.startswith(("int", "uint")):
            if isinstance(value, float):
                raise TypeError(f"{what} has to be an int ({code}), got the float {value!r}")
            bits = int(code.lstrip("uint"))
            low, high = (0, (1 << bits) - 1) if code[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
            if not low <= value <= high:
                raise OverflowError(f"{what} is {value}, which is no {code}")
        return _NUMBERS[code](value)

    @staticmethod
    def _structure(what: str, code: str, value: Any) -> Any:
        if isinstance(value, ctypes.Structure):
            value = bytes(value)
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{what} is a structure: pass bytes or a ctypes.Structure, got {type(value).__name__}")
        size = int(code.partition(":")[2] or len(value))
        if len(value) != size:
            raise ValueError(f"{what} is a structure of {size} bytes, got {len(value)}")
        return ctypes.create_string_buffer(bytes(value), size)

    def _stream(self, stream: Any, device: int, tensors: list[Any]) -> int:
        current = self._state.runtime.stream_handle(device)
        if stream is None:
            return current
        handle = stream if isinstance(stream, int) else stream.npu_stream
        if not isinstance(stream, int) and stream.device_index != device:
            raise ValueError(f"the stream is on npu:{stream.device_index}, the tensors are on npu:{device}")
        for tensor in tensors:
            if tensor.numel():
                self._state.memory[device].record_stream(tensor.untyped_storage().data_ptr(), handle)
        return handle

    def _allow(self, device: int, codes: Any, arguments: list[Any]) -> None:
        """Tell the emulator which memory the launch was given: an access outside of it is an error there."""
        ranges = []
        for number, value in enumerate(arguments):
            if isinstance(value, DevicePointer):
                value = value.tensor
            if isinstance(value, _C.TensorBase):
                if value.numel():
                    last = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
                    ranges.append((value.data_ptr(), (last + 1) * value.element_size()))
            elif isinstance(value, int) and value and codes is not None and codes[number] == "pointer":
                block = self._state.memory[device].block_of(value)
                if block is None:
                    return  # memory that this package did not allocate: the emulator looks at whole allocations
                ranges.append((block.address, block.size))
        begins = (ctypes.c_void_p * len(ranges))(*(begin for begin, _ in ranges))
        sizes = (ctypes.c_size_t * len(ranges))(*(size for _, size in ranges))
        self._state.runtime.libraries.acl.emulatorAllow(begins, sizes, ctypes.c_size_t(len(ranges)))

    def _first(self, kernel: str, function: Any, block_dim: int, handle: int, values: list[Any]) -> int:
        """The first launch: a stub whose binary is for another SoC prints an error, launches nothing and returns 0."""
        libc = ctypes.CDLL(None)
        libc.fflush(None)
        saved = os.dup(1)
        try:
            with tempfile.TemporaryFile() as said:
                os.dup2(said.fileno(), 1)
                try:
                    code = function(ctypes.c_uint32(block_dim), ctypes.c_void_p(handle or None), *values)
                    libc.fflush(None)
                finally:
                    os.dup2(saved, 1)
                said.seek(0)
                text = said.read()
        finally:
            os.close(saved)
        if code == 0 and b"[ERROR]" in text:
            raise RuntimeError(
                f"{kernel} was not launched, though its stub returned 0. The usual cause is a library that was built for another "
                f"SoC: this device is {self._state.runtime.soc_name()}, the library {self.library_path}. The stub said: "
                f"{text.decode(errors='replace').strip()}"
            )
        if text:
            os.write(1, text)
        self._launched.add(kernel)
        return code


# ---- operator packages ----


def aclnn_codes(signature: str) -> tuple[str, ...]:
    """The codes of an operator's parameters, from C: "const aclTensor *x, double alpha, aclTensor *out". ValueError for a
    type that no operator takes."""
    codes = []
    for parameter in _split_parameters(signature):
        plain = _plain_type(parameter)
        if plain == "uint64_t*" or plain.startswith("aclOpExecutor"):
            continue  # where phase 1 leaves its results
        if plain not in _ACLNN_TYPES:
            raise ValueError(f"'{parameter}': {plain} is no type of an ACLNN operator's parameter")
        codes.append(_ACLNN_TYPES[plain])
    return tuple(codes)


class AclnnLauncher:
    """Call two-phase operators (`aclnnX`, `aclnnXGetWorkspaceSize`) of users' packages, and of CANN.

    Args:
        library_path: a `libcust_opapi.so` to look into first. Then come the packages that the environment names, in the order
            of docs/npu.md; it is read at each look-up, so a package that is named later is found.
    """

    def __init__(self, library_path: str | os.PathLike[str] | None = None) -> None:
        self.library_path = None if library_path is None else os.fspath(library_path)
        self._state = state.get()
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._operators: dict[tuple[str, str | None], Operator] = {}

    def launch(self, name: str, *args: Any, signature: str | None = None) -> None:
        """Enqueue an operator on the current stream.

        Args:
            name: "aclnnAddCustom".
            args: tensors, numbers, lists and strings, in the order of the signature.
            signature: the parameters in C, without the workspace size and the executor; taken from the package's header
                (`op_api/include/aclnn_*.h`) without; those of CANN that this package calls are known.

        Raises NotImplementedError, with every library that was tried, for an operator that is in none; ValueError if its
        signature is not known; NPUError if it fails.
        """
        found = self._operators.get((name, signature))
        if found is None:
            found = self._operators[name, signature] = self._find(name, signature)
        found(*args)

    def _paths(self) -> list[str]:
        named = [self.library_path] if self.library_path is not None else []
        return [*named, *custom_operator_libraries()]

    def _find(self, name: str, signature: str | None) -> Operator:
        tried = []
        for path in self._paths():
            tried.append(path)
            if not os.path.exists(path):
                continue
            library = self._libraries.get(path) or self._libraries.setdefault(path, ctypes.CDLL(path))
            first, second = (getattr(library, symbol, None) for symbol in (name + "GetWorkspaceSize", name))
            if first is not None and second is not None:
                return self._made(name, signature, first, second, path)
        libraries = self._state.runtime.libraries
        first, second = libraries.operator(name + "GetWorkspaceSize"), libraries.operator(name)
        if first is not None and second is not None:
            return self._made(name, signature, first, second, None)
        places = "\n  ".join(dict.fromkeys([*tried, *libraries.searched]))
        raise NotImplementedError(
            f"{name} or {name}GetWorkspaceSize is in none of the operator libraries. Tried:\n  {places}\nA package is found "
            "through ASCEND_CUSTOM_OPP_PATH, below ASCEND_OPP_PATH/vendors if vendors/config.ini names it, or by its path"
        )

    def _made(self, name: str, signature: str | None, first: Any, second: Any, path: str | None) -> Operator:
        if signature is None:
            signature = _declared(name, path)
        if signature is None and path is None and name in signatures():
            return operator(name)
        if signature is None:
            raise ValueError(
                f"{name}: its signature is not known: no header aclnn_*.h beside {path or 'the library'} declares it. Pass "
                'signature="const aclTensor *x, double alpha, aclTensor *out"'
            )
        made = Operator(name, aclnn_codes(signature))
        bind_functions(made, first, second)
        return made


def _declared(name: str, library_path: str | None) -> str | None:
    """The parameters of an operator's first phase, from the headers of its package."""
    if library_path is None:
        return None
    folder = os.path.join(os.path.dirname(os.path.dirname(library_path)), "include")
    for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if file.endswith(".h"):
            with open(os.path.join(folder, file)) as opened:
                found = re.search(rf"\b{name}GetWorkspaceSize\s*\(([^)]*)\)\s*;", opened.read())
            if found:
                return found[1]
    return None


# ---- operators ----


def _derived_fake(definition: CustomOpDef, like: tuple[str, ...]) -> Callable[..., Any]:
    schema = schema_of(definition._handle)
    names = [argument.name for argument in schema.arguments]

    def fake(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args)), **kwargs}
        made = tuple(alloc_like(given[name]) for name in like)
        return made[0] if len(made) == 1 else made

    return fake


def ascendc_op(
    name: str, fn: Callable | None = None, /, *, like: str | Iterable[str] | None = None, mutates_args: Any = ()
) -> Any:
    """Make a function that launches a kernel the operator "ns::name" of the NPU; a decorator without `fn`.

    It is `torch.library.custom_op` for the device `npu`, with a fake kernel that is derived: each result has the shape and
    dtype of a tensor argument. What the kernel really returns is compared with it.

    Args:
        name: "namespace::name".
        fn: annotated as `torch.library.infer_schema` reads it.
        like: the arguments that the results resemble, in their order; the first tensor for all of them without. Where results
            resemble no argument, state the fake kernel with `register_fake`.
        mutates_args: names of the tensors that the kernel writes to.

    Returns a CustomOpDef: `register_autograd`, `register_kernel("cpu")` and the others are there. ValueError if `like` names
    no tensor argument, or not one for each result.
    """

    def make(function: Callable) -> Any:
        definition = custom_op(name, mutates_args=mutates_args, device_types="npu")(function)
        schema = schema_of(definition._handle)
        if schema.returns:
            tensors = [argument.name for argument in schema.arguments if str(argument.type) == "Tensor"]
            names = (like,) if isinstance(like, str) else tuple(like) if like is not None else ()
            if like is None and tensors:
                names = (tensors[0],) * len(schema.returns)
            if len(names) != len(schema.returns) or not set(names) <= set(tensors):
                raise ValueError(
                    f"{name}: `like` has to name a tensor argument ({', '.join(tensors) or 'there is none'}) for each of the "
                    f"{len(schema.returns)} results, got {list(names)}"
                )
            _derive(definition, function, names)
        return definition

    return make if fn is None else make(fn)


def _derive(definition: CustomOpDef, function: Callable, names: tuple[str, ...]) -> None:
    """Register the derived fake kernel, and let the real one be compared with it as long as it is the one."""
    fake = _derived_fake(definition, names)
    arguments = [argument.name for argument in schema_of(definition._handle).arguments]
    definition.register_fake(fake)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        results = function(*args, **kwargs)
        if definition._fake is not fake:  # the user has stated another one
            return results
        given = {**dict(zip(arguments, args)), **kwargs}
        for number, (name, result) in enumerate(zip(names, results if isinstance(results, tuple) else (results,))):
            model = given[name]
            if result.shape != model.shape or result.dtype != model.dtype:
                raise RuntimeError(
                    f"{definition._qualname}: result {number} has shape {list(result.shape)} and dtype {result.dtype}, and the "
                    f"derived fake kernel says that it resembles '{name}': {list(model.shape)}, {model.dtype}. State "
                    "the fake kernel with register_fake, or another argument with like="
                )
        return results

    definition.register_kernel("npu")(kernel)
    definition._kernels.clear()
