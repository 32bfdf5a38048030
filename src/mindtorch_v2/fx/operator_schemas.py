"""Signatures of Python for what the operators behind a function of `torch` take."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable
from typing import Any, Optional

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._ops import OpOverload, OpOverloadPacket

__all__ = ["get_signature_for_torch_op"]

_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor,
    "int": int,
    "number": numbers.Number,
    "Scalar": numbers.Number,
    "float": float,
    "bool": bool,
    "str": str,
    "Device": torch.device,
    "ScalarType": int,
    "Layout": int,
    "MemoryFormat": int,
    "complex": complex,
    "NoneType": type(None),
}


def _python_type(text: str) -> Any:
    """The type of Python for a schema's type, as in "Optional[List[int]]"; Any for others."""
    for form, made in ((r"Optional\[(.*)\]", Optional), (r"List\[(.*)\]", list)):
        inner = re.fullmatch(form, text)
        if inner is not None:
            return made[_python_type(inner[1])]
    return _TYPES.get(text, Any)


def _signature(schema: Any) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    for argument in schema.arguments:
        kind: Any = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        if argument.name == "from":  # a word of Python: this argument, and those before it, are given by place
            kind = inspect.Parameter.POSITIONAL_ONLY
            parameters = [each.replace(kind=kind) for each in parameters]
        parameters.append(
            inspect.Parameter(
                "input" if argument.name == "self" else argument.name,
                kind,
                default=argument.default_value if argument.has_default_value() else inspect.Parameter.empty,
                annotation=_python_type(str(argument.type)),
            )
        )
    results = [_python_type(str(each.type)) for each in schema.returns]
    returned = None if not results else results[0] if len(results) == 1 else tuple[tuple(results)]  # type: ignore[misc]  # (a tuple of types that are known at run time)
    return inspect.Signature(parameters, return_annotation=returned)


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of a function of `torch`, one for each overload; None for a function that is no operator.

    With `return_schemas` also the schemas, in the same order.

    >>> import mindtorch_v2.fx.operator_schemas as schemas
    >>> schemas.get_signature_for_torch_op(torch.abs)[0].parameters["input"].annotation is torch.Tensor
    True
    """
    if isinstance(op, OpOverload):
        found = [op._schema]
    elif isinstance(op, OpOverloadPacket):
        found = [getattr(op, name)._schema for name in op.overloads()]
    elif isinstance(op, torch._C.Function):
        found = [schema_of(handle) for handle in op.overloads]
    else:
        return (None, None) if return_schemas else None
    signatures = [_signature(schema) for schema in found]
    return (signatures, found) if return_schemas else signatures
