"""Observers put into a graph, where a node's output or an argument is to be quantized."""

from __future__ import annotations

import operator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantizable
from mindtorch_v2.ao.quantization.backend_config import BackendConfig
from mindtorch_v2.ao.quantization.fx import _target_dtypes as targets
from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig, StandaloneModuleConfigEntry
from mindtorch_v2.ao.quantization.fx.utils import (
    NON_QUANTIZABLE_WEIGHT_OPS,
    _get_module,
    assert_and_get_unique_device,
    get_new_attr_name_with_prefix,
)
from mindtorch_v2.ao.quantization.observer import _is_activation_post_process
from mindtorch_v2.ao.quantization.qconfig_mapping import QConfigMapping
from mindtorch_v2.ao.quantization.stubs import DeQuantStub
from mindtorch_v2.ao.quantization.utils import _parent_name, get_swapped_custom_module_class
from mindtorch_v2.fx.node import Node

__all__ = ["Observing", "standalone_config"]

_UNQUANTIZED = (int, float, torch.bool, None)
_QUANTIZED = (
    *(torch.quint8, torch.qint8, torch.qint32, torch.float16, torch.uint8, torch.int8, torch.int16, torch.int32),
    *(torch.float8_e5m2, torch.float8_e4m3fn),
)
_MOST = 10000  # nodes that are looked at for an observer before it


def standalone_config(
    node: Node, modules: dict[str, Any], custom: PrepareCustomConfig, qconfig: Any, backend_config: Any
) -> tuple[QConfigMapping, tuple, PrepareCustomConfig, Any]:
    """How a module that is prepared by itself is quantized."""
    entry = StandaloneModuleConfigEntry(None, (), None, None)
    entry = custom.standalone_module_classes.get(type(modules[str(node.target)]), entry)
    entry = custom.standalone_module_names.get(str(node.target), entry)
    return (
        entry.qconfig_mapping or QConfigMapping().set_global(qconfig),
        entry.example_inputs,
        entry.prepare_custom_config or PrepareCustomConfig(),
        entry.backend_config or backend_config,
    )


def _needs_observer(before: Any, dtype: Any, dynamic: bool, reuses: bool, is_first: bool) -> bool:
    """Whether an argument, of the dtype that what gives it has, needs an observer for a dtype."""
    if dynamic:
        if dtype not in _QUANTIZED:
            raise AssertionError(f"Expected cur_target_dtype to be torch.float, but got: {dtype}")
        if before in _UNQUANTIZED:
            raise AssertionError("prev_output_dtype must not be in _DO_NOT_OBS_DTYPE_LIST")
        return is_first
    if reuses or dtype not in _QUANTIZED:
        return False
    return before in (*_QUANTIZED, torch.float) and dtype != before


class Observing:
    """A model whose graph gets observers."""

    def __init__(self, model: Any, custom: PrepareCustomConfig, backend_config: BackendConfig) -> None:
        self.model, self.graph = model, model.graph
        self.custom, self.backend_config = custom, backend_config
        self.device = assert_and_get_unique_device(model)
        self.modules: dict[str, Any] = {}
        self.swapped: set[str] = set()
        self.look_again()

    def look_again(self) -> None:
        """Find the modules by their names, which changed."""
        self.modules = dict(self.model.named_modules(remove_duplicate=False))

    def is_observer(self, node: Any) -> bool:
        """Whether a node is the call of an observer."""
        return (
            isinstance(node, Node)
            and node.op == "call_module"
            and _is_activation_post_process(self.modules[str(node.target)])
        )

    def insert(self, node: Node, observer: Any, prefix: str = "activation_post_process_") -> Node:
        """Put an observer after a node; its call."""
        if self.device:
            observer.to(self.device)
        name = get_new_attr_name_with_prefix(prefix)(self.model)
        setattr(self.model, name, observer)
        self.modules[name] = observer
        with self.graph.inserting_after(node):
            return self.graph.create_node("call_module", name, (node,), {})

    def output_maker(self, arg: Node) -> Any:
        """The maker of the observer of what a node gives; of an observer's call, of what it observes."""
        lstm = self.lstm_behind(arg)
        if lstm is not None:
            return lstm.meta["target_dtype_info"]["output_act_obs_or_fq_ctr"]
        if self.is_observer(arg):
            observed = arg.args[0]
            if not isinstance(observed, Node):
                raise AssertionError("Currently we only support observing Node")
            return observed.meta["target_dtype_info"]["output_act_obs_or_fq_ctr"]
        if "target_dtype_info" in arg.meta:
            return arg.meta["target_dtype_info"].get("output_act_obs_or_fq_ctr", targets.FLOAT_MAKER)
        return targets.FLOAT_MAKER

    def output_dtype(self, arg: Node) -> Any:
        """The dtype of what a node gives."""
        maker = self.output_maker(arg)
        return targets.dtype_and_dynamic(maker() if maker else None)[0]

    def observe_inputs(self, node: Node, qconfig: Any, handler: Any) -> None:
        """Put observers between a node and its arguments, where they are to be quantized."""
        node.args = tuple(self._observed(node, arg, qconfig, handler) for arg in node.args)
        node.kwargs = {key: self._observed(node, arg, qconfig, handler) for key, arg in node.kwargs.items()}

    def _observed(self, node: Node, arg: Any, qconfig: Any, handler: Any) -> Any:
        if isinstance(arg, list | tuple):
            return type(arg)([self._observed(node, each, qconfig, handler) for each in arg])
        if not isinstance(arg, Node):
            return arg
        if handler is not None and handler.is_standalone_module():
            observer, dtype, needed = self._for_standalone(node, arg, qconfig)
        else:
            observer, dtype, needed = self._for_node(node, arg)
        if not needed:
            return arg
        for user in arg.users:
            if user.op == "call_module":
                other = self.modules[str(user.target)]
                if type(other) is type(observer) and other.dtype == dtype:
                    return user
        return self.insert(arg, observer)

    def _for_node(self, node: Node, arg: Node) -> tuple[Any, Any, bool]:
        kind, maker = targets.maker_of_input(node, arg)
        info = node.meta["target_dtype_info"]
        if f"{kind}_obs_or_fq_ctr" not in info:
            maker = targets.FLOAT_MAKER
        if kind == "weight" and node.target in NON_QUANTIZABLE_WEIGHT_OPS:
            maker = None
        observer = maker() if maker else None
        dtype, dynamic = targets.dtype_and_dynamic(observer)
        before = self.output_dtype(arg)
        is_first = len(node.args) > 0 and arg is node.args[0]
        return (
            observer,
            dtype,
            _needs_observer(before, dtype, dynamic, info.get("reuse_input_obs_or_fq", False), is_first),
        )

    def _for_standalone(self, node: Node, arg: Node, qconfig: Any) -> tuple[Any, Any, bool]:
        if qconfig is None:
            raise AssertionError("qconfig must not be None")
        own = standalone_config(node, self.modules, self.custom, qconfig, self.backend_config)[2]
        place = next((index for index, each in enumerate(node.args) if each is arg), None)
        observer = qconfig.activation() if qconfig.activation else None
        if place is None:
            return observer, None, False
        dtype = torch.quint8 if place in own.input_quantized_indexes else torch.float
        return observer, dtype, self.output_dtype(arg) != dtype and dtype != torch.float

    def observe_output(self, node: Node) -> Node | None:
        """Put an observer after a node, where what it gives is to be quantized; its call, or None."""
        info = node.meta["target_dtype_info"]
        maker = info.get("output_act_obs_or_fq_ctr")
        observer = maker() if maker else None
        dtype, dynamic = targets.dtype_and_dynamic(observer)
        if dynamic:
            _needs_observer(torch.float, dtype, dynamic, False, False)  # which refuses dtypes that are none
            return None
        if info.get("_is_standalone_module", False):
            return None
        if not _needs_observer(torch.float, dtype, dynamic, False, False):
            return None
        return self.insert(node, observer)

    def observe_results(self, output: Node) -> None:
        """Put observers before the graph's output, where it is to be quantized."""
        output.args = tuple(map(self._result, output.args))

    def _result(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return (
                type(value)([self._result(each) for each in value])
                if isinstance(value, list)
                else tuple(map(self._result, value))
            )
        if isinstance(value, dict):
            return {key: self._result(each) for key, each in value.items()}
        if value is None:
            return None
        if not isinstance(value, Node):
            raise Exception("Unhandled type for returned node:", value)
        maker = value.meta.get("target_dtype_info", {}).get("input_act_obs_or_fq_ctr")
        observer = maker() if maker is not None else None
        dtype = torch.float if observer is None else observer.dtype
        if self.output_dtype(value) != dtype and dtype != torch.float:
            return self.insert(value, observer)
        return value

    def share_observers(self, node: Node) -> bool:
        """Let what a node gives be observed by the observer of its first argument; False where there is none."""
        first = next((arg for arg in node.args if isinstance(arg, Node | list | tuple)), None)
        if first is None:
            return False
        start = first[0] if isinstance(first, list | tuple) else first
        observer_node = self._observer_before(start)
        if observer_node is None:
            return False
        observer = self.modules[str(observer_node.target)]
        if isinstance(first, list | tuple):
            for each in first[1:]:
                for _ in range(_MOST):
                    if self.is_observer(each):
                        break
                    if len(each.args) < 1:
                        return False
                    each = each.args[0]
                self._set(each.target, observer)
        for user in node.users:
            if not self.is_observer(user):
                raise AssertionError("output_obs_node must be an activation post process node")
            self._set(user.target, observer)
        return True

    def _observer_before(self, node: Any) -> Any:
        for _ in range(_MOST):
            if self.is_observer(node):
                return node
            if not isinstance(node, Node) or node.op == "placeholder":
                return None
            back = None
            for back in node.args:
                if isinstance(back, Node):
                    break
            if back is None:
                return None
            node = back
        raise AssertionError("Unable to find observer of previous node")

    def _set(self, target: Any, module: Any) -> None:
        parent, name = _parent_name(target)
        setattr(self.modules[parent], name, module)

    def remove_output_observer(self, node: Node) -> None:
        """Take away the observers of what a node gives."""
        for user in list(node.users):
            if not self.is_observer(user):
                raise AssertionError("output_obs_node must be an activation post process node")
            user.replace_all_uses_with(node)
            self.graph.erase_node(user)

    def swap_custom(self, node: Node, qconfig: Any) -> None:
        """Put the class for observing in a module's place, once."""
        if node.target in self.swapped:
            return
        self.swapped.add(node.target)
        module = self.modules[node.target]
        kind = get_swapped_custom_module_class(module, self.custom.float_to_observed_mapping, qconfig)
        self._set(node.target, kind.from_float(module))

    def is_observed_in_graph(self, node: Node) -> bool:
        """Whether what a node takes is observed here: not where a quantized input of the graph comes to it."""
        if node.args and isinstance(node.args[0], Node):
            quantized = self.output_dtype(node) in (torch.quint8, torch.uint8)
            return not (quantized and node.args[0].op == "placeholder")
        return True

    def lstm_behind(self, arg: Node) -> Node | None:
        """The call of an observed LSTM, of which a node is the result or a part of it, made floating."""

        def of_stub(node: Node) -> bool:
            return isinstance(_get_module(node, self.modules), DeQuantStub)

        def of_lstm(node: Node) -> bool:
            return isinstance(_get_module(node, self.modules), quantizable.LSTM)

        def of_item(node: Node) -> bool:
            return node.op == "call_function" and node.target is operator.getitem

        def of_tuple(node: Node) -> bool:
            return node.op == "call_function" and node.target is tuple

        for kinds in (
            (of_stub, of_item, of_lstm),
            (of_tuple, of_stub, of_item, of_item, of_lstm),
            (of_stub, of_item, of_item, of_lstm),
            (of_tuple, of_stub, of_item, of_lstm),
        ):
            node: Any = arg
            for place, fits in enumerate(kinds):
                if not fits(node):
                    node = None
                    break
                if place < len(kinds) - 1:
                    node = node.args[0][0] if fits is of_tuple else node.args[0]
            if node is not None:
                return node
        return None

    def stub(self, node: Node) -> Node:
        """Put a `DeQuantStub` after a node; its call."""
        name = get_new_attr_name_with_prefix("dequant_stub_")(self.model)
        stub: nn.Module = DeQuantStub()
        setattr(self.model, name, stub)
        self.modules[name] = stub
        with self.graph.inserting_after(node):
            return self.graph.call_module(name, (node,))
