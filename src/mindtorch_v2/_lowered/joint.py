"""A program as one graph of operators, forward and backward: it is run once on fake tensors, functionalized, and recorded.

Autograd is above functionalization: what it saves and what it refuses is decided on the program as it was written.
What the graph cannot say (that a result is a view of an argument, that an argument was written) is told beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional import _levels, _values
from mindtorch_v2._behaviours.functional._boundary import from_functional, to_functional
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._lowered.verify import written as _writes
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2.amp._state import is_autocast_enabled
from mindtorch_v2.fx import Graph, GraphModule
from mindtorch_v2.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer, track_tensor_tree

__all__ = ["Joint", "NotLowerable", "OffsetsMatter", "Output", "Written", "trace_joint"]


class NotLowerable(Exception):  # a decision, not an error of the program
    """Raised for a program of which no graph of operators is made; the text says what it does."""


class OffsetsMatter(Exception):
    """Raised where a graph would hold for one place in an argument's memory only."""


@dataclasses.dataclass(frozen=True)
class Output:
    """How a result is made from what the graph gives.

    `kind` is "graph" (value number `index` of the graph), "input" (argument number `index` itself), "view of input",
    "view of graph" (by `steps`, else by `geometry`), "same" (result number `index` again) or "constant" (`value`).
    """

    kind: str
    index: int = -1
    steps: tuple | None = None
    geometry: tuple | None = None
    requires_grad: bool = False
    value: Any = None


@dataclasses.dataclass(frozen=True)
class Written:
    """The fate of argument `input`: value number `index` of the graph (or None) is copied into it.

    `how` is "recorded" (autograd sees the copy), "unrecorded" or "hidden" (not even its version tells of it).
    `whole` is set where the copy is to all of the memory that several arguments share. `geometry` is new sizes, strides
    and offset of the argument, or None.
    """

    input: int
    index: int | None
    how: str
    whole: int | None = None
    geometry: tuple | None = None


@dataclasses.dataclass
class Joint:
    """A traced program.

    `module` takes the arguments, then the tangents; it returns `forward_count` values, then a gradient for each argument
    in `wanted`. `differentiable` has the places of the forward values that have tangents, in order. `strides` says which
    strides a value has in the program, where the graph gives it others; `tangent_strides` those that tangents have.
    """

    module: GraphModule
    inputs: list[Any]
    tangents: list[Any]
    forward_count: int
    forward_nodes: frozenset[str]
    differentiable: list[int]
    strides: list[tuple | None]
    wanted: list[int]
    outputs: list[Output]
    written: list[Written]
    tangent_strides: list[tuple]


def trace_joint(
    function: Callable,
    inputs: Sequence[Any],
    *,
    decompositions: dict | None = None,
    exact: bool = False,
    together: Sequence[Sequence[int]] = (),
    whole: bool = False,
) -> Joint:
    """The joint graph of `function(*inputs)`, which returns a list of tensors and other values.

    `inputs` are real tensors, whose data is not looked at, and other values, which become part of the graph. `exact` says
    that the graph may depend on where in its memory an argument begins. `together` lists the arguments that share memory.
    Operators that PyTorch composes of others are recorded as those, or with `whole` as they are.

    NotLowerable if the program raises an error, or does what a graph cannot say; OffsetsMatter if it has to be traced with
    `exact`.
    """
    trace = _Trace(inputs, decompositions, exact, together)
    trace.proxy_mode.sees_parts = not whole
    return trace.run(function)


class _Mode(ProxyTorchDispatchMode):
    """Record all but control flow, whose graphs run as they are; numbers stay numbers."""

    def take(self, func: Any, args: Any, kwargs: Any) -> Any:
        made = super().take(_torch_dispatch.run_call(func, args), args, kwargs)
        for each in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(each, torch.Tensor) and each.layout is not torch.strided:
                raise NotLowerable(f"{func} gives a tensor of the layout {each.layout}, whose items values tell")
        return made

    def take_functions(self, operator: str, *args: Any) -> NoReturn:
        raise NotLowerable(f"it calls torch.ops.higher_order.{operator}, whose graphs run as they are")


def _geometry(x: Any) -> tuple:
    return tuple(x.shape), x.stride(), x.storage_offset()


def _is_dense(x: Any) -> bool:
    """Whether the elements fill their memory once, in some order."""
    expected = 1
    for stride, size in sorted(zip(x.stride(), x.shape)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


class _Trace:
    def __init__(self, inputs: Sequence[Any], decompositions: Any, exact: bool, together: Any) -> None:
        self.real = list(inputs)
        self.exact = exact
        self.together = [list(group) for group in together]
        self.tracer = PythonKeyTracer()
        self.tracer.root = torch.nn.Module()
        self.tracer.graph = Graph(tracer_cls=PythonKeyTracer)
        self.tracer.tensor_attrs = {}
        self.fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.proxy_mode = _Mode(self.tracer, "fake", decompositions)
        self.fakes: list[Any] = []
        self.shown: list[Any] = []
        self.storages: list[Any] = []
        self.values: list[Any] = []  # what the graph gives: tracked fake tensors
        self.strides: list[tuple | None] = []
        self.tracked_grad: dict[int, Any] = {}  # place in `values` -> the same, with its history

    def run(self, function: Callable) -> Joint:
        with _torch_dispatch.no_modes(), self.fake_mode:
            self.fakes = [self._fake(each) for each in self.real]
            for number, fake in enumerate(self.fakes):
                if isinstance(fake, torch.Tensor):
                    self._placeholder(f"primals_{number + 1}", fake)
            with _levels.entered(True) as level, self.proxy_mode:
                self.level = level
                self._show()
                try:
                    results = list(function(*self.shown))
                except NotLowerable:
                    raise
                except Exception as error:  # the program's own, or of a fake tensor: run as it is, it decides
                    if not self.exact and "out of bounds for storage" in str(error):
                        raise OffsetsMatter from None
                    raise NotLowerable(f"run on fake tensors, it raises {type(error).__name__}: {error}") from error
                written = [each for each in map(self._written, range(len(self.shown))) if each is not None]
                written += self._written_memories()
                outputs = self._outputs(results)
                forward_nodes = frozenset(node.name for node in self.tracer.graph.nodes)
                differentiable, tangents, wanted, gradients = self._backward()
        return self._finish(forward_nodes, differentiable, tangents, wanted, gradients, outputs, written)

    # ---- arguments ----

    def _fake(self, real: Any) -> Any:
        if not isinstance(real, torch.Tensor):
            return real
        if type(real) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor):
            raise NotLowerable(f"an argument is a {type(real).__name__}")
        if real.layout is not torch.strided:
            raise NotLowerable(f"an argument has the layout {real.layout}")
        with torch.no_grad(), _torch_dispatch.no_modes():
            made: Any
            if not self.exact:
                elem = torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device="meta")
                made = FakeTensor(self.fake_mode, elem, real.device)
            else:
                elements = real.untyped_storage().nbytes() // real.element_size()
                memory = torch.empty(elements, dtype=real.dtype, device="meta")
                whole = FakeTensor(self.fake_mode, memory, real.device)
                made = whole.as_strided(real.shape, real.stride(), real.storage_offset()).detach()
        return made.requires_grad_() if real.requires_grad else made

    def _placeholder(self, name: str, fake: Any) -> None:
        proxy = self.tracer.create_proxy("placeholder", name, (), {})
        track_tensor_tree(fake, proxy, constant=None, tracer=self.tracer)

    def _show(self) -> None:
        """The functional tensors that the program gets."""
        self.shown = [to_functional(f, self.level) if isinstance(f, torch.Tensor) else f for f in self.fakes]
        self.memories = []
        for group in self.together:
            first = self.fakes[group[0]]
            if any(self.real[number].requires_grad for number in group):
                raise NotLowerable("arguments that require grad share memory, and are written")
            if any(self.real[number].dtype != first.dtype for number in group):
                raise NotLowerable("arguments of several dtypes share memory, and are written")
            with _levels.below(self.level):
                memory = torch.ops.aten.as_strided(
                    first, [first.untyped_storage().nbytes() // first.element_size()], [1], 0
                )
            flat = _values.wrap(memory, self.level)
            self.memories.append((group, flat))
            for number in group:
                real = self.real[number]
                with torch.no_grad():
                    view = torch.as_strided(flat, real.shape, real.stride(), real.storage_offset())
                self.shown[number] = view.detach()
        self.storages = [_values.storage_of(s) if isinstance(s, torch.Tensor) else None for s in self.shown]
        self.starts = [self._state(s) if isinstance(s, torch.Tensor) else None for s in self.shown]

    @staticmethod
    def _state(shown: Any) -> tuple:
        return shown.grad_fn, _geometry(shown), shown._version, shown.requires_grad

    # ---- what the program did to its arguments ----

    def _written(self, number: int) -> Written | None:
        shown = self.shown[number]
        if not isinstance(shown, torch.Tensor):
            return None
        start = self.starts[number]
        assert start is not None  # as for each tensor
        grad_fn, geometry, version, required = start
        storage: Any = self.storages[number]
        if _values.storage_of(shown) is not self.storages[number]:
            raise NotLowerable("an argument is given another storage (set_)")
        if storage.replaced:
            raise NotLowerable("an argument is resized")
        moved = _geometry(shown) != geometry
        recorded = shown.grad_fn is not grad_fn
        if shown.requires_grad != required and not recorded:
            raise NotLowerable("an argument is told to require grad")
        grouped = any(number in group for group in self.together)
        if grouped and (recorded or moved):
            raise NotLowerable("arguments that share memory are written, with gradients or new sizes")
        if moved and not self.exact:
            raise OffsetsMatter
        if moved and recorded:
            raise NotLowerable("an argument gets other sizes, and a history")
        if grouped or not (moved or recorded or storage.generation):
            return None
        real = self.real[number]
        if recorded and real.is_leaf and real.requires_grad:
            raise NotLowerable("a leaf that requires grad is written")
        index = None
        if recorded:
            index = self._give(_values.value_of(shown), from_functional(shown, self.level))
            return Written(number, index, "recorded")
        if storage.generation:
            if storage.epoch and not self.exact:
                raise OffsetsMatter
            if storage.epoch and real.numel() != storage.elements:
                raise NotLowerable("an argument is written beside its elements (as_strided)")
            index = self._give(self._as_given(storage, geometry))
        return Written(
            number,
            index,
            "unrecorded" if shown._version != version else "hidden",
            None,
            _geometry(shown) if moved else None,
        )

    def _as_given(self, storage: Any, geometry: tuple) -> Any:
        if (storage.sizes, storage.strides, storage.offset) == geometry:
            return storage.value
        with _levels.below(self.level):
            storage.flatten()
            sizes, strides, offset = geometry
            return torch.ops.aten.as_strided(storage.value, sizes, strides, offset)

    def _written_memories(self) -> list[Written]:
        found = []
        for place, (group, flat) in enumerate(self.memories):
            storage = _values.storage_of(flat)
            assert storage is not None
            if storage.generation:
                with _levels.below(self.level):
                    storage.flatten()
                found.append(Written(group[0], self._give(storage.value), "unrecorded", whole=place))
        return found

    # ---- what it returned ----

    def _give(self, value: Any, with_history: Any = None, like: Any = None) -> int:
        """The place of a value among those that the graph gives; `like` has the strides that the program sees."""
        self.values.append(value)
        self.strides.append(None if like is None or like.stride() == value.stride() else like.stride())
        if with_history is not None and with_history.requires_grad:
            self.tracked_grad[len(self.values) - 1] = with_history
        return len(self.values) - 1

    def _outputs(self, results: list[Any]) -> list[Output]:
        made: list[Any] = [None] * len(results)
        seen: dict[int, int] = {}
        groups: dict[int, list[int]] = {}
        own = {id(s): n for n, s in reversed(list(enumerate(self.storages))) if s is not None}
        itself = {id(s): n for n, s in reversed(list(enumerate(self.shown))) if isinstance(s, torch.Tensor)}
        for place, result in enumerate(results):
            if not isinstance(result, torch.Tensor):
                made[place] = Output("constant", value=result)
            elif id(result) in itself:
                made[place] = Output("input", itself[id(result)])
            elif id(result) in seen:
                made[place] = Output("same", seen[id(result)])
            else:
                seen[id(result)] = place
                storage = _values.storage_of(result) if _values.level_of(result) == self.level else None
                if storage is None:
                    made[place] = self._foreign(result)
                elif id(storage) in own:
                    made[place] = self._view_of_input(result, own[id(storage)])
                else:
                    groups.setdefault(id(storage), []).append(place)
        for places in groups.values():
            self._group([(place, results[place]) for place in places], made)
        return made

    def _foreign(self, result: Any) -> Output:
        """A tensor that the program had already, or made of such ones only."""
        if isinstance(result, FakeTensor):
            if result.requires_grad:
                raise NotLowerable("a result has a gradient of its own, apart from the arguments")
            return Output("graph", self._give(result))
        return Output("constant", value=result)

    def _steps(self, result: Any) -> tuple | None:
        return _values.made_of(result).chain

    def _view_of_input(self, result: Any, number: int) -> Output:
        shown = self.shown[number]
        if result.requires_grad and not (result._is_view() and (result._base is shown or result._base is shown._base)):
            raise NotLowerable("a result shares memory with an argument, and is no view of it")
        grouped = any(number in group for group in self.together)
        start = self.starts[number]
        moved = start is None or _geometry(shown) != start[1]
        steps = None if grouped or moved else self._steps(result)
        if steps is None:
            if not self.exact:
                raise OffsetsMatter
            if result.dtype != shown.dtype:
                raise NotLowerable(f"a result shows an argument of {shown.dtype} as {result.dtype}")
        return Output("view of input", number, steps, _geometry(result), result.requires_grad)

    def _check_leaf(self, result: Any) -> None:
        if result.requires_grad and result.is_leaf:
            raise NotLowerable("a result is a new leaf that requires grad")

    def _group(self, members: list[tuple[int, Any]], made: list[Any]) -> None:
        """Results that share memory with each other only."""
        for _, result in members:
            self._check_leaf(result)
        if len(members) == 1:
            ((place, result),) = members
            index = self._give(_values.value_of(result), from_functional(result, self.level), result)
            made[place] = Output("graph", index, requires_grad=result.requires_grad)
            return
        bases = [r if r._base is None else r._base for _, r in members if r.requires_grad]
        storage = _values.storage_of(members[0][1])
        assert storage is not None
        if any(base is not bases[0] for base in bases):
            raise NotLowerable("results share memory, and are no views of one tensor")
        if storage.epoch:
            raise NotLowerable("results share memory of which sizes were changed")
        if bases:
            base = bases[0]
            if _values.storage_of(base) is not storage or self._steps(base) != ():
                raise NotLowerable(
                    "results share memory, and the tensor that they are views of does not show all of it"
                )
            index = self._give(_values.value_of(base), from_functional(base, self.level))
        else:
            base = None
            index = self._give(storage.value)
        for place, result in members:
            steps = self._steps(result)
            if result is base:
                made[place] = Output("graph", index, requires_grad=True)
            elif steps is None and (result.dtype != storage.value.dtype or storage.value.storage_offset()):
                raise NotLowerable("results share memory in a way that no view says")
            elif result.requires_grad and not result._is_view():
                raise NotLowerable("results share memory, and are no views of one tensor")
            else:
                made[place] = Output("view of graph", index, steps, _geometry(result), result.requires_grad)

    # ---- the way back ----

    def _backward(self) -> tuple[list[int], list[Any], list[int], list[Any]]:
        differentiable = sorted(self.tracked_grad)
        wanted = [n for n, f in enumerate(self.fakes) if isinstance(f, torch.Tensor) and f.requires_grad]
        if not differentiable or not wanted:
            return [], [], [], []
        tangents = []
        nodes = [node for node in self.tracer.graph.nodes if node.op == "placeholder"]
        outputs = [self.tracked_grad[place] for place in differentiable]
        for number in range(len(outputs)):
            like = self.values[differentiable[number]]
            with torch.no_grad(), _torch_dispatch.no_modes():
                strides = like.stride() if _is_dense(like) else torch.empty(like.shape, device="meta").stride()
                elem = torch.empty_strided(like.shape, strides, dtype=like.dtype, device="meta")
                tangent = FakeTensor(self.fake_mode, elem, like.device)
            with self.tracer.graph.inserting_after(nodes[-1]):
                self._placeholder(f"tangents_{number + 1}", tangent)
            nodes.append(next(iter(n for n in self.tracer.graph.find_nodes(op="placeholder") if n not in nodes)))
            tangents.append(tangent)
        kept = _autocast_off()
        try:
            gradients = torch.autograd.grad(outputs, [self.fakes[n] for n in wanted], tangents, allow_unused=True)
        except RuntimeError as error:
            raise NotLowerable(f"its backward raises {type(error).__name__}: {error}") from error
        finally:
            kept()
        return differentiable, tangents, wanted, list(gradients)

    # ---- the module ----

    def _proxy(self, value: Any) -> Any:
        known = self.tracer.tensor_tracker.get(value)
        if known is None:
            raise NotLowerable("a result was not made in the graph")
        return known.proxy.node

    def _finish(
        self,
        forward_nodes: frozenset,
        differentiable: list[int],
        tangents: list[Any],
        wanted: list[int],
        gradients: list[Any],
        outputs: list[Output],
        written: list[Written],
    ) -> Joint:
        graph = self.tracer.graph
        results = [self._proxy(value) for value in self.values]
        results += [None if gradient is None else self._proxy(gradient) for gradient in gradients]
        graph.output(tuple(self._distinct(graph, results, len(self.values), forward_nodes)))
        forward_nodes |= {node.name for node in graph.nodes if node.meta.get("forward")}
        graph.eliminate_dead_code()
        for node in graph.nodes:
            if _writes(node):
                raise NotLowerable(f"a tensor that the program holds is written ({node.target})")
        if not self.exact and any(_by_place(node) for node in graph.nodes):
            raise OffsetsMatter
        module = GraphModule(self.tracer.root, graph, "joint")
        return Joint(
            module,
            self.fakes,
            tangents,
            len(self.values),
            forward_nodes,
            differentiable,
            self.strides,
            wanted,
            outputs,
            written,
            [each.stride() for each in tangents],
        )

    def _distinct(self, graph: Any, results: list[Any], count: int, forward_nodes: frozenset) -> list[Any]:
        """Two results of the graph never share memory with each other or with an argument: copies where they would."""
        memories = {f.untyped_storage()._cdata for f in self.fakes if isinstance(f, torch.Tensor)}
        made = []
        for place, node in enumerate(results):
            if place < count:
                memory = self.values[place].untyped_storage()._cdata
                if memory in memories or node.op in ("placeholder", "get_attr"):
                    copy = graph.call_function(torch.ops.aten.clone.default, (node,))
                    copy.meta.update(val=node.meta.get("val"), forward=True)
                    node = copy
                memories.add(memory)
            made.append(node)
        return made


def _by_place(node: Any) -> bool:
    """Whether a node counts places from the beginning of a memory."""
    return node.op == "call_function" and "as_strided" in getattr(node.target, "__name__", str(node.target))


def _autocast_off() -> Callable[[], None]:
    """The way back runs without autocast, as the engine's does after the block of `autocast`; returns what undoes it."""
    state = torch.amp._state
    devices = [d for d in state.DEVICES if is_autocast_enabled(d)]
    for device in devices:
        state.set_autocast_enabled(device, False)

    def back() -> None:
        for device in devices:
            state.set_autocast_enabled(device, True)

    return back
