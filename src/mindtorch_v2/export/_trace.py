"""From a module to an exported graph: it is run on fake tensors, and every operator that it calls is a node."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._C import CompiledObject
from mindtorch_v2._capture import Uncapturable, capture
from mindtorch_v2._dynamo import _control
from mindtorch_v2._dynamo.exc import Unsupported, UserError
from mindtorch_v2._sizes import SymFloat, SymInt
from mindtorch_v2._sizes.environment import GuardOnDataDependentSymNode
from mindtorch_v2._sizes.inputs import Inputs, check_named, range_constraints
from mindtorch_v2._subclasses.fake_tensor import DataDependentOutputException, FakeTensor
from mindtorch_v2.export._notes import ModuleCalls
from mindtorch_v2.export.dynamic_shapes import AdditionalInputs, Dim, sizes_of_inputs
from mindtorch_v2.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from mindtorch_v2.export.graph_signature import (
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from mindtorch_v2.fx import Graph, Node
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.nn.utils.stateless import _reparametrize_module
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["export", "finished", "graphs_of", "trace"]


@dataclasses.dataclass
class ExportDynamoConfig:
    """Settings of `torch._dynamo.config` for exports in PyTorch, which programs patch it with. Here exports do not ask them."""

    allow_rnn: bool = True
    specialize_int: bool = True
    assume_static_by_default: bool = False
    automatic_dynamic_shapes: bool = False


DEFAULT_EXPORT_DYNAMO_CONFIG = ExportDynamoConfig()
_PREFIXES = {
    InputKind.PARAMETER: "p_",
    InputKind.BUFFER: "b_",
    InputKind.CONSTANT_TENSOR: "c_",
    InputKind.CUSTOM_OBJ: "obj_",
}


def export(
    mod: torch.nn.Module,
    args: Any,
    kwargs: Any = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Sequence[Any] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """The `ExportedProgram` of `mod(*args, **kwargs)`: a graph of the operators that it calls, apart from its Python code.

    `args` (a tuple) and `kwargs` are examples: tensors, numbers, strings, None, and containers of them. Sizes are fixed but for
    those that `dynamic_shapes` names: for each parameter of `forward` (a dict by name, or a sequence) a dict from dimension to
    `Dim`, nested as the argument is. All other values are fixed. With `strict` the program must also be one that
    `torch.compile` captures whole. Nodes say in their `meta` which modules were being called (`nn_module_stack`), by which
    function of `torch` (`torch_fn`) and in which lines (`stack_trace`). The submodules whose paths `preserve_module_call_signature` names
    keep the structures of their arguments and results, so that `unflatten` gives modules that are called as they were.

    ValueError for what is no Module; UserError for wrong arguments, and where the program does not hold for all sizes that
    were named; GuardOnDataDependentSymNode where it decides by the values of tensors; Unsupported with `strict`.

    >>> class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.relu(x).flatten(1)
    >>> batch = torch.export.Dim("batch")
    >>> program = export(Net(), (torch.ones(4, 2, 3),), dynamic_shapes={"x": {0: batch}})
    >>> program.module()(torch.ones(7, 2, 3)).shape
    torch.Size([7, 6])
    """
    if not isinstance(mod, torch.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    bound = inspect.signature(mod.forward).bind(*args, **(kwargs or {})).arguments
    kwargs = _in_order(kwargs or {}, bound)
    more = dynamic_shapes if isinstance(dynamic_shapes, AdditionalInputs) else None
    if more is not None:
        dynamic_shapes = more.dynamic_shapes(mod, args, kwargs)
    sizes = sizes_of_inputs(bound, dynamic_shapes)
    if strict:
        try:
            capture(mod, args, kwargs)
        except Uncapturable as error:
            raise Unsupported(str(error)) from error
    example = _Example(mod, args, kwargs, bound, sizes)
    example.calls = ModuleCalls(mod, preserve_module_call_signature)
    with _control.exporting(), example.calls.noted():
        program = _with_equal_sizes(example)
    if more is not None:
        more.verify(program)
    return program


def _in_order(kwargs, bound) -> dict:
    """Keyword arguments in the order of the parameters."""
    return {**{name: kwargs[name] for name in bound if name in kwargs}, **kwargs}


class _Example:
    """A module with an example of a call: what is lifted to inputs, and how each input is called."""

    def __init__(
        self, mod: torch.nn.Module, args: Any, kwargs: Any, bound: dict[str, Any], sizes: Sequence[Sequence[Any] | None]
    ) -> None:
        self.mod, self.args, self.kwargs = mod, args, kwargs
        self.leaves, self.in_spec = pytree.tree_flatten((args, kwargs))
        self.arg_names = [*bound]
        self.sizes = sizes
        self.specs = []
        self.values: list[Any] = []
        self.state: dict[Any, Any] = {}  # name in the module -> place in `values`
        persistent = set(mod.state_dict(keep_vars=True))
        for name, value in mod.named_parameters(remove_duplicate=False):
            self._lift(InputKind.PARAMETER, name, value)
        for name, buffer in mod.named_buffers(remove_duplicate=False):
            self._lift(InputKind.BUFFER, name, buffer, name in persistent)
        self.lifted = len(self.values)
        names = [_input_name(path) for path, _ in pytree.tree_leaves_with_path(dict(bound))]
        kinds = {p.name: p.kind for p in inspect.signature(mod.forward).parameters.values()}
        for place, (path, _) in enumerate(pytree.tree_leaves_with_path(dict(bound))):
            if kinds.get(path[0].key) is inspect.Parameter.VAR_KEYWORD:
                names[place] = _input_name(path[1:])
        for name, leaf in zip(names, self.leaves):
            if not isinstance(leaf, (torch.Tensor, int, float, bool, str, type(None), complex, CompiledObject)):
                leaf_type = f"{type(leaf).__module__}.{type(leaf).__qualname__}"
                known = isinstance(leaf, (torch.dtype, torch.device, torch.layout, torch.memory_format))
                if not known:
                    raise UserError(
                        f"Unsupported input type {leaf_type}. Export only supports pytree containers of basic types "
                        "(Tensor, int, float, ...) as input. To register a custom dataclass, use "
                        "torch.export.register_dataclass. To register a custom container type, use "
                        "torch.utils._pytree.register_pytree_node."
                    )
            self.specs.append(InputSpec(InputKind.USER_INPUT, _described(name, leaf), None))
            self.values.append(leaf)
        self.out_spec: Any = None
        self.calls = ModuleCalls(mod)

    def _lift(self, kind, name, value, persistent=None) -> None:
        self.state[name] = len(self.values)
        self.specs.append(InputSpec(kind, TensorArgument(_PREFIXES[kind] + _identifier(name)), name, persistent))
        self.values.append(value)

    def run(self, *flat: torch.Tensor) -> list[Any]:
        """The results of the module for its state and arguments, as a list."""
        given = {name: flat[place] for name, place in self.state.items()}
        state = dict(given)
        args, kwargs = pytree.tree_unflatten(list(flat[self.lifted :]), self.in_spec)
        plain = [(module, _plain_tensors(module)) for module in self.mod.modules()]
        try:
            with _reparametrize_module(self.mod, state, stack_weights=True), self.calls.run():
                result = self.mod(*args, **kwargs)
        finally:
            _undo_assignments(plain)
        for name, value in state.items():  # buffers that were assigned
            if value is not given[name]:
                with torch.no_grad():
                    given[name].copy_(value)
        results, self.out_spec = pytree.tree_flatten(result)
        for each in results:
            if not isinstance(each, (torch.Tensor, SymInt, SymFloat, int, float, bool, str, type(None))):
                raise UserError(
                    f"It looks like one of the outputs with type `{type(each)}` is not supported or pytree-flattenable. \n"
                    "Exported graphs outputs can only contain the following supported types: tensors, int, float, bool, "
                    "str and None."
                )
        return results


def _described(name, leaf) -> TensorArgument | CustomObjArgument | ConstantArgument:
    if isinstance(leaf, torch.Tensor):
        return TensorArgument(name)
    if isinstance(leaf, CompiledObject):
        return CustomObjArgument(name, leaf._type().qualified_name())
    return ConstantArgument(name, leaf)


def _plain_tensors(module) -> dict:
    return {name: value for name, value in module.__dict__.items() if isinstance(value, torch.Tensor)}


def _undo_assignments(before) -> None:
    """Tensors that a program hung on its modules are of the trace: they go, as in PyTorch with a warning."""
    for module, kept in before:
        for name, value in _plain_tensors(module).items():
            if kept.get(name) is not value:
                warnings.warn(
                    f"The tensor attribute self.{name} was assigned during export. Such attributes must be registered as "
                    "buffers using the `register_buffer` API "
                    "(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).",
                    stacklevel=2,
                )
                del module.__dict__[name]
        module.__dict__.update(kept)


def _identifier(text):
    return re.sub(r"[^a-zA-Z0-9]", "_", text).lower()


def _input_name(path):
    parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
    return _identifier("_".join(parts))


def trace(
    function: Callable[..., Any], inputs: Inputs, *, pre_dispatch: bool, decompositions: Any = None
) -> GraphModule:
    """The graph of `function` of the inputs, with nodes for the sizes that may differ."""
    tensors = [value for value in inputs.leaves if isinstance(value, torch.Tensor)]

    def of_tensors(*given: torch.Tensor) -> list[Any]:
        tensors = iter(given)
        return function(*(next(tensors) if isinstance(value, torch.Tensor) else value for value in inputs.leaves))

    try:
        return make_fx(of_tensors, decompositions, "symbolic", pre_dispatch=pre_dispatch, record_stack_traces=True)(
            *tensors
        )
    except DataDependentOutputException as error:
        raise _data_dependent(error) from error


def _data_dependent(error):
    place = "?"
    frame = error.__traceback__
    while frame is not None:
        name = frame.tb_frame.f_globals.get("__name__", "")
        if not name.startswith(str(torch.__package__)):
            place = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
        frame = frame.tb_next
    return GuardOnDataDependentSymNode(
        "Eq(u0, 1)",
        "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\n"
        "consider using data-dependent friendly APIs such as guard_or_false, guard_or_true and statically_known_true.\n"
        f"Caused by: ({place}): {error} asks for the value of a tensor. torch.cond and torch.where choose by values in a graph.",
    )


def _with_equal_sizes(example):
    """The program; sizes that turn out to be equal always are one symbol, as far as that was not ruled out."""
    sizes = [None] * example.lifted + example.sizes
    names = [spec.arg.name for spec in example.specs]
    inputs = Inputs(example.values, sizes, names)
    module = trace(example.run, inputs, pre_dispatch=True)
    groups = [group for group in inputs.fixed().values() if len(group) > 1]
    if groups:
        # Each alone is fixed: are they together?
        named = [[each for each in group if isinstance(each.said, Dim)] for group in groups]
        again = Inputs(example.values, _merged(sizes, groups, inputs), names, _places(groups, inputs))
        other = trace(example.run, again, pre_dispatch=True)
        if len(again.fixed()) < len(inputs.fixed()) or not again.fixed():
            check_named(again, [group for group in named if len(group) > 1])
            inputs, module = again, other
    check_named(inputs)
    return _program(example, module, inputs)


def _places(groups, inputs) -> list:
    return [[place for each in group for place in inputs.places[str(each.size.node.expr)]] for group in groups]


def _merged(sizes, groups, inputs):
    """The sizes with the same Dim or hint in the places of a group."""
    made = [None if each is None else list(each) for each in sizes]
    for group, places in zip(groups, _places(groups, inputs)):
        said = next((each.said for each in group if isinstance(each.said, Dim)), group[0].said)
        for number, dim in places:
            made[number][dim] = said
    return made


def _program(example, module, inputs):
    graph, specs, outputs, constants = finished(module, example.specs, inputs.leaves, example.mod)
    ranges, others = range_constraints(inputs)
    state = example.mod.state_dict(keep_vars=True)
    state = {s.target: state[s.target] for s in example.specs if s.target in state}
    constants.update(
        {
            s.target: example.values[n]
            for n, s in enumerate(example.specs)
            if s.kind is InputKind.BUFFER and not s.persistent
        }
    )
    signature = ExportGraphSignature(specs, outputs)
    call = ModuleCallSignature(
        inputs=[], outputs=[], in_spec=example.in_spec, out_spec=example.out_spec, forward_arg_names=_arg_names(example)
    )
    signatures = {path: _kept_signature(kept, graph) for path, kept in example.calls.signatures.items()} | {"": call}
    entries = [ModuleCallEntry(name, signatures.get(name)) for name, _ in example.mod.named_modules()]
    return ExportedProgram(
        graphs_of(module),
        graph,
        signature,
        state,
        ranges,
        entries,
        (example.args, example.kwargs),
        constants,
        _guards=others,
    )


def _kept_signature(kept, graph) -> ModuleCallSignature:
    """The signature of a submodule, of what was noted as it was called; leaves are told by the names of their nodes."""
    inputs, outputs, in_spec, out_spec = kept
    nodes = {node.name: node for node in graph.nodes}

    def argument(leaf: Any) -> Any:
        return _argument(nodes.get(leaf.name, leaf.name) if isinstance(leaf, Node) else leaf)

    return ModuleCallSignature(
        [argument(each) for each in inputs], [argument(each) for each in outputs], in_spec, out_spec
    )


def _arg_names(example):
    """The names of the arguments, one each, as the code of `module()` has them."""
    names: list[str] = []
    parameters = inspect.signature(example.mod.forward).parameters
    for name in example.arg_names:
        kind = parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            count = len(example.args) - len(names)
            names += [f"{name}_{place}" for place in range(count)]
        elif kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(name)
    return names + [name for name in example.kwargs if name not in names]


# ---- the graph as it is kept ----


def graphs_of(module: GraphModule) -> torch.nn.Module:
    """A module that holds what a traced one calls operators of control flow with: its graphs, by their names."""
    root = torch.nn.Module()
    for name, child in module.named_children():
        if isinstance(child, GraphModule):
            root.add_module(name, child)
    return root


def finished(
    module: GraphModule, input_specs: Sequence[InputSpec], leaves: Sequence[int | torch.Tensor], root: Any = None
) -> tuple:
    """A traced module as (graph, input specs, output specs, constants): with named inputs for all that it reads.

    What it reads besides, tensors that are neither parameters nor buffers, becomes inputs before those of the user.
    """
    module.graph.eliminate_dead_code()
    graph, copies = Graph(), {}
    given_objects = {id(leaf) for leaf in leaves if isinstance(leaf, CompiledObject)}
    constants, constant_specs = _constants(module, root, given_objects)
    first_user = next((n for n, s in enumerate(input_specs) if s.kind is InputKind.USER_INPUT), len(input_specs))
    specs = [*input_specs[:first_user], *constant_specs.values(), *input_specs[first_user:]]
    values = dict(zip(map(id, input_specs), leaves))
    given = iter(module.graph.find_nodes(op="placeholder"))
    of_constant, of_object = {}, {}
    for spec in specs:
        node = _input(graph, spec.arg.name)
        spec.arg.name = node.target = node.name  # names that are alike are told apart
        if id(spec) not in values:
            of_constant[spec.target] = node
            node.meta["val"] = constants[spec.target]
        elif isinstance(values[id(spec)], torch.Tensor):
            old = next(given)
            copies[old] = node
            node.meta.update(old.meta)
        else:
            node.meta["val"] = values[id(spec)]
            of_object[id(values[id(spec)])] = node
    for node in module.graph.nodes:
        if node.op == "get_attr" and id(getattr(module, node.target)) in given_objects:
            copies[node] = of_object[id(getattr(module, node.target))]
        elif node.op == "get_attr" and node.target in constant_specs:
            copies[node] = of_constant[constant_specs[node.target].target]
        elif node.op == "output":
            results = map_arg(pytree.tree_leaves(node.args[0]), copies.__getitem__)
            results = [_plain_number(each) for each in results]
            graph.output(tuple(results))
        elif node.op != "placeholder":
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return graph, specs, [OutputSpec(OutputKind.USER_OUTPUT, _argument(each), None) for each in results], constants


def _input(graph, name) -> Node:
    """The placeholder of an input, which keeps a name such as "input" that code may give to variables as well."""
    made = graph.placeholder(name)
    if hasattr(builtins, name) and all(each.name != name for each in graph.nodes):
        made.name = name
    return made


def _plain_number(value):
    return int(value) if isinstance(value, SymInt) else value


def _argument(value):
    if not isinstance(value, Node):
        return ConstantArgument("", value)
    seen = value.meta.get("val")
    return TensorArgument(value.name) if isinstance(seen, torch.Tensor) else SymIntArgument(value.name)


def _constants(module, root, given_objects):
    """The tensors and objects that a graph holds, by name, and for each attribute of the traced module its spec."""
    names: dict[int, str] = {}
    for prefix, child in root.named_modules() if root is not None else ():
        for name, value in child.__dict__.items():
            if isinstance(value, (torch.Tensor, CompiledObject)):
                names.setdefault(id(value), f"{prefix}.{name}" if prefix else name)
    found, specs, number = {}, {}, itertools.count()
    for node in module.graph.find_nodes(op="get_attr"):
        value = getattr(module, node.target)
        if isinstance(value, GraphModule) or id(value) in given_objects:
            continue
        if isinstance(value, FakeTensor):
            raise NotImplementedError(
                f"torch.export.export(): the value {node.name}, used by {[user.name for user in node.users]}, was computed "
                "in a way that the graph does not see"
            )
        if node.target in specs:
            continue
        name = names.get(id(value)) or f"lifted_tensor_{next(number)}"
        found[name] = value
        kind = InputKind.CUSTOM_OBJ if isinstance(value, CompiledObject) else InputKind.CONSTANT_TENSOR
        specs[node.target] = InputSpec(kind, _described(_PREFIXES[kind] + _identifier(name), value), name)
    return found, specs
