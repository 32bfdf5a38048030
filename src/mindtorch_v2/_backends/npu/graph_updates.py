"""Graphs whose operators can be given other numbers: `torch.npu.graph(..., auto_dispatch_capture=True)` and `NPUGraph.update`.

While such a graph is recorded, each operator that has a handler becomes a group of tasks behind an event of outside, and its
arguments are kept. An update calls the operators again with what it changes, on a stream of its own; each of them then raises
its event. So a replay may be started before its update or after it, and waits for it.
"""

from __future__ import annotations

import copy
import ctypes
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ... import _C
from ..._core import torch_dispatch
from ..._core.dtype import DTYPES
from . import state
from .external_event import ExternalEvent
from .stream import Stream, current_stream, set_stream
from .task_groups import (
    TaskGroup,
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
)

HANDLERS: dict[str, type[NpuGraphOpHandler]] = {}  # by the names of overloads, as in "npu_fusion_attention.default"


def borrowed(tensor: Any) -> Any:
    """A tensor over the same memory that does not keep it: for what lives no longer than a graph that works on it."""
    storage = tensor.untyped_storage()
    if not storage.nbytes():
        return tensor.detach()
    memory = (ctypes.c_ubyte * storage.nbytes()).from_address(storage.data_ptr())
    flat = _C.frombuffer(memory, dtype=DTYPES["uint8"]).view(tensor.dtype)
    return _C._alias_on_device(flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()), tensor.device)


def _is_on_npu(value: Any) -> bool:
    return isinstance(value, _C.TensorBase) and value.device.type == "npu"


def _kept(value: Any) -> Any:
    """An argument as a record holds it: tensors of the device without their memory, all else as a copy."""
    if isinstance(value, (list, tuple)):
        return type(value)(_kept(each) for each in value)
    return borrowed(value) if _is_on_npu(value) else copy.deepcopy(value)


class Record:
    """A call of an operator in a graph, which an update repeats."""

    def __init__(
        self, operator: Any, args: Sequence[Any], kwargs: Mapping[str, Any], event: Any, group: TaskGroup
    ) -> None:
        self.op_cache_entry = operator
        self.args, self.kwargs = list(args), dict(kwargs)
        self.event, self.handle = event, group


class NpuGraphOpHandler:
    """The ways of an operator in a graph whose operators are updated; a class of one's own replaces what is different.

    UPDATE_SPECS: name of the overload -> [("arg", place, key) or ("kwarg", name, key)]: which argument a key of an update sets.
    Arguments that were given by keyword are set by their own names, too.
    """

    UPDATE_SPECS: ClassVar[dict[str, list[tuple[str, Any, str]]]] = {}

    @classmethod
    def prepare_capture(cls, func: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, tuple, dict[str, Any]]:
        """The operator to record and its arguments. What it makes has to be memory that stays, so that updates write there."""
        return func, args, kwargs

    @classmethod
    def postprocess_result(cls, result: Any, kwargs: dict[str, Any]) -> Any:
        """The result that the program gets, from that of what was recorded and its keyword arguments."""
        return result

    @classmethod
    def get_update_specs(cls, op_name: str) -> list[tuple[str, Any, str]]:
        """The entry of UPDATE_SPECS of an overload; none without."""
        return cls.UPDATE_SPECS.get(op_name, [])

    @classmethod
    def update_args(cls, dispatch_record: Record, update_input: Mapping[str, Any]) -> None:
        """Set what the entry of UPDATE_SPECS names in a record's `args` and `kwargs`."""
        for kind, place, key in cls.get_update_specs(dispatch_record.op_cache_entry.__name__):
            if key not in update_input:
                continue
            if kind == "kwarg":
                dispatch_record.kwargs[place] = update_input[key]
            elif place < len(dispatch_record.args):
                dispatch_record.args[place] = update_input[key]

    @classmethod
    def record_wrap_kwarg(cls, key: str, value: Any, tensor_param_names: Sequence[str]) -> Any:
        """A keyword argument as a record holds it: tensors of the device without their memory, all else as a copy."""
        return _kept(value)


def register_npu_graph_handler(op_names: str | Sequence[str]) -> Callable[[type], type]:
    """A decorator of a class of handlers, for the operators of these names ("my_op.default"); a warning says where one is replaced."""
    names = [op_names] if isinstance(op_names, str) else op_names

    def decorate(handler: type) -> type:
        for name in names:
            if name in HANDLERS:
                warnings.warn(
                    f"register_npu_graph_handler(): {handler.__name__} takes the place of {HANDLERS[name].__name__} for {name!r}",
                    stacklevel=2,
                )
            HANDLERS[name] = handler
        return handler

    return decorate


class _Attention(NpuGraphOpHandler):
    """Attention of inference: recorded as the overload that writes to tensors, which are made beforehand."""

    @classmethod
    def prepare_capture(cls, func: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, tuple, dict[str, Any]]:
        if func._overloadname == "out":
            return func, args, kwargs
        given = [x.to("meta") if _is_on_npu(x) else x for x in args]
        named = {name: x.to("meta") if _is_on_npu(x) else x for name, x in kwargs.items()}
        attention, lse = func(*given, **named)
        outputs = {
            name: args[0].new_empty(tuple(made.shape), dtype=made.dtype)
            for name, made in (("attention_out", attention), ("softmax_lse", lse))
        }
        return func._overloadpacket.out, args, {**kwargs, **outputs}

    @classmethod
    def postprocess_result(cls, result: Any, kwargs: dict[str, Any]) -> Any:
        return kwargs["attention_out"], kwargs["softmax_lse"]


def _lengths(keys: Sequence[str]) -> list[tuple[str, Any, str]]:
    return [("kwarg", key, key) for key in keys]


def _attention_handler(operator: str, keys: Sequence[str]) -> None:
    names = [f"{operator}{overload}" for overload in ("", ".default", ".out")]
    specs = {name: _lengths(keys) for name in names}
    register_npu_graph_handler(names)(type("AttentionHandler", (_Attention,), {"UPDATE_SPECS": specs}))


_attention_handler("npu_fused_infer_attention_score", ("actual_seq_lengths", "actual_seq_lengths_kv"))
_attention_handler("npu_fused_infer_attention_score_v2", ("actual_seq_qlen", "actual_seq_kvlen"))


@register_npu_graph_handler(["_npu_paged_attention.default", "npu_multi_head_latent_attention.out"])
class _Written(NpuGraphOpHandler):
    """Operators that write to a tensor of the caller's anyway."""

    UPDATE_SPECS: ClassVar = {
        "_npu_paged_attention.default": [("arg", 7, "context_lens")],
        "npu_multi_head_latent_attention.out": [("arg", 5, "context_lens")],
    }


class Updates:
    """The records of one graph, and the mode of `torch_dispatch` that makes them."""

    sees_parts = False
    _streams: ClassVar[dict[int, Stream]] = {}  # device -> the stream of the updates of all its graphs

    def __init__(self) -> None:
        self.records: list[Record] = []

    @property
    def update_stream(self) -> Stream:
        """The stream on which the graphs of the current device are updated."""
        index = state.get().runtime.thread.device
        return self._streams.get(index) or self._streams.setdefault(index, Stream(index))

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: programs are not asked what they do with it."""
        return True

    def __enter__(self) -> Updates:
        torch_dispatch.push(self)
        return self

    def __exit__(self, *exception: object) -> None:
        torch_dispatch.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        handler = HANDLERS.get(func.__name__)
        kwargs = kwargs or {}
        if handler is None or not getattr(handler, "should_handle", lambda *call: True)(func, args, kwargs):
            return func(*args, **kwargs)
        stream, event = current_stream(), ExternalEvent()
        event.wait(stream)
        event.reset(stream)
        operator, args, kwargs = handler.prepare_capture(func, args, kwargs)
        graph_task_group_begin(stream)
        result = operator(*args, **kwargs)
        group = graph_task_group_end(stream)
        tensors = [argument.name for argument in operator._schema.arguments if "Tensor" in str(argument.type)]
        named = {name: handler.record_wrap_kwarg(name, value, tensors) for name, value in kwargs.items()}
        self.records.append(Record(operator, [_kept(value) for value in args], named, event, group))
        return handler.postprocess_result(result, kwargs)

    def update(self, inputs: Sequence[Mapping[str, Any]]) -> None:
        """Call the operators again, with the arguments that their entry of `inputs` (or its only one) names replaced."""
        if len(inputs) not in (1, len(self.records)):
            raise RuntimeError(
                f"NPUGraph.update(): cpu_update_input must have one entry, or one for each of the {len(self.records)} operators "
                f"that are updated, but it has {len(inputs)}"
            )
        stream = self.update_stream
        before = current_stream(stream.device_index)
        unknown = {key for entry in inputs for key in entry}
        set_stream(stream)
        try:
            for i, record in enumerate(self.records):
                entry = inputs[i if len(inputs) > 1 else 0]
                unknown -= self._update_one(stream, record, entry)
        finally:
            set_stream(before)
        if unknown:
            warnings.warn(
                f"NPUGraph.update(): {', '.join(sorted(unknown))}: no operator of the graph has an argument of this name that is "
                "updated",
                stacklevel=3,
            )

    def _update_one(self, stream: Stream, record: Record, entry: Mapping[str, Any]) -> set[str]:
        """Replace the tasks of a record; the keys that had a meaning for it."""
        name = record.op_cache_entry.__name__
        handler = HANDLERS.get(name)
        if handler is None:
            raise RuntimeError(f"NPUGraph.update(): the handler of {name} was taken away since the graph was recorded")
        meant = set(record.kwargs) | {key for _, _, key in handler.get_update_specs(name)}
        record.kwargs.update({key: value for key, value in entry.items() if key in record.kwargs})
        handler.update_args(record, entry)
        graph_task_update_begin(stream, record.handle)
        try:
            record.op_cache_entry(*record.args, **record.kwargs)
        finally:
            graph_task_update_end(stream)
        record.event.record(stream)
        return meant
