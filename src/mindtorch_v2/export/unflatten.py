"""`unflatten`: an exported program as modules again, as they were nested when it was exported.

The nodes of the flat graph say in `nn_module_stack` by which call of which module they were recorded. The nodes of one call become
the graph of a module at that module's path; what they take from outside are its inputs, what others take of them its results.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.export.exported_program import ExportedProgram, ModuleCallSignature, install
from mindtorch_v2.export.graph_signature import ConstantArgument, InputKind, OutputKind
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.fx._codegen import PyTreeCodeGen, PyTreeInfo
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["FlatArgsAdapter", "InterpreterModule", "InterpreterModuleDispatcher", "UnflattenedModule", "unflatten"]


@contextlib.contextmanager
def _disable_interpreter() -> Iterator[None]:
    """A context in which modules run as code rather than node by node, which they do outside of it too."""
    yield


class FlatArgsAdapter(abc.ABC):
    """Make arguments of one structure into such of another, for modules whose callers changed.

    >>> class First(FlatArgsAdapter):
    ...     def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
    ...         return input_args[: target_spec.num_leaves]
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(1),))
    >>> unflatten(program, First())(torch.tensor([-1.0]), "more")
    tensor([0.])
    """

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any = None,
    ) -> list[Any]:
        """The leaves of `target_spec`, made of those of `input_spec`; `obj` is the module that is called."""

    def get_flat_arg_paths(self) -> list[str]:
        """Paths of arguments that this adapter reads."""
        return []


class InterpreterModule(torch.nn.Module):
    """A module that runs a graph, with parameters, buffers and submodules of its own.

    `graph` may be changed; `finalize()` makes the code of it anew.

    >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> InterpreterModule(graph)(torch.tensor([1.0]))
    tensor([2.])
    """

    def __init__(self, graph: Graph, ty: str | None = None) -> None:
        super().__init__()
        self.graph = graph
        self._ty = ty
        graph.owning_module = self
        self._run: Any = None

    def type_name(self) -> str | None:
        """The class of the module that it was, as a path."""
        return self._ty

    @property
    def graph_module(self) -> GraphModule:
        """A GraphModule of the graph, with the same parameters and submodules."""
        return GraphModule(self, self.graph)

    def finalize(self) -> None:
        """Make the code of the graph."""
        self._run = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self._run is None:
            made = GraphModule(torch.nn.Module(), Graph())
            made._graph = self.graph
            made.recompile()
            self._run = type(made).forward
        if isinstance(self.graph._codegen, PyTreeCodeGen):
            self._in_spec = self.graph._codegen.pytree_info.in_spec
            self._out_spec = self.graph._codegen.pytree_info.out_spec
        return self._run(self, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_run": None}

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code of the graph, as `GraphModule.print_readable` shows it."""
        return self.graph_module.print_readable(print_output, **options)


class InterpreterModuleDispatcher(torch.nn.Module):
    """A module that was called several times and did something else each time: its calls go to one graph after another.

    It has the submodules of the first of `call_modules`, and of its attributes those that `attrs` names. After the last graph, or
    an error in one, the first is the next.

    >>> graphs = [torch.fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda x: x * 10)]
    >>> both = InterpreterModuleDispatcher(set(), [InterpreterModule(graph) for graph in graphs])
    >>> both(torch.ones(1)), both(torch.ones(1)), both(torch.ones(1))
    (tensor([2.]), tensor([10.]), tensor([2.]))
    """

    def __init__(self, attrs: set[str], call_modules: list[InterpreterModule]) -> None:
        super().__init__()
        if not call_modules:
            raise AssertionError("call_modules must not be empty")
        first = call_modules[0]
        self._modules = first._modules
        for name in attrs:
            setattr(self, name, getattr(first, name))
        self._ty = first._ty
        self.__dict__["_call_modules"] = call_modules
        self._num_calls = 0

    def type_name(self) -> str | None:
        """The class of the module that it was, as a path."""
        return self._ty

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        module = self._call_modules[self._num_calls]
        following = (self._num_calls + 1) % len(self._call_modules)
        self._num_calls = 0
        result = module(*args, **kwargs)
        self._num_calls = following
        return result

    def call_modules(self) -> list[InterpreterModule]:
        """The modules of the calls, in order."""
        return self._call_modules

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The codes of the graphs, as `GraphModule.print_readable` shows them."""
        return "\n".join(each.print_readable(print_output, **options) for each in self._call_modules)


def _relative(parent: str, path: str) -> str:
    """The path of a module as its caller reaches it; a module that lies elsewhere by its whole path."""
    return path[len(parent) + 1 :] if parent and path.startswith(parent + ".") else path


class _Frame:
    """One call of a module that is being put together."""

    def __init__(self, builder: _Builder, parent: _Frame | None, key: str, path: str, kind: str | None) -> None:
        self.builder, self.parent, self.key, self.path, self.kind = builder, parent, key, path, kind
        self.graph = Graph()
        self.values: dict[Node, Any] = {}  # nodes of the flat graph -> what stands for them here
        self.inputs: list[Any] = []  # nodes of the flat graph that are taken from outside, and constants of a signature
        self.kept = True  # whether it can be called as the module was
        self.nodes: set[Node] = set()
        self._last_input: Node | None = None
        self.signature: ModuleCallSignature | None = builder.signatures.get(path) if parent is not None else None
        if self.signature is not None:
            self._take_arguments(self.signature)

    def _take_arguments(self, signature: ModuleCallSignature) -> None:
        for place, argument in enumerate(signature.inputs):
            node = None if isinstance(argument, ConstantArgument) else self.builder.by_name.get(argument.name)
            made = self._placeholder(argument.name if node is not None else f"constant_{place}")
            self.inputs.append(argument if node is None else node)
            if node is not None and node not in self.values:
                self.values[node] = made
                made.meta = copy.copy(node.meta)

    def _placeholder(self, name: str) -> Node:
        with self.graph.inserting_after(self._last_input) if self._last_input else self.graph.inserting_before():
            self._last_input = self.graph.placeholder(name)
        return self._last_input

    def value(self, node: Node) -> Any:
        """The value here for a node of the flat graph, taken in if it comes from outside."""
        if node in self.values:
            return self.values[node]
        target = self.builder.target_within(node, self.path)
        if target is not None:
            made = self._attribute(target)
        elif node.op == "get_attr":
            made = self.graph.node_copy(node)
        else:
            made = self._placeholder(node.name)
            self.inputs.append(node)
            self.kept = False
        made.meta = copy.copy(node.meta)
        self.values[node] = made
        return made

    def _attribute(self, target: str) -> Node:
        with self.graph.inserting_after(self._last_input) if self._last_input else self.graph.inserting_before():
            return self.graph.create_node("get_attr", _relative(self.path, target))

    def copy(self, node: Node) -> None:
        """Take a node of the flat graph in."""
        self.nodes.add(node)
        self.values[node] = self.graph.node_copy(node, self.value)

    def close(self, after: set[Node]) -> None:
        """Make the module, and let the caller call it; `after` are the nodes that are still to come, and the output."""
        parent = self.parent
        assert parent is not None
        parent.nodes |= self.nodes
        if self.signature is not None and self._close_as_it_was(parent, self.signature, after):
            return
        given = [node for node in self._in_order() if any(user in after for user in node.users)]
        results = [self.value(node) for node in given]
        self.graph.output(results[0] if len(results) == 1 else tuple(results))
        name = self.builder.place(self)
        call = parent.graph.call_module(_relative(parent.path, name), self._arguments(parent))
        if len(given) == 1:
            call.meta = copy.copy(given[0].meta)
            parent.values[given[0]] = call
            return
        call.meta["val"] = tuple(node.meta.get("val") for node in given)
        for place, node in enumerate(given):
            parent.values[node] = parent.graph.call_function(operator.getitem, (call, place))
            parent.values[node].meta = copy.copy(node.meta)

    def _arguments(self, parent: _Frame) -> tuple[Any, ...]:
        """The arguments that the caller gives."""
        return tuple(parent.value(each) if isinstance(each, Node) else each.value for each in self.inputs)

    def _in_order(self) -> list[Node]:
        return [node for node in self.builder.flat if node in self.nodes]

    def _close_as_it_was(self, parent: _Frame, signature: ModuleCallSignature, after: set[Node]) -> bool:
        """The same with the arguments and results that the module had; not if others need values besides."""
        find = self.builder.by_name
        outputs = [None if isinstance(each, ConstantArgument) else find.get(each.name) for each in signature.outputs]
        needed = [node for node in self._in_order() if any(user in after for user in node.users)]
        if not self.kept or any(node not in outputs for node in needed):
            return False
        self.graph.output(
            tuple(
                self.value(node) if node is not None else getattr(argument, "value", None)
                for argument, node in zip(signature.outputs, outputs)
            )
        )
        names = [f"arg_{place}" for place in range(signature.in_spec.child(0).num_children)]
        names += [str(name) for name in signature.in_spec.child(1).context]
        self.graph._codegen = PyTreeCodeGen(PyTreeInfo(names, signature.in_spec, signature.out_spec))
        name = self.builder.place(self)
        args, kwargs = pytree.tree_unflatten(list(self._arguments(parent)), signature.in_spec)
        call = parent.graph.call_module(_relative(parent.path, name), tuple(args), kwargs)
        if signature.out_spec.is_leaf():
            call.meta = copy.copy(outputs[0].meta) if outputs[0] is not None else {}
            chosen = [call]
        else:
            flat = parent.graph.call_function(pytree.tree_leaves, (call,))
            chosen = [parent.graph.call_function(operator.getitem, (flat, place)) for place in range(len(outputs))]
        for node, value in zip(outputs, chosen):
            if node is not None and node in self.nodes:
                parent.values[node] = value
                value.meta = copy.copy(node.meta)
        return True


class _Builder:
    """The modules of a program, in the making."""

    def __init__(self, program: ExportedProgram, root: UnflattenedModule) -> None:
        self.program, self.root = program, root
        self.flat = list(program.graph.nodes)
        self.by_name = {node.name: node for node in self.flat}
        signature = program.graph_signature
        self.state = {s.arg.name: s for s in signature.input_specs if s.kind is not InputKind.USER_INPUT}
        self.signatures = {
            each.fqn: each.signature for each in program.module_call_graph if each.signature is not None and each.fqn
        }
        self._targets: dict[int, list[str]] = {}  # of a parameter or buffer all its paths: modules may share it
        for spec in self.state.values():
            self._targets.setdefault(id(program.value_of(spec.target)), []).append(spec.target)
        self._made: dict[str, list[tuple[str, str]]] = {}  # path -> the names and codes of what stands for it

    def target_within(self, node: Node, path: str) -> str | None:
        """The path of a parameter or buffer that a module reaches below itself; None for what it has to be given."""
        spec = self.state.get(node.name)
        if spec is None:
            return None
        targets = [spec.target, *self._targets[id(self.program.value_of(spec.target))]]
        return next((each for each in targets if not path or each.startswith(path + ".")), None)

    def build(self) -> None:
        """Fill the root's graph, and make all modules below."""
        frames = [_Frame(self, None, "", "", None)]
        frames[0].graph = self.root.graph
        for node in self.flat:
            if node.op == "placeholder" and node.name not in self.state:
                frames[0].values[node] = frames[0]._placeholder(node.name)
                frames[0].values[node].meta = copy.copy(node.meta)
        calls = [node for node in self.flat if node.op not in ("placeholder", "output")]
        output = self.program.graph.output_node()
        after = {*calls, output}
        for node in calls:
            stack = [(key, *said) for key, said in (node.meta.get("nn_module_stack") or {}).items() if said[0]]
            while [frame.key for frame in frames[1:]] != [key for key, *_ in stack[: len(frames) - 1]]:
                frames.pop().close(after)
            for key, path, kind in stack[len(frames) - 1 :]:
                frames.append(_Frame(self, frames[-1], key, path, kind))
            frames[-1].copy(node)
            after.discard(node)
        while len(frames) > 1:
            frames.pop().close(after)
        self._finish(frames[0], output)

    def _finish(self, frame: _Frame, output: Node) -> None:
        results = []
        inputs = {spec.target: self.by_name[name] for name, spec in self.state.items()} | self.by_name
        for spec, value in zip(self.program.graph_signature.output_specs, output.args[0]):
            value = map_arg(value, frame.value)
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(value)
                continue
            frame.graph.call_function(torch.ops.aten.copy_.default, (frame.value(inputs[spec.target]), value))
        frame.graph.output(tuple(results))
        frame.graph.lint()

    def place(self, frame: _Frame) -> str:
        """Put the module of a call at its path, or beside it if it was called before and did something else; its path."""
        before = self._made.setdefault(frame.path, [])
        code = frame.graph.python_code("self").src
        for name, known in before:
            if known == code:
                return name
        name = frame.path if not before else f"{frame.path}@{len(before)}"
        before.append((name, code))
        made = InterpreterModule(frame.graph, frame.kind)
        for node in frame.graph.find_nodes(op="get_attr"):  # graphs that operators of control flow call
            if node.target in self.program.graph_module._modules:
                made.add_module(node.target, self.program.graph_module.get_submodule(node.target))
        *folders, last = name.split(".")
        place: torch.nn.Module = self.root
        for part in folders:
            if part not in place._modules:
                place.add_module(part, torch.nn.Module())
            place = place.get_submodule(part)
        old = self.root.get_submodule(frame.path) if _has(self.root, frame.path) else None
        if old is not None:  # parameters, and modules that were closed before their caller
            for members in ("_parameters", "_buffers", "_modules"):
                getattr(made, members).update(getattr(old, members))
            made._non_persistent_buffers_set |= old._non_persistent_buffers_set
            for key, value in vars(old).items():
                if isinstance(value, torch.Tensor):
                    setattr(made, key, value)
        place._modules[last] = made
        return name


def _has(root: torch.nn.Module, path: str) -> bool:
    try:
        root.get_submodule(path)
    except AttributeError:
        return False
    return True


class UnflattenedModule(InterpreterModule):
    """The result of `unflatten`: called as the program was, with its modules, parameters and buffers at their paths.

    >>> program = torch.export.export(torch.nn.Sequential(torch.nn.ReLU()), (torch.ones(1),))
    >>> [path for path, _ in UnflattenedModule(program).named_modules()]
    ['', '0']
    """

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        if export_module.graph_signature.backward_signature is not None:
            raise ValueError("Unflattening on JointExportModule NYI")
        super().__init__(Graph(), None)
        self.graph_signature = copy.deepcopy(export_module.graph_signature)
        self.module_call_graph = copy.deepcopy(export_module.module_call_graph)
        self.flat_args_adapter = flat_args_adapter
        self.adapted = False
        self._call: Any = self.module_call_graph[0].signature
        for name, child in export_module.graph_module.named_children():
            self.add_module(name, child)
        for spec in self.graph_signature.input_specs:
            if spec.kind is not InputKind.USER_INPUT:
                install(self, spec, export_module.value_of(spec.target))
        _Builder(export_module, self).build()
        _in_order(self, [each.fqn for each in export_module.module_call_graph])
        self._inputs = [node for node in export_module.graph.find_nodes(op="placeholder")
                        if node.name in export_module.graph_signature.user_inputs]  # fmt: skip
        guards = export_module.guards_module(self._inputs)
        self.__dict__["_check"] = guards

    def process_forward_inputs(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The leaves of the arguments, in the structure that the program was exported with; TypeError or ValueError for others."""
        in_spec = self._call.in_spec
        names = list(in_spec.child(1).context)
        if set(kwargs) == set(names):
            kwargs = {name: kwargs[name] for name in names}
        leaves, found = pytree.tree_flatten((args, kwargs))
        if found == in_spec:
            return leaves
        if self.flat_args_adapter is None:
            raise TypeError(
                "There is no flat args adapter specified. Are you sure you are calling this with the right arguments?\n"
                f"Input treespec does not match with exported module's: expected {in_spec}\nbut got {found}"
            )
        adapted = self.flat_args_adapter.adapt(
            target_spec=in_spec, input_spec=found, input_args=leaves, metadata=None, obj=self
        )
        if len(adapted) != in_spec.num_leaves:
            raise TypeError(
                f"Flat args adaption failed, number of args mismatch: {len(adapted)} adapted, {in_spec.num_leaves} in the "
                "exported module"
            )
        self.adapted = True
        return adapted

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self.process_forward_inputs(*args, **kwargs)
        if not self.adapted:
            self.__dict__["_check"](*leaves)
        results = super().forward(*leaves)
        return pytree.tree_unflatten(list(results), self._call.out_spec)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code of the graph and of the modules below."""
        parts = [self.graph.python_code("self").src]
        parts += [f"# {path}: {module._ty}\n{module.graph.python_code('self').src}"
                  for path, module in self.named_modules() if path and isinstance(module, InterpreterModule)]  # fmt: skip
        text = "\n".join(parts)
        if print_output:
            print(text)
        return text


def _in_order(root: torch.nn.Module, paths: Sequence[str]) -> None:
    """Let submodules stand in the order that they had."""
    order = {path: place for place, path in enumerate(paths)}
    for path, module in list(root.named_modules()):
        named = [(order.get(f"{path}.{name}" if path else name, len(order)), name) for name in module._modules]
        children = dict(module._modules)
        module._modules.clear()
        module._modules.update({name: children[name] for _, name in sorted(named, key=lambda each: each[0])})


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """A module with the submodules, parameters and buffers that the exported one had, at the same paths.

    Each submodule that was called runs the graph of its nodes; if it was exported with its path in
    `preserve_module_call_signature` it is called as the original was, so that another module may be put in its place. Else what its
    inputs are follows from the graph. A module that was called twice with different graphs is there a second time, as
    `<path>@1`. ValueError if the arguments have another structure than those of the export, unless an adapter makes them so.

    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    ...     def forward(self, x):
    ...         return self.body(x) + 1
    >>> module = unflatten(torch.export.export(Net(), (torch.ones(1, 2),)))
    >>> [path for path, _ in module.named_modules()]
    ['', 'body', 'body.0', 'body.1']
    >>> module(torch.zeros(1, 2)).shape
    torch.Size([1, 2])
    """
    return UnflattenedModule(module, flat_args_adapter)
