"""The functions that TorchScript's sources call: operators, and those of numbers, lists, dicts and strings."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload, OpOverloadPacket
from mindtorch_v2.jit._errors import Error

__all__ = ["MissingOperatorError", "builtin", "operator_of", "primitive"]


class MissingOperatorError(RuntimeError):
    """Raised for a function that a program calls and that is not here."""


# Numbers of types in files.
SCALAR_TYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    torch.complex32,
    torch.complex64,
    torch.complex128,
    torch.bool,
    None,  # types of quantized numbers
    None,
    None,
    torch.bfloat16,
)
LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)
MEMORY_FORMATS = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
_NUMBERED = {"ScalarType": SCALAR_TYPES, "Layout": LAYOUTS, "MemoryFormat": MEMORY_FORMATS}


def _size(tensor: torch.Tensor, dim: int | None = None) -> int | list[int]:
    return list(tensor.shape) if dim is None else tensor.size(dim)


# What is a method of tensors, and no operator here.
_METHODS: dict[str, Callable[..., Any]] = {
    "backward": lambda tensor, gradient=None, retain_graph=None, create_graph=False: tensor.backward(
        gradient, retain_graph, create_graph
    ),
    "cpu": lambda tensor: tensor.cpu(),
    "dim": lambda tensor: tensor.dim(),
    "element_size": lambda tensor: tensor.element_size(),
    "get_device": lambda tensor: tensor.get_device(),
    "is_complex": lambda tensor: tensor.is_complex(),
    "is_contiguous": lambda tensor: tensor.is_contiguous(),
    "is_floating_point": lambda tensor: tensor.is_floating_point(),
    "item": lambda tensor: tensor.item(),
    "numel": lambda tensor: tensor.numel(),
    "requires_grad_": lambda tensor, requires_grad=True: tensor.requires_grad_(requires_grad),
    "size": _size,
    "storage_offset": lambda tensor: tensor.storage_offset(),
    "stride": lambda tensor, *dim: tensor.stride(*dim) if dim else list(tensor.stride()),
    "tensor": lambda data, *, dtype=None, device=None, requires_grad=False: torch.tensor(
        data, dtype=None if dtype is None else SCALAR_TYPES[dtype], device=device, requires_grad=requires_grad
    ),
}


def builtin(name: str) -> Callable[..., Any]:
    """The function that a source calls `torch.<name>`; MissingOperatorError if there is none."""
    if name in _METHODS:
        return _METHODS[name]
    plain = _PLAIN.get(name)
    if plain is None:
        return operator_of("aten", name)
    try:
        of_tensors = operator_of("aten", name)
    except MissingOperatorError:
        return plain

    def either(*args: Any, **kwargs: Any) -> Any:
        return of_tensors(*args, **kwargs) if _has_tensor(args) else plain(*args, **kwargs)

    return either


def primitive(name: str) -> Callable[..., Any]:
    """The function that a source calls `ops.prim.<name>`."""
    if name not in _PRIMITIVES:
        raise MissingOperatorError(f"the operator prim::{name} is not there")
    return _PRIMITIVES[name]


def _has_tensor(args: tuple[Any, ...]) -> bool:
    return any(
        isinstance(each, torch.Tensor)
        or (isinstance(each, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in each))
        for each in args
    )


def operator_of(namespace: str, name: str) -> Callable[..., Any]:
    """A function that calls the overload of an operator whose schema the arguments fit, types given by number among them.

    MissingOperatorError if there is none of that name.
    """
    packet: Any = getattr(getattr(torch.ops, namespace, None), name, None)
    if not isinstance(packet, OpOverloadPacket):  # a file may name anything
        raise MissingOperatorError(f"the operator {namespace}::{name} is not there")
    overloads = [getattr(packet, name) for name in packet.overloads()]

    def call(*args: Any, **kwargs: Any) -> Any:
        for overload in overloads:
            bound = _bound(overload, args, kwargs)
            if bound is not None:
                return overload(*bound[0], **bound[1])
        return packet(*args, **kwargs)  # its error says what was expected

    return call


def _bound(overload: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments as the overload takes them; None if they do not fit it."""
    arguments = overload._schema.arguments
    names = [argument.name for argument in arguments]
    if len(args) > len(names) or any(name not in names for name in kwargs):
        return None
    types = {argument.name: str(argument.type) for argument in arguments}
    given = {**dict(zip(names, args)), **kwargs}
    if any(a.name not in given and not a.has_default_value() for a in arguments):
        return None
    made: dict[str, Any] = {}
    for name, value in given.items():
        kind = (
            types[name].removeprefix("Optional[").removesuffix("]")
            if types[name].startswith("Optional[")
            else types[name]
        )
        if value is None and types[name].startswith("Optional["):
            made[name] = None
        elif kind in _NUMBERED and isinstance(value, int) and not isinstance(value, bool):
            made[name] = _NUMBERED[kind][value]
        elif _fits(value, kind):
            made[name] = value
        else:
            return None
    positional = [each.name for each in arguments if not each.kwarg_only]
    values = []
    for name in positional:
        if name not in made:
            break
        values.append(made.pop(name))
    return values, made


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("List["):
        item = kind[5:-1]
        return isinstance(value, (list, tuple)) and all(_fits(each, item) for each in value)
    if kind.startswith("Optional["):
        return value is None or _fits(value, kind[9:-1])
    if isinstance(value, torch.Tensor):
        return kind == "Tensor"
    if isinstance(value, bool):
        return kind in ("bool", "number", "Scalar")
    if isinstance(value, int):
        return kind in ("int", "SymInt", "number", "Scalar", "float")
    if isinstance(value, float):
        return kind in ("float", "number", "Scalar")
    if isinstance(value, complex):
        return kind in ("number", "Scalar")
    if isinstance(value, str):
        return kind in ("str", "Device")
    return kind in (
        type(value).__name__,
        "Device",
        "ScalarType",
        "Layout",
        "MemoryFormat",
        "Generator",
    ) and not isinstance(value, (list, dict, tuple))


def _raise(message: str, kind: str | None = None) -> None:
    """Raise what the source says, as `torch.jit.Error`: a file cannot name classes to make."""
    raise Error(f"The following operation failed in the TorchScript interpreter.\n{message}")


def _slice(values: Any, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return values[start:end:step]


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _format(text: str, *values: Any) -> str:
    """`str.format` for plain places only: others would read attributes of what is given."""
    parts = text.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"Too few arguments for format string: {text}")
    made = parts[0]
    for value, part in zip(values, parts[1:]):
        made += f"{value}{part}"
    return made


def _whole(function: Callable[[float], float]) -> Callable[[float], int]:
    return lambda value: int(function(value))


def _is_in(values: Any, item: Any) -> bool:
    return item in values


def _sorted_in_place(values: list[Any], reverse: bool = False) -> None:
    values.sort(reverse=reverse)


def _quotient(a: Any, b: Any) -> float:
    return a / b


_PLAIN: dict[str, Callable[..., Any]] = {
    "__and__": operator.and_,
    "__contains__": _is_in,
    "__getitem__": operator.getitem,
    "__is__": lambda a, b: a is b,
    "__isnot__": lambda a, b: a is not b,
    "__lshift__": operator.lshift,
    "__not__": operator.not_,
    "__or__": operator.or_,
    "__range_length": lambda low, high, step: len(range(low, high, step)),
    "__rshift__": operator.rshift,
    "__xor__": operator.xor,
    "_set_item": _set_item,
    "abs": abs,
    "add": operator.add,
    "append": lambda values, value: (values.append(value), values)[1],
    "ceil": _whole(math.ceil),
    "clear": lambda values: values.clear(),
    "copy": lambda values: values.copy(),
    "cos": math.cos,
    "Delete": operator.delitem,
    "device": torch.device,
    "dict": dict,
    "div": _quotient,
    "endswith": lambda text, end: text.endswith(end),
    "eq": operator.eq,
    "exp": math.exp,
    "extend": lambda values, others: values.extend(others),
    "find": lambda text, part: text.find(part),
    "floor": _whole(math.floor),
    "floordiv": operator.floordiv,
    "format": _format,
    "ge": operator.ge,
    "get": lambda values, key, default=None: values.get(key, default),
    "gt": operator.gt,
    "index": lambda values, value: values.index(value),
    "insert": lambda values, place, value: values.insert(place, value),
    "isinf": math.isinf,
    "isnan": math.isnan,
    "items": lambda values: list(values.items()),
    "join": lambda separator, values: separator.join(values),
    "keys": lambda values: list(values.keys()),
    "le": operator.le,
    "len": len,
    "list": list,
    "log": math.log,
    "lower": lambda text: text.lower(),
    "lt": operator.lt,
    "mul": operator.mul,
    "ne": operator.ne,
    "neg": operator.neg,
    "ord": ord,
    "percentFormat": lambda text, *values: text % values,
    "pop": lambda values, *place: values.pop(*place),
    "pow": operator.pow,
    "remainder": operator.mod,
    "remove": lambda values, value: values.remove(value),
    "replace": lambda text, old, new: text.replace(old, new),
    "reverse": lambda values: values.reverse(),
    "round": round,
    "setdefault": lambda values, key, value: values.setdefault(key, value),
    "sin": math.sin,
    "slice": _slice,
    "sort": _sorted_in_place,
    "sorted": sorted,
    "split": lambda text, separator=None, most=-1: text.split(separator, most),
    "sqrt": math.sqrt,
    "startswith": lambda text, begin: text.startswith(begin),
    "str": str,
    "strip": lambda text, characters=None: text.strip(characters),
    "sub": operator.sub,
    "tanh": math.tanh,
    "tolist": lambda tensor: tensor.tolist(),
    "unwrap_optional": lambda value: value,
    "update": lambda values, others: values.update(others),
    "upper": lambda text: text.upper(),
    "values": lambda values: list(values.values()),
    "warn": lambda message, stacklevel=2: warnings.warn(message, stacklevel=2),
}

_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "NumToTensor": lambda number: torch.tensor(number),
    "RaiseException": _raise,
    "abs": abs,
    "data": lambda tensor: tensor.data,
    "device": lambda tensor: tensor.device,
    "dtype": lambda tensor: SCALAR_TYPES.index(tensor.dtype),
    "grad": lambda tensor: tensor.grad,
    "is_cuda": lambda tensor: tensor.is_cuda,
    "is_meta": lambda tensor: tensor.is_meta,
    "is_quantized": lambda tensor: tensor.is_quantized,
    "is_sparse": lambda tensor: tensor.is_sparse,
    "itemsize": lambda tensor: tensor.itemsize,
    "layout": lambda tensor: LAYOUTS.index(tensor.layout),
    "max": max,
    "min": min,
    "ndim": lambda tensor: tensor.ndim,
    "rangelist": lambda count: list(range(count)),
    "requires_grad": lambda tensor: tensor.requires_grad,
    "shape": lambda tensor: list(tensor.shape),
    "type": lambda device: device.type,
    "unchecked_unwrap_optional": lambda value: value,
    "index": lambda device: device.index,
}
