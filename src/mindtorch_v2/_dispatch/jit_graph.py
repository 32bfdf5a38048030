"""The graph of `torch.jit._get_trace_graph`: nodes by their kinds, values with the shapes that the run had.

Names, kinds and the printed form are TorchScript's, so that programs that count or draw the operators of a model read it.
Nothing runs it: `torch.jit.trace` and `torch.export.export` make graphs to run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mindtorch_v2._C import TensorBase

__all__ = ["Graph", "JitType", "Node", "TensorType", "Value"]


class JitType:
    """The type of a value that is no tensor, in both spellings: `int[]` in graphs and `List[int]` in programs."""

    def __init__(self, kind: str, in_graph: str, annotation: str | None = None) -> None:
        self._kind, self.in_graph, self.annotation_str = kind, in_graph, annotation or in_graph

    def kind(self) -> str:
        """The name of its class: IntType, ListType, …"""
        return self._kind

    def __str__(self) -> str:
        return self.annotation_str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitType) and self.in_graph == other.in_graph

    def __hash__(self) -> int:
        return hash(self.in_graph)


class TensorType(JitType):
    """The type of a tensor, with what its metadata was when it was recorded."""

    def __init__(self, tensor: Any) -> None:
        self._sizes, self._strides = list(tensor.shape), list(tensor.stride())
        self._dtype, self._device, self._requires_grad = tensor.dtype, tensor.device, tensor.requires_grad
        self._scalar_type = tensor.type().rpartition(".")[2].removesuffix("Tensor")
        told = [*map(str, self._sizes)]
        if self._sizes:
            told.append(f"strides={self._strides}")
        told += [f"requires_grad={int(self._requires_grad)}", f"device={self._device}"]
        super().__init__("TensorType", f"{self._scalar_type}({', '.join(told)})", "Tensor")

    def sizes(self) -> list[int]:
        """Its shape."""
        return list(self._sizes)

    def strides(self) -> list[int]:
        """Its strides, in elements."""
        return list(self._strides)

    def dim(self) -> int:
        """The number of its dimensions."""
        return len(self._sizes)

    def scalarType(self) -> str:
        """The name of its dtype: Float, Long, …"""
        return str(self._scalar_type)

    def dtype(self) -> Any:
        """Its dtype."""
        return self._dtype

    def device(self) -> Any:
        """Its device."""
        return self._device

    def requires_grad(self) -> bool:
        """Whether it needs a gradient."""
        return bool(self._requires_grad)


class Value:
    """A result of a node, and argument of others."""

    def __init__(self, node: Node, type_: JitType, name: str, known: Any = None) -> None:
        self._node, self._type, self._name, self._known = node, type_, name, known
        self._uses: list[Node] = []

    def node(self) -> Node:
        """The node that gives it; of kind prim::Param for an input of the graph."""
        return self._node

    def type(self) -> JitType:
        """Its type; a tensor's has `sizes()`."""
        return self._type

    def debugName(self) -> str:
        """Its name in the printed graph, without the %."""
        return self._name

    def isCompleteTensor(self) -> bool:
        """Whether it is a tensor, all of whose metadata is known."""
        return isinstance(self._type, TensorType)

    def requires_grad(self) -> bool:
        """Whether it is a tensor that needs a gradient."""
        return isinstance(self._type, TensorType) and self._type.requires_grad()

    def toIValue(self) -> Any:
        """The Python value of a constant; None for what was computed."""
        return self._known

    def uses(self) -> list[Node]:
        """The nodes that take it, in order."""
        return list(self._uses)

    def __str__(self) -> str:
        return f"{self._name} defined in ({self._node})"


class Node:
    """One operator, constant, list or tuple."""

    def __init__(self, kind: str, inputs: Sequence[Value], scope: str) -> None:
        self._kind, self._inputs, self._scope = kind, tuple(inputs), scope
        self._outputs: list[Value] = []

    def kind(self) -> str:
        """`aten::relu`, `prim::Constant`, `prim::ListConstruct`, …"""
        return self._kind

    def scopeName(self) -> str:
        """The scopes that were pushed while it ran, with / between them."""
        return self._scope

    def inputs(self) -> Iterator[Value]:
        """The values that it takes: the arguments in the schema's order, defaults too."""
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        """The values that it gives."""
        return iter(self._outputs)

    def inputsSize(self) -> int:
        """How many values it takes."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many values it gives."""
        return len(self._outputs)

    def output(self) -> Value:
        """The only value that it gives; RuntimeError if there are more, or none."""
        if len(self._outputs) != 1:
            raise RuntimeError(f"{self._kind} gives {len(self._outputs)} values: ask for outputs()")
        return self._outputs[0]

    def __str__(self) -> str:
        given = ", ".join(f"%{each.debugName()} : {each.type().in_graph}" for each in self._outputs)
        value = f"[value={_constant_text(self._outputs[0])}]" if self._is_told() else ""
        taken = ", ".join(f"%{each.debugName()}" for each in self._inputs)
        scope = f", scope: {self._scope}" if self._scope else ""
        return f"{given} = {self._kind}{value}({taken}){scope}"

    def _is_told(self) -> bool:
        return self._kind == "prim::Constant" and self._outputs[0].toIValue() is not None


class Graph:
    """The operators that a program ran, in order. See `torch.jit._get_trace_graph`."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._param, self._return = Node("prim::Param", (), ""), Node("prim::Return", (), "")
        self._count = 0

    def nodes(self) -> Iterator[Node]:
        """All nodes, in the order in which they ran."""
        return iter(self._nodes)

    def inputs(self) -> Iterator[Value]:
        """The tensors that the program was given, then the parameters and buffers of its Module."""
        return self._param.outputs()

    def outputs(self) -> Iterator[Value]:
        """The values that the program gave."""
        return self._return.inputs()

    def param_node(self) -> Node:
        """The node that gives the inputs."""
        return self._param

    def return_node(self) -> Node:
        """The node that takes the outputs."""
        return self._return

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind."""
        return [node for node in self._nodes if node.kind() == kind]

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, or None."""
        return next(iter(self.findAllNodes(kind)), None)

    def __str__(self) -> str:
        given = ",\n      ".join(f"%{each.debugName()} : {each.type().in_graph}" for each in self.inputs())
        lines = "".join(f"  {node}\n" for node in self._nodes)
        return f"graph({given}):\n{lines}  return ({', '.join(f'%{each.debugName()}' for each in self.outputs())})\n"

    __repr__ = __str__

    # ---- writing it ----

    def _gives(self, node: Node, type_: JitType, known: Any = None) -> Value:
        value = Value(node, type_, str(self._count), known)
        self._count += 1
        node._outputs.append(value)
        return value

    def _add_input(self, tensor: TensorBase) -> Value:
        return self._gives(self._param, TensorType(tensor))

    def _add(self, kind: str, inputs: Sequence[Value], scope: str, types: Iterable[JitType], known: Any = None) -> Node:
        node = Node(kind, inputs, scope)
        for each in inputs:
            each._uses.append(node)
        self._nodes.append(node)
        for type_ in types:
            self._gives(node, type_, known)
        return node

    def _end(self, outputs: Sequence[Value]) -> None:
        self._return._inputs = tuple(outputs)
        for each in outputs:
            each._uses.append(self._return)


def _constant_text(value: Value) -> str:
    known = value.toIValue()
    if isinstance(known, TensorBase):
        return "<Tensor>" if known.numel() != 1 else f"{{{known.item()}}}"
    if isinstance(known, bool):
        return str(int(known))
    return f'"{known}"' if value.type().kind() in ("StringType", "DeviceObjType") else str(known)
