"""Calling ACLNN operators: one protocol, so one caller.

`operator(symbol)` gives a callable that takes Python values and tensors in the order of the operator's C signature
(`signatures.tsv`). It makes the descriptors (descriptors.py), asks for the workspace (phase 1), allocates it, and enqueues the
work (phase 2) on the current stream of the tensors' device. Phase 2 ends the executor's life whatever it returns.

What a call costs on the host is mostly this protocol, so each operator gets a function of its own, written for its signature
when it is first called; `Caller.launch` does the same for every signature, and is what the rare cases go to.
"""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Callable
from ctypes import c_bool, c_double, c_float, c_int, c_int8, c_int32, c_int64, c_uint64, c_void_p
from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from . import runtime as _runtime
from .descriptors import Descriptors
from .errors import NPUError
from .faults import FILE
from .quirks import applying
from .storage_formats import READERS, Layout, described, is_read, moved, reach

_DTYPES = {
    DTYPES[name]: code
    for name, code in (
        ("uint8", 4),
        ("int8", 2),
        ("int16", 6),
        ("int32", 3),
        ("int64", 9),
        ("float16", 1),
        ("float32", 0),
        ("float64", 11),
        ("complex64", 16),
        ("complex128", 17),
        ("bool", 12),
        ("bfloat16", 27),
    )
}
_CTYPES = {
    **dict.fromkeys(("T", "TL", "S", "SL", "IA", "FA", "BA"), c_void_p),
    "i64": c_int64,
    "u64": c_uint64,
    "i32": c_int32,
    "i8": c_int8,
    "b": c_bool,
    "f64": c_double,
    "f32": c_float,
    "str": ctypes.c_char_p,
    "dt": c_int,
}
_describe = _C._describe


def _declarations() -> list[list[str]]:
    lines = (pathlib.Path(__file__).parent / "signatures.tsv").read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def signatures() -> dict[str, tuple[str, ...]]:
    """The codes of the parameters of every operator that is bound: {"aclnnAbs": ("T", "T!"), ...}, ! for what it writes."""
    return {name: tuple(parameters.split(",")) for name, parameters, _ in _declarations()}


def sources() -> dict[str, str]:
    """Where the parameters of every operator that is bound are declared: a header of CANN, a repository, or "documents"."""
    return {name: source for name, _, source in _declarations()}


class Operator:
    """One ACLNN operator; call it with values in the order of its signature. `run` is the same, one step shorter."""

    __slots__ = ("bound", "caller", "codes", "first", "name", "run", "second", "written")
    first: Any  # the two phases, functions of the library
    second: Any
    current: Caller  # set when the device is first asked for

    def __init__(self, name: str, codes: tuple[str, ...]) -> None:
        self.name, self.codes = name, tuple(code.rstrip("!") for code in codes)
        written = frozenset(place for place, code in enumerate(codes) if code.endswith("!"))
        self.written = written or frozenset(range(len(codes)))  # where nothing is said of it, it may be any
        self.bound = False
        self.run: Callable[..., None] = self._first_run

    def bind(self) -> None:
        """Find the two functions. NotImplementedError that lists every library if there are none."""
        quirk = Operator.current.quirks.get(self.name)
        if quirk is not None:
            self.run, self.caller, self.bound = quirk.replacement, Operator.current, True
            return
        libraries = Operator.current.runtime.libraries
        first, second = libraries.operator(self.name + "GetWorkspaceSize"), libraries.operator(self.name)
        if first is None or second is None:
            tried = "\n  ".join(dict.fromkeys(libraries.searched))
            raise NotImplementedError(
                f"{self.name} or {self.name}GetWorkspaceSize is in none of the operator libraries. Tried:\n  {tried}"
            )
        bind_functions(self, first, second)

    def _first_run(self, *arguments: Any) -> None:
        self.bind()
        self.run(*arguments)

    def __call__(self, *arguments: Any) -> None:
        self.run(*arguments)

    def sized(self, position: int, *arguments: Any) -> tuple[int, ...]:
        """Call an operator whose output at `position` has sizes that the data decide: waits, and returns them."""
        if not self.bound:
            self.bind()
        sizes = self.caller.launch(self, arguments, position)
        assert sizes is not None
        return sizes


def bind_functions(op: Operator, first: Any, second: Any) -> None:
    """Give an operator the functions of its two phases."""
    first.restype = second.restype = c_int32
    first.argtypes = [*(_CTYPES[code] for code in op.codes), c_void_p, c_void_p]
    second.argtypes = [c_void_p, c_uint64, c_void_p, c_void_p]
    op.first, op.second, op.caller, op.bound = first, second, Operator.current, True
    op.run = _written(op)


_operators: dict[str, Operator] = {}


def known() -> dict[str, Operator]:
    """All operators with a signature, by name."""
    if not _operators:
        _operators.update({name: Operator(name, codes) for name, codes in signatures().items()})
    return _operators


def operator(name: str) -> Operator:
    """The operator `aclnn...`, which finds its functions when it is first called. NotImplementedError if its signature is
    not known."""
    found = known().get(name)
    if found is None:
        raise NotImplementedError(f"{name}: its signature is not in signatures.tsv")
    return found


# What stands for an argument in an operator's own function: a step that makes `h<i>` of `a<i>`. {others} are all arguments.
_TENSOR = """
        if a{i} is None:
            h{i} = None
        else:
            found = tensors(describe(a{i})) or tensor(describe(a{i}))
            if found is None:  # a number of the host
                return launch(op, ({others},), None)
            h{i}, device = found
"""
_STEPS = {
    "T": _TENSOR,
    "S": """
        h{i} = None if a{i} is None else scalars((a{i}.__class__, a{i})) or scalar(a{i})
""",
    "dt": """
        h{i} = dtypes[a{i}]
""",
    "str": """
        h{i} = a{i}.encode()
""",
    **{
        code: f"""
        h{{i}} = None if a{{i}} is None else array("{code}", a{{i}})
"""
        for code in ("IA", "BA", "FA")
    },
}
_FUNCTION = """
def {name}({arguments}):
    t = local.state
    before = t.epoch
    if before is None:
        t.epoch = descriptors.epoch  # what this call finds stays until it is over
    device = -1
    try:
{steps}
        if device != t.active:
            if device < 0:
                device = t.device
            activate(device)
        code = first({handles}t.size_reference, t.executor_reference)
        if code:
            raise failed(op, code, "GetWorkspaceSize")
        if t.size.value:
            with_workspace(op, t, device)
        else:
            stream = t.handles.get(device, 0)
            code = second(None, 0, t.executor, stream)
            if code:
                raise failed(op, code, "")
            last_task(t.task_reference)
            note(name, device, stream, t.task.value)
        if blocking:
            wait(op, device, t.handles.get(device, 0))
    finally:
        t.epoch = before
"""


def _written(op: Operator) -> Callable[..., Any]:
    """The function of one operator."""
    caller = op.caller
    if "TL" in op.codes:  # lists are made anew for each call
        return lambda *arguments: caller.launch(op, arguments, None)
    numbers = range(len(op.codes))
    others = ", ".join(f"a{i}" for i in numbers)
    steps = "".join(_STEPS[code].format(i=i, others=others) for i, code in enumerate(op.codes) if code in _STEPS)
    handles = "".join(f"{'h' if op.codes[i] in _STEPS else 'a'}{i}, " for i in numbers)
    text = _FUNCTION.format(name=op.name, arguments=others, steps=steps, handles=handles)
    descriptors, runtime = caller.descriptors, caller.runtime
    names = {
        "op": op,
        "local": runtime.local,
        "descriptors": descriptors,
        "describe": _describe,
        "tensors": descriptors.tensors.get,
        "tensor": descriptors.tensor,
        "scalars": descriptors.scalars.get,
        "scalar": descriptors.scalar,
        "array": descriptors.array,
        "dtypes": _DTYPES,
        "launch": caller.launch,
        "activate": runtime.activate,
        "first": op.first,
        "second": op.second,
        "name": op.name,
        "last_task": runtime.aclrtGetThreadLastTaskId,
        "note": _C._note_call,
        "failed": caller.failed,
        "with_workspace": caller.with_workspace,
        "blocking": runtime.blocking,
        "wait": caller.wait,
    }
    exec(compile(text, FILE.format(op.name), "exec"), names)
    return names[op.name]


class _Bindings:
    """`get_bindings().aclnnAdd(x, y, alpha, out)`: every operator of `signatures.tsv` as an attribute."""

    def __getattr__(self, symbol: str) -> Callable[..., Any]:
        if symbol not in signatures():
            raise AttributeError(f"no ACLNN operator is called {symbol!r} in signatures.tsv")
        return operator(symbol)

    def __dir__(self) -> list[str]:
        return sorted(signatures())


def ensure_acl() -> Any:
    """The runtime, started if it was not. RuntimeError if CANN is not found or there is no device."""
    return _runtime.get()


def get_bindings() -> Any:
    """ACLNN's operators by their C names, once CANN is there; each call is phase 1 and phase 2 on the current stream."""
    ensure_acl()
    return _Bindings()


class Borrowed:
    """The storages in blocks that one call was given: the memory in which their elements are in rows meanwhile."""

    def __init__(self, caller: Caller, read: int | None) -> None:
        self.caller = caller
        self.read = read  # the argument that the operator takes as it lies
        self.rows: dict[tuple[int, int], int] = {}  # device and address -> address of the rows
        self.written: set[tuple[int, int]] = set()
        self.handles: list[int] = []

    def at(self, place: tuple[int, int], write: bool) -> int:
        """The address of a storage's elements in rows; what is written there is put back by `settle`."""
        found = self.rows.get(place)
        if found is None:
            device, address = place
            layout = self.caller.descriptors.formats.in_blocks[place]
            if layout.is_in_rows:
                return address
            found = self.rows[place] = self.caller.memory[device].allocate(layout.nbytes)
            self.caller.cast(layout, device, address, found, into_rows=True)
        if write:
            self.written.add(place)
        return found

    def tensor(
        self, key: bytes, position: int, written: frozenset[int], *, kept: bool = True
    ) -> tuple[int, int] | None:
        """A descriptor and its device for a tensor over such a storage, None for any other; the caller's own unless `kept`."""
        place = described(key)
        layout = self.caller.descriptors.formats.in_blocks.get(place)
        if layout is not None and reach(key, layout.nbytes) > layout.in_rows:
            self.caller.put_in_rows(place)
            return self.caller.descriptors.tensor(key) if kept else None
        if layout is None:
            return None
        if position == self.read:
            made = self.caller.descriptors.new_tensor(key, layout)
        else:
            made = self.caller.descriptors.new_tensor(moved(key, self.at(place, position in written)))
        if kept:
            self.handles.append(made)
        return made, place[0]

    def settle(self) -> None:
        """Put back what was written."""
        for device, address in self.written:
            layout = self.caller.descriptors.formats.in_blocks[device, address]
            self.caller.cast(layout, device, address, self.rows[device, address], into_rows=False)

    def release(self) -> None:
        """Give the memory back, to work that is queued behind."""
        for handle in self.handles:
            self.caller.descriptors.aclDestroyTensor(handle)
        for (device, _), rows in self.rows.items():
            self.caller.memory[device].release(rows)


class Caller:
    """Call operators of one process; there is one.

    Args:
        memory: of each device, its allocator.
        host_number: gives a tensor of the host, which is one of the arguments, on the device.
    """

    def __init__(self, runtime: _runtime.Runtime, memory: Any, host_number: Callable[[Any, tuple], Any]) -> None:
        self.runtime = runtime
        self.memory, self.host_number = memory, host_number
        self.descriptors = Descriptors(runtime)
        self.quirks = applying(runtime.soc_name(), runtime.version())
        Operator.current = self

    def launch(self, op: Operator, arguments: tuple, sized: int | None) -> tuple[int, ...] | None:
        """Enqueue an operator. `sized`: the position of an output whose sizes the data decide; they are returned."""
        if len(arguments) != len(op.codes):
            raise TypeError(f"{op.name} takes {len(op.codes)} arguments, {len(arguments)} were given")
        descriptors, runtime = self.descriptors, self.runtime
        borrowed: Borrowed | None = None
        if descriptors.formats.in_blocks:
            op, arguments, place = self._reader(op, arguments)
            borrowed = Borrowed(self, place)
        values: list[Any] = []
        lists: list[int] = []
        alive: list[Any] = []
        own: int | None = None
        device = -1
        t = runtime.thread
        before = t.epoch
        if before is None:
            t.epoch = descriptors.epoch
        try:
            for position, (code, value) in enumerate(zip(op.codes, arguments)):
                if value is None:
                    pass
                elif code == "T":
                    found = descriptors.tensor(_describe(value))
                    if found is None and borrowed is not None:
                        found = borrowed.tensor(_describe(value), position, op.written)
                    if found is None:
                        value = self.host_number(value, arguments)
                        alive.append(value)
                        found = descriptors.tensor(_describe(value))
                        assert found is not None
                    if len(values) == sized:  # the operator writes sizes into it
                        own = descriptors.new_tensor(_describe(value))
                        found = own, found[1]
                    value, device = found
                elif code == "S":
                    value = descriptors.scalar(value)
                elif code in ("IA", "BA", "FA"):
                    value = descriptors.array(code, value)
                elif code == "TL":
                    value, index = descriptors.tensor_list(value, self._each(borrowed, position, op.written))
                    lists.append(value)
                    device = max(device, index)
                elif code == "dt":
                    value = _DTYPES[value]
                elif code == "str":
                    value = value.encode()
                values.append(value)
            if device < 0:
                device = t.device
            runtime.activate(device)
            self._enqueue(op, values, device, t)
            if borrowed is not None:
                borrowed.settle()
            stream = t.handles.get(device, 0)
            if runtime.blocking:
                self.wait(op, device, stream)
            if own is None:
                return None
            runtime.synchronize_stream(device, stream)
            return descriptors.view_shape(own)
        finally:
            t.epoch = before
            if own is not None:
                descriptors.aclDestroyTensor(own)
            for handle in lists:
                descriptors.aclDestroyTensorList(handle)
            if borrowed is not None:
                borrowed.release()

    def _enqueue(self, op: Operator, values: list[Any], device: int, t: _runtime.ThreadState) -> None:
        """Both phases of an operator, with descriptors, on the current stream of the device that is active."""
        code = op.first(*values, t.size_reference, t.executor_reference)
        if code:
            raise self.failed(op, code, "GetWorkspaceSize")
        if t.size.value:
            self.with_workspace(op, t, device)
            return
        stream = t.handles.get(device, 0)
        code = op.second(None, 0, t.executor, stream)
        if code:
            raise self.failed(op, code, "")
        self.runtime.note(op.name, device, stream)

    # ---- storages that are not in rows ----

    def cast(self, layout: Layout, device: int, blocks: int, rows: int, *, into_rows: bool) -> None:
        """Enqueue the move of a storage's elements: between the address where they lie in a layout, and where in rows."""
        op, t = operator("aclnnNpuFormatCast"), self.runtime.thread
        if not op.bound:
            op.bind()
        key = layout.key(device, blocks)
        laid, plain = self.descriptors.new_tensor(key, layout), self.descriptors.new_tensor(moved(key, rows))
        try:
            self.runtime.activate(device)
            self._enqueue(op, [laid, plain] if into_rows else [plain, laid], device, t)
        finally:
            self.descriptors.aclDestroyTensor(laid)
            self.descriptors.aclDestroyTensor(plain)

    def put_in_rows(self, place: tuple[int, int]) -> None:
        """Lay out a storage in rows again: a tensor reaches beyond what its layout is for, as after `resize_`."""
        device, address = place
        layout = self.descriptors.formats.in_blocks[place]
        rows = self.memory[device].allocate(layout.nbytes)
        self.cast(layout, device, address, rows, into_rows=True)
        self.descriptors.formats.forget(device, address)
        self.runtime.copy(address, rows, layout.nbytes, _runtime.D2D, device, self.runtime.stream_handle(device))
        self.memory[device].release(rows)

    def _reader(self, op: Operator, arguments: tuple) -> tuple[Operator, tuple, int | None]:
        """The operator that reads an argument as it lies, its arguments, and the position of that one; or what was asked for."""
        reader = READERS.get(op.name)
        value = None if reader is None else arguments[reader.place]
        if reader is None or value is None:
            return op, arguments, None
        for each in value if isinstance(value, (list, tuple)) else [value]:
            key = _describe(each)
            layout = self.descriptors.formats.in_blocks.get(described(key))
            if layout is None or not layout.is_read_by(key) or not is_read(reader.symbol, layout.dtype):
                return op, arguments, None
        arranged = arguments if reader.arrange is None else reader.arrange(*arguments)
        other = operator(reader.symbol)
        if arranged is None or not (other.bound or self.runtime.libraries.operator(f"{other.name}GetWorkspaceSize")):
            return op, arguments, None
        if not other.bound:
            other.bind()
        return other, arranged, reader.place

    def _each(self, borrowed: Borrowed | None, position: int, written: frozenset[int]) -> Callable[[bytes], int]:
        """The function that makes the descriptors of a list of tensors."""
        if borrowed is None:
            return self.descriptors.new_tensor

        def made(key: bytes) -> int:
            found = borrowed.tensor(key, position, written, kept=False)
            return self.descriptors.new_tensor(key) if found is None else found[0]

        return made

    def failed(self, op: Operator, code: int, phase: str) -> NPUError:
        """The error for what a phase returned."""
        note = "" if phase else self.runtime.hint()
        return self.runtime.error(op.name + phase, code, note)

    def with_workspace(self, op: Operator, t: _runtime.ThreadState, device: int) -> None:
        """The second phase of an operator that asked for memory."""
        size, executor = t.size.value, t.executor.value  # allocation may call operators: keep them
        try:
            workspace = self.memory[device].allocate(size)
        except BaseException:
            self.descriptors.aclDestroyAclOpExecutor(executor)
            raise
        stream = t.handles.get(device, 0)
        code = op.second(workspace, size, executor, stream)
        self.memory[device].release(workspace)
        if code:
            raise self.failed(op, code, "")
        self.runtime.note(op.name, device, stream)

    def wait(self, op: Operator, device: int, stream: int) -> None:
        """Wait for the operator, where every one is waited for; one that is recorded in a graph is not done now."""
        if not self.runtime.waits:
            return
        code = self.runtime.aclrtSynchronizeStream(stream or None)
        if code:
            raise self.runtime.error(op.name, code)
