"""Signatures of Python for what the operators behind a function of `torch` take, and arguments matched to them."""

from __future__ import annotations

import inspect
import numbers
import re
import types
import typing
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Optional, Union

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.schema import schema_of
from mindtorch_v2._ops import OpOverload, OpOverloadPacket

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call: by place, and by name.

    >>> ArgsKwargsPair((1,), {"dim": 0}).kwargs
    {'dim': 0}
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


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


def _torchscript_type_to_python_type(ts_type: Any) -> Any:
    """The type of Python for the type of an argument in a schema, or for one that a value was given."""
    return _python_type(str(ts_type))


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call that every overload which takes these arguments would write by; RuntimeError.

    >>> check_for_mutable_operation(torch.add, (1, 2), {})
    >>> check_for_mutable_operation(torch.ops.aten.add_.Tensor, (1, 2), {})
    Traceback (most recent call last):
        ...
    RuntimeError: Tried to trace mutable operation aten::add_.Tensor(...
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures:
        return
    fitting = [schema for signature, schema in zip(signatures, schemas) if _binds(signature, args, kwargs)]
    if fitting and all(schema.is_mutable for schema in fitting):
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations that mutate "
            "operands in-place (e.g. via `out` arguments) are not supported"
        )


def _binds(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def create_type_hint(x: object) -> object:
    """The type of a list or tuple by that of its elements, if they have one in common; anything else as it is.

    >>> create_type_hint([int, int])
    typing.List[int]
    """
    if not isinstance(x, (list, tuple)):
        return x

    def made(kind: Any) -> Any:
        return typing.List[kind] if isinstance(x, list) else typing.Tuple[kind, ...]  # noqa: UP006  (PyTorch's forms, which programs compare)

    if not x:
        return made(Any)
    for base in x:
        if not isinstance(base, type):
            break
        if all(isinstance(each, type) and issubclass(each, base) for each in x):
            return made(base)
    warnings.warn(
        f"We were not able to successfully create type hint from the type {x}: its elements have no type in common",
        stacklevel=2,
    )
    return made(Any)


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of a type can be given where a signature names another.

    >>> type_matches(typing.List[int], int), type_matches(numbers.Number, float), type_matches(int, float)
    (True, True, False)
    """
    origin = typing.get_origin(signature_type)
    if signature_type is argument_type or signature_type is Any:
        return True
    if origin in (Union, types.UnionType) and signature_type != argument_type:
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if origin is list:
        (element,) = typing.get_args(signature_type) or (Any,)
        if element is int and argument_type is int:
            return True  # one number for all dimensions
        given = typing.get_args(argument_type)
        if typing.get_origin(argument_type) is list:
            return type_matches(element, given[0])
        if typing.get_origin(argument_type) is tuple:
            return all(type_matches(element, each) for each in given if each is not Ellipsis)
        return False
    if signature_type is int and argument_type is torch.dtype:
        return True
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return (
        inspect.isclass(argument_type) and inspect.isclass(signature_type) and issubclass(argument_type, signature_type)
    )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of `target` with all defaults filled in, those behind the given ones by name.

    `normalize_to_only_use_kwargs` names all of them. Of an operator with several overloads the one is taken that the arguments,
    and their types if given, fit. None where there is no signature to be had, RuntimeError if several fit.

    >>> normalize_function(torch.sub, (3, 4), {"alpha": 2}, (torch.Tensor, torch.Tensor), {"alpha": int})
    ArgsKwargsPair(args=(3, 4), kwargs={'alpha': 2})
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(target, (torch._C.Function, OpOverload, OpOverloadPacket, types.BuiltinFunctionType)):
        signature = _signature_of(target)
        return None if signature is None else _normalized(signature, args, kwargs, normalize_to_only_use_kwargs)
    if not callable(target):
        raise AssertionError(f"target must be callable, got {target}")
    found = get_signature_for_torch_op(target)
    if not found:
        return None
    fitting = [signature for signature in found if _binds(signature, args, kwargs)]
    if len(fitting) > 1 and (arg_types is not None or kwarg_types is not None):
        given = arg_types or (), kwarg_types or {}
        fitting = [signature for signature in fitting if _typed(signature, *given)]
    if not fitting:
        return None
    normalized = [_normalized(each, args, kwargs, normalize_to_only_use_kwargs) for each in fitting]
    if any(each != normalized[0] for each in normalized[1:]):
        listed = "\n".join(map(str, found))
        raise RuntimeError(
            f"Tried to normalize arguments to {torch.typename(target)} but the schema match was ambiguous! "
            f"Please provide argument types to the normalize_arguments() call. Available schemas:\n{listed}"
        )
    return normalized[0]


def _signature_of(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(inspect.unwrap(function))
    except (TypeError, ValueError):
        return None


def _typed(signature: inspect.Signature, arg_types: Any, kwarg_types: Any) -> bool:
    if not _binds(signature, arg_types, kwarg_types):
        return False
    bound = signature.bind(*arg_types, **kwarg_types)
    return all(type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items())


def _normalized(signature: inspect.Signature, args: Any, kwargs: Any, by_name: bool) -> ArgsKwargsPair | None:
    taken = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    plain = all(parameter.kind in taken for parameter in signature.parameters.values())
    # "from" is a word of Python, so that it is there by place only; PyTorch names it all the same.
    if not plain and list(signature.parameters) != ["input", "from", "to", "generator"]:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    placed = 0 if by_name else len(args)
    values = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in values[:placed]), dict(values[placed:]))


def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The same for a call of the submodule at the path `target`, which has to be one of `torch.nn`; else None.

    RuntimeError if there is no such submodule.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> normalize_module(model, "0", (3,))
    ArgsKwargsPair(args=(3,), kwargs={})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    kind = type(module)
    if getattr(torch.nn, kind.__name__, None) is not kind:
        return None
    signature = _signature_of(module.forward)
    return None if signature is None else _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
