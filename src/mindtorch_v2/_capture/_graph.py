"""The graph of a trace: inputs that are lifted, and calls that are run on fake tensors and written down."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2._capture._guard_kinds import TensorMeta
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2._sizes.recorded import RecordedDatum, RecordedNumber, RecordedSize, datum_of, stand_in, wrap_number
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from mindtorch_v2.overrides import TorchFunctionMode
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._capture._trace import _Dynamic
    from mindtorch_v2.fx.node import Node


__all__ = ["TracedGraph"]

_OPERATORS = {
    f"__{name}__": getattr(operator, name, None) or getattr(operator, name + "_")
    for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor neg invert getitem setitem".split()
    + "lt le gt ge eq ne iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift abs".split()
}
_PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class _Net(TorchFunctionMode):
    """Catches calls that reach torch by a way that the trace did not see coming."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if type(func).__name__ == "wrapper_descriptor":
            if name in _OPERATORS:
                return self.trace.graph.record("call_function", _OPERATORS[name], args, kwargs)
            if name.startswith("__r") and f"__{name[3:]}" in _OPERATORS:
                return self.trace.graph.record("call_function", _OPERATORS[f"__{name[3:]}"], args[::-1], kwargs)
            self.trace.refuse(f"{name} of a tensor cannot be captured")
        if type(func).__name__ == "Method" and args and isinstance(args[0], torch.Tensor):
            return self.trace.graph.record("call_method", name, args, kwargs)
        return self.trace.graph.record("call_function", func, args, kwargs)


class _Mode(FakeTensorMode):
    """Fake tensors of a trace: where a value is asked for, the capture has failed, whoever catches the error."""

    def __init__(self, trace: Any) -> None:
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.trace.note_failure(f"the result of {error.func} depends on values", "data_dependent")
            raise
        except UnsupportedOperatorException as error:
            self.trace.note_failure(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")
            raise


class TracedGraph:
    """The part of a trace that knows tensors, numbers and nodes."""

    def __init__(self, trace: Any, dynamic_sizes: _Dynamic) -> None:
        self.trace = trace
        self.fx = fx.Graph()
        self.fake_mode = _Mode(trace)
        self.nodes: dict = {}  # id of a fake tensor -> its node
        self.tainted: set = set()  # ids of fake tensors whose sizes may differ between calls
        self.symbolic: set = set()  # nodes of numbers
        self.conditions: dict = {}  # node -> value
        self.inputs: list = []  # (node, source, real tensor, fake tensor)
        self.input_of: dict = {}  # id of a real tensor -> its place in inputs
        self.real_of: dict = {}  # id of a fake tensor -> its place in inputs
        self.dynamic_sizes = dynamic_sizes  # (source text, tensor) -> indices
        self.records_data = False  # whether numbers out of tensors become nodes
        self.tries = 0  # blocks of try statements that the program is in
        self.recorded_in_try = False
        self.tries_by_form = 0  # those whose handlers catch what does not depend on values
        self.recorded_in_try_by_form = False
        self._last_input: Any = None
        self.input_names: dict = {}
        self.net = _Net(trace)

    # ---- tensors that come from outside ----

    def tensor_input(self, real: torch.Tensor, source: Any) -> torch.Tensor:
        """The fake tensor of a tensor that was read; an input of the graph."""
        place = self.input_of.get(id(real))
        if place is not None:
            _, known, _, fake = self.inputs[place]
            if known is not source:
                self.trace.sources.guard("same", source, known)
            return fake
        if type(real) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            self.trace.refuse(f"a tensor of the class {type(real).__name__} cannot be captured", "tensor_subclass")
        try:
            with DisableTorchFunction():
                fake = self.fake_mode.from_tensor(real)
        except UnsupportedFakeTensorException as error:
            self.trace.refuse(f"this tensor cannot be captured: {error}", "tensor_subclass")
        if id(fake) in self.nodes:
            self.trace.refuse("a view of another input cannot be captured", "view_input")
        indices = frozenset(self.dynamic_sizes(source, real)) if real.is_contiguous() else frozenset()
        self.trace.sources.guard("tensor", source, TensorMeta(real, indices))
        insert = self.fx.inserting_before() if self._last_input is None else self.fx.inserting_after(self._last_input)
        with insert:
            name = _input_name(source)
            self.input_names[name] = count = self.input_names.get(name, 0) + 1
            node = self.fx.placeholder(name if count == 1 else f"{name}_{count}_")
        self._last_input = node
        node.meta["example_value"] = fake
        self.input_of[id(real)] = len(self.inputs)
        self.real_of[id(fake)] = len(self.inputs)
        self.inputs.append((node, source, real, fake))
        self.nodes[id(fake)] = node
        self.trace.kept.append(fake)
        if indices:
            self.tainted.add(id(fake))
        return fake

    def real_class(self, tensor: Any) -> type[torch.Tensor]:
        """The class that the program knows a tensor by."""
        place = self.real_of.get(id(tensor))
        if place is not None:
            return type(self.inputs[place][2])
        return torch.Tensor if type(tensor) is FakeTensor else type(tensor)

    # ---- numbers ----

    def symbolic_node(self, function: Any, args: Any) -> Any:
        """The node of a number that is computed of numbers."""
        args = tuple(a.node if isinstance(a, RecordedNumber) else a for a in args)
        node = self.fx.call_function(function, args)
        self.symbolic.add(node)
        return node

    def condition(self, node: Node, value: Any) -> None:
        """Note that the program decided by the value of a node."""
        self.conditions[node] = value

    def shape_of(self, tensor: Any) -> Any:
        """The shape as the program may know it."""
        if id(tensor) not in self.tainted:
            return tensor.shape
        node = self.node_of(tensor)
        self.fact(tensor, "dim")
        sizes = []
        for index, size in enumerate(tensor.shape):
            of = self.fx.call_method("size", (node, index))
            self.symbolic.add(of)
            sizes.append(wrap_number(self.trace, of, size))
        return RecordedSize(sizes)

    def fact(self, tensor: Any, name: str, args: Any = (), kwargs: dict[str, Any] | None = None) -> int:
        """The answer of a method about a tensor's form; a condition where sizes may differ."""
        value = getattr(tensor, name)(*args, **(kwargs or {}))
        if id(tensor) in self.tainted:
            arguments = (tensor, *args)
            if any(isinstance(a, torch.Tensor) and id(a) not in self.nodes for a in arguments):
                self.trace.refuse(f"Tensor.{name}() of an unknown tensor", "unknown_tensor")
            node = self.fx.call_method(name, tuple(self._argument(a) for a in arguments), kwargs or {})
            self.symbolic.add(node)
            self.condition(node, value)
        return value

    # ---- calls ----

    def node_of(self, tensor: Any) -> Any:
        """The node that gives a tensor."""
        node = self.nodes.get(id(tensor))
        if node is None:
            self.trace.refuse("a tensor that the capture has not seen being made or read", "unknown_tensor")
        return node

    def _argument(self, value):
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, RecordedNumber):
            return value.node
        kind = type(value)
        if kind in _PLAIN or value is ...:
            return value
        if kind in (list, RecordedSize):
            made = [self._argument(v) for v in value]
            return made if kind is list else tuple(made)
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, tuple):
            return tuple(self._argument(v) for v in value)
        if kind is dict:
            return {k: self._argument(v) for k, v in value.items()}
        if kind is slice:
            return slice(*(self._argument(v) for v in (value.start, value.stop, value.step)))
        if isinstance(value, (bool, int, float, str)):
            return value
        self.trace.refuse(f"a {kind.__name__} as an argument of a torch function cannot be captured", "argument")
        return None

    def record(self, op: str, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a call on fake tensors, write it down, and give its result."""
        self.trace.alive()
        node_args = tuple(self._argument(a) for a in args)
        node_kwargs = {key: self._argument(value) for key, value in kwargs.items()}
        tainted = self._tainted(args, kwargs)
        function = getattr(torch.Tensor, target) if op == "call_method" else target
        try:
            with DisableTorchFunction():
                result = self._tried(function, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.trace.refuse(f"the result of {error.func} depends on values", "data_dependent")
        except UnsupportedOperatorException as error:
            self.trace.refuse(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")
        if result is NotImplemented:
            return result
        node = self.fx.create_node(op, target, node_args, node_kwargs)
        self.recorded_in_try = self.recorded_in_try or self.tries > 0
        self.recorded_in_try_by_form = self.recorded_in_try_by_form or self.tries_by_form > 0
        node.meta["example_value"] = result
        place = self.trace.location()
        if place is not None:
            node.meta["stack_trace"] = f'  File "{place[0]}", line {place[1]}\n    {place[2].strip()}'
        self.track(result, node, tainted)
        return result

    def _tried(self, function, args, kwargs):
        """The result on fake tensors, which may not depend on what numbers out of tensors are."""
        plain_args, plain_kwargs = _plain((args, kwargs))
        if not _has_symbols((args, kwargs), RecordedDatum):
            return function(*plain_args, **plain_kwargs)
        forms = []
        for which in range(3):
            plain_args, plain_kwargs = _plain((args, kwargs), which)
            try:
                result = function(*plain_args, **plain_kwargs)
            except (RuntimeError, ValueError, IndexError, TypeError, ArithmeticError) as error:
                self.trace.refuse(
                    f"a call whose result depends on a number out of a tensor ({error})", "data_dependent"
                )
            forms.append(pytree.tree_map(_form, result))
        if forms[0] != forms[1] or forms[0] != forms[2]:
            self.trace.refuse("the form of a result depends on values", "data_dependent")
        return result

    def number_of(self, tensor: Any) -> Any:
        """The number in a tensor, as a node of the graph."""
        node = self.fx.call_method("item", (self.node_of(tensor),))
        self.symbolic.add(node)
        return datum_of(self.trace, node, tensor.dtype.is_floating_point)

    def _tainted(self, args, kwargs) -> bool:
        if not self.tainted:
            return False
        leaves = pytree.arg_tree_leaves(*args, **kwargs)
        return any(
            isinstance(x, RecordedNumber) and not isinstance(x, RecordedDatum) or id(x) in self.tainted for x in leaves
        )

    def track(self, result: Any, node: Node, tainted: bool) -> None:
        """Note which node gives the tensors of a result."""
        if isinstance(result, torch.Tensor):
            if id(result) not in self.nodes:
                if not isinstance(result, FakeTensor):
                    self.trace.refuse("a call gave a tensor that is not fake", "unknown_tensor")
                self.nodes[id(result)] = node
                self.trace.kept.append(result)
                if tainted:
                    self.tainted.add(id(result))
        elif isinstance(result, (tuple, list)):
            if tainted:
                length = self.fx.call_function(len, (node,))
                self.symbolic.add(length)
                self.condition(length, len(result))
            for index, each in enumerate(result):
                if isinstance(each, (torch.Tensor, tuple, list)):
                    item = self.fx.call_function(operator.getitem, (node, index))
                    item.meta["example_value"] = each
                    self.track(each, item, tainted)
                elif tainted and isinstance(each, (int, float)):
                    self.trace.refuse("a number among the results of a call with dynamic sizes", "dynamic")
        elif result is not None and not isinstance(result, (bool, int, float, str, torch.dtype, torch.device)):
            self.trace.refuse(f"a {type(result).__name__} as the result of a torch function", "result")

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Fake tensors, and the net for calls that come by other ways."""
        with self.fake_mode, self.net:
            yield


def _form(value):
    """Form of a result, which a captured program may know; numbers stand for themselves."""
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(value.shape), value.stride(), value.dtype, value.device, value.requires_grad


def _plain(value, which=0):
    """`value` with the numbers seen in the place of symbolic ones; of numbers out of tensors a stand-in."""
    if isinstance(value, RecordedNumber):
        return stand_in(value, which)
    if isinstance(value, RecordedSize):
        return torch.Size(stand_in(each, which) for each in value)
    if not _has_symbols(value):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(each, which) for each in value)
    if type(value) is dict:
        return {key: _plain(each, which) for key, each in value.items()}
    return slice(*(stand_in(each, which) for each in (value.start, value.stop, value.step)))


def _has_symbols(value, kind=RecordedNumber) -> bool:
    if isinstance(value, kind):
        return True
    if isinstance(value, (list, tuple)):
        return any(_has_symbols(each, kind) for each in value)
    if type(value) is dict:
        return any(_has_symbols(each, kind) for each in value.values())
    return type(value) is slice and any(_has_symbols(each, kind) for each in (value.start, value.stop, value.step))


def _input_name(source):
    return re.sub(r"\W+", "_", source.text()).strip("_") or "input"
