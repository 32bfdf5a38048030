"""`torch.jit._get_trace_graph`: one run of a Module as a graph to look at, with the shapes of everything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core import c_names, torch_dispatch, tracer
from mindtorch_v2._dispatch.jit_graph import Graph, JitType, Node, TensorType, Value

__all__ = ["_get_trace_graph"]

_SIMPLE = {
    bool: JitType("BoolType", "bool"),
    int: JitType("IntType", "int"),
    float: JitType("FloatType", "float"),
    complex: JitType("ComplexType", "complex"),
    str: JitType("StringType", "str"),
    type(None): JitType("NoneType", "NoneType"),
    torch.device: JitType("DeviceObjType", "Device"),
    # Both are numbers in TorchScript, which the constants here leave as what they are.
    torch.dtype: JitType("IntType", "int"),
    torch.layout: JitType("IntType", "int"),
    torch.memory_format: JitType("IntType", "int"),
}
_OTHER = JitType("AnyType", "Any")


class _Scopes:
    """The object that `torch._C._get_tracing_state()` gives meanwhile: hooks of Modules push the names that nodes shall have."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def push_scope(self, name: str) -> None:
        """Nodes from here on are of this scope too."""
        self._names.append(name)

    def pop_scope(self) -> None:
        """The innermost scope ends; RuntimeError if there is none."""
        if not self._names:
            raise RuntimeError("pop_scope: no scope was pushed")
        self._names.pop()

    def current_scope(self) -> str:
        """The scopes, with / between them."""
        return "/".join(self._names)


class _Writer:
    """The handler of the key Tracer that runs each call, and writes it into the graph."""

    waits = False

    def __init__(self, scopes: _Scopes) -> None:
        self.graph, self._scopes = Graph(), scopes
        self._values: dict[int, Value] = {}
        self._alive: list[Any] = []  # so that no other tensor gets the identity of one that is known

    def put_off(self, handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        overload = torch_dispatch.overload_of(handle)
        with tracer.inside_a_call():
            taken = [self.value_of(each) for each in _arguments(overload._schema, args, kwargs)]
            result = overload(*args, **kwargs)
            kind, taken = self._as_traced(overload, taken)
            self._note(kind, taken, result)
            return result

    def settle(self, tensor: Any, shown: bool) -> None:
        pass

    def flush(self, reason: Any) -> None:
        pass

    def take_input(self, tensor: torch.Tensor) -> None:
        """The tensor is an input of the graph."""
        self._name(tensor, self.graph._add_input(tensor))

    def value_of(self, given: Any) -> Value:
        """The value that stands for an argument: of a tensor that is known, of a list of values, or a new constant."""
        if isinstance(given, torch.Tensor):
            known = self._values.get(id(given))
            return known if known is not None else self._name(given, self._constant(given, TensorType(given)))
        if isinstance(given, (list, tuple)):
            values = [self.value_of(each) for each in given]
            return self._add("prim::ListConstruct", values, [_list_of(values)]).output()
        return self._constant(given, next((type_ for kind, type_ in _SIMPLE.items() if type(given) is kind), _OTHER))

    def end(self, results: Sequence[torch.Tensor], packed: bool) -> None:
        """The program gave these tensors: one, or a tuple."""
        values = [self.value_of(each) for each in results]
        if packed:
            types = [f"({', '.join(each.type().in_graph for each in values)})"]
            types.append(f"Tuple[{', '.join(each.type().annotation_str for each in values)}]")
            values = [self._add("prim::TupleConstruct", values, [JitType("TupleType", *types)]).output()]
        self.graph._end(values)

    def _name(self, tensor: torch.Tensor, value: Value) -> Value:
        self._values[id(tensor)] = value
        self._alive.append(tensor)
        return value

    def _add(self, kind: str, inputs: Sequence[Value], types: Sequence[JitType], known: Any = None) -> Node:
        return self.graph._add(kind, inputs, self._scopes.current_scope(), types, known)

    def _constant(self, given: Any, type_: JitType) -> Value:
        return self._add("prim::Constant", (), [type_], given).output()

    def _note(self, kind: str, taken: Sequence[Value], result: Any) -> None:
        if isinstance(result, list):
            listed = self._add(kind, taken, [JitType("ListType", "Tensor[]", "List[Tensor]")]).output()
            node = self._add("prim::ListUnpack", [listed], [_type_of(each) for each in result])
        else:
            result = result if isinstance(result, tuple) else () if result is None else (result,)
            node = self._add(kind, taken, [_type_of(each) for each in result])
        for each, value in zip(result, node.outputs(), strict=True):
            if isinstance(each, torch.Tensor):
                self._name(each, value)

    def _as_traced(self, overload: Any, taken: list[Value]) -> tuple[str, list[Value]]:
        """TorchScript's operator of a call, and its arguments: all convolutions are one operator there."""
        name, variant = overload._opname, overload._overloadname
        if overload.namespace == "aten" and name in _CONVOLUTIONS:
            if variant == "padding":
                return "aten::_convolution_mode", taken
            if name != "convolution":
                tensors, groups, dilation = taken[:3], taken[-1], taken[5]
                if name.startswith("conv_transpose"):
                    stride, padding, output_padding, groups, dilation = taken[3:8]
                else:
                    stride, padding = taken[3:5]
                    output_padding = self.value_of([0] * stride.node().inputsSize())
                transposed = self.value_of(name.startswith("conv_transpose"))
                taken = [*tensors, stride, padding, dilation, transposed, output_padding, groups]
            cudnn = torch.backends.cudnn
            flags = (cudnn.benchmark, cudnn.deterministic, cudnn.enabled, cudnn.allow_tf32)
            return "aten::_convolution", [*taken, *map(self.value_of, flags)]
        return overload._schema.name, taken


_CONVOLUTIONS = {f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)} | {"convolution"}


def _arguments(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    """The arguments of a call in the schema's order, with the defaults."""
    yield from args
    for argument in schema.arguments[len(args) :]:
        yield kwargs.get(argument.name, argument.default_value)


def _type_of(given: Any) -> JitType:
    return TensorType(given) if isinstance(given, torch.Tensor) else _SIMPLE.get(type(given), _OTHER)


def _list_of(values: Sequence[Value]) -> JitType:
    """The type of a list; of no values, as a list of sizes is."""
    if values and values[0].isCompleteTensor():
        return JitType("ListType", "Tensor[]", "List[Tensor]")
    element = values[0].type() if values else _SIMPLE[int]
    return JitType("ListType", f"{element.in_graph}[]", f"List[{element.annotation_str}]")


def _tensors_in(given: Any) -> Iterator[torch.Tensor]:
    """The tensors in lists, tuples and dicts of them; RuntimeError for anything else."""
    if isinstance(given, torch.Tensor):
        yield given
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from _tensors_in(each)
    elif isinstance(given, dict):
        for each in given.values():
            yield from _tensors_in(each)
    elif given is not None and not isinstance(given, str):
        raise RuntimeError(
            f"Type '{type(given).__name__}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of "
            "Tensors can be traced"
        )


@contextlib.contextmanager
def _tracing_state(scopes: _Scopes) -> Iterator[None]:
    """In this block the scopes are what `torch._C._get_tracing_state()` gives."""
    before, c_names._tracing.state = c_names._tracing.state, scopes
    try:
        yield
    finally:
        c_names._tracing.state = before


def _get_trace_graph(
    f: Callable[..., Any],
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> tuple[Any, ...]:
    """Run a function or Module once; give the graph of what it computed, and its result.

    `args` is a tensor or a tuple of the positional arguments, all of tensors in lists, tuples and dicts. The graph's inputs are
    these tensors, then the parameters and buffers, each once. Counters of operations and pictures of Modules are made from it;
    it cannot be run. Sizes that the program asked for are numbers in it, and the operators that an `autograd.Function` calls stand
    where PyTorch has one node. With `return_inputs` the inputs' copies are given as well.

    >>> import mindtorch_v2 as torch
    >>> graph, result = torch.jit._get_trace_graph(torch.nn.Linear(3, 2), torch.ones(4, 3))
    >>> [(node.kind(), node.output().type().sizes()) for node in graph.nodes()]
    [('aten::linear', [4, 2])]
    """
    given = args if isinstance(args, tuple) else (args,)
    kwargs = kwargs or {}
    inputs = list(_tensors_in((given, kwargs)))
    copies = [each.clone(memory_format=torch.preserve_format) for each in inputs] if return_inputs else []
    scopes = _Scopes()
    writer = _Writer(scopes)
    own = f.state_dict(keep_vars=True).values() if isinstance(f, torch.nn.Module) else ()
    for tensor in {id(each): each for each in (*inputs, *own) if isinstance(each, torch.Tensor)}.values():
        writer.take_input(tensor)
    with tracer.takes_all(writer), _tracing_state(scopes):
        result = f(*given, **kwargs)
    writer.end(list(_tensors_in(result)), packed=not isinstance(result, torch.Tensor))
    return (writer.graph, result, tuple(copies)) if return_inputs else (writer.graph, result)
