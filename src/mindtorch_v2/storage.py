"""Storages: `UntypedStorage` (bytes), `TypedStorage` and the old classes by dtype (`FloatStorage`, ...).

Typed storages exist for old programs and because files name them.
"""

from __future__ import annotations

import collections
import copy
import functools
import io
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._core.storage import UntypedStorage
from mindtorch_v2._core.warn_once import is_due

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["TypedStorage", "UntypedStorage"]


def _bytes_of(storage) -> torch.Tensor:
    """The content as a uint8 tensor over the same memory."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _untyped_type(self, dtype=None, non_blocking=False) -> str:
    """The class's name; casting is done on tensors and typed storages."""
    if dtype is None:
        return "torch.storage.UntypedStorage"
    raise NotImplementedError(f"UntypedStorage.type({dtype!r}): cast the tensor instead")


def _untyped_byteswap(self, dtype) -> None:
    """Reverse the bytes of each element of `dtype`, in place."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if size > 1 and self.nbytes():
        rows = _bytes_of(self).view(-1, size)
        rows.copy_(rows.flip(1))


def _untyped_pin_memory(self, device=None):
    """A copy in page-locked memory; RuntimeError without an accelerator."""
    return _bytes_of(self).pin_memory().untyped_storage()


def _untyped_cast(name, dtype=None):
    def cast(self: UntypedStorage) -> TypedStorage:
        values = _bytes_of(self).to(getattr(torch, dtype or name))
        return TypedStorage(wrap_storage=values.untyped_storage(), dtype=values.dtype, _internal=True)

    cast.__name__ = name
    cast.__doc__ = f"Each byte's value as an element of a {name} storage."
    return cast


# Methods of the byte storage that need tensors, which the class itself must not know.
UntypedStorage.type = _untyped_type  # type: ignore[attr-defined]  # (the class is in a lower layer)
UntypedStorage.byteswap = _untyped_byteswap  # type: ignore[attr-defined]  # (the class is in a lower layer)
UntypedStorage.pin_memory = _untyped_pin_memory  # type: ignore[attr-defined]  # (the class is in a lower layer)
for _name in ("double", "float", "half", "bfloat16", "long", "int", "short", "bool"):
    setattr(UntypedStorage, _name, _untyped_cast(_name))
UntypedStorage.complex_double = _untyped_cast("complex_double", "complex128")  # type: ignore[attr-defined]  # (the class is in a lower layer)
UntypedStorage.complex_float = _untyped_cast("complex_float", "complex64")  # type: ignore[attr-defined]  # (the class is in a lower layer)
UntypedStorage.char = _untyped_cast("int8")  # type: ignore[attr-defined]  # (the class is in a lower layer)
UntypedStorage.byte = _untyped_cast("uint8")  # type: ignore[attr-defined]  # (the class is in a lower layer)


def no_hooks() -> OrderedDict:
    """The empty dictionary that a pickled tensor carries where hooks once were."""
    return collections.OrderedDict()


def _load_from_bytes(b):
    """Unpickle a storage that was pickled on its own; as pickle itself does, it trusts the bytes."""
    return torch.load(io.BytesIO(b), weights_only=False)


@functools.cache
def _dtype_to_storage_type_map() -> dict:
    """The old storage class's name of each dtype that has one."""
    names = {
        "float64": "DoubleStorage",
        "float32": "FloatStorage",
        "float16": "HalfStorage",
        "int64": "LongStorage",
        "int32": "IntStorage",
        "int16": "ShortStorage",
        "int8": "CharStorage",
        "uint8": "ByteStorage",
        "bool": "BoolStorage",
        "bfloat16": "BFloat16Storage",
        "complex128": "ComplexDoubleStorage",
        "complex64": "ComplexFloatStorage",
        "quint8": "QUInt8Storage",
        "qint8": "QInt8Storage",
        "qint32": "QInt32Storage",
        "quint4x2": "QUInt4x2Storage",
        "quint2x4": "QUInt2x4Storage",
    }
    return {getattr(torch, dtype): name for dtype, name in names.items()}


@functools.cache
def _storage_type_to_dtype_map() -> dict:
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}


def _get_dtype_from_pickle_storage_type(pickle_storage_type):
    """The dtype of a class that a file names, such as `FloatStorage`."""
    try:
        return _storage_type_to_dtype_map()[pickle_storage_type]
    except KeyError:
        raise KeyError(f'pickle storage type "{pickle_storage_type}" is not recognized') from None


_always_warns = [False]


def _get_always_warn_typed_storage_removal() -> bool:
    """Value that `_set_always_warn_typed_storage_removal` was given."""
    return _always_warns[0]


def _set_always_warn_typed_storage_removal(always_warn: bool) -> None:
    """Whether each use of a TypedStorage warns; else the first one does."""
    if not isinstance(always_warn, bool):
        raise AssertionError(f"always_warn must be bool, got {type(always_warn).__name__}")
    _always_warns[0] = always_warn


def _warn_typed_storage_removal(stacklevel=2) -> None:
    if not _always_warns[0] and not is_due("TypedStorage is deprecated"):
        return
    warnings.warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage "
        "class. This should only matter to you if you are using storages directly.  To access UntypedStorage "
        "directly, use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
        stacklevel=stacklevel + 1,
    )


def _numbers_of(dtype) -> torch.dtype:
    """The dtype of the whole numbers that quantized elements are kept as; other dtypes are their own."""
    if dtype in (torch.quint8, torch.quint4x2, torch.quint2x4):
        return torch.uint8
    return {torch.qint8: torch.int8, torch.qint32: torch.int32}.get(dtype, dtype)


_FORMS = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n"
)


def _checked_wrap(wrap_storage, dtype, args, device) -> torch.dtype:
    """The dtype to read an untyped storage by, if nothing else was given."""
    if args:
        raise RuntimeError(f"{_FORMS}No positional arguments should be given when using 'wrap_storage'")
    if dtype is None:
        raise RuntimeError(f"{_FORMS}Argument 'dtype' must be specified")
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"{_FORMS}Argument 'dtype' must be torch.dtype, not {type(dtype)}")
    if device is not None:
        raise RuntimeError(f"{_FORMS}Argument 'device' should not be specified when 'wrap_storage' is given")
    if not isinstance(wrap_storage, UntypedStorage):
        raise TypeError(f"{_FORMS}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
    return dtype


def _is_content(value) -> bool:
    """Whether a storage can be made of it: a number of elements, or the elements."""
    return isinstance(value, (int, collections.abc.Sequence))


def _memory_of(args, dtype, device) -> UntypedStorage:
    """Memory for the elements that were given, or for as many."""
    if len(args) > 1:
        raise RuntimeError(f"{_FORMS}Too many positional arguments")
    kind = str(device).partition(":")[0]
    if kind not in ("cpu", "meta", "cuda", torch._C._get_privateuse1_backend_name()):
        raise RuntimeError(f"torch.UntypedStorage(): Storage device not recognized: {kind}")
    if not args:
        return UntypedStorage(0, device=device)
    if not _is_content(args[0]):
        raise TypeError(f"{_FORMS}Argument type not recognized: {type(args[0])}")
    if isinstance(args[0], int):
        return UntypedStorage(args[0] * dtype.itemsize, device=device)
    return torch.tensor(args[0], dtype=_numbers_of(dtype), device=device).untyped_storage()


class TypedStorage:
    """An `UntypedStorage` read as elements of one dtype.

    `TypedStorage(size or sequence, dtype=, device=)`, or over an existing one with `wrap_storage=`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     storage = torch.TypedStorage([1.0, 2.0], dtype=torch.float64)
    ...     print(storage.size(), storage.nbytes(), storage[1])
    2 16 2.0
    """

    is_sparse = False

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self._untyped_storage.is_cuda

    is_hpu = False

    def __init__(
        self,
        *args: Any,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        wrap_storage: UntypedStorage | None = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            _warn_typed_storage_removal()
        if wrap_storage is not None:
            self.dtype: Any = _checked_wrap(wrap_storage, dtype, args, device)
            self._untyped_storage = wrap_storage
            return
        self.dtype = torch.get_default_dtype() if dtype is None else dtype
        if not isinstance(self.dtype, torch.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        self._untyped_storage = _memory_of(args, self.dtype, "cpu" if device is None else device)

    def _tensor(self):
        dtype = _numbers_of(self.dtype)
        return torch.empty(0, dtype=dtype, device=self.device).set_(self._untyped_storage)

    def _class(self) -> Any:
        """The old class of these elements, such as FloatStorage; None where there is none."""
        name = _dtype_to_storage_type_map().get(self.dtype)
        return None if name is None else globals()[name]

    @property
    def _dtype(self) -> torch.dtype:
        return self.dtype

    def _like(self, untyped_storage):
        return TypedStorage(wrap_storage=untyped_storage, dtype=self.dtype, _internal=True)

    @property
    def device(self) -> torch.device:
        """The memory's device."""
        return self._untyped_storage.device

    @property
    def filename(self) -> str | None:
        """The file that the storage maps; None for memory."""
        return self._untyped_storage.filename

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def __len__(self) -> int:
        return self.size()

    def size(self) -> int:
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    _size = size

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    _nbytes = nbytes

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    _element_size = element_size

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def get_device(self) -> int:
        """The device's index; -1 on the CPU."""
        return self._untyped_storage.get_device()

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._tensor()[self._wrapped(index)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(value, (TypedStorage, UntypedStorage)):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._tensor()[index if isinstance(index, slice) else self._wrapped(index)] = value

    _setitem = __setitem__

    def _wrapped(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index % len(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        values = "..." if self.device.type == "meta" else "\n ".join(str(value) for value in self.tolist())
        return f" {values}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    __str__ = __repr__

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._like(copy.deepcopy(self._untyped_storage, memo))

    _deepcopy = __deepcopy__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._cdata == other._cdata and self.dtype == other.dtype

    def __hash__(self) -> Any:
        return hash((self._cdata, self.dtype))

    def __reduce__(self) -> tuple:
        stream = io.BytesIO()
        torch.save(self, stream, _use_new_zipfile_serialization=False)
        return _load_from_bytes, (stream.getvalue(),)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return self._tensor().tolist()

    def clone(self) -> Self:
        """A copy."""
        return self._like(self._untyped_storage.clone())

    def fill_(self, value: Any) -> Self:
        """Set every element to `value`."""
        self[:] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Self:
        """Copy the elements of another storage."""
        if source.device.type == "meta" and self.device.type != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        if isinstance(source, TypedStorage):
            self._tensor().copy_(source._tensor())
        else:
            self._untyped_storage.copy_(source)
        return self

    def resize_(self, size: int) -> None:
        """Change the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    _resize_ = resize_

    def resizable(self) -> bool:
        """Whether `resize_` may be used."""
        return self._untyped_storage.resizable()

    def cpu(self) -> TypedStorage:
        """This storage, or a copy of it, on the CPU."""
        return self._like(self._untyped_storage.cpu())

    def to(self, *, device: Device, non_blocking: bool = False) -> TypedStorage:
        """This storage, or a copy of it, on `device`."""
        return self._like(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def npu(self, device: Device | None = None, non_blocking: bool = False) -> TypedStorage:
        """This storage, or a copy of it, on an NPU: the current one unless `device` names one."""
        return self._like(self._untyped_storage.npu(device, non_blocking))

    def cuda(self, device: Device | None = None, non_blocking: bool = False) -> TypedStorage:
        """This storage, or a copy of it, on a GPU: the current one unless `device` names one."""
        return self._like(self._untyped_storage.cuda(device, non_blocking))

    def is_pinned(self, device: Device | None = None) -> bool:
        """Whether the memory is page-locked."""
        return self._untyped_storage.is_pinned(device)

    def pin_memory(self, device: Device | None = None) -> TypedStorage:
        """A page-locked copy."""
        return self._like(self._untyped_storage.pin_memory(device))

    def is_shared(self) -> bool:
        """Whether other processes can map this memory."""
        return self._untyped_storage.is_shared()

    _is_shared = is_shared

    def share_memory_(self) -> TypedStorage:
        """Move the bytes to shared memory."""
        self._untyped_storage.share_memory_()
        return self

    _share_memory_ = share_memory_

    def _share_fd_cpu_(self) -> tuple:
        descriptor, size = self._untyped_storage._share_fd_cpu_()
        return descriptor, size // self.dtype.itemsize

    def _share_filename_cpu_(self) -> Any:
        return self._untyped_storage._share_filename_cpu_()

    def _write_file(self, f: Any, is_real_file: Any, save_size: Any, element_size: Any) -> None:
        self._untyped_storage._write_file(f, is_real_file, save_size, element_size)

    def pickle_storage_type(self) -> str:
        """The name that files give this storage's class."""
        try:
            return _dtype_to_storage_type_map()[self.dtype]
        except KeyError:
            raise KeyError(f"dtype {self.dtype} is not recognized") from None

    _pickle_storage_type = pickle_storage_type

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The old class's name, such as `torch.FloatStorage`, or the content cast to another class."""
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        name = dtype if isinstance(dtype, str) else dtype.__name__
        return self._cast(_get_dtype_from_pickle_storage_type(name.rsplit(".", maxsplit=1)[-1]))

    def _cast(self, dtype):
        values = self._tensor().to(dtype)
        return TypedStorage(wrap_storage=values.untyped_storage(), dtype=dtype, _internal=True)

    def double(self) -> TypedStorage:
        """The elements as float64."""
        return self._cast(torch.double)

    def float(self) -> TypedStorage:
        """The elements as float32."""
        return self._cast(torch.float)

    def half(self) -> TypedStorage:
        """The elements as float16."""
        return self._cast(torch.half)

    def bfloat16(self) -> TypedStorage:
        """The elements as bfloat16."""
        return self._cast(torch.bfloat16)

    def long(self) -> TypedStorage:
        """The elements as int64."""
        return self._cast(torch.long)

    def int(self) -> TypedStorage:
        """The elements as int32."""
        return self._cast(torch.int)

    def short(self) -> TypedStorage:
        """The elements as int16."""
        return self._cast(torch.short)

    def char(self) -> TypedStorage:
        """The elements as int8."""
        return self._cast(torch.int8)

    def byte(self) -> TypedStorage:
        """The elements as uint8."""
        return self._cast(torch.uint8)

    def bool(self) -> TypedStorage:
        """Whether each element is not zero."""
        return self._cast(torch.bool)

    def complex_double(self) -> TypedStorage:
        """The elements as complex128."""
        return self._cast(torch.complex128)

    def complex_float(self) -> TypedStorage:
        """The elements as complex64."""
        return self._cast(torch.complex64)

    def float8_e4m3fn(self) -> TypedStorage:
        """The elements as float8_e4m3fn."""
        return self._cast(torch.float8_e4m3fn)

    def float8_e5m2(self) -> TypedStorage:
        """The elements as float8_e5m2."""
        return self._cast(torch.float8_e5m2)

    @classmethod
    def from_file(cls, filename: Any, shared: Any = False, size: Any = 0) -> TypedStorage:
        """Only the classes by dtype know how large an element is."""
        raise RuntimeError("from_file can only be called on derived classes")

    @classmethod
    def from_buffer(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        """Only the classes by dtype know what to read."""
        raise RuntimeError("from_buffer: only supported for subclasses of TypedStorage with a dtype")


class _LegacyStorageMeta(type):
    """Storages of the class's dtype count as instances, whatever made them."""

    dtype: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, TypedStorage)
            and type(instance) in (TypedStorage, cls)
            and (instance.dtype is cls.dtype)
        )


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Base of `FloatStorage` and its kind: making one gives a `TypedStorage` of the class's dtype."""

    dtype = None

    def __new__(
        cls, *args: Any, wrap_storage: UntypedStorage | None = None, _internal: bool = False, **kwargs: Any
    ) -> Any:
        if cls is _LegacyStorage:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        allowed = (
            f"{cls}.__new__ received an invalid combination of arguments. Expected one of:\n"
            " * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
        )
        for name in kwargs:
            if name not in ("device", "dtype"):
                raise TypeError(f"TypedStorage.__new__() got an unexpected keyword argument '{name}'")
            raise RuntimeError(f"{allowed}Keyword argument '{name}' cannot be specified")
        if len(args) > 1:
            raise RuntimeError(f"{allowed}Too many positional arguments")
        if args and not _is_content(args[0]):
            raise TypeError(f"{allowed}Argument type not recognized: {type(args[0])}")
        if wrap_storage is not None:
            if args:
                raise RuntimeError(f"{allowed}No positional arguments should be given when using 'wrap_storage'")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"{allowed}Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
                )
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)
        return TypedStorage(*args, dtype=cls.dtype, _internal=True)

    @classmethod
    def from_file(cls, filename: Any, shared: Any = False, size: Any = 0) -> TypedStorage:
        """A storage of `size` elements over a memory-mapped file, which is made if it is to be `shared`."""
        storage = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype, _internal=True)

    @classmethod
    def _new_shared(cls, size: int) -> TypedStorage:
        """A storage of `size` elements in memory that other processes can map."""
        storage = UntypedStorage(size * cls.dtype.itemsize).share_memory_()
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype, _internal=True)

    @classmethod
    def from_buffer(cls, data: Any, byte_order: str | None = None, count: int = -1, offset: int = 0) -> TypedStorage:
        """A storage with a copy of the bytes in `data`, read in `byte_order` ("little", "big" or "native")."""
        if byte_order not in (None, "little", "big", "native"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        if byte_order is None and cls.dtype.itemsize > 1:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        view = memoryview(data).cast("B")[offset:]
        if count >= 0:
            view = view[: count * cls.dtype.itemsize]
        storage = UntypedStorage(len(view))
        memoryview(storage)[:] = view
        if byte_order == "big":
            storage.byteswap(cls.dtype)
        return TypedStorage(wrap_storage=storage, dtype=cls.dtype, _internal=True)

    _from_buffer = from_buffer


for _dtype, _class_name in _dtype_to_storage_type_map().items():
    # Files name them as members of `torch`.
    globals()[_class_name] = _LegacyStorageMeta(
        _class_name,
        (_LegacyStorage,),
        {
            "dtype": _dtype,
            "__module__": "torch",
            "__doc__": f"Typed storage of {_dtype} (old form).\n\n    >>> torch.{_class_name}(2).size()\n    2\n",
        },
    )


class _CudaStorageMeta(_LegacyStorageMeta):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Torch not compiled with CUDA enabled")


def _not_for_cuda(name) -> classmethod:
    def function(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name}: Not available for CUDA storage")

    function.__name__ = name
    return classmethod(function)


_CUDA_STORAGES: dict[str, type] = {
    _class_name: _CudaStorageMeta(
        _class_name,
        (_LegacyStorage,),
        {
            "dtype": _dtype,
            "__module__": "torch.cuda",
            "__doc__": f"Typed storage of {_dtype} on CUDA devices (old form), of which there is none.\n\n"
            f"    >>> torch.cuda.{_class_name}(2)\n    Traceback (most recent call last):\n        ...\n"
            "    AssertionError: Torch not compiled with CUDA enabled\n",
            **{name: _not_for_cuda(name) for name in ("from_buffer", "_new_with_weak_ptr", "_new_shared_filename")},
        },
    )
    for _dtype, _class_name in _dtype_to_storage_type_map().items()
    if not _class_name.startswith("Q")
}
"""The storage classes of `torch.cuda`."""

Storage = globals()["FloatStorage"]
"""The storage class of the default dtype as it is at first."""

_storage_classes = {
    UntypedStorage,
    TypedStorage,
    *(globals()[name] for name in _dtype_to_storage_type_map().values()),
    *_CUDA_STORAGES.values(),
}
"""All classes of storages."""
