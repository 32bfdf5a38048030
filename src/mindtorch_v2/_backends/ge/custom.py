"""Users' GE operators on the emulator: the eager kernel of the operator that the GE operator is named after does its work.

On hardware an operator package brings the kernel (`MyInplace`). The emulator has none, so it calls back: with the operator's
message and the addresses of its inputs and outputs, on the stream that the graph runs on. The kernel that is registered for the
device (`PrivateUse1`) gets tensors with copies of the inputs; what it wrote and returned is copied to the outputs. It may do no
more than enqueue work, as every kernel of the device.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import c_char_p, c_int, c_uint64, c_void_p
from typing import Any

from ... import _C
from ..._core.autograd.grad_mode import no_grad
from ..._core.dtype import DTYPES
from ..npu.runtime import D2D
from . import fused, graph
from .lower import GEConversionError, Program
from .proto import Message
from .types import DataType

_CALLBACK = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, ctypes.POINTER(c_void_p), ctypes.POINTER(c_void_p), c_void_p)


class _Pending(threading.local):
    """The error that a kernel raised while the emulator called it."""

    error: BaseException | None = None


class Kernels:
    """The kernels of this process that the emulator calls back. There is one; GE operators are found by their type."""

    def __init__(self, interface: Any) -> None:
        self.runtime = interface.runtime
        self.register = interface.register
        self.register.argtypes, self.register.restype = [c_char_p, _CALLBACK], c_int
        self.operators: dict[str, Any] = {}
        self.called = _CALLBACK(self._called)
        self.pending = _Pending()
        self.checked: set[Any] = set()  # operators whose kernels were seen to write what they say

    def offer(self, type: str, handle: Any) -> None:
        """Let the emulator call an operator of the program for a GE operator."""
        self.operators[type] = handle
        self.answer(type)

    def answer(self, type: str) -> None:
        """Let the emulator ask this process for what a GE operator gives."""
        self.register(type.encode(), self.called)

    def raise_pending(self) -> None:
        """Raise what a kernel raised while the emulator called it."""
        error, self.pending.error = self.pending.error, None
        if error is not None:
            raise error

    def _called(self, data: int, size: int, inputs: Any, outputs: Any, stream: int) -> int:
        try:
            with no_grad():
                self._run(Message.parse("OpDef", ctypes.string_at(data, size)), inputs, outputs, stream or 0)
        except BaseException as error:  # noqa: BLE001  (it is raised where the graph was called)
            self.pending.error = error
            return 1
        return 0

    def _run(self, op: Message, inputs: Any, outputs: Any, stream: int) -> None:
        device = self.runtime.thread.active
        given: dict[str, Any] = {}
        for place, desc in enumerate(op.input_desc):
            given[desc.name] = self._tensor(desc, inputs[place], device, stream) if op.input[place] else None
        handle = self.operators.get(op.type)
        made = fused.run(op.type, op, given) if handle is None else self._outputs(handle, op, given)
        if handle is None:  # of places, GE's operators have int32
            made = [
                each.to(wanted) if (wanted := DataType.of_proto(desc.dtype).torch) == DTYPES["int32"] else each
                for each, desc in zip(made, op.output_desc, strict=True)
            ]
        subject = "torch_npu's operator" if handle is None else f"{handle.namespace}::{handle.name}"
        for place, (desc, source) in enumerate(zip(op.output_desc, made, strict=True)):
            wanted = tuple(desc.shape.dim), DataType.of_proto(desc.dtype).torch
            if (tuple(source.shape), source.dtype) != wanted:
                raise RuntimeError(
                    f"{op.type}: the kernel of {subject} gives shape {list(source.shape)} and {source.dtype} for the output "
                    f"'{desc.name}', the Meta kernel said {list(wanted[0])} and {wanted[1]}"
                )
            source = source.contiguous()
            self._copy(outputs[place], source.data_ptr(), source, device, stream)

    def _outputs(self, handle: Any, op: Message, given: dict[str, Any]) -> list[Any]:
        """The outputs of a user's operator: what its kernel returns, and the arguments that it wrote."""
        values: list[Any] = []
        keywords: dict[str, Any] = {}
        for argument in handle.arguments:
            name = argument["name"]
            value = _argument(argument, op, given)
            if argument["kwarg_only"]:
                keywords[name] = value
            else:
                values.append(value)
        before = self._copies(handle, given)
        made = handle(*values, **keywords)
        self._check_writes(handle, op.type, before, given)
        made = list(made) if isinstance(made, (list, tuple)) else [] if made is None else [made]
        for each in made:
            for name, one in given.items():
                if (
                    one is not None
                    and each.numel()
                    and each.untyped_storage().data_ptr() == one.untyped_storage().data_ptr()
                ):
                    raise RuntimeError(
                        f"{handle.namespace}::{handle.name}: its kernel returned its argument '{name}', or a view of it, and a "
                        "result of a graph is a value of its own. Return a clone, or, if the kernel writes to the argument, "
                        f"declare that, Tensor(a!) {name}, and return nothing for it"
                    )
        written = sum(given.get(desc.name) is not None for desc in op.output_desc)
        if len(made) != len(op.output_desc) - written:
            raise RuntimeError(
                f"{handle.namespace}::{handle.name}: its kernel returned {len(made)} tensors; {op.type} has "
                f"{len(op.output_desc)} outputs, of which {written} are written arguments"
            )
        return [given[desc.name] if given.get(desc.name) is not None else made.pop(0) for desc in op.output_desc]

    @staticmethod
    def _written(handle: Any) -> list[str]:
        return [a["name"] for a in handle.arguments if a["is_write"]]

    def _copies(self, handle: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments that a kernel gets and may not write; kept at its first run only."""
        if handle in self.checked:
            return {}
        written = self._written(handle)
        names = [n for n in given if n not in written and n.rstrip("0123456789") not in written]
        return {name: given[name].clone() for name in names if given[name] is not None}

    def _check_writes(self, handle: Any, type: str, before: dict[str, Any], given: dict[str, Any]) -> None:
        self.checked.add(handle)
        for name, copy in before.items():
            same = (copy == given[name]) | ((copy != copy) & (given[name] != given[name]))
            if not same.all().item():
                raise RuntimeError(
                    f"{handle.namespace}::{handle.name}: its kernel wrote to the argument '{name}', and the schema says that it does "
                    f"not: {handle.schema}. Declare the write, Tensor(a!) {name}, or let the kernel write to a clone"
                )

    def _tensor(self, desc: Message, address: int, device: int, stream: int) -> Any:
        from ... import empty  # the namespace is assembled later

        dtype = DataType.of_proto(desc.dtype).torch
        made = empty(list(desc.shape.dim), dtype=dtype, device=_C.device("npu", device))
        self._copy(made.data_ptr(), address, made, device, stream)
        return made

    def _copy(self, to: int, source: int, like: Any, device: int, stream: int) -> None:
        nbytes = like.numel() * like.element_size()
        if nbytes:
            self.runtime.copy(to, source, nbytes, D2D, device, stream)


def _argument(argument: dict, op: Message, given: dict[str, Any]) -> Any:
    """The role of an argument of the kernel: an input of the operator, or one of its attributes."""
    name, kind = argument["name"], argument["type"].rstrip("?")
    if kind.startswith("Tensor"):
        if "[" not in kind:
            return given.get(name)
        rows = [n for n in given if n.startswith(name) and n.removeprefix(name).isdigit()]
        return [given[n] for n in sorted(rows, key=lambda n: int(n.removeprefix(name)))]
    if name not in op.attr:
        return argument["default"]
    stored = op.attr[name]
    if "[" in kind:
        return list({"float": stored.list.f, "bool": stored.list.b}.get(kind[: kind.index("[")], stored.list.i))
    if kind == "ScalarType":
        return DataType(stored.dt).torch
    if kind == "str":
        return stored.s.decode()
    return {"float": stored.f, "bool": stored.b}.get(kind, stored.i)


@functools.cache
def _kernels(interface: Any) -> Kernels:
    return Kernels(interface)


def offer(interface: Any, program: Program) -> Kernels:
    """Tell the emulator the kernels for the users' operators of a graph. GEConversionError if there is none for one."""
    kernels = _kernels(interface)
    types = {op.type for op in program.model.graph[0].op}
    missing = [
        name
        for name in sorted(types - set(graph.prototypes()) - {"NetOutput"})
        if name not in program.kernels and name not in kernels.operators and name not in fused.types()
    ]
    if missing:
        raise GEConversionError(
            "the emulator has no kernel for the GE operators "
            + ", ".join(missing)
            + ". It takes the PrivateUse1 kernel of the operator whose name in CamelCase is that, and that writes the arguments "
            "which have outputs of their names: my_inplace(Tensor(a!) x) for MyInplace with the output 'x'"
        )
    for name, handle in program.kernels.items():
        kernels.offer(name, handle)
    for name in types & set(fused.types()) - set(graph.prototypes()):
        kernels.answer(name)
    return kernels
