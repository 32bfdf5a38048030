"""`ExportedProgram`: a graph of operators with the state that it reads, apart from the Python code that it came from."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2._sizes import SymInt
from mindtorch_v2.export.decomp_utils import CustomDecompTable, OutOf
from mindtorch_v2.export.graph_signature import ArgumentSpec, InputKind, OutputKind
from mindtorch_v2.fx import Graph, GraphModule
from mindtorch_v2.fx._codegen import PyTreeCodeGen, PyTreeInfo
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._sizes.expressions import Expression
    from mindtorch_v2._sizes.inputs import ValueRanges
    from mindtorch_v2.export.graph_signature import ExportGraphSignature
    from mindtorch_v2.utils._pytree import TreeSpec


__all__ = [
    "ArgumentSpec",
    "CallSpec",
    "ExportedProgram",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "default_decompositions",
    "install",
    "sizes_of",
]


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: the structures of its arguments and its result.

    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> signature = program.module_call_graph[0].signature
    >>> signature.in_spec.num_leaves, signature.out_spec.num_leaves
    (1, 1)
    """

    inputs: list
    outputs: list
    in_spec: typing.Any
    out_spec: typing.Any
    forward_arg_names: list | None = None


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of the program, by its name; the whole program ("") has a signature, and those that were to keep theirs.

    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> entry = program.module_call_graph[0]
    >>> entry.fqn, entry.signature is not None
    ('', True)
    """

    fqn: str
    signature: ModuleCallSignature | None = None


class CallSpec(typing.NamedTuple):
    """The structures of what a program is given and gives."""

    in_spec: typing.Any
    out_spec: typing.Any


class _Guards(torch.nn.Module):
    """Check the inputs of a program: `expected` has sizes (ints and expressions) or a value for each.

    AssertionError for an input for which the graph does not hold.
    """

    def __init__(
        self,
        names: Sequence[str],
        expected: Sequence[Any],
        ranges: dict[Expression, ValueRanges],
        conditions: Sequence[Any],
    ) -> None:
        super().__init__()
        self._names, self._expected = names, expected
        self._ranges, self._conditions = ranges, conditions

    def forward(self, *leaves: Any) -> None:
        values, where = {}, {}
        for name, expected, leaf in zip(self._names, self._expected, leaves):
            if isinstance(expected, torch._C.CompiledObject):  # another object of the class is as good
                _require(type(leaf) is type(expected), f"type({name}) == {type(expected).__name__}")
                continue
            if not isinstance(expected, tuple):
                _require(type(leaf) is type(expected) and leaf == expected, f"{name} == {expected!r}")
                continue
            _require(isinstance(leaf, torch.Tensor), f"isinstance({name}, torch.Tensor)")
            _require(leaf.dim() == len(expected), f"len({name}.size()) == {len(expected)}")
            for dim, (size, seen) in enumerate(zip(expected, leaf.shape)):
                place = f"{name}.size()[{dim}]"
                if isinstance(size, int):
                    _require(seen == size, f"{place} == {size}")
                elif str(size) not in values and len(size.terms) == 1 and str(size) in size.free_symbols:
                    values[str(size)], where[str(size)] = seen, place
                elif size.free_symbols <= set(values):
                    _require(size.evaluate(values) == seen, f"{place} == {self._shown(size, where)}")
                elif len(size.free_symbols) == 1:
                    # A size that follows from a Dim which no input has by itself.
                    (symbol,) = size.free_symbols
                    start = size.evaluate({symbol: 0})
                    factor = size.evaluate({symbol: 1}) - start
                    _require((seen - start) % factor == 0, f"({place} - {start}) % {factor} == 0")
                    values[symbol], where[symbol] = (seen - start) // factor, place
        for symbol, bounds in self._ranges.items():
            seen = values.get(str(symbol))
            if seen is not None:
                place = where[str(symbol)]
                _require(seen <= bounds.upper, f"{place} <= {bounds.upper}")
                _require(seen >= bounds.lower, f"{place} >= {bounds.lower}")
        for condition in self._conditions:
            if condition.free_symbols <= set(values):
                _require(condition.evaluate(values), self._shown(condition, where))

    @staticmethod
    def _shown(expression, where):
        text = str(expression)
        for symbol, place in where.items():
            text = text.replace(symbol, place)
        return text


def _require(holds, text) -> None:
    if not holds:
        raise AssertionError(f"Guard failed: {text}")


def sizes_of(value: Any) -> float | tuple[int | Expression, ...] | None:
    """Expectation of a guard of an input: the sizes of a tensor, expressions where they may differ; other values themselves."""
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(size.node.expr if isinstance(size, SymInt) else size for size in value.shape)


class ExportedProgram:
    """A program as a graph: made by `torch.export.export`, or read by `torch.export.load`.

    `graph` has placeholders for parameters, buffers and constants, then for the leaves of the arguments; which is which says
    `graph_signature`. `state_dict` and `constants` have their values. `range_constraints` says for each symbol in sizes
    which values it may have. It is run as `module()`.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),))
    >>> [node.target for node in program.graph.nodes if node.op == "call_function"]
    [<OpOverload(op='aten.linear', overload='default')>]
    >>> sorted(program.state_dict), program.module()(torch.ones(1, 2)).shape
    (['bias', 'weight'], torch.Size([1, 1]))
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[Expression, ValueRanges],
        module_call_graph: Sequence[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        constants: dict[str, torch.Tensor] | None = None,
        *,
        verifiers: Any = None,
        _guards: Sequence[Any] = (),
    ) -> None:
        graph._codegen = torch.fx.graph.CodeGen()
        self._graph_module = GraphModule(root, graph)
        self._graph_signature = graph_signature
        self._state_dict = state_dict
        self._range_constraints = range_constraints
        self._module_call_graph = module_call_graph
        self._example_inputs = example_inputs
        self._constants = constants or {}
        self._guards = tuple(_guards)

    graph_module = property(lambda self: self._graph_module, doc="The graph, as a module of flat inputs and outputs.")
    graph = property(lambda self: self._graph_module.graph, doc="The graph.")
    graph_signature = property(lambda self: self._graph_signature, doc="What inputs and outputs are.")
    state_dict = property(lambda self: self._state_dict, doc="Parameters and persistent buffers, by name.")
    constants = property(lambda self: self._constants, doc="Other tensors that the graph reads, by name.")
    tensor_constants = constants
    range_constraints = property(lambda self: self._range_constraints, doc="The values that each symbol may have.")
    module_call_graph = property(lambda self: self._module_call_graph, doc="The modules of the program.")
    example_inputs = property(lambda self: self._example_inputs, doc="The arguments that it was made with.")
    dialect = property(lambda self: "ATEN", doc="Which operators its graph has.")

    @property
    def call_spec(self) -> Any:
        """The structures of arguments and result."""
        call: Any = self._module_call_graph[0].signature
        return CallSpec(call.in_spec, call.out_spec)

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Name and value of each parameter."""
        for name in self.graph_signature.parameters:
            yield name, self._state_dict[name]

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """The parameters."""
        return (value for _, value in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Name and value of each buffer."""
        for name in self.graph_signature.buffers:
            yield name, self.value_of(name)

    def buffers(self) -> Iterator[torch.Tensor]:
        """The buffers."""
        return (value for _, value in self.named_buffers())

    def value_of(self, target: str) -> torch.Tensor:
        """The value of a parameter, buffer or constant by its name."""
        return self._state_dict[target] if target in self._state_dict else self._constants[target]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        ranges = ", ".join(f"{symbol}: {bounds}" for symbol, bounds in self.range_constraints.items())
        return (
            f"ExportedProgram:\n    {code}\nGraph signature: {self.graph_signature}\nRange constraints: {{{ranges}}}\n"
        )

    __repr__ = __str__

    # ---- running it ----

    def module(self, check_guards: bool = True) -> GraphModule:
        """A GraphModule that is called as the original was, with its parameters and buffers under their names.

        It checks its inputs (not with `check_guards=False`): ValueError for arguments of another structure, AssertionError
        for values and sizes that the graph does not hold for. It can be trained; `train()` and `eval()` are an error, as what
        they would change is in the graph.
        """
        root, graph, copies = torch.nn.Module(), Graph(), {}
        for name, child in self.graph_module.named_children():
            root.add_module(name, child)
        signature = self.graph_signature
        state = {s.arg.name: s for s in signature.input_specs if s.kind is not InputKind.USER_INPUT}
        inputs = [n for n in self.graph.find_nodes(op="placeholder") if n.name not in state]
        for node in inputs:
            copies[node] = graph.node_copy(node)
        for node in self.graph.find_nodes(op="placeholder"):
            if node.name in state:
                spec = state[node.name]
                install(root, spec, self.value_of(spec.target))
                copies[node] = graph.create_node("get_attr", spec.target, name=spec.target.replace(".", "_"))
                copies[node].meta.update(node.meta)
        if check_guards:
            root._guards_fn = self.guards_module(inputs)
            graph.call_module("_guards_fn", tuple(copies[node] for node in inputs))
        for node in self.graph.nodes:
            if node.op not in ("placeholder", "output"):
                copies[node] = graph.node_copy(node, copies.__getitem__)
        (output,) = self.graph.find_nodes(op="output")
        results = []
        for spec, value in zip(signature.output_specs, output.args[0]):
            value = map_arg(value, copies.__getitem__)
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
            else:
                target = next(n for n in self.graph.find_nodes(op="placeholder") if _is_written(n, state, spec))
                graph.call_function(torch.ops.aten.copy_.default, (copies[target], value))
        graph.output(tuple(results))
        call: Any = self._module_call_graph[0].signature
        graph._codegen = PyTreeCodeGen(PyTreeInfo([*call.forward_arg_names], call.in_spec, call.out_spec))
        module = GraphModule(root, graph)
        for spec in state.values():  # it makes persistent buffers of all tensors
            install(module, spec, self.value_of(spec.target))
        module.register_forward_pre_hook(_Structure(call.in_spec), with_kwargs=True)
        module.__dict__.update(train=_refused("train"), eval=_refused("eval"))
        return module

    def guards_module(self, inputs: Sequence[Any]) -> torch.nn.Module:
        """A module that checks values for these placeholders; AssertionError for what the graph does not hold for."""
        names = [node.name for node in inputs]
        expected = [sizes_of(node.meta["val"]) for node in inputs]
        return _Guards(names, expected, self.range_constraints, self._guards)

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """The program without writes, of core operators (`convolution` for `conv2d`, `mul` and `sigmoid` for `silu`).

        What it writes to (buffers, inputs) are further outputs in front; `graph_signature` says of what. `decomp_table` maps
        operators to functions that take their place; operators that it does not name stay whole. By default it is
        `default_decompositions()`, which is also one to begin with.
        """
        table = default_decompositions() if decomp_table is None else decomp_table
        return _decomposed[0](self, table, OutOf(table))


def default_decompositions() -> CustomDecompTable:
    """A table for `run_decompositions` that takes apart what is not among the core operators, to be changed.

    >>> table = torch.export.default_decompositions()
    >>> table[torch.ops.aten.silu.default] = lambda x: x * torch.ops.aten.sigmoid(x)
    >>> program = torch.export.export(torch.nn.SiLU(), (torch.ones(2),)).run_decompositions(table)
    >>> [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    ['aten.sigmoid.default', 'aten.mul.Tensor']
    """
    return CustomDecompTable()


_decomposed: list = []  # what `run_decompositions` does: it makes ExportedPrograms, and registers itself


def register_decomposed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let `function(program, decomp_table)` give the program of operators below autograd."""
    _decomposed[:] = [function]
    return function


def _is_written(node, state, spec):
    """Whether a placeholder is what an output is the new value of."""
    if spec.kind is OutputKind.USER_INPUT_MUTATION:
        return node.name == spec.target
    return node.name in state and state[node.name].target == spec.target


def install(root: torch.nn.Module, spec: Any, value: Any) -> None:
    """Give a module the parameter, buffer or constant of an input."""
    *path, name = spec.target.split(".")
    for part in path:
        if not hasattr(root, part):
            setattr(root, part, torch.nn.Module())
        root = getattr(root, part)
    if spec.kind is InputKind.PARAMETER:
        root.register_parameter(name, value)
    elif spec.kind is InputKind.BUFFER:
        root.register_buffer(name, value, persistent=spec.persistent)
    else:
        root._buffers.pop(name, None)
        setattr(root, name, value)


class _Structure:
    """A hook before `forward`: the arguments have the structure of the example, keywords in any order."""

    def __init__(self, in_spec: TreeSpec) -> None:
        self._in_spec = in_spec

    def __call__(self, module: GraphModule, args: Any, kwargs: Any) -> tuple:
        expected: Any = self._in_spec.child(1).context
        if set(kwargs) != set(expected):
            raise ValueError(
                f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {expected}"
            )
        kwargs = {name: kwargs[name] for name in expected}
        found = pytree.tree_structure((args, kwargs))
        if found != self._in_spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{self._in_spec}\nbut actually got inputs with "
                f"tree spec of: \n{found}.\nPlease check that the inputs have the same number and type of args and kwargs as "
                "the ones you used when tracing."
            )
        return args, kwargs


def _refused(name):
    def refuse(*args: Any) -> NoReturn:
        raise NotImplementedError(f"Calling {name}() is not supported yet.")

    return refuse
