"""Questions about operators and schemas, by the names of PyTorch's module."""

from __future__ import annotations

import dataclasses
from typing import Any

from mindtorch_v2._core.torch_dispatch import overload_of
from mindtorch_v2._dispatch.schema import FunctionSchema, parse_schema
from mindtorch_v2._library.names import find_handle, split_name
from mindtorch_v2._ops import OpOverload

_BUILTIN = {"aten", "prim", "prims"}


@dataclasses.dataclass
class Kernel:
    """A function, and where it was registered."""

    func: Any
    source: str


def parse_namespace(qualname: str) -> tuple[str, str]:
    """Namespace and name of "ns::name"; raises ValueError if there is not exactly one "::" in it."""
    namespace, name = split_name(qualname)
    return namespace, name


def lookup_op(qualname: str) -> OpOverload:
    """The operator "ns::name" or "ns::name.overload"; RuntimeError where there is none."""
    return overload_of(find_handle(qualname))


def is_builtin(op: OpOverload) -> bool:
    """Whether an operator is of the framework's own."""
    return op.namespace in _BUILTIN


def is_tensor_like_type(kind: Any) -> bool:
    """Whether a schema's type is Tensor or Tensor?."""
    return str(kind) in ("Tensor", "Optional[Tensor]")


def is_tensorlist_like_type(kind: Any) -> bool:
    """Whether a schema's type is a list of tensors, of which some may be absent, or an optional one."""
    return str(kind) in {
        form.format(f"List[{each}]") for form in ("{}", "Optional[{}]") for each in ("Tensor", "Optional[Tensor]")
    }


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an operator with this schema writes to nothing, gives something, and gives no view of its arguments."""
    if isinstance(schema, str):
        schema = parse_schema(schema, False)
    if not isinstance(schema, FunctionSchema):
        schema = parse_schema(str(schema), False)
    if schema.is_mutable or not schema.returns:
        return False
    aliased = [result for result in schema.returns if result.alias_info is not None]
    return not aliased or (allow_valid_view and len(schema.returns) == 1)
