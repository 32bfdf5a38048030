"""Graphs that quantize and compute in floating point, turned into quantized operators and modules.

Each step finds numbers that are dequantized, computed with, and quantized again, and puts one quantized operator or module
there; `_lowered_tables.py` says which. Weights are packed when the graph is complete (`_folding.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.fx import _lowered_tables as tables
from mindtorch_v2.ao.quantization.fx._folding import fold_weights
from mindtorch_v2.ao.quantization.utils import _parent_name
from mindtorch_v2.fx import GraphModule, Node
from mindtorch_v2.nn import functional as F

__all__ = ["lower"]


def lower(model: Any, qconfig_map: Any, node_name_to_scope: Any, keep_original_weights: bool = False) -> Any:
    """A graph module with quantized operators and modules."""
    lowering = _Lowering(model, qconfig_map)
    lowering.static_modules(tables.STATIC, (0,))
    lowering.static_modules(tables.TWO_INPUTS, (0, 1))
    lowering.dynamic_modules()
    lowering.weight_only_modules()
    lowering.static_functions()
    lowering.dynamic_functions()
    lowering.binary_operators()
    lowering.questions_of_form()
    lowering.others()
    model.graph.eliminate_dead_code()
    model = fold_weights(model, node_name_to_scope, keep_original_weights)
    model.graph.eliminate_dead_code()
    model.recompile()
    model.graph.lint()
    return model


class _Found(NamedTuple):
    """A node that computes between numbers that are dequantized and the node that quantizes the result."""

    node: Node
    relu: Node | None
    quantize: Node

    @property
    def scale(self) -> Node:
        return self.quantize.args[1]

    @property
    def zero_point(self) -> Node:
        return self.quantize.args[2]


def _is_dequantize(node: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_method" and node.target == "dequantize"


def _calls(node: Any, function: Any) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target == function


def _skip_dequantize(node: Node, dequantize: Node) -> None:
    node.replace_input_with(dequantize, dequantize.args[0])


class _Lowering:
    """The steps on one graph module."""

    def __init__(self, model: GraphModule, qconfigs: Mapping[str, Any]) -> None:
        self.model = model
        self.graph = model.graph
        self.qconfigs = qconfigs
        self.modules: dict[str, nn.Module] = dict(model.named_modules(remove_duplicate=False))

    # ---- what is found ----

    def _module(self, node: Any) -> Any:
        return self.modules[node.target] if isinstance(node, Node) and node.op == "call_module" else None

    def _is_relu(self, node: Node) -> bool:
        return any(_calls(node, each) for each in (F.relu, torch.relu)) or type(self._module(node)) is nn.ReLU

    def _static(self, fits: Callable[[Node], bool], inputs: tuple[int, ...]) -> Iterator[_Found]:
        """Where numbers are dequantized, computed with by a node that fits, perhaps with a ReLU, and quantized."""
        for quantize in list(self.graph.nodes):
            if not _calls(quantize, torch.quantize_per_tensor):
                continue
            node, relu = quantize.args[0], None
            if self._is_relu(node):
                relu, node = node, node.args[0]
            if not isinstance(node, Node) or not fits(node) or self._stays_as_it_is(node):
                continue
            given = [node.args[place] for place in inputs if place < len(node.args)]
            tensors = [each for each in given if isinstance(each, Node)]
            if tensors and all(map(_is_dequantize, tensors)):
                yield _Found(node, relu, quantize)

    def _stays_as_it_is(self, node: Node) -> bool:
        """Whether the program said that this is not to be quantized."""
        return node.name in self.qconfigs and self.qconfigs[node.name] is None

    def _quantized_class(self, module: Any, table: Mapping[type, tuple[type | None, type]]) -> type | None:
        part, to = table.get(type(module), (None, None))
        return None if part is not None and type(module[0]) is not part else to

    # ---- modules ----

    def _put(self, node: Node, module: nn.Module) -> None:
        parent, name = _parent_name(str(node.target))
        setattr(self.modules[parent], name, module)

    def static_modules(self, table: Mapping[type, tuple[type | None, type]], inputs: tuple[int, ...]) -> None:
        """Modules with a weight between numbers that are dequantized and quantized."""
        for found in self._static(lambda node: self._quantized_class(self._module(node), table) is not None, inputs):
            module = self._module(found.node)
            to: Any = self._quantized_class(module, table)
            scale, zero_point = (getattr(self.model, str(each.target)) for each in (found.scale, found.zero_point))
            self._put(found.node, to.from_reference(module, scale, zero_point))
            for place in inputs:
                if _is_dequantize(found.node.args[place]):
                    _skip_dequantize(found.node, found.node.args[place])
            found.quantize.replace_all_uses_with(found.node)
            for each in (found.quantize, found.scale, found.zero_point):
                self.graph.erase_node(each)

    def dynamic_modules(self) -> None:
        """Modules with a weight, of numbers that are quantized as they come."""
        for node in list(self.graph.nodes):
            to: Any = self._quantized_class(self._module(node), tables.DYNAMIC)
            if to is None or not _is_dequantize(node.args[0]):
                continue
            dynamic = node.args[0].args[0]
            dtype = _dynamic_dtype(dynamic)
            if dtype is None:
                continue
            self._put(node, to.from_reference(self._module(node)))
            node.replace_input_with(node.args[0], dynamic.args[0])

    def weight_only_modules(self) -> None:
        """Modules of which only the weight is quantized."""
        for node in list(self.graph.nodes):
            to: Any = tables.WEIGHT_ONLY.get(type(self._module(node)))
            if to is not None:
                self._put(node, to.from_reference(self._module(node)))

    # ---- functions with a weight ----

    def _packed(self, node: Node, pack: Any, before: Node) -> Node:
        """The node that packs the weight of a function's call; the call's other arguments go with it."""
        weight, *rest = node.args[1:]
        arguments = [weight.args[0] if _is_dequantize(weight) else weight, *rest]
        if node.target in tables.TRANSPOSED and len(arguments) == 7:  # groups stand before the dilation in the function
            arguments[5], arguments[6] = arguments[6], arguments[5]
        if node.target in (F.conv1d, F.conv_transpose1d):  # stride, padding and dilation are lists there
            lists = (2, 3, 4) if node.target is F.conv1d else (2, 3, 4, 5)
            arguments = [(x,) if place in lists and isinstance(x, int) else x for place, x in enumerate(arguments)]
        kwargs = dict(node.kwargs)
        if node.target is F.linear and "bias" in kwargs:
            kwargs["B"] = kwargs.pop("bias")
        with self.graph.inserting_before(before):
            return self.graph.create_node("call_function", pack, tuple(arguments), kwargs)

    def static_functions(self) -> None:
        """Functions with a weight between numbers that are dequantized and quantized."""
        for found in self._static(lambda node: self._function(node) in tables.STATIC_FUNCTIONS, (0, 1)):
            node = found.node
            plain, with_relu, pack = tables.STATIC_FUNCTIONS[node.target]
            if pack is torch.ops.quantized.linear_prepack and node.args[1].args[0].args[-1] == torch.float16:
                continue
            packed = self._packed(node, pack, found.scale)
            fuses = found.relu is not None and with_relu is not None
            node.target = with_relu if fuses else plain
            node.args = (node.args[0].args[0], packed, found.scale, found.zero_point)
            node.kwargs = {}
            found.quantize.replace_all_uses_with(node)
            found.zero_point.append(node)
            self.graph.erase_node(found.quantize)
            if fuses and found.relu is not None:
                self.graph.erase_node(found.relu)

    def dynamic_functions(self) -> None:
        """Functions with a weight, of numbers that are quantized as they come."""
        for last in list(self.graph.nodes):
            relu = last if self._is_relu(last) else None
            node = last.args[0] if relu is not None else last
            if not isinstance(node, Node) or node.op != "call_function" or len(node.args) < 2:
                continue
            if relu is None and any(self._is_relu(user) for user in node.users) and len(node.users) == 1:
                continue  # with that ReLU
            source, weight = node.args[:2]
            if not _is_dequantize(source) or not _is_dequantize(weight) or self._stays_as_it_is(node):
                continue
            dtype = _dynamic_dtype(source.args[0])
            if dtype is None or (node.target, dtype) not in tables.DYNAMIC_FUNCTIONS:
                continue
            plain, with_relu, pack = tables.DYNAMIC_FUNCTIONS[node.target, dtype]
            packed = self._packed(node, pack, node)
            fuses = relu is not None and with_relu is not None
            reduced = (source.args[0].args[2],) if dtype != torch.float16 and len(source.args[0].args) > 2 else ()
            node.target = with_relu if fuses else plain
            node.args = (source.args[0].args[0], packed, *reduced)
            node.kwargs = {}
            if fuses and relu is not None:
                relu.replace_all_uses_with(node)
                self.graph.erase_node(relu)

    def _function(self, node: Node) -> Any:
        return node.target if node.op == "call_function" else None

    # ---- operators of two tensors ----

    def binary_operators(self) -> None:
        """Sums and products between numbers that are dequantized and quantized."""
        for found in self._static(lambda node: self._function(node) in tables.BINARY, (0, 1)):
            node = found.node
            plain, with_relu = tables.BINARY[node.target]
            dequantized = [each for each in node.args if _is_dequantize(each)]
            for each in dequantized:
                _skip_dequantize(node, each)
            arguments = [*node.args, *((found.scale, found.zero_point) if len(dequantized) == 2 else ())]
            with self.graph.inserting_after(found.quantize):
                target = plain if found.relu is None else with_relu
                made = self.graph.create_node("call_function", target, tuple(arguments), {})
            found.quantize.replace_all_uses_with(made)
            for each in (found.quantize, found.relu, node):
                if each is not None:
                    self.graph.erase_node(each)

    # ---- what quantized tensors answer, or take, as they are ----

    def questions_of_form(self) -> None:
        """Sizes and other attributes are asked of the quantized tensor."""
        for node in list(self.graph.nodes):
            asks = _calls(node, getattr) and node.args[1] in ("shape", "dtype", "device", "ndim")
            asks = asks or (node.op == "call_method" and node.target in ("shape", "size"))
            if asks and _is_dequantize(node.args[0]):
                node.args = (node.args[0].args[0], *node.args[1:])

    def others(self) -> None:
        """Operators and modules without a weight."""
        functions, methods, modules = tables.KEEPS_VALUES
        for quantize in list(self.graph.nodes):
            if not _calls(quantize, torch.quantize_per_tensor):
                continue
            node = quantize.args[0]
            kept = {"call_function": functions, "call_method": methods}.get(node.op, set())
            own = tables.OF_ITS_OWN.get(self._function(node))
            kind: Any = type(self._module(node))
            if node.target not in kept and own is None and kind not in modules and kind not in tables.SWAPPED:
                continue
            given = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            if not given or not all(map(_is_dequantize, given)):
                continue
            self._lower_other(node, quantize, list(given), own, kind)

    def _lower_other(self, node: Node, quantize: Node, given: list[Node], own: Any, kind: Any) -> None:
        scale, zero_point = quantize.args[1:3]
        if kind in tables.SWAPPED:
            values = (getattr(self.model, str(each.target)) for each in (scale, zero_point))
            made: Any = tables.SWAPPED[kind]
            self._put(node, made.from_reference(self._module(node), *values))
        for each in given:
            _skip_dequantize(node, each)
        quantize.replace_all_uses_with(node)
        self.graph.erase_node(quantize)
        if own is None:
            for each in (scale, zero_point):
                if isinstance(each, Node):
                    self.graph.erase_node(each)
            return
        kwargs = {name: value for name, value in node.kwargs.items() if (node.target, name) not in _NOT_TAKEN}
        kwargs |= {"output_scale": scale, "output_zero_point": zero_point}
        with self.graph.inserting_after(zero_point):
            made = self.graph.create_node("call_function", own, node.args, kwargs)
        node.replace_all_uses_with(made)
        self.graph.erase_node(node)


# Arguments of functions that their quantized operators do not have.
_NOT_TAKEN = {
    (F.hardswish, "inplace"),
    (F.elu, "inplace"),
    (F.dropout, "inplace"),
    *((F.instance_norm, name) for name in ("running_mean", "running_var", "use_input_stats", "momentum")),
}


def _dynamic_dtype(node: Any) -> torch.dtype | None:
    """The dtype to which a node quantizes numbers as they come; None for any other node."""
    if _calls(node, torch.quantize_per_tensor_dynamic):
        dtype = node.args[1]
        return torch.quint8 if dtype in (torch.quint8, torch.qint8) else dtype
    if (
        isinstance(node, Node)
        and node.op == "call_method"
        and node.target == "to"
        and node.args[1:] == (torch.float16,)
    ):
        return torch.float16
    return None
