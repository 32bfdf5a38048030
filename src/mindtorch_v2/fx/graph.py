"""A program as a list of nodes, each of which uses nodes before it."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch

from ._codegen import INPLACE as inplace_methods
from ._codegen import MAGIC as magic_methods
from ._codegen import REFLECTABLE as reflectable_magic_methods
from ._codegen import CodeGen, PythonCode
from ._codegen import PyTreeCodeGen as _PyTreeCodeGen
from ._codegen import PyTreeInfo as _PyTreeInfo
from ._naming import Namespace as _Namespace
from ._naming import node_name_of, snake_case
from ._naming import register_builtin as _register_custom_builtin  # noqa: F401  (PyTorch's name of it)
from .immutable_collections import immutable_dict
from .node import Node, map_arg

if TYPE_CHECKING:
    from mindtorch_v2.fx._symbolic_trace import Tracer
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.fx.immutable_collections import immutable_list


__all__ = ["CodeGen", "Graph", "PythonCode"]

_REACHED_HERE = (inplace_methods, magic_methods, reflectable_magic_methods, _PyTreeCodeGen, _PyTreeInfo)
_LEGAL_OPS = ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output")


class _Nodes:
    """The nodes of a graph in order. Walking may go on while the current node is erased or others are put in."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self.graph, self.backwards = graph, backwards

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = root._prev if self.backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self.backwards else node._next

    def __reversed__(self) -> Iterator[Node]:
        return iter(_Nodes(self.graph, not self.backwards))


class _InsertPoint:
    """Where new nodes go, until the end of the `with` block (for good without one)."""

    def __init__(self, graph: Graph, insert: Callable[..., Any]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """A list of `Node`s; see there for their kinds.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self,
        owning_module: Any = None,
        tracer_cls: type[Tracer] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owners = 0
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[Any, Any] = {}
        self._numbered = False

    # ---- what is in it ----

    @property
    def owning_module(self) -> GraphModule | None:
        """The GraphModule that it belongs to, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: torch.nn.Module) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _Nodes:
        """The nodes in order, forwards and (with `reversed`) backwards; has a length."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """The output node, which is the last one; AssertionError if it is another kind."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"Expected output node, got op={node.op}")
        return node

    def find_nodes(self, *, op: str, target: Callable[..., Any] | str | None = None, sort: bool = True) -> list:
        """The nodes of one kind, and with one target, in order. A target must be named for "call_function"."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def _moved(self) -> None:
        self._numbered = False

    def _place_of(self, node) -> int:
        if not self._numbered:
            for place, each in enumerate(self.nodes):
                each._place = place
            self._numbered = True
        return node._place

    # ---- making and erasing nodes ----

    def create_node(
        self,
        op: str,
        target: Callable[..., Any] | str,
        args: Any = None,
        kwargs: Any = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insert point (the end, at first); its name is made of `name` or of the target."""
        if args and not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if kwargs and not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, name, op, target, args or (), kwargs or immutable_dict(), type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", None) or ():
            hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._moved()
        self._len += 1
        return node

    def _target_to_str(self, target) -> str:
        if callable(target):
            return snake_case(node_name_of(target))
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        return snake_case(target[2:-2] if target.startswith("__") and target.endswith("__") else target)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out. RuntimeError if another one uses it or it belongs to another graph."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_arguments(
            map_arg(to_erase._args, lambda node: None), map_arg(to_erase._kwargs, lambda node: None)
        )

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go before `n` (at the begin if None): within the `with` block, or from now on."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go after `n` (at the end if None), the last one first: within the `with` block, or from now on."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """A parameter of the function."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module, by its dotted path; warns if there is none."""
        if self.owning_module is not None and not self._attribute_exists(qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _attribute_exists(self, path) -> bool:
        module_path, _, name = path.rpartition(".")
        try:
            module: Any = self.owning_module
            module = module.get_submodule(module_path)
        except AttributeError:
            warnings.warn(f"Failed to fetch module {module_path}!", stacklevel=3)
            return False
        value = getattr(module, name, None)
        return isinstance(value, (torch.nn.Module, torch.nn.Parameter)) or name in module._buffers

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a submodule, by its dotted path; AttributeError if there is none."""
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function, an operator of `torch.ops` or of the module `operator`."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The annotation of the function's result."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    # ---- copies ----

    def node_copy(self, node: Node, arg_transform: Callable[..., Any] = lambda x: x) -> Node:
        """A copy of a node of another graph; `arg_transform(node)` gives what stands for its inputs here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        if not isinstance(args, tuple):
            raise AssertionError(f"Expected args to be tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"Expected kwargs to be dict, got {type(kwargs)}")
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Any, Any], return_output_node: bool = False
    ) -> tuple[tuple[Node | None, ...] | immutable_list | Node, Node] | immutable_list | Node | None:
        """Copy all nodes of `g` but its output; returns the value of that, in terms of the copies.

        `val_map` gets the copy of each node; nodes that are in it already stand for what it says.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda each: val_map[each])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Self:
        made: Any = Graph(tracer_cls=self._tracer_cls)
        memo = {} if memo is None else memo
        copies: dict[Any, Any] = {}
        returned: Any = made.graph_copy(self, copies, return_output_node=True)
        memo.update({id(node): each for node, each in copies.items()})
        made._codegen = copy.deepcopy(self._codegen)
        made._co_fields = self._co_fields
        if returned is not None:
            value, old = returned
            new = made.output(value, type_expr=old.type)
            new.meta = copy.copy(old.meta)
            memo[id(old)] = new
        return made

    # ---- text ----

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: Sequence[str] | None = None,
    ) -> PythonCode:
        """The graph as a Python function, a `PythonCode`; `root_module` is the name of the module in it ("self")."""
        # Names must differ from those of functions and types that the code names too: so they are given anew.
        namespace = _Namespace()
        nodes = list(self.nodes)
        before = [node._repr_fn for node in nodes]
        for node in nodes:
            node._repr_fn = lambda each: namespace.create_name(each.name, each)
        try:
            return self._codegen._gen_python_code(
                self.nodes,
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
                expanded_def=expanded_def,
                additional_meta=additional_meta,
            )
        finally:
            for node, function in zip(nodes, before):
                node._repr_fn = function

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self) -> None:
        """Print a table of the nodes: opcode, name, target, args, kwargs."""
        heads = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(cell) for cell in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        # As the package `tabulate` sets it, which PyTorch asks for: two spaces between, columns at least as wide as it has.
        widths = [max(width, len(head) + 2) for width, head in zip(widths, heads)]
        for row in (heads, ["-" * width for width in widths], *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let `codegen`, a CodeGen, make the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[..., Any]) -> Any:
        """Let `make_transformer(current)` give a function that is handed the lines of the body and returns others.

        It holds from now on, or within a `with` block. `current` is the one before, or None.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_the_end()

    def process_inputs(self, *args: Any) -> Any:
        """The values that the placeholders get where the function gets `args`."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of the function where the graph gives `out`."""
        return self._codegen.process_outputs(out)

    # ---- checks and passes ----

    def lint(self) -> None:
        """Check the form: known kinds, each name once, every value made before it is used, targets that exist.

        Raises RuntimeError or ValueError that names the node.
        """
        names, seen = set(), set()
        for node in self.nodes:
            if node.op not in _LEGAL_OPS:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for arg in node._input_nodes:
                if arg.graph is not self:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' does not belong to this Graph, but was used as an argument! "
                        "If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() "
                        f"to remap values\n{self}"
                    )
                if arg not in seen:
                    raise RuntimeError(
                        f"Argument '{arg}' of Node '{node}' was used before it has been defined! Please check that Nodes "
                        f"in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                self._lint_target(node)

    def _lint_target(self, node) -> None:
        calls = node.op == "call_function"
        if not (callable(node.target) if calls else isinstance(node.target, str)):
            expected = "a Callable" if calls else "a str"
            raise ValueError(
                f"Node {node} target {node.target} has type {torch.typename(node.target)} but {expected} is expected"
            )
        if node.op not in ("get_attr", "call_module"):
            return
        value = self.owning_module
        seen: list[Any] = []
        for part in node.target.split("."):
            value = getattr(value, part, None)
            where = ".".join(seen)
            if value is None:
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of {where}"
                )
            if node.op == "call_module" and not isinstance(value, torch.nn.Module):
                raise RuntimeError(
                    f"Node {node} target {node.target} {part} of {where} does not reference an nn.Module"
                )
            seen.append(part)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erase what nobody uses and what has no effect (`Node.is_impure`, or `is_impure_node(node)`).

        Returns whether anything was erased.
        """
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        if self.owning_module is not None:
            called = {node.target for node in self.find_nodes(op="get_attr")}
            for name, child in self.owning_module.named_children():
                if name in called and isinstance(child, torch.fx.GraphModule):
                    changed |= child.graph.eliminate_dead_code()
                    child.recompile()
        return changed
