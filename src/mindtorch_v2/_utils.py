"""Functions that pickles of tensors name, exceptions carried between processes, and small tools used by libraries.

The `_rebuild_` functions keep PyTorch's names and arguments: files written by either load in both.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2._core.quantizer import PerChannel, PerTensor
from mindtorch_v2._core.storage import PROGRAMS_OWN, orders
from mindtorch_v2._operators.composite.quantize import PLAIN, TO_A_BYTE

if TYPE_CHECKING:
    from mindtorch_v2._core.storage import UntypedStorage


class _Skipping(threading.local):
    """The settings of `torch.serialization.skip_data` on this thread."""

    skip_data = False
    materialize_fake_tensors = False

    def __init__(self) -> None:
        self.places: dict[int, str] = {}  # the devices of fake tensors, by their storages


skipping = _Skipping()


def _rebuild_tensor(storage, storage_offset, size, stride) -> torch.Tensor:
    """A tensor over `storage` (typed), without a copy."""
    tensor = torch.empty((0,), dtype=storage.dtype, device=storage._untyped_storage.device)
    return set_checked(tensor, storage._untyped_storage, storage_offset, size, stride)


def set_checked(
    tensor: torch.Tensor, storage: UntypedStorage, storage_offset: int, size: Sequence[int], stride: Sequence[int]
) -> torch.Tensor:
    """`tensor.set_(...)` for values from a file: RuntimeError unless every element lies in the storage."""
    numbers = (storage_offset, *size, *stride)
    if not all(isinstance(number, int) for number in numbers) or len(size) != len(stride):
        raise RuntimeError(f"setStorage: invalid offset {storage_offset}, sizes {size} or strides {stride}")
    if min(numbers) < 0 or max(numbers) >= 1 << 63:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}, sizes {size} or strides {stride}")
    if all(size):
        elements = storage_offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1
        itemsize = tensor.dtype.itemsize
        if elements * itemsize > storage.nbytes():
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {storage_offset}, and itemsize "
                f"{itemsize} requiring a storage size of {elements * itemsize} are out of bounds for storage of size "
                f"{storage.nbytes()}"
            )
    return tensor.set_(storage, storage_offset, size, stride)


def _order_of(tensor):
    """The functions that say and restore what files keep of a device's tensors beside bytes, if there are any."""
    kind = tensor.device.type
    own = kind not in orders and kind == torch._C._get_privateuse1_backend_name()
    return orders.get(PROGRAMS_OWN if own else kind)


def get_tensor_metadata(tensor: torch.Tensor) -> dict[Any, Any]:
    """The state that a pickle keeps of a tensor besides shape and memory: lazily conjugated or negated bits, a device's own order."""
    order = _order_of(tensor)
    metadata = dict(order[0](tensor)) if order else {}
    if tensor.is_conj():
        metadata["conj"] = True
    if tensor.is_neg():
        metadata["neg"] = True
    return metadata


def set_tensor_metadata(tensor: torch.Tensor, metadata: dict[str, bool]) -> torch.Tensor:
    """Undo `get_tensor_metadata`: bits and order apply to `tensor`, which holds the bare memory in rows."""
    if not isinstance(metadata, dict):
        raise AssertionError(f"expected dict, got {type(metadata)}")
    order = _order_of(tensor)
    if order:
        order[1](tensor, metadata)
    if metadata.get("conj"):
        tensor = torch.conj(tensor)
    if metadata.get("neg"):
        tensor = torch._neg_view(tensor)
    return tensor


# While a file of the old format is read: the tensors whose bits are still to be applied, as their memory is filled
# last. None otherwise.
_waiting = threading.local()


def collect_waiting() -> list[Any]:
    """Start to put off what `metadata` asks of tensors; return the list that collects it."""
    _waiting.items = []
    return _waiting.items


def apply_waiting(items: Sequence[tuple[torch.Tensor, dict[str, bool]]]) -> None:
    """Do what was put off, in place, now that the tensors' memory is filled."""
    with torch.no_grad():
        for tensor, metadata in items:
            tensor.copy_(set_tensor_metadata(tensor.detach(), metadata))


def stop_waiting() -> None:
    """End what `collect_waiting` began."""
    _waiting.items = None


def _finish(tensor, requires_grad, backward_hooks, metadata) -> torch.Tensor:
    if metadata:
        if getattr(_waiting, "items", None) is not None:
            _waiting.items.append((tensor, metadata))
        else:
            tensor = set_tensor_metadata(tensor, metadata)
    tensor.requires_grad = requires_grad
    # Old files kept hooks here; new ones an empty dictionary.
    tensor._backward_hooks = backward_hooks or None
    return tensor


def _rebuild_tensor_v2(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
) -> torch.Tensor:
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """Tensors of dtypes without a typed storage class of their own."""
    untyped = storage._untyped_storage if isinstance(storage, torch.storage.TypedStorage) else storage
    tensor = torch.empty((0,), dtype=dtype, device=untyped.device)
    tensor = set_checked(tensor, untyped, storage_offset, size, stride)
    return _finish(tensor, requires_grad, backward_hooks, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta", requires_grad=requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    parameter: Any = torch.nn.Parameter(data, requires_grad)
    parameter._backward_hooks = backward_hooks or None
    return parameter


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func, new_type, args, state) -> torch.Tensor:
    """A tensor of a subclass, or with attributes of its own."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    if getattr(type(result), "__setstate__", torch.Tensor.__setstate__) is not torch.Tensor.__setstate__:
        result.__setstate__(state)
        return result
    return _set_obj_state(result, state)


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    tensor = data.to(dtype=dtype, device=device)
    tensor.requires_grad = requires_grad
    return tensor


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    return _rebuild_device_tensor_from_cpu_tensor(torch.from_numpy(data), dtype, device, requires_grad)


def _rebuild_sparse_tensor(layout, data):
    if layout == torch.sparse_coo:
        indices, values, size, *coalesced = data
        return torch.sparse_coo_tensor(
            indices, values, size, check_invariants=True, is_coalesced=coalesced[0] if coalesced else None
        )
    return torch.sparse_compressed_tensor(*data, layout=layout, check_invariants=True)


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    """A nested tensor of the layout `torch.strided`: parts of a buffer."""
    from mindtorch_v2.nested._internal.strided import strided_from_list

    parts = zip(sizes.tolist(), strides.tolist(), storage_offsets.tolist(), strict=True)
    return strided_from_list([buffer.as_strided(*part) for part in parts])


def _rebuild_qtensor(
    storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks
) -> torch.Tensor:
    """A quantized tensor; `quantizer_params` are its scheme and the scheme's numbers."""
    scheme, *numbers = quantizer_params
    untyped = storage._untyped_storage if isinstance(storage, torch.storage.TypedStorage) else storage
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        quantizer: Any = PerTensor(*numbers)
    elif scheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams):
        scales, zero_points, axis = numbers
        if isinstance(scales, list):  # of old files
            kind = torch.float64 if scheme == torch.per_channel_affine else torch.float32
            scales, zero_points = (
                torch.tensor(scales, dtype=kind),
                torch.tensor(zero_points, dtype=torch.int64 if kind == torch.float64 else torch.float32),
            )
        quantizer = PerChannel(scales, zero_points, axis)
    else:
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    plain = PLAIN[storage.dtype][0]
    if storage.dtype in TO_A_BYTE:
        whole = torch.empty(0, dtype=plain, device=untyped.device).set_(untyped)
        tensor = torch._C._make_quantized(whole, storage.dtype, quantizer, tuple(size))
    else:
        whole = set_checked(torch.empty(0, dtype=plain, device=untyped.device), untyped, storage_offset, size, stride)
        tensor = torch._C._make_quantized(whole, storage.dtype, quantizer)
    tensor._backward_hooks = backward_hooks or None
    return tensor


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    base: Any = torch.Tensor
    return base._make_wrapper_subclass(
        cls,
        size,
        strides=stride,
        dtype=dtype,
        storage_offset=storage_offset,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


def _get_obj_state(obj):
    """The attributes of `obj` as pickle would save them: its dict, or (dict, slots) if the class has slots."""
    getstate = getattr(type(obj), "__getstate__", None)
    # Since Python 3.11 every object has a __getstate__ of its own.
    if getstate is not None and getstate is not getattr(object, "__getstate__", None):
        return obj.__getstate__()
    names = [name for cls in type(obj).__mro__ for name in _slots_of(cls)]
    slots = {name: getattr(obj, name) for name in names if hasattr(obj, name)}
    state = dict(obj.__dict__)
    return (state, slots) if slots else state


def _slots_of(cls) -> list:
    slots = cls.__dict__.get("__slots__", ())
    slots = (slots,) if isinstance(slots, str) else slots
    return [name for name in slots if name not in ("__dict__", "__weakref__")]


def _set_obj_state(obj, state) -> torch.Tensor:
    """Give `obj` the attributes of a state from `_get_obj_state`."""
    slots = None
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
        state, slots = state
    for name, value in (state or {}).items():
        setattr(obj, name, value)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj


def reduce_tensor(tensor: torch.Tensor) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The result of `Tensor.__reduce_ex__`: the function that rebuilds the tensor, and its arguments."""
    state = _get_obj_state(tensor)
    fake = skipping.materialize_fake_tensors and torch._subclasses.fake_tensor.is_fake(tensor)
    plain = type(tensor) is torch.Tensor or (fake and type(tensor) is torch._subclasses.FakeTensor)
    if plain and (fake or not state):
        return _reduce_plain(tensor)
    func, args = _reduce_plain(tensor)
    return _rebuild_from_type_v2, (func, type(tensor), args, state or None)


def _reduce_plain(tensor):
    torch.utils.hooks.warn_if_has_hooks(tensor)
    if skipping.materialize_fake_tensors and torch._subclasses.fake_tensor.is_fake(tensor):
        skipping.places[tensor.untyped_storage()._cdata] = str(tensor.device)
        return _reduce_strided(tensor)
    if tensor.device.type == "meta":
        if skipping.skip_data:
            warnings.warn(
                "Serializing tensors on the meta device under skip_data context manager is a no-op",
                UserWarning,
                stacklevel=2,
            )
        return _rebuild_meta_tensor_no_storage, (
            tensor.dtype,
            tuple(tensor.size()),
            tensor.stride(),
            tensor.requires_grad,
        )
    kind = type(tensor)
    if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ and not tensor.data_ptr():
        # No memory of its own: what it holds is among its attributes.
        where = (tuple(tensor.size()), tensor.stride(), tensor.storage_offset(), tensor.layout, tensor.device)
        return _rebuild_wrapper_subclass, (kind, tensor.dtype, *where, tensor.requires_grad)
    if tensor.is_sparse:
        parts = (tensor._indices().detach(), tensor._values().detach(), tensor.size(), tensor.is_coalesced())
        return _rebuild_sparse_tensor, (tensor.layout, parts)
    if tensor.layout != torch.strided:
        by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
        plain = tensor.detach()
        starts = plain.crow_indices() if by_rows else plain.ccol_indices()
        others = plain.col_indices() if by_rows else plain.row_indices()
        return _rebuild_sparse_tensor, (tensor.layout, (starts, others, plain.values(), tensor.size()))
    if tensor.is_quantized:
        return _reduce_quantized(tensor)
    return _reduce_strided(tensor)


def _reduce_quantized(tensor):
    quantizer: Any = torch._C._quantizer(tensor)
    numbers: tuple[Any, ...]
    if isinstance(quantizer, PerTensor):
        numbers = (torch.per_tensor_affine, quantizer.scale, quantizer.zero_point)
    else:
        numbers = (quantizer.scheme, quantizer.scales, quantizer.zero_points, quantizer.axis)
    storage = torch.storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)
    place = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
    return _rebuild_qtensor, (storage, *place, numbers, tensor.requires_grad, torch.storage.no_hooks())


def _reduce_strided(tensor):
    metadata = get_tensor_metadata(tensor)
    place = (tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), tensor.requires_grad)
    hooks = torch.storage.no_hooks()
    if tensor.dtype not in torch.storage._dtype_to_storage_type_map():
        args: tuple[Any, ...] = (tensor.untyped_storage(), *place, hooks, tensor.dtype)
        return _rebuild_tensor_v3, (*args, metadata) if metadata else args
    storage = torch.storage.TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)
    args = (storage, *place, hooks)
    return _rebuild_tensor_v2, (*args, metadata) if metadata else args


def _element_size(dtype):
    """Bytes of one element."""
    return dtype.itemsize


class KeyErrorMessage(str):
    """A KeyError shows its argument's repr; this one is the text itself, newlines and all."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again elsewhere.

    >>> from mindtorch_v2._utils import ExceptionWrapper
    >>> try:
    ...     [][1]
    ... except IndexError:
    ...     wrapped = ExceptionWrapper(where="in a thread")
    >>> wrapped.exc_type.__name__, wrapped.where
    ('IndexError', 'in a thread')
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        if exc_info is None:
            exc_info = sys.exc_info()
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> None:
        """Raise the same class with the old traceback in its text; RuntimeError if the class takes no text."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            # Classes with a `message` take it by name.
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:  # noqa: BLE001  (whatever a stranger's constructor raises)
            raise RuntimeError(message) from None
        raise exception


def _import_dotted_name(name):
    """The object that a dotted name stands for."""
    components = name.split(".")
    obj = importlib.import_module(components[0])
    for component in components[1:]:
        obj = getattr(obj, component)
    return obj


def _flatten_dense_tensors(tensors):
    """All elements of `tensors`, of one dtype, in one vector."""
    return torch.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors) -> tuple:
    """Views of `flat` in the shapes of `tensors`."""
    outputs, offset = [], 0
    for tensor in tensors:
        outputs.append(flat.narrow(0, offset, tensor.numel()).view_as(tensor))
        offset += tensor.numel()
    return tuple(outputs)


def _reorder_tensors_as(tensors, ordered_tensors):
    """`tensors`, which were grouped by type, in the order of types of `ordered_tensors`."""
    by_type: dict[Any, Any] = {}
    for tensor in tensors:
        by_type.setdefault(tensor.type(), []).append(tensor)
    iterators = {kind: iter(group) for kind, group in by_type.items()}
    return tuple(next(iterators[tensor.type()]) for tensor in ordered_tensors)


def _take_tensors(tensors, size_limit):
    """Group `tensors` by type into lists of at most `size_limit` bytes (or one tensor)."""
    pending: dict[Any, Any] = {}
    for tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        group, total = pending.get(tensor.type(), ([], 0))
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        pending[tensor.type()] = ([*group, tensor], total + size)
    for group, _ in pending.values():
        if group:
            yield group


def _get_async_or_non_blocking(function_name, non_blocking, kwargs):
    """The value of `non_blocking`, also under its old name `async`."""
    if not kwargs:
        return non_blocking
    if len(kwargs) != 1 or "async" not in kwargs:
        message = f"{function_name}() got an unexpected keyword argument '{next(iter(kwargs))}'"
        raise TypeError(message)
    return kwargs["async"]


def _get_device_index(device, optional=False, allow_cpu=False):
    """The index of a device given as index, name or device; -1 for the CPU if that is allowed."""
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        if device.index is not None:
            return device.index
    if optional:
        return torch.accelerator.current_device_index()
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _get_device_module(device_type):
    """The module `torch.<device_type>`; RuntimeError if there is none."""
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return module


def _handle_complex(tensor):
    """The real view of a complex tensor; others, and what is not a plain tensor, as they are."""
    return torch.view_as_real(tensor) if torch.is_complex(tensor) else tensor


class _ClassPropertyDescriptor:
    """A property of the class itself, read-only."""

    def __init__(self, fget: Any, fset: Any = None) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def classproperty(func: Any) -> Any:
    """Decorator: a read-only property of the class."""
    if not isinstance(func, (classmethod, staticmethod)):
        func = classmethod(func)
    return _ClassPropertyDescriptor(func)


def cpu_count() -> int | None:
    """The number of processors that this process may use; None where that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def is_compiling() -> bool:
    """Whether a graph compiler is at work: never here."""
    return False


def _dummy_type(name):
    """A class that stands for one that needs a device's build; making an instance raises RuntimeError."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (object,), {"__init__": refuse, "__new__": refuse})


def _is_privateuse1_backend_available() -> bool:
    """Whether the device is there that stands at the key which PyTorch leaves to others: the NPU."""
    import mindtorch_v2 as torch

    return torch.npu.is_available()
