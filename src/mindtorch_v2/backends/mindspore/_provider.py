"""Kernels at the key CPU: one that calls a primitive for each row of the table, and one that counts calls of all others."""

from __future__ import annotations

import functools
import importlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2._tensor import Tensor
from mindtorch_v2.backends.mindspore._rows import Row
from mindtorch_v2.interop import _mindspore
from mindtorch_v2.library import get_kernel

_CPU = _C._key_bit("CPU")
# Where MindSpore keeps its primitives: instances with generated bindings ("add_ext_op"), and classes ("MatMul").
_GENERATED = "mindspore.ops.auto_generate.gen_ops_prim"
_CLASSES = "mindspore.ops.operations"


class Counts:
    """How often each operator ran where; whole under threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served: Counter[str] = Counter()
        self._ours: dict[str, Counter[str]] = {}

    def serve(self, operator: str) -> None:
        """Count a call that a primitive answered."""
        with self._lock:
            self._served[operator] += 1

    def keep(self, operator: str, reason: str) -> None:
        """Count a call that our kernel answered."""
        with self._lock:
            self._ours.setdefault(operator, Counter())[reason] += 1

    def copied(self) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
        """The counts as they are now: of primitives, and of our kernels by reason."""
        with self._lock:
            return dict(self._served), {name: dict(reasons) for name, reasons in self._ours.items()}


class _Inside(threading.local):
    """Whether this thread is in one of our kernels: what that calls is not the program's, runs on our kernels, and is not counted."""

    active = False

    def __enter__(self) -> None:
        self.active = True

    def __exit__(self, *exception: object) -> None:
        self.active = False


_inside = _Inside()


def full_name(handle: Any) -> str:
    """The name of an operator as `torch.ops` has it, "aten::add.Tensor"."""
    return f"{handle.namespace}::{handle.name}" + (f".{handle.overload}" if handle.overload else "")


def countable(handle: Any) -> bool:
    """Whether calls of an operator are counted: it has a kernel for the CPU, which computes a tensor."""
    computes = handle.returns and all(each["type"].startswith("Tensor") for each in handle.returns)
    return bool("CPU" in handle.kernels() and not handle.is_view and computes)


class Counted:
    """The kernel of an operator without a primitive: ours, counted."""

    def __init__(self, handle: Any, counts: Counts) -> None:
        self.name = full_name(handle)
        self.covered = get_kernel(self.name, "CPU")
        self._counts = counts

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _inside.active:
            self._counts.keep(self.name, "no primitive")
        return self.covered.call_boxed(_CPU, *args, **kwargs)


class Kernel:
    """The kernel of one row. What the primitive cannot do goes to the kernel that it covers, and is counted."""

    provider = "mindspore"

    def __init__(self, row: Row, counts: Counts) -> None:
        self.row, self._counts = row, counts
        self.handle = ROWS[row.operator].handle
        self.name = full_name(self.handle)
        self.covered = get_kernel(self.name, "CPU")
        self._defaults = {each["name"]: each["default"] for each in self.handle.arguments}
        self._order, self._attributes = _picks(row.order), _picks(row.attributes)
        self._others = frozenset(row.others.split())
        self._only = _picks(row.only) if row.only else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _inside.active:
            return self.covered.call_boxed(_CPU, *args, **kwargs)
        given = {**self._defaults, **dict(zip(self._defaults, args)), **kwargs}
        with _inside:
            reason = self._unfit(given)
            if reason is None:
                results = self._served(given)
        if reason is None:
            self._counts.serve(self.name)
            return results
        self._counts.keep(self.name, reason)
        return self.covered.call_boxed(_CPU, *args, **kwargs)

    def _served(self, given: dict[str, Any]) -> Any:
        try:
            return self._call(given)
        except Exception as error:
            _forget_errors()
            raise RuntimeError(
                f"{self.name}: MindSpore's primitive {self.row.primitive} failed: {_first_line(error)}. "
                "mindtorch_v2.backends.mindspore.disable() goes back to our kernels"
            ) from error

    def _unfit(self, given: dict[str, Any]) -> str | None:
        """The reason that keeps a call from the primitive; None if nothing does."""
        swept = [value for name, value in given.items() if name not in self._others]
        tensors = list(_tensors(swept))
        dtypes = {str(tensor.dtype).rpartition(".")[2] for tensor in tensors}
        if len(dtypes) != 1 or not dtypes <= set(self.row.dtypes):
            return "dtype"
        numbers = {type(value) for value in swept if isinstance(value, float | complex)}
        if numbers and not (tensors[0].is_floating_point() and numbers == {float}):
            return "dtype"
        if any(not tensor.numel() for tensor in _tensors(given.values())):
            return "no elements"
        if self.row.finite and any(x.is_floating_point() and not x.isfinite().all() for x in tensors):
            return "not finite"
        if self._only is not None and not self._only(given):
            return "arguments"
        return None

    def _call(self, given: dict[str, Any]) -> Any:
        function = primitive(self.row.primitive, *[_to_mindspore(value) for value in self._attributes(given)])
        results = function(*[_to_mindspore(value) for value in self._order(given)])
        listed = results if isinstance(results, tuple) else (results,)
        # Copies: some primitives hand back an input, and memory of MindSpore's cannot be resized.
        ours = [_mindspore.shared_from_mindspore(item).clone() for item in listed[: len(self.handle.returns)]]
        for place, name in enumerate(self.row.results.split()):
            ours[place] = ours[place].to(_C._dtypes[name]) if name != "same" else ours[place]
        return ours[0] if len(ours) == 1 else tuple(ours)


@functools.cache
def primitive(name: str, *attributes: Any) -> Callable[..., Any]:
    """MindSpore's primitive of a row; one that is a class is made with its attributes."""
    if name[0].islower():
        return getattr(importlib.import_module(_GENERATED), f"{name}_op")
    return getattr(importlib.import_module(_CLASSES), name)(*attributes)


def _picks(field: Any) -> Callable[[dict[str, Any]], Any]:
    """A field of a row as a function of the arguments by name: it is names in order, or takes arguments by their names."""
    if isinstance(field, str):
        names = field.split()
        return lambda given: tuple(_hashable(given[name]) for name in names)
    wanted = field.__code__.co_varnames[: field.__code__.co_argcount]
    return lambda given: field(*[given[name] for name in wanted])


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _to_mindspore(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _mindspore.shared_with_mindspore(value)
    if isinstance(value, list | tuple):
        return tuple(_to_mindspore(item) for item in value)
    if isinstance(value, _C.dtype):
        return _mindspore.mindspore_dtype(value)
    return value


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" -")]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _forget_errors() -> None:
    """Take what else the failed primitive has left in MindSpore's queue: the next call would raise it."""
    api = importlib.import_module("mindspore.common.api")
    for _ in range(5):
        try:
            api._pynative_executor.sync()
        except Exception:  # noqa: BLE001  (it is the failed primitive's, which is raised)
            continue
        break
