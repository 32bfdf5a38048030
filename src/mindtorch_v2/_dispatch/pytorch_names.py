"""PyTorch's names in `torch._C` about schemas and dispatch; loaded when somebody asks for one of the names."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above

from . import schema as _schema
from .inferred_types import InferredType, try_infer_type
from .jit_graph import Graph, Node, Value
from .keys import AUTOGRAD, DispatchKey, DispatchKeySet, ExclusionGuard, excluded, included, key_name, only
from .schema import Argument, FunctionSchema, Type, parse_schema, schema_of
from .schema_info import SchemaArgType, SchemaArgument, SchemaInfo, is_alias_of, overlaps
from .tags import Tag

__all__ = ["NAMES"]


def _dispatch_keys(tensor: Any) -> DispatchKeySet:
    """The key set of a tensor."""
    return DispatchKeySet(_C._dispatch_key_bits(tensor))


def _handle(name: str) -> Any:
    base, _, overload = name.partition(".")
    handle = _C._find_operator(base, "" if overload == "default" else overload)
    if handle is None:
        raise RuntimeError(f"operator {name} does not exist")
    return handle


def _dispatch_has_kernel(name: str) -> bool:
    """Whether the operator is registered."""
    base, _, overload = name.partition(".")
    return _C._find_operator(base, overload) is not None


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether a kernel is registered for exactly this key."""
    return key_name(key) in _handle(name).kernels()


def _dispatch_has_computed_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether a call that reaches this key finds a kernel."""
    return bool(_handle(name).has_kernel(key_name(key)))


def _dispatch_get_all_op_names() -> list[str]:
    """The name of every operator."""
    return [h.namespace + "::" + h.name + (f".{h.overload}" if h.overload else "") for h in _C._all_operators()]


def _dispatch_key_name(key: Any) -> str:
    """PyTorch's name of a key."""
    return str(key).removeprefix("DispatchKey.")


def _dispatch_tls_local_include_set() -> DispatchKeySet:
    """The keys that every dispatch of this thread sees."""
    return DispatchKeySet(_C._tls_keys()[0])


def _dispatch_tls_local_exclude_set() -> DispatchKeySet:
    """The keys that no dispatch of this thread sees."""
    return DispatchKeySet(_C._tls_keys()[1])


def _dispatch_tls_is_dispatch_key_excluded(key: Any) -> bool:
    """Whether this thread excludes the key."""
    return _dispatch_tls_local_exclude_set().has(key)


def _dispatch_tls_is_dispatch_key_included(key: Any) -> bool:
    """Whether this thread includes the key."""
    return _dispatch_tls_local_include_set().has(key)


def _dispatch_tls_set_dispatch_key_excluded(key: Any, wanted: bool) -> None:
    """Exclude a key in this thread from now on, or no longer."""
    include, exclude = _C._tls_keys()
    bit = int(DispatchKeySet(key))
    _C._set_tls_keys(include, exclude | bit if wanted else exclude & ~bit)


def _dispatch_tls_set_dispatch_key_included(key: Any, wanted: bool) -> None:
    """Include a key in this thread from now on, or no longer."""
    include, exclude = _C._tls_keys()
    bit = int(DispatchKeySet(key))
    _C._set_tls_keys(include | bit if wanted else include & ~bit, exclude)


def _jit_get_all_schemas() -> list[FunctionSchema]:
    """The schema of every operator."""
    return [schema_of(handle) for handle in _C._all_operators()]


def _jit_get_schemas_for_operator(name: str) -> list[FunctionSchema]:
    """The schemas of the overloads of "ns::name"."""
    return [schema_of(h) for h in _C._all_operators() if f"{h.namespace}::{h.name}" == name]


def _jit_get_operation(name: str) -> tuple[Any, list[str] | None]:
    """An operator by its qualified name, and the names of its overloads; two Nones if there is none."""
    namespace, found, base = name.partition("::")
    if not found:
        raise RuntimeError(f"all symbols must have a namespace, <namespace>::<string>, but found: {name}")
    try:
        packet = getattr(getattr(above.operators(), namespace), base)
    except AttributeError:
        return None, None
    return packet, ["" if each == "default" else each for each in packet.overloads()]


def _dispatch_key_set(tensor: Any) -> str:
    """The key set of a tensor, as text."""
    return repr(_dispatch_keys(tensor))


def _get_schema(name: str, overload: str) -> FunctionSchema:
    """The schema of one overload; RuntimeError if it does not exist."""
    return schema_of(_handle(f"{name}.{overload}" if overload else name))


def _AutoDispatchBelowAutograd() -> Any:
    """A guard, or block, in which operators skip autograd."""
    return ExclusionGuard(AUTOGRAD)


def _AutoDispatchBelowADInplaceOrView() -> Any:
    """A guard, or block, in which operators skip autograd and the tracking of views and versions."""
    return ExclusionGuard(AUTOGRAD, "ADInplaceOrView")


NAMES: dict[str, Any] = {
    "Argument": Argument,
    "DispatchKey": DispatchKey,
    "DispatchKeySet": DispatchKeySet,
    "FunctionSchema": FunctionSchema,
    "Tag": Tag,
    "Type": Type,
    "ExcludeDispatchKeyGuard": ExclusionGuard,
    "_SchemaArgType": SchemaArgType,
    "_SchemaArgument": SchemaArgument,
    "_SchemaInfo": SchemaInfo,
    "_is_alias_of": is_alias_of,
    "_overlaps": overlaps,
    "_AutoDispatchBelowADInplaceOrView": _AutoDispatchBelowADInplaceOrView,
    "_AutoDispatchBelowAutograd": _AutoDispatchBelowAutograd,
    "_ExcludeDispatchKeyGuard": excluded,
    "_ForceDispatchKeyGuard": only,
    "_IncludeDispatchKeyGuard": included,
    "_dispatch_get_all_op_names": _dispatch_get_all_op_names,
    "_dispatch_has_computed_kernel_for_dispatch_key": _dispatch_has_computed_kernel_for_dispatch_key,
    "_dispatch_has_kernel": _dispatch_has_kernel,
    "_dispatch_has_kernel_for_dispatch_key": _dispatch_has_kernel_for_dispatch_key,
    "_dispatch_key_name": _dispatch_key_name,
    "_dispatch_key_set": _dispatch_key_set,
    "_dispatch_keys": _dispatch_keys,
    "_dispatch_tls_is_dispatch_key_excluded": _dispatch_tls_is_dispatch_key_excluded,
    "_dispatch_tls_is_dispatch_key_included": _dispatch_tls_is_dispatch_key_included,
    "_dispatch_tls_local_exclude_set": _dispatch_tls_local_exclude_set,
    "_dispatch_tls_local_include_set": _dispatch_tls_local_include_set,
    "_dispatch_tls_set_dispatch_key_excluded": _dispatch_tls_set_dispatch_key_excluded,
    "_dispatch_tls_set_dispatch_key_included": _dispatch_tls_set_dispatch_key_included,
    "_get_schema": _get_schema,
    "_jit_get_all_schemas": _jit_get_all_schemas,
    "_jit_get_operation": _jit_get_operation,
    "_jit_get_schemas_for_operator": _jit_get_schemas_for_operator,
    "_parse_dispatch_key": lambda name: DispatchKey[_pytorch_name(name)],
    "parse_schema": parse_schema,
}
NAMES["_jit_try_infer_type"], NAMES["InferredType"] = try_infer_type, InferredType
NAMES.update(Graph=Graph, Node=Node, Value=Value)
NAMES |= {name: kind for name, kind in vars(_schema).items() if name.endswith("Type") and name != "Type"}


def _pytorch_name(name: str) -> str:
    return key_name(name) if key_name(name) in DispatchKey.__members__ else name
