"""Arguments of operators as the functions of onnxscript take them: numbers become constants where a tensor is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.onnx._library import graphs
from mindtorch_v2.onnx._numbers import dtype_number, onnx_dtype
from mindtorch_v2.onnx.errors import OnnxExporterError

__all__ = ["bound", "constant", "plain"]

_WITHOUT_EFFECT = frozenset(
    {"device", "generator", "implicit", "layout", "memory_format", "non_blocking", "pin_memory"}
)
"""Arguments that say where and how numbers lie, of which ONNX knows nothing: functions of onnxscript may lack them."""


def plain(value: Any) -> Any:
    """An argument without PyTorch's own types: dtypes are numbers, devices and layouts words."""
    if isinstance(value, torch.dtype):
        return dtype_number(value)
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def bound(name: str, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], op: Any) -> dict[str, Any]:
    """The arguments of a call of `function`, by name, for those of the operator `name`.

    Numbers that stand for tensors become constants, of the type of the tensors that they are combined with; `op` makes them.
    Without `op` they stay numbers.
    OnnxExporterError for an argument that changes the result and that the function does not take.
    """
    parameters = function.op_signature.params
    names = [parameter.name for parameter in parameters]
    values = dict(zip(names, args))
    without = [each for each in args[len(names) :] if each not in (None, False)]
    for key, value in kwargs.items():
        if key in names:
            values[key] = value
        elif key not in _WITHOUT_EFFECT and value is not None and value is not False:
            without.append(f"{key}={value}")
    if without:
        raise OnnxExporterError(f"torch.onnx.export: {name} is written in ONNX without the arguments {without}")
    types: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.is_param() and (dtype := _dtype(values.get(parameter.name))) is not None:
            types.setdefault(parameter.type_constraint.name, dtype)
    return {
        parameter.name: _as_value(values[parameter.name], parameter, types, op)
        for parameter in parameters
        if parameter.name in values and not (values[parameter.name] is None and parameter.has_default())
    }


def _dtype(value: Any) -> Any:
    """The type of a value, or of the first of a list; None for what is no value."""
    if isinstance(value, list):
        value = next((each for each in value if each is not None), None)
    return value.dtype if isinstance(value, graphs().Value) else None


def _as_value(value: Any, parameter: Any, types: Mapping[str, Any], op: Any) -> Any:
    if not parameter.is_param() or op is None:
        return value
    is_sequence = any(isinstance(each, graphs().SequenceType) for each in parameter.type_constraint.allowed_types)
    if isinstance(value, list) and not is_sequence:
        return _one_dimensional(value, op)
    if isinstance(value, (bool, int, float)) and not is_sequence:
        return constant(value, types.get(parameter.type_constraint.name), op)
    return value


def constant(number: bool | int | float, dtype: Any, op: Any) -> Any:
    """The value of a number: of `dtype`, or of the type that PyTorch gives to such a number."""
    if dtype is None:
        made = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}[type(number)]
        dtype = onnx_dtype(made)
    return op.Constant(value=graphs().tensor(number, dtype=dtype))


def _one_dimensional(sizes: list[Any], op: Any) -> Any:
    """Sizes as they are, or as one value where some of them are values."""
    if not any(isinstance(each, graphs().Value) for each in sizes):
        return sizes
    one = op.Constant(value_ints=[-1])
    parts = [
        op.Reshape(each, one) if isinstance(each, graphs().Value) else op.Constant(value_ints=[each]) for each in sizes
    ]
    return op.Concat(*parts, axis=0)
