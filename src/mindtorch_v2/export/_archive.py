"""`save` and `load`: a zip with the graph as JSON and the tensors beside it. Loading runs no code that a file brings."""

from __future__ import annotations

import io
import json
import math
import operator
import pickle
import re
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._C import CompiledObject
from mindtorch_v2._library.compiled import class_named, object_of_state
from mindtorch_v2._ops import HigherOrderOperator, OpOverload
from mindtorch_v2._sizes import Condition, Expression, Junction, SymInt, symbol
from mindtorch_v2._sizes.expressions import FUNCTIONS, Apply, Symbol
from mindtorch_v2._sizes.inputs import Inputs, ValueRanges
from mindtorch_v2._sizes.numbers import sym_float, sym_int, sym_max, sym_min
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2.export import graph_signature as signatures
from mindtorch_v2.export.dynamic_shapes import Dim
from mindtorch_v2.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["load", "save"]

_VERSION = 1
_CALLS = {
    "getitem": operator.getitem, "add": operator.add, "sub": operator.sub, "mul": operator.mul, "pow": operator.pow,
    "floordiv": operator.floordiv, "truediv": operator.truediv, "mod": operator.mod, "abs": operator.abs,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "and": operator.and_, "or": operator.or_,
    "sym_max": sym_max, "sym_min": sym_min, "sym_float": sym_float, "sym_int": sym_int,
    "set_grad_enabled": torch._C._set_grad_enabled,
}  # fmt: skip
_CONTROL_FLOW = ("cond", "map_impl", "scan", "while_loop")  # of torch.ops.higher_order
_NAMED = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}
_OPERATOR = re.compile(r"(\w+)::(\w+)\.(\w+)")


# ---- writing ----


def save(
    ep: ExportedProgram | torch.nn.Module,
    f: Any,
    *,
    extra_files: Any = None,
    opset_version: Any = None,
    pickle_protocol: int = 2,
) -> None:
    """Write an ExportedProgram to a file (a path or a binary file object): a zip of this package's own, not PyTorch's.

    `extra_files` maps names to texts or bytes that are kept beside. TypeError for something else than an ExportedProgram;
    NotImplementedError for an argument in the graph that has no form in JSON.

    >>> import io
    >>> file = io.BytesIO()
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> torch.export.save(program, file, extra_files={"note": "first"})
    >>> _ = file.seek(0)
    >>> notes = {"note": ""}
    >>> _ = torch.export.load(file, extra_files=notes)
    >>> notes
    {'note': 'first'}
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    args, kwargs = ep.example_inputs
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr("program.json", json.dumps(_program(ep)))
        for name, value in (
            ("weights", dict(ep.state_dict)),
            ("constants", {name: _kept(each) for name, each in ep.constants.items()}),
            ("example_inputs", [_kept(each) for each in pytree.tree_leaves((args, kwargs))]),
        ):
            buffer = io.BytesIO()
            torch.save(value, buffer)
            archive.writestr(f"{name}.pt", buffer.getvalue())
        for name, value in (extra_files or {}).items():
            archive.writestr(f"extra_files/{name}", value)


def _kept(value: Any) -> Any:
    """The form of a constant in the file: of an object of a class in C++ what its `__getstate__` gives; RuntimeError without one."""
    if not isinstance(value, CompiledObject):
        return value
    qualified, state = value.__reduce__()[1]
    return {"object": qualified, "state": state}


_OF_DATA = 3  # stands for a size that data decide


def _program(ep) -> dict:
    call = ep.module_call_graph[0].signature
    hints = {}
    for node in ep.graph.find_nodes(op="placeholder"):
        if isinstance(node.meta.get("val"), torch.Tensor):
            for size in node.meta["val"].shape:
                if isinstance(size, SymInt):
                    hints.update(size.node.shape_env.backed_var_to_val)
    return {
        "version": _VERSION,
        **_graph(ep.graph_module),
        "inputs": [_spec(spec) | {"persistent": spec.persistent} for spec in ep.graph_signature.input_specs],
        "outputs": [_spec(spec) for spec in ep.graph_signature.output_specs],
        "symbols": {
            str(name): [hints[str(name)], bounds.lower, None if bounds.upper is math.inf else bounds.upper]
            for name, bounds in ep.range_constraints.items()
        },
        "guards": [_condition(each) for each in ep._guards],
        "modules": [entry.fqn for entry in ep.module_call_graph],
        "signatures": {e.fqn: _signature(e.signature) for e in ep.module_call_graph if e.fqn and e.signature},
        "in_spec": pytree.treespec_dumps(call.in_spec),
        "out_spec": pytree.treespec_dumps(call.out_spec),
        "arguments": call.forward_arg_names,
    }


def _graph(module) -> dict:
    """The nodes of a graph, and the graphs that it calls operators of control flow with."""
    children = {name: _graph(child) for name, child in module.named_children()}
    nodes = [_node(node) for node in module.graph.nodes]
    return {"nodes": nodes, "graphs": children} if children else {"nodes": nodes}


def _spec(spec) -> dict:
    return {"kind": spec.kind.name, "arg": _argument(spec.arg), "target": spec.target}


def _argument(arg) -> list:
    value = _value(arg.value) if isinstance(arg, signatures.ConstantArgument) else getattr(arg, "class_fqn", None)
    return [type(arg).__name__, arg.name, value]


def _signature(signature) -> dict:
    """How a submodule is called that was to keep it."""
    specs = {"in_spec": pytree.treespec_dumps(signature.in_spec), "out_spec": pytree.treespec_dumps(signature.out_spec)}
    return specs | {name: [_argument(each) for each in getattr(signature, name)] for name in ("inputs", "outputs")}


def _notes(node) -> dict:
    """Notes of the node on the program that it comes from."""
    meta = node.meta
    made = {name: meta[name] for name in ("stack_trace", "custom") if meta.get(name)}
    if "torch_fn" in meta:
        made["torch_fn"] = list(meta["torch_fn"])
    if meta.get("nn_module_stack"):
        made["nn_module_stack"] = [[key, *said] for key, said in meta["nn_module_stack"].items()]
    return made


def _node(node):
    made = {"op": node.op, "name": node.name, "args": _value(tuple(node.args)), "kwargs": _value(dict(node.kwargs))}
    if node.op == "call_function":
        made["target"] = _target(node)
    elif node.op == "get_attr":
        made["target"] = node.target
    made["val"] = _described(node.meta.get("val"))
    notes = _notes(node)
    return made | {"notes": notes} if notes else made


def _target(node):
    target = node.target
    if isinstance(target, OpOverload):
        return f"{target.namespace}::{target.overloadpacket.__name__}.{target._overloadname or 'default'}"
    if isinstance(target, HigherOrderOperator) and target.name() in _CONTROL_FLOW:
        return f"higher_order.{target.name()}"
    for name, function in _CALLS.items():
        if target is function:
            return name
    raise NotImplementedError(
        f"torch.export.save(): a call of {target} ({node.name}) is not implemented in mindtorch_v2"
    )


def _value(value):
    """An argument as JSON: what is no plain value is a dict with one key, its kind."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, Node):
        return {"node": value.name}
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, dict):
        return {"dict": [[key, _value(each)] for key, each in value.items()]}
    if isinstance(value, slice):
        return {"slice": [_value(each) for each in (value.start, value.stop, value.step)]}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_value(each) for each in value]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, CompiledObject):
        return {"object": value._qualified}
    for kind, cls in _NAMED.items():
        if isinstance(value, cls):
            return {kind: str(value).rpartition(".")[2]}
    raise NotImplementedError(
        f"torch.export.save(): an argument of class {type(value).__name__} is not implemented in mindtorch_v2"
    )


def _described(value) -> dict:
    """The form of a node's value."""
    if isinstance(value, torch.Tensor):
        sizes = [[_number(each) for each in row] for row in (value.shape, value.stride(), (value.storage_offset(),))]
        return {"tensor": [*sizes, str(value.dtype).rpartition(".")[2], str(value.device), value.requires_grad]}
    if isinstance(value, SymInt):
        return {"size": _number(value)}
    if isinstance(value, (list, tuple)):
        return {"values": [_described(each) for each in value]}
    return {"constant": _value(value)}


def _number(size):
    return _expression(size.node.expr) if isinstance(size, SymInt) else size


def _expression(expr) -> list:
    return [[coefficient, [_atom(atom) for atom in monomial]] for monomial, coefficient in expr.terms.items()]


def _atom(atom):
    return atom.name if isinstance(atom, Symbol) else [atom.name, [_expression(each) for each in atom.args]]


def _condition(condition) -> list:
    kind = _condition if isinstance(condition, Junction) else _expression
    return [condition.relation, kind(condition.left), kind(condition.right)]


# ---- reading ----


def load(f: Any, *, extra_files: Any = None, expected_opset_version: Any = None) -> Any:
    """The ExportedProgram that `save` wrote; `extra_files` (a dict with names as keys) is given what was kept beside.

    Nothing that a file contains is run or imported: operators are looked up by name, tensors are loaded as
    `torch.load(weights_only=True)` does, and objects of classes in C++ are made by their classes, which are to be loaded
    before. RuntimeError for a file that is no such program.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), file)
    >>> _ = file.seek(0)
    >>> torch.export.load(file).module()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    try:
        with zipfile.ZipFile(f) as archive:
            data = json.loads(archive.read("program.json"))
            weights, constants, example = (
                torch.load(io.BytesIO(archive.read(f"{name}.pt")), weights_only=True)
                for name in ("weights", "constants", "example_inputs")
            )
            for name in extra_files or {}:
                extra_files[name] = archive.read(f"extra_files/{name}").decode()
    except FileNotFoundError:
        raise
    except _BROKEN as error:
        raise _refused(error) from error
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        version = data.get("version") if isinstance(data, dict) else None
        raise RuntimeError(f"torch.export.load(): version {version} is not known, only {_VERSION}")
    try:
        return _Reader(data, weights, constants, example).program()
    except _BROKEN as error:
        raise _refused(error) from error


# What a damaged archive or a description of another shape leads to. Every part of it is named by the file.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, pickle.UnpicklingError, EOFError, OSError, ArithmeticError, AssertionError,
    AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError,
)  # fmt: skip


def _refused(error: BaseException) -> RuntimeError:
    return RuntimeError(
        f"torch.export.load(): not a program that torch.export.save wrote: {type(error).__name__}: {error}"
    )


def _made_anew(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"object", "state"}:
        return object_of_state(class_named(value["object"]), value["state"])
    return value


class _Reader:
    """Make a program of what a file says."""

    def __init__(
        self,
        data: dict[str, Any],
        weights: dict[str, torch.Tensor],
        constants: dict[str, torch.Tensor],
        example: Sequence[float | torch.Tensor],
    ) -> None:
        self.data, self.weights = data, weights
        self.constants = {name: _made_anew(each) for name, each in constants.items()}
        self.example = [_made_anew(each) for each in example]
        self.objects = self._objects()
        self.hints = {name: each[0] for name, each in data["symbols"].items()}
        self.dims = {name: Dim(name, min=lower, max=upper) for name, (_, lower, upper) in data["symbols"].items()}
        self.symbols = {name: symbol(name) for name in self.hints}  # of the file -> of the program that is made
        self.nodes: dict[Any, Any] = {}

    def _objects(self) -> dict[str, Any]:
        """The objects of classes in C++ among the inputs, by the names of these."""
        given = iter(self.example)
        found = {}
        for spec in self.data["inputs"]:
            if spec["kind"] == "USER_INPUT":
                found[spec["arg"][1]] = next(given, None)
            elif spec["kind"] == "CUSTOM_OBJ":
                found[spec["arg"][1]] = self.constants[spec["target"]]
        return {name: each for name, each in found.items() if isinstance(each, CompiledObject)}

    def program(self) -> Any:
        data = self.data
        placeholders = [node for node in data["nodes"] if node["op"] == "placeholder"]
        inputs = Inputs(*zip(*map(self.example_of, placeholders))) if placeholders else Inputs((), (), ())
        self.mode = inputs.mode
        self.sizes = {each.said.__name__: each.size for each in inputs.symbols}
        self.symbols = {name: size.node.expr for name, size in self.sizes.items()}
        graph, root = Graph(), self.graphs(data)
        leaves = iter(inputs.leaves)
        for node in data["nodes"]:
            made = self.node(graph, node)
            made.meta["val"] = next(leaves) if node["op"] == "placeholder" else self.described(node["val"])
        in_spec, out_spec = pytree.treespec_loads(data["in_spec"]), pytree.treespec_loads(data["out_spec"])
        call = ModuleCallSignature([], [], in_spec, out_spec, data["arguments"])
        kept = {name: self.signature(each) for name, each in data.get("signatures", {}).items()}
        return ExportedProgram(
            root,
            graph,
            signatures.ExportGraphSignature(
                [self.spec(signatures.InputSpec, signatures.InputKind, each) for each in data["inputs"]],
                [self.spec(signatures.OutputSpec, signatures.OutputKind, each) for each in data["outputs"]],
            ),
            self.weights,
            {
                self.symbols[name]: ValueRanges(lower, math.inf if upper is None else upper)
                for name, (_, lower, upper) in data["symbols"].items()
            },
            [ModuleCallEntry(name, kept.get(name) if name else call) for name in data["modules"]],
            pytree.tree_unflatten(self.example, in_spec),
            self.constants,
            _guards=[self.condition(each) for each in data["guards"]],
        )

    def graphs(self, data: Any) -> torch.nn.Module:
        """A module with the graphs that a graph holds."""
        root = torch.nn.Module()
        for name, each in data.get("graphs", {}).items():
            graph, held, outer = Graph(), self.graphs(each), self.nodes
            self.nodes = {}
            for node in each["nodes"]:
                self.node(graph, node).meta["val"] = self.described(node["val"])
            self.nodes = outer
            root.add_module(name, GraphModule(held, graph))
        return root

    def example_of(self, node: Any) -> tuple:
        """The value, the Dims of its sizes, and the name of an input."""
        (kind, said), = node["val"].items()  # fmt: skip
        if node["name"] in self.objects:
            return self.objects[node["name"]], None, node["name"]
        if kind != "tensor":
            return self.value(said), None, node["name"]
        shape, strides, _, dtype, device, requires_grad = said
        with torch.no_grad():
            sizes = [[self.seen(each) for each in row] for row in (shape, strides)]
            elem = torch.empty_strided(*sizes, dtype=self.named("dtype", dtype), device="meta")
        value = FakeTensor(FakeTensorMode(), elem, torch.device(device)).requires_grad_(requires_grad)
        return value, [self.dim(each) for each in shape], node["name"]

    def seen(self, size: Any) -> Any:
        if isinstance(size, int):
            return size
        expression = self.expression(size)
        # Of sizes that data decide nothing was seen.
        return expression.evaluate({name: self.hints.get(name, _OF_DATA) for name in expression.free_symbols})

    def dim(self, size: Any) -> Any:
        if isinstance(size, int):
            return None
        made: Any = None
        start: Any = 0
        for coefficient, monomial in size:
            if monomial:
                made = self.dims[monomial[0]] * coefficient if coefficient != 1 else self.dims[monomial[0]]
            else:
                start = coefficient
        return made + start if start else made

    # ---- the parts of a file ----

    def node(self, graph: Graph, node: Any) -> Any:
        args, kwargs = self.value(node["args"]), self.value(node["kwargs"])
        if node["op"] == "call_function":
            made = graph.create_node("call_function", self.target(node["target"]), args, kwargs, name=node["name"])
        elif node["op"] == "placeholder":
            made = graph.placeholder(node["name"])
            made.name = node["name"]
        elif node["op"] == "output":
            made = graph.output(args[0])
        elif node["op"] == "get_attr":
            made = graph.create_node("get_attr", node["target"], name=node["name"])
        else:
            raise RuntimeError(f"torch.export.load(): a node of kind {node['op']!r} is not known")
        self.note(made, node.get("notes", {}))
        self.nodes[node["name"]] = made
        return made

    @staticmethod
    def note(made: Any, notes: dict[str, Any]) -> None:
        """Leave on a node what it tells of the program."""
        made.meta.update({name: notes[name] for name in ("stack_trace", "custom") if name in notes})
        if "torch_fn" in notes:
            made.meta["torch_fn"] = tuple(map(str, notes["torch_fn"]))
        if "nn_module_stack" in notes:
            made.meta["nn_module_stack"] = {
                str(key): (str(path), str(kind)) for key, path, kind in notes["nn_module_stack"]
            }

    @staticmethod
    def target(name: str) -> Any:
        if name in _CALLS:
            return _CALLS[name]
        space, _, last = name.partition(".")
        if space == "higher_order" and last in _CONTROL_FLOW:
            return getattr(torch.ops.higher_order, last)
        parts = _OPERATOR.fullmatch(name)
        found: Any = torch.ops
        for part in parts.groups() if parts else ():
            found = getattr(found, part, None)
        if not isinstance(found, OpOverload):
            raise RuntimeError(f"torch.export.load(): the program calls {name!r}, and there is no such operator")
        return found

    @staticmethod
    def named(kind: str, name: str) -> Any:
        found = getattr(torch, name, None)
        if not isinstance(found, _NAMED[kind]):
            raise RuntimeError(f"torch.export.load(): {name!r} is no {kind}")
        return found

    def value(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        (kind, said), = value.items()  # fmt: skip
        if kind == "node":
            return self.nodes[said]
        if kind == "float":
            return float(said)
        if kind == "complex":
            return complex(*map(float, said))
        if kind == "dict":
            return {key: self.value(each) for key, each in said}
        if kind == "device":
            return torch.device(said)
        if kind in _NAMED:
            return self.named(kind, said)
        made = [self.value(each) for each in said]
        return made if kind == "list" else tuple(made) if kind == "tuple" else slice(*made)

    def described(self, said: Any) -> Any:
        (kind, said), = said.items()  # fmt: skip
        if kind == "constant":
            return self.value(said)
        if kind == "values":
            return [self.described(each) for each in said]
        if kind == "size":
            return self.size(said)
        *rows, (offset,), dtype, device, _ = said
        with torch.no_grad():
            sizes = [[self.seen(each) for each in row] for row in rows]
            elem = torch.empty_strided(*sizes, dtype=self.named("dtype", dtype), device="meta")
        made: Any = self.mode.wrap(elem, torch.device(device))
        made._told = (*([self.size(each) for each in row] for row in rows), self.size(offset))
        return made

    def size(self, size: Any) -> Any:
        if isinstance(size, int):
            return size
        expression = self.expression(size)
        for name in expression.free_symbols - self.sizes.keys():
            env: Any = self.mode.shape_env
            self.sizes[name] = env.create_unbacked_symint()  # data decide it
        return expression.evaluate(self.sizes)

    def expression(self, terms: Any) -> Any:
        return Expression({tuple(map(self.atom, monomial)): coefficient for coefficient, monomial in terms})

    def atom(self, atom: str) -> Any:
        if isinstance(atom, str):
            return Symbol(atom)
        name, args = atom
        if name not in FUNCTIONS:
            raise RuntimeError(f"torch.export.load(): the function {name!r} of sizes is not known")
        return Apply(name, *map(self.expression, args))

    def condition(self, said: Any) -> Any:
        relation, left, right = said
        if relation in ("&", "|"):
            return Junction(relation, self.condition(left), self.condition(right))
        return Condition(relation, self.expression(left), self.expression(right))

    def spec(self, cls: type, kinds: Any, said: Any) -> Any:
        more = (said["persistent"],) if "persistent" in said else ()
        return cls(kinds[said["kind"]], self.argument(said["arg"]), said["target"], *more)

    def argument(self, said: Any) -> Any:
        name, node, value = said
        arg = getattr(signatures, name)
        if arg in (signatures.TensorArgument, signatures.SymIntArgument):
            return arg(node)
        if arg in (signatures.ConstantArgument, signatures.CustomObjArgument):
            return arg(node, self.value(value))
        raise RuntimeError(f"torch.export.load(): {name!r} is no kind of argument")

    def signature(self, said: Any) -> ModuleCallSignature:
        inputs, outputs = ([self.argument(each) for each in said[name]] for name in ("inputs", "outputs"))
        in_spec, out_spec = (pytree.treespec_loads(said[name]) for name in ("in_spec", "out_spec"))
        return ModuleCallSignature(inputs, outputs, in_spec, out_spec)
