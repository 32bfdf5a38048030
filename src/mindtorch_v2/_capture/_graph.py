"""The graph of a trace: inputs that are lifted, and calls that are run on fake tensors and written down.

Owns the nodes, which of them gives which tensor or number, the inputs, and by which numbers the program decided.
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C, fx
from mindtorch_v2._capture._fake_run import run_on_fakes
from mindtorch_v2._capture._guard_kinds import TensorMeta
from mindtorch_v2._capture._net import CallNet, ValueNet
from mindtorch_v2._capture._shape_program import ShapeProgram
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2._sizes.recorded import RecordedDatum, RecordedNumber, RecordedSize, datum_of, wrap_number
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, UnsupportedFakeTensorException
from mindtorch_v2.fx import _regions
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder
    from mindtorch_v2._capture._sources import Source
    from mindtorch_v2._capture._varying import Varying
    from mindtorch_v2.fx.node import Node


__all__ = ["Input", "TracedGraph"]

_getitem = operator.getitem
_PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class Input:
    """An input of the graph: its placeholder, where its tensor comes from, that tensor, and the fake one in its place.

    A number that may differ between calls is its own fake.
    """

    __slots__ = ("fake", "node", "real", "source")

    def __init__(self, node: Node, source: Source, real: Any, fake: Any) -> None:
        self.node, self.source, self.real, self.fake = node, source, real, fake

    @property
    def is_number(self) -> bool:
        """Whether it is a number, and no tensor."""
        return not isinstance(self.fake, torch.Tensor)

    @property
    def written(self) -> bool:
        """Whether the program wrote to it."""
        return not self.is_number and self.fake._version != 0


class TracedGraph:
    """Part of a recorder: tensors, numbers and nodes.

    `varying` tells which sizes and numbers may differ between calls. With `records_data` numbers that are read out of tensors
    become nodes.
    """

    def __init__(self, trace: Recorder, varying: Varying, records_data: bool) -> None:
        self.trace = trace
        self._fx = fx.Graph()
        self.inputs: list[Input] = []
        self.records_data = records_data
        self.varying = varying
        self._fake_mode = ValueNet(trace)
        self._net = CallNet(trace)
        self._nodes: dict[int, Node] = {}  # id of a fake tensor -> its node
        self._dynamic: set[int] = set()  # ids of fake tensors whose sizes may differ between calls
        self._spare: set[Node] = (
            set()
        )  # nodes that go unless a result needs them: of numbers, and what only conditions need
        self._has_numbers = False  # among the inputs
        self._conditions: dict[Node, Any] = {}  # node -> value
        self._input_of_real: dict[int, Input] = {}  # id of a real tensor
        self._input_of_fake: dict[int, Input] = {}  # id of a fake tensor
        self._input_names: dict[str, int] = {}
        self._objects: dict[int, tuple[Node, Any]] = {}  # id of an object of a compiled class

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Fake tensors, and the net for calls that come by other ways."""
        with self._fake_mode, self._net:
            yield

    # ---- tensors that come from outside ----

    def tensor_input(self, real: torch.Tensor, source: Source) -> torch.Tensor:
        """The fake tensor of a tensor that was read; an input of the graph."""
        known = self._input_of_real.get(id(real))
        if known is not None:
            if known.source is not source:
                self.trace.guards.note("same", source, known.source)
            return known.fake
        wraps = is_traceable_wrapper_subclass(real)
        if type(real) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) and not wraps:
            self.trace.refuse(f"a tensor of the class {type(real).__name__} cannot be captured", "tensor_subclass")
        try:
            with DisableTorchFunction():
                fake = self._fake_mode.from_tensor(real)
        except UnsupportedFakeTensorException as error:
            self.trace.refuse(f"this tensor cannot be captured: {error}", "tensor_subclass")
        if id(fake) in self._nodes:
            self.trace.refuse("a view of another input cannot be captured", "view_input")
        indices: frozenset[int] = frozenset()
        if wraps:
            self.trace.guards.note("identity", source, real)  # its class, its parts and what it knows of them
        else:
            indices = frozenset(self.varying.sizes(source, real)) if real.is_contiguous() else indices
            self.trace.guards.note("tensor", source, TensorMeta(real, indices))
        node = self._nodes[id(fake)] = self._placeholder(_input_name(source))
        node.meta["example_value"] = fake
        found = self._input_of_real[id(real)] = self._input_of_fake[id(fake)] = Input(node, source, real, fake)
        self.inputs.append(found)
        self.trace.kept.append(fake)
        if indices:
            self._dynamic.add(id(fake))
        return fake

    def _placeholder(self, name: str) -> Node:
        """A new input after the others."""
        self._input_names[name] = count = self._input_names.get(name, 0) + 1
        with self._fx.inserting_after(self.inputs[-1].node) if self.inputs else self._fx.inserting_before():
            return self._fx.placeholder(name if count == 1 else f"{name}_{count}_")

    def input_of(self, tensor: torch.Tensor) -> Input | None:
        """The input that a fake tensor stands for; None if the program computed it."""
        return self._input_of_fake.get(id(tensor))

    def real_class(self, tensor: torch.Tensor) -> type[torch.Tensor]:
        """The class that the program knows a tensor by."""
        given = self._input_of_fake.get(id(tensor))
        if given is not None:
            return type(given.real)
        return torch.Tensor if type(tensor) is FakeTensor else type(tensor)

    # ---- numbers ----

    def number_input(self, value: float, source: Source) -> RecordedNumber:
        """The number that was read from a source, as an input of the graph."""
        self.trace.guards.note("number", source, type(value))
        node = self._placeholder(_input_name(source))
        node.meta["example_value"] = value
        self.inputs.append(Input(node, source, value, value))
        self._has_numbers = True
        return wrap_number(self.trace, node, value)

    def symbolic_node(self, function: Callable[..., Any], args: Sequence[Any]) -> Node:
        """The node of a number that is computed of numbers."""
        return self._number(
            self._fx.call_function(function, tuple(a.node if isinstance(a, RecordedNumber) else a for a in args))
        )

    def _number(self, node: Node) -> Node:
        self._spare.add(node)
        return node

    def condition(self, node: Node, value: Any) -> None:
        """Note that the program decided by the value of a node."""
        self._conditions[node] = value

    def number_of(self, tensor: torch.Tensor) -> RecordedDatum:
        """The number in a tensor, as a node of the graph."""
        node = self._number(self._fx.call_method("item", (self.node_of(tensor),)))
        return datum_of(self.trace, node, tensor.dtype.is_floating_point)

    # ---- the form of tensors ----

    @property
    def has_dynamic(self) -> bool:
        """Whether there is a tensor whose sizes may differ between calls, or a number that may."""
        return bool(self._dynamic) or self._has_numbers

    def is_dynamic(self, tensor: torch.Tensor) -> bool:
        """Whether the sizes of a tensor may differ between calls."""
        return id(tensor) in self._dynamic

    def shape_of(self, tensor: torch.Tensor) -> Any:
        """The shape as the program may know it."""
        if id(tensor) not in self._dynamic:
            return tensor.shape
        node = self.node_of(tensor)
        self.fact(tensor, "dim")
        return RecordedSize(
            wrap_number(self.trace, self._number(self._fx.call_method("size", (node, index))), size)
            for index, size in enumerate(tensor.shape)
        )

    def fact(self, tensor: torch.Tensor, name: str, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        """The answer of a method about a tensor's form; a condition where sizes may differ."""
        value = getattr(tensor, name)(*args, **(kwargs or {}))
        if id(tensor) in self._dynamic:
            arguments = (tensor, *args)
            if any(isinstance(a, torch.Tensor) and id(a) not in self._nodes for a in arguments):
                self.trace.refuse(f"Tensor.{name}() of an unknown tensor", "unknown_tensor")
            node = self._fx.call_method(name, tuple(self._argument(a) for a in arguments), kwargs or {})
            self.condition(self._number(node), value)
        return value

    # ---- calls ----

    def node_of(self, tensor: torch.Tensor) -> Node:
        """The node that gives a tensor."""
        node = self._nodes.get(id(tensor))
        if node is None:
            self.trace.refuse("a tensor that the capture has not seen being made or read", "unknown_tensor")
        return node

    def _argument(self, value: Any) -> Any:
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
        for plain in (
            int,
            float,
            str,
        ):  # NumPy's scalars and members of enumerations among them, which have no literals
            if isinstance(value, plain):
                return plain.__str__(value) if plain is str else plain(value)
        if isinstance(value, _C.CompiledObject):
            return self._object(value)
        self.trace.refuse(f"a {kind.__name__} as an argument of a torch function cannot be captured", "argument")

    def _object(self, value) -> Node:
        """The node of an object that C++ made: the graph holds it, and is for this one only."""
        if id(value) not in self._objects:
            source = self.trace.sources.source_of(value)
            if source is None:
                self.trace.refuse(f"a {type(value).__name__} that the program made cannot be captured", "argument")
            self.trace.guards.note("identity", source, value)
            with self._fx.inserting_after(self.inputs[-1].node) if self.inputs else self._fx.inserting_before():
                node = self._fx.create_node("get_attr", f"_torchbind_obj{len(self._objects)}")
            self._objects[id(value)] = (node, value)
        return self._objects[id(value)][0]

    def _held(self) -> dict[str, Any]:
        return {node.target: value for node, value in self._objects.values()}

    def record(self, op: str, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run a call on fake tensors, write it down, and give its result."""
        self.trace.alive()
        node_args = tuple(self._argument(a) for a in args)
        node_kwargs = {key: self._argument(value) for key, value in kwargs.items()}
        dynamic = self._depends_on_sizes(args, kwargs)
        function = getattr(torch.Tensor, target) if op == "call_method" else target
        result = run_on_fakes(self.trace, function, args, kwargs)
        if result is NotImplemented:
            return result
        node = self._fx.create_node(op, target, node_args, node_kwargs)
        fx_traceback.note_annotation(node)
        self.trace.blocks.note_call()
        node.meta["example_value"] = result
        place = self.trace.location()
        if place is not None:
            node.meta["stack_trace"] = f'  File "{place[0]}", line {place[1]}\n    {place[2].strip()}'
        self._track(result, node, dynamic)
        return result

    def write(
        self, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Node:
        """Write a call down that takes and gives no tensors; whoever asks runs it himself."""
        return self._fx.call_function(function, tuple(args), kwargs)

    def _depends_on_sizes(self, args: Any, kwargs: dict[str, Any]) -> bool:
        if not self.has_dynamic:
            return False
        return any(
            isinstance(x, RecordedNumber) and not isinstance(x, RecordedDatum) or id(x) in self._dynamic
            for x in pytree.arg_tree_leaves(*args, **kwargs)
        )

    def _track(self, result: Any, node: Node, dynamic: bool) -> None:
        """Note which node gives the tensors of a result."""
        if isinstance(result, torch.Tensor):
            if id(result) not in self._nodes:
                if not (isinstance(result, FakeTensor) or is_traceable_wrapper_subclass(result)):
                    self.trace.refuse("a call gave a tensor that is not fake", "unknown_tensor")
                self._nodes[id(result)] = node
                self.trace.kept.append(result)
                if dynamic:
                    self._dynamic.add(id(result))
        elif isinstance(result, (tuple, list)):
            if dynamic:
                self.condition(self._number(self._fx.call_function(len, (node,))), len(result))
            for index, each in enumerate(result):
                if isinstance(each, (torch.Tensor, tuple, list)):
                    item = self._fx.call_function(operator.getitem, (node, index))
                    item.meta["example_value"] = each
                    self._track(each, item, dynamic)
                elif dynamic and isinstance(each, (int, float)):
                    self.trace.refuse("a number among the results of a call with dynamic sizes", "dynamic")
        elif result is not None and not isinstance(result, (bool, int, float, str, torch.dtype, torch.device)):
            self.trace.refuse(f"a {type(result).__name__} as the result of a torch function", "result")

    @contextlib.contextmanager
    def taken_back(self) -> Iterator[None]:
        """Whatever is recorded in this block is taken away again, but for inputs.

        What conditions on sizes follow from goes last, when they have been copied out.
        """
        last = next(iter(reversed(self._fx.nodes)), None)
        yield
        for node in reversed(self._fx.nodes):
            if node is last:
                break
            if node in self._conditions or node.users:
                self._spare.add(node)
            elif node.op != "placeholder":
                self._fx.erase_node(node)

    # ---- functions that are graphs within this ----

    def begin_region(self, label: str, anew: Sequence[torch.Tensor]) -> tuple[Node, list[torch.Tensor]]:
        """Let the nodes that follow be those of a function, up to the next; what it is given that looks like `anew`."""
        begin, given = self.write(_regions.region, (label,)), []
        for place, like in enumerate(anew):
            with DisableTorchFunction():
                made = like.detach().clone().requires_grad_(like.requires_grad)
            node = self.write(_regions.carried, (begin, place, self.node_of(like)))
            node.meta["example_value"] = made
            self._track(made, node, id(like) in self._dynamic)
            given.append(made)
        return begin, given

    def let_vary(self, tensors: Sequence[torch.Tensor]) -> None:
        """Note that sizes of these, which look like results that come, may differ between calls."""
        self.trace.kept.extend(tensors)
        self._dynamic.update(map(id, tensors))

    def end_regions(
        self,
        operator: str,
        before: Sequence[Any],
        regions: Sequence[tuple[Node, list[Node]]],
        after: Sequence[Sequence[torch.Tensor]],
        results: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Call an operator, or a transform, with the functions whose nodes stand before; `results` look like what it gives."""
        arguments = (
            self._argument(tuple(before)),
            tuple(regions),
            tuple(self._argument(tuple(each)) for each in after),
        )
        node = self.write(_regions.call, (operator, *arguments))
        made = []
        for index, each in enumerate(results):
            with DisableTorchFunction():
                shown = each.detach().clone().requires_grad_(each.requires_grad)
            item = self._fx.call_function(_getitem, (node, index))
            item.meta["example_value"] = shown
            self._track(shown, item, id(each) in self._dynamic)
            made.append(shown)
        self.trace.blocks.note_call()
        return made

    # ---- the end ----

    def shape_program(self) -> ShapeProgram | None:
        """The graph with conditions as outputs, where there are some sizes that may differ."""
        dynamic = [place for place, each in enumerate(self.inputs) if each.is_number or id(each.fake) in self._dynamic]
        if not dynamic:
            return None
        graph = fx.Graph()
        copies: dict[Node, Node] = {}
        graph.graph_copy(self._fx, copies)
        graph.output(tuple(copies[node] for node in self._conditions))
        examples = [each.real for each in self.inputs]
        return ShapeProgram(fx.GraphModule(self._held(), graph), tuple(self._conditions.values()), examples, dynamic)

    def finish(self, outputs: Sequence[Node]) -> tuple[fx.GraphModule, list[Input]]:
        """The graph with these outputs as a Module, and the inputs that it needs."""
        self._fx.output(tuple(outputs))
        for node in reversed(self._fx.nodes):
            if node.users:
                continue
            if node in self._spare or node.op == "call_function" and node.target is operator.getitem:
                self._fx.erase_node(node)
        needed = [each for each in self.inputs if each.node.users]
        for each in self.inputs:
            if not each.node.users:
                self._fx.erase_node(each.node)
        try:
            return _regions.outline(fx.GraphModule(self._held(), self._fx)), needed
        except RuntimeError as error:
            self.trace.refuse(str(error), "cond")


def _input_name(source: Source) -> str:
    """The name as PyTorch makes it: what is in brackets or behind a dot, each after an underscore."""
    return re.sub(r"[^a-zA-Z0-9]+", "_", source.path())
