"""Whether operators do to memory what their schemas say, call by call."""

from __future__ import annotations

from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.schema import FunctionSchema
from mindtorch_v2._dispatch.schema_info import SchemaArgType, SchemaArgument, SchemaInfo, overlaps
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

__all__ = ["Aliasing", "CallCheck", "Mutation", "SchemaCheckMode"]


class Mutation(NamedTuple):
    """An argument that a call wrote."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """An argument and a result of a call, as in "output_0", that overlap in memory."""

    op_name: str
    arg_name: str
    output_number: str


class SchemaCheckMode(TorchDispatchMode):
    """Within the block each operator is held against its schema: RuntimeError for a write or an alias that it does not announce.

    `ops` has the operators in order, `mutated` and `aliasing` what was seen of announced ones.

    >>> from mindtorch_v2._subclasses.schema_check_mode import SchemaCheckMode
    >>> with SchemaCheckMode() as check:
    ...     torch.ones(2).add_(1)
    tensor([2., 2.])
    >>> check.ops, check.mutated
    (['aten::ones', 'aten::add_'], [Mutation(op_name='aten::add_', arg_name='input')])
    """

    def __init__(self) -> None:
        super().__init__()
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget what was seen."""
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def display_ops(self) -> None:
        """Print the names of the operators, with commas."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        self.ops.append(schema.name)
        values = dict(zip((argument.name for argument in schema.arguments), args, strict=False)) | (kwargs or {})
        check = CallCheck(schema, values)
        out = func(*args, **(kwargs or {}))
        mutated, aliasing = check.compare(out)
        self.mutated += mutated
        self.aliasing += aliasing
        return out


class CallCheck:
    """One call of an operator: made before it, with the values by the arguments' names, and asked after it."""

    def __init__(self, schema: FunctionSchema, values: dict[str, Any]) -> None:
        self._schema, self._values = schema, values
        self._before = {name: [_Copy(tensor) for tensor in _tensors(value)] for name, value in values.items()}
        self._info = SchemaInfo(schema)
        self._info.add_argument_values(values)

    def changed(self, name: str) -> bool:
        """Whether a tensor in an argument has other numbers, sizes or strides than before the call."""
        tensors = _tensors(self._values.get(name))
        return any(old.differs(new) for old, new in zip(self._before.get(name, ()), tensors, strict=True))

    def compare(self, out: Any) -> tuple[list[Mutation], list[Aliasing]]:
        """The arguments that it wrote and the results that overlap with one. RuntimeError for either where the schema is silent."""
        schema, outputs = self._schema, out if len(self._schema.returns) > 1 else (out,)
        mutated, aliasing = [], []
        for number, argument in enumerate(schema.arguments):
            value = self._values.get(argument.name)
            shown = "input" if argument.name == "self" else argument.name
            for place, result in enumerate(outputs):
                if overlaps(value, result):
                    self._check_alias(number, place, shown, value, result)
                    aliasing.append(Aliasing(schema.name, shown, f"output_{place}"))
            if self.changed(argument.name):
                if not self._info.is_mutable(argument.name):
                    raise RuntimeError(f"Argument {shown} is not defined as mutable but was mutated")
                mutated.append(Mutation(schema.name, shown))
        for place, result in enumerate(outputs):
            for other in range(place):
                if overlaps(outputs[other], result) and not self._info.may_alias(_output(other), _output(place)):
                    raise RuntimeError(f"Outputs {other} and {place} alias unexpectedly")
        return mutated, aliasing

    def _check_alias(self, number: int, place: int, shown: str, value: Any, result: Any) -> None:
        if not self._info.may_alias(SchemaArgument(SchemaArgType.input, number), _output(place)):
            raise RuntimeError(f"Argument {shown} is not defined to alias output but was aliasing")
        same = any(one is other for one in _tensors(value) for other in _tensors(result))
        if same and not self._info.is_mutable(shown) and not self._schema.name.startswith("aten::"):
            raise RuntimeError(
                f"{self._schema.name} returned its argument {shown} itself. Operators of libraries are not allowed to "
                "directly return inputs that they do not write: return a view, x.view_as(x), or a copy, x.clone()"
            )


class _Copy:
    """A tensor as it is before a call."""

    def __init__(self, tensor: Any) -> None:
        self._sizes, self._strides = _places(tensor)
        with torch.no_grad():
            self._numbers = tensor.detach().clone()

    def differs(self, tensor: Any) -> bool:
        """Whether numbers or layout are others now; a NaN is equal to a NaN."""
        if (self._sizes, self._strides) != _places(tensor):
            return True
        if tensor.is_meta or tensor.layout is not torch.strided or tensor.numel() == 0:
            return False
        old, new = self._numbers, tensor.detach()
        equal = old == new
        if new.is_floating_point() or new.is_complex():
            equal = equal | ((old != old) & (new != new))
        return not bool(equal.all())


def _places(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(tensor.shape), tuple(tensor.stride()) if tensor.layout is torch.strided else ()


def _tensors(value: Any) -> list[Any]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _output(place: int) -> SchemaArgument:
    return SchemaArgument(SchemaArgType.output, place)
