"""`ExecutionTraceObserver`: the operators that ran, with their arguments, in the form of Chakra's traces, which replays are made from."""

from __future__ import annotations

import datetime
import gzip
import json
import math
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch

from ..autograd import _profiler_recorder as _recorder
from ..autograd._profiler_recorder import ELEMENTS
from ..utils._python_dispatch import TorchDispatchMode

__all__ = ["ExecutionTraceObserver"]

_SCHEMA = "1.1.1-chakra.0.0.4"
_PREFIX = "[pytorch|profiler|execution_trace|"
_WANTED, _EXTRAS = "ENABLE_PYTORCH_EXECUTION_TRACE", "ENABLE_PYTORCH_EXECUTION_TRACE_EXTRAS"
_RANGES = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"
_DATA = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA"
_CALL, _BACKWARD, _MARK = 0, 1, 7  # scopes
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class ExecutionTraceObserver:
    """The operators and marked ranges between `start` and `stop`, in a file that `unregister_callback` writes.

    A node is an operator, a node of the backward or a range: its name, what it was called within (`ctrl_deps`), and its inputs and
    outputs: values, sizes, strides, kinds. A tensor is [its number, its storage's, offset, elements, bytes of one, device]. A file
    whose name ends in .gz is compressed. With the variable
    ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE=1 the smallest and the largest element of each tensor of whole numbers is
    an attribute; ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA names operators, separated by commas, of which such tensors are
    written into the folder of `get_resources_dir`, if that is asked for.

    >>> import tempfile, json
    >>> from mindtorch_v2.profiler import ExecutionTraceObserver
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     observer = ExecutionTraceObserver().register_callback(f"{folder}/trace.json")
    ...     observer.start()
    ...     _ = torch.ones(2).exp()
    ...     observer.unregister_callback()
    ...     with open(f"{folder}/trace.json") as file:
    ...         nodes = json.load(file)["nodes"]
    >>> [node["name"] for node in nodes if node["name"].startswith("aten")]
    ['aten::ones', 'aten::exp']
    """

    def __init__(self) -> None:
        self._taken: _Taken | None = None
        self._running: _Watch | None = None
        self.extra_resources_collection = False
        self.resources_dir = self.output_file_path = ""

    @staticmethod
    def build_execution_trace_obs_from_env() -> ExecutionTraceObserver | None:
        """One that writes to a new file among the temporary ones, if ENABLE_PYTORCH_EXECUTION_TRACE=1 asks for it."""
        if os.environ.get(_WANTED, "0") != "1":
            return None
        handle, path = tempfile.mkstemp(suffix=".et.json")
        os.close(handle)
        made = ExecutionTraceObserver().register_callback(path)
        made.set_extra_resource_collection(os.environ.get(_EXTRAS, "0") == "1")
        return made

    def register_callback(self, output_file_path: str) -> ExecutionTraceObserver:
        """Make ready to record for this file; nothing where a file is named already."""
        if self._taken is None:
            self.output_file_path = output_file_path
            self._taken = _Taken(self)
        return self

    def unregister_callback(self) -> None:
        """End, and write the file; a warning where it cannot be written."""
        if self._taken is None:
            return
        self.stop()
        taken, self._taken = self._taken, None
        opened: Any = gzip.open if self.output_file_path.endswith("gz") else open
        try:
            with opened(self.output_file_path, "wt", encoding="utf-8") as file:
                json.dump(taken.document(), file)
        except OSError as error:
            warnings.warn(
                f"ExecutionTraceObserver: the trace is lost, as its file cannot be written: {error}", stacklevel=2
            )

    cleanup = unregister_callback

    def start(self) -> None:
        """Begin, or go on; nothing before `register_callback`."""
        if self._taken is not None and self._running is None:
            self._running = _Watch(self._taken)
            self._running.__enter__()
            self._groups()

    def stop(self) -> None:
        """Take down no more."""
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = None

    def _groups(self) -> None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            groups = torch.distributed._groups.known_groups()
            told = json.dumps([
                {"pg_name": group.group_name, "pg_desc": getattr(group, "group_desc", ""),
                 "backend_config": ",".join(f"{device}:{made.name}" for device, made in group._backends.items()),
                 "ranks": torch.distributed.get_process_group_ranks(group), "group_size": group.size(), "group_count": len(groups)}
                for group in groups
            ])  # fmt: skip
            torch.autograd._record_function_with_args_exit(
                torch.autograd._record_function_with_args_enter("## process_group:init ##", told)
            )

    @property
    def is_registered(self) -> bool:
        """Whether there is a file that the trace will be written to."""
        return self._taken is not None

    def is_running(self) -> bool:
        """Whether operators are taken down."""
        return self._running is not None

    def get_output_file_path(self) -> str | None:
        """The file, or None before one was named."""
        return self.output_file_path or None

    def set_extra_resource_collection(self, val: bool) -> None:
        """Whether tensors' data may be written; their folder is made."""
        self.extra_resources_collection = val
        if val:
            self.get_resources_dir(can_create=True)

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """The folder of tensors' data, None where they were not asked for, or there is none."""
        if self.extra_resources_collection and not self.resources_dir:
            found = self.get_resources_dir_for_et_path(self.output_file_path, can_create)
            self.resources_dir = found or ""
        return self.resources_dir or None if self.extra_resources_collection else None

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> str | None:
        """The folder beside a trace's file; None where there is none, and it is not made."""
        path = os.path.splitext(trace_path)[0] + "_resources"
        if not os.path.isdir(path):
            if not create_dir:
                return None
            try:
                os.mkdir(path)
            except OSError as error:
                warnings.warn(f"ExecutionTraceObserver: the folder {path} cannot be made: {error}", stacklevel=2)
                return None
        return path


class _Taken:
    """Records for one file, and the numbers that its nodes, tensors and storages have."""

    def __init__(self, observer: ExecutionTraceObserver) -> None:
        self.observer = observer
        self.time, self.began = datetime.datetime.now(), time.monotonic_ns()
        self.nodes: list[dict[str, Any]] = []
        self.last = self.calls = 1  # the process has the first number
        self.ranges = os.environ.get(_RANGES, "0") == "1"
        self.of_data = {name for name in os.environ.get(_DATA, "").split(",") if name}
        self._numbers: dict[Any, int] = {}
        self._threads: dict[int, tuple[int, int]] = {}  # the numbers of a thread's node and of the thread
        self._lock = threading.Lock()

    def number(self) -> int:
        """The next number."""
        with self._lock:
            self.last += 1
            return self.last

    def number_of(self, *thing: Any) -> int:
        """The number of a tensor or a storage, by its kind and address."""
        return self._numbers.get(thing) or self._numbers.setdefault(thing, self.number())

    def thread(self) -> tuple[int, int]:
        """The numbers of this thread's node and of this thread."""
        mine = threading.get_ident()
        if mine not in self._threads:
            self._threads[mine] = self.number(), len(self._threads) + 1
            node, tid = self._threads[mine]
            self.nodes.append(_node(node, 1, f"{_PREFIX}thread]", tid=tid, scope=_MARK))
        return self._threads[mine]

    def document(self) -> dict[str, Any]:
        """The whole trace."""
        return {
            "schema": _SCHEMA, "pid": os.getpid(), "time": self.time.strftime("%Y-%m-%d %H:%M:%S"),
            "start_ts": self.began // 1_000_000,
            "nodes": [*self.nodes, _node(1, 1, f"{_PREFIX}process]", scope=_MARK)],
            "finish_ts": time.monotonic_ns() // 1_000_000,
        }  # fmt: skip

    def described(self, values: Iterable[Any]) -> dict[str, list[Any]]:
        """Values, sizes, kinds and strides."""
        parts = [self._described(value) for value in values]
        return {
            name: [part[place] for part in parts] for place, name in enumerate(("values", "shapes", "types", "strides"))
        }

    def _described(self, value: Any) -> tuple[Any, Any, str, Any]:
        if isinstance(value, torch.Tensor):
            kind = ELEMENTS.get(value.dtype, str(value.dtype).removeprefix("torch."))
            try:
                storage = value.untyped_storage()
                place = self.number_of("storage", str(value.device), storage.data_ptr())
                offset = value.storage_offset()
            except (RuntimeError, NotImplementedError):  # it has none
                place, offset = 0, 0
            told = [
                self.number_of("tensor", id(value)),
                place,
                offset,
                value.numel(),
                value.element_size(),
                str(value.device),
            ]
            strides = list(value.stride()) if value.layout is torch.strided else []
            return told, list(value.shape), f"Tensor({kind})", strides
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            name = "Tuple" if isinstance(value, tuple) and type(value) is tuple else "GenericList"
            parts = [self._described(each) for each in value]
            kinds = f"{name}[{','.join(part[2] for part in parts)}]"
            return [part[0] for part in parts], [part[1] for part in parts], kinds, [part[3] for part in parts]
        if isinstance(value, torch.Size):
            return self._described([*value])
        return (*_plain(value), [])


def _plain(value: Any) -> tuple[Any, Any, str]:
    if value is None:
        return "<None>", [], "None"
    if isinstance(value, bool):
        return value, [], "Bool"
    if isinstance(value, (int, torch.SymInt)):
        return int(value), [], "Int"
    if isinstance(value, (float, torch.SymFloat)):
        number = float(value)
        return number if math.isfinite(number) else str(number), [], "Double"
    if isinstance(value, str):
        return value, [], "String"
    if isinstance(value, torch.device):
        return str(value), [], "Device"
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return _code(value), [], "Int"
    return f"<{type(value).__name__}>", [], type(value).__name__


_LAYOUTS = {torch.strided: 0, torch.sparse_coo: 1, torch.sparse_csr: 2}
_ORDERS = {
    torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3,
}  # fmt: skip
_DTYPES = {
    dtype: number
    for number, dtype in enumerate(
        (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
         torch.complex32, torch.complex64, torch.complex128, torch.bool, None, None, None, torch.bfloat16)
    )
    if dtype is not None
}  # fmt: skip


def _code(value: Any) -> int:
    """The number that PyTorch's enumerations have for a dtype, a layout or a memory format; -1 for the others."""
    for known in (_DTYPES, _LAYOUTS, _ORDERS):
        if value in known:
            return known[value]
    return -1


_NOTHING: dict[str, list[Any]] = {"values": [], "shapes": [], "types": [], "strides": []}


def _node(
    number: int, within: int, name: str, inputs: Any = _NOTHING, outputs: Any = _NOTHING, call: int = 0, above: int = 0,
    sequence: int = -1, scope: int = _CALL, tid: int = 0, forward: int = 0, schema: str = "", ranges: str = "",
) -> dict[str, Any]:  # fmt: skip
    whole, text = "uint64", "string"
    attributes = (
        ("rf_id", whole, call), ("fw_parent", whole, above), ("seq_id", "int64", sequence), ("scope", whole, scope),
        ("tid", whole, tid), ("fw_tid", whole, forward), ("op_schema", text, schema), ("kernel_backend", text, ""),
        ("kernel_file", text, ""), ("tensor_range", text, ranges),
    )  # fmt: skip
    return {
        "id": number, "name": name, "ctrl_deps": within, "inputs": inputs, "outputs": outputs,
        "attrs": [{"name": each, "type": kind, "value": value} for each, kind, value in attributes],
    }  # fmt: skip


def _bound(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call by the schema, those that were left out with their defaults."""
    return [
        args[place] if place < len(args) else kwargs.get(argument.name, argument.default_value)
        for place, argument in enumerate(schema.arguments)
    ]


class _Watch(TorchDispatchMode):
    """While entered, the operators of this thread, the nodes of its backward, and its marked ranges are taken down."""

    def __init__(self, taken: _Taken) -> None:
        super().__init__()
        self.taken = taken
        self._within: list[int] = []  # the nodes that are being run
        self._open: list[tuple[int, int]] = []  # the numbers of backward's nodes and of their calls
        self._before: Any = None
        self._following = 0

    def __enter__(self) -> _Watch:
        import mindtorch_v2._ops  # noqa: F401  (loaded here, it is not put down to the first operator)

        self._within = [self.taken.thread()[0]]
        self._tid = self.taken.thread()[1]
        self._before = torch._C._watch_nodes(self._backward)
        self._following = torch._C._next_sequence_nr()
        _recorder.observers.append(self)
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        _recorder.observers.remove(self)
        torch._C._watch_nodes(self._before)
        return super().__exit__(*exception)

    def _begin(self) -> tuple[int, int, int]:
        number, within = self.taken.number(), self._within[-1]
        self._within.append(number)
        self.taken.calls += 1
        return number, within, self.taken.calls - 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        following = torch._C._next_sequence_nr()
        sequence = following - 1 if following > self._following else -1
        self._following = following
        number, within, call = self._begin()
        values = _bound(func._schema, args, kwargs)
        name = func._schema.name
        inputs, ranges = self.taken.described(values), self._whole_numbers(name, number, values)
        try:
            out = func(*args, **kwargs)
        finally:
            self._within.pop()
        results = list(out) if isinstance(out, tuple) else [] if out is None else [out]
        self.taken.nodes.append(
            _node(
                number, within, name, inputs, self.taken.described(results), call, sequence=sequence, tid=self._tid,
                schema=str(func._schema), ranges=ranges,
            )
        )  # fmt: skip
        return out

    def _whole_numbers(self, name: str, number: int, values: list[Any]) -> str:
        """The ranges of tensors of whole numbers, if asked for; those whose data are asked for are written."""
        taken = self.taken
        folder = taken.observer.get_resources_dir() if name in taken.of_data else None
        if not taken.ranges and not folder:
            return ""
        found = {}
        with torch.utils._python_dispatch._disable_current_modes():
            for place, value in enumerate(value for value in values if isinstance(value, torch.Tensor)):
                if value.dtype in _WHOLE and value.numel():
                    plain = value.detach().cpu().contiguous()
                    if folder:
                        plain.numpy().tofile(os.path.join(folder, f"nid_{number}_tid_{place}.dat"))
                    if taken.ranges:
                        found[str(place)] = [int(plain.min()), int(plain.max())]
        return json.dumps(found, separators=(",", ":")) if found else ""

    def _backward(self, node: Any, inner: bool, begins: bool) -> None:
        if self._before is not None:
            self._before(node, inner, begins)
        if begins:
            number, _, call = self._begin()
            self._open.append((number, call))
        elif self._open:
            number, call = self._open.pop()
            self._within.pop()
            name, within = node.name(), self._within[-1]
            leaf = name == "torch::autograd::AccumulateGrad"
            self.taken.nodes.append(
                _node(
                    number, within, name if inner else f"autograd::engine::evaluate_function: {name}", call=call,
                    above=within if inner else 0, sequence=node._sequence_nr() if inner and not leaf else -1,
                    scope=_BACKWARD if inner else _CALL, tid=self._tid, forward=self._tid if inner else 0,
                )
            )  # fmt: skip

    def enter_range(self, name: str, values: tuple[Any, ...]) -> Any:
        """A marked range begins; what `exit_range` is given at its end."""
        return *self._begin(), name, self.taken.described(values)

    def exit_range(self, opened: Any) -> None:
        """A marked range ends."""
        number, within, call, name, inputs = opened
        if number in self._within:
            self._within.remove(number)
        self.taken.nodes.append(_node(number, within, name, inputs, call=call, scope=_MARK, tid=self._tid))
