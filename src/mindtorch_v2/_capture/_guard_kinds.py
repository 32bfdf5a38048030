"""The kinds of guard: each says what it demands as text, and as an expression in the code of a check."""

from __future__ import annotations

import enum
import math
import sys
import types
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture._sources import absent
from mindtorch_v2._core.torch_dispatch import modes as _modes
from mindtorch_v2._core.torch_function import _state as _function_modes
from mindtorch_v2._operators import autocast as _autocast

__all__ = ["KINDS", "TensorMeta", "active_modes", "global_state", "is_constant", "names", "same_constant"]

_BY_IDENTITY = (type(None), bool, type(...), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
_BY_VALUE = (int, float, complex, str, bytes, torch.device, torch.Size, range)


def is_constant(value: Any) -> bool:
    """Whether a value cannot change and is compared by type and value."""
    kind = type(value)
    if kind in _BY_IDENTITY or kind in _BY_VALUE or isinstance(value, enum.Enum):
        return True
    if kind in (tuple, frozenset):
        return all(map(is_constant, value))
    return kind is slice and all(map(is_constant, (value.start, value.stop, value.step)))


def same_constant(found: Any, expected: Any) -> bool:
    """Whether `found` is the constant `expected`: of its class and equal, with the sign of zero and nan as nan."""
    kind = type(expected)
    if type(found) is not kind:
        return False
    if kind is float:
        if expected != expected:
            return found != found
        return found == expected and (expected != 0 or math.copysign(1, found) == math.copysign(1, expected))
    if kind is complex:
        return same_constant(found.real, expected.real) and same_constant(found.imag, expected.imag)
    if kind is tuple:
        return len(found) == len(expected) and all(map(same_constant, found, expected))
    if kind is frozenset:
        return found == expected and {(type(x), x) for x in found} == {(type(x), x) for x in expected}
    if kind is slice:
        return all(same_constant(getattr(found, n), getattr(expected, n)) for n in ("start", "stop", "step"))
    return found is expected or (kind in _BY_VALUE and found == expected)


def active_modes() -> tuple:
    """The modes of this thread that see calls of functions or operators."""
    return (*_function_modes.modes, *_modes())


def global_state() -> tuple:
    """The settings that operators' results depend on besides their arguments."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        str(_C._get_default_device()),
        tuple((torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in _autocast.DEVICES),
        torch.is_autocast_cache_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        len(active_modes()),
    )


_STATE_NAMES = (
    "grad mode",
    "inference mode",
    "default dtype",
    "default device",
    "autocast",
    "autocast cache",
    "deterministic algorithms",
    "modes",
)


class TensorMeta:
    """Facts of a tensor that are guarded. `sizes` has None for a dynamic size, with which strides are those of `order`."""

    def __init__(self, tensor: Any, dynamic: Any = ()) -> None:
        self.kind = type(tensor)
        self.dtype, self.device = tensor.dtype, tensor.device
        self.requires_grad = tensor.requires_grad
        self.is_leaf = tensor.is_leaf
        self.inference = tensor.is_inference()
        self.conj, self.neg = tensor.is_conj(), tensor.is_neg()
        self.dynamic = frozenset(dynamic)
        self.native = _C._TensorGuard(tensor, tuple(self.dynamic))
        self.shape, self.stride = tensor.shape, tensor.stride()

    def differs(self, value: Any) -> Any:
        """The difference of `value`, as text; None if nothing is."""
        if type(value) is not self.kind:
            return f"type changed from {self.kind.__name__} to {type(value).__name__}"
        if value.dtype is not self.dtype:
            return f"dtype mismatch: expected {self.dtype}, actual {value.dtype}"
        if value.device != self.device:
            return f"device mismatch: expected {self.device}, actual {value.device}"
        if value.requires_grad is not self.requires_grad or value.is_leaf is not self.is_leaf:
            return f"requires_grad or is_leaf mismatch: expected {self.requires_grad}, {self.is_leaf}"
        if value.shape != self.shape or value.stride() != self.stride:
            problem = self._size_differs(value)
            if problem:
                return problem
        if (
            value.is_inference() is not self.inference
            or value.is_conj() is not self.conj
            or value.is_neg() is not self.neg
        ):
            return "inference, conjugate or negative flag mismatch"
        return None if self.native(value) else "layout or keys mismatch"

    def _size_differs(self, value):
        if value.dim() != len(self.shape):
            return f"rank mismatch: expected {len(self.shape)}, actual {value.dim()}"
        for index, (size, found) in enumerate(zip(self.shape, value.shape)):
            if index not in self.dynamic and size != found:
                return f"size mismatch at index {index}: expected {size}, actual {found}"
            if index in self.dynamic and found < 2:
                return f"size {found} at index {index} is special: graphs are made for it alone"
        if not self.dynamic:
            return f"stride mismatch: expected {self.stride}, actual {value.stride()}"
        return None if value.is_contiguous() else f"stride mismatch: expected contiguous, actual {value.stride()}"

    def matches(self, value: Any) -> Any:
        """Whether `value` is such a tensor."""
        return self.native(value)


def _overlap(tensors) -> bool:
    seen = set()
    for tensor in tensors:
        place = tensor.untyped_storage()._cdata
        if place in seen:
            return True
        seen.add(place)
    return False


def super_has(this: type, kind: Any, name: str) -> Any:
    """The attribute under a name in the bases of `kind` after `this`."""
    line = type.__dict__["__mro__"].__get__(kind)
    for base in line[line.index(this) + 1 :]:
        found = type.__dict__["__dict__"].__get__(base).get(name, absent)
        if found is not absent:
            return found
    return absent


# What the expressions below may name.
names = {
    "dict_has": dict.__contains__,
    "function_type": types.FunctionType,
    "global_state": global_state,
    "overlap": _overlap,
    "same_constant": same_constant,
    "super_has": super_has,
}


def _described(value):
    if value is absent:
        return "missing"
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"<{type(value).__name__}>"


KINDS: dict = {}
"""Name -> kind."""


class Kind:
    """Demand of the guards of a name. A guard has a source (or None) and a value: what is expected of what is found there."""

    def __init_subclass__(cls, called: Any = None) -> None:
        for name in (called or cls.__name__.lower()).split():
            KINDS[name] = cls

    @staticmethod
    def text(guard: Any) -> str:
        """The demand, for readers."""
        return f"a check of {guard.kind}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> Any:
        """The demand as an expression. `of` is the variable with what was found; `writer` names objects and sources."""
        raise NotImplementedError

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Why the guard does not hold for these arguments."""
        return cls.text(guard)


class Constant(Kind):
    """A constant of the same class and value."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} == {guard.value!r}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        value = guard.value
        if type(value) is bool or value is None:
            return f"{of} is {value}"
        if type(value) in (int, str):
            return f"{of} == {value!r} and type({of}) is {type(value).__name__}"
        if type(value) in _BY_IDENTITY or isinstance(value, enum.Enum):
            return f"{of} is {writer.constant(value)}"
        return f"same_constant({of}, {writer.constant(value)})"

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> str:
        return f"{cls.text(guard)}, it is {guard.source.get(args, kwargs)!r}"


class Number(Kind):
    """A number of the class. 0 and 1 mean more than other integers do, zeros have a sign: these have graphs of their own."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} is {'any int but 0 and 1' if guard.value is int else 'any finite float but 0'}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        if guard.value is int:
            return f"type({of}) is int and not 0 <= {of} <= 1"
        return f"type({of}) is float and 0 < abs({of}) <= {sys.float_info.max!r}"

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> str:
        return f"{cls.text(guard)}, it is {guard.source.get(args, kwargs)!r}"


class Identity(Kind, called="identity lookup"):
    """The very object."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} is {_described(guard.value)}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{of} is {writer.constant(guard.value)}"


class Class(Kind):
    """An object of the class."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"type({guard.source.text()}) is {_described(guard.value)}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"type({of}) is {writer.constant(guard.value)}"


class Absent(Kind):
    """A dictionary without the key."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.value!r} not in {guard.source.text()}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        key = repr(guard.value) if type(guard.value) is str else writer.constant(guard.value)
        return f"not dict_has({of}, {key})"


class Has(Kind):
    """A dictionary with the key."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.value!r} in {guard.source.text()}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"dict_has({of}, {writer.constant(guard.value)})"


class Keys(Kind):
    """A dictionary with these keys, in this order."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"keys of {guard.source.text()} are {list(guard.value)!r}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"same_constant(tuple({of}), {writer.constant(guard.value)})"


class Length(Kind):
    """A container of so many items."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"len({guard.source.text()}) == {guard.value}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"len({of}) == {guard.value}"


class Truth(Kind):
    """A container that is empty, or is not."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"bool({guard.source.text()}) is {guard.value}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"(len({of}) != 0) is {guard.value}"


class Same(Kind):
    """The object that is found at another source, too."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} is {guard.value.text()}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{of} is {writer.value(guard.value)}"


class Different(Kind):
    """Another object than that at another source."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} is not {guard.value.text()}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{of} is not {writer.value(guard.value)}"


class Tensor(Kind):
    """A tensor of the form that a `TensorMeta` holds."""

    @staticmethod
    def text(guard: Any) -> str:
        meta = guard.value
        return (
            f"{guard.source.text()} is a {meta.kind.__name__} of {meta.dtype}, {meta.device}, "
            f"size {[None if i in meta.dynamic else n for i, n in enumerate(meta.shape)]}, "
            f"stride {list(meta.stride)}, requires_grad={meta.requires_grad}"
        )

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{writer.constant(guard.value.native)}({of})"

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> str:
        return f"tensor {guard.source.text()} {guard.value.differs(guard.source.get(args, kwargs))}"


class Looks(Kind):
    """The values that a native guard accepts."""

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{writer.constant(guard.value)}({of})"


class Distinct(Kind):
    """Sources with as many different objects."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{len(guard.value)} tensors are different objects"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"len({{{', '.join(f'id({writer.value(s)})' for s in guard.value)}}}) == {len(guard.value)}"


class Separate(Kind):
    """Tensors that share no memory."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"the memory of {len(guard.value)} tensors does not overlap"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"not overlap(({', '.join(map(writer.value, guard.value))},))"


class Apart(Kind):
    """The two above, asked of a watch that knows the tensors which are always the same."""

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        apart, memory, sources = guard.value
        return f"{writer.constant(apart)}({memory}, {', '.join(map(writer.value, sources))})"


class Code(Kind):
    """A function with this code."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.source.text()} runs the code of {guard.value.co_name}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"type({of}) is function_type and {of}.__code__ is {writer.constant(guard.value)}"


class Function(Kind):
    """A function that is as it was: `(function, code, defaults, keyword defaults)`."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{_described(guard.value[0])} runs the same code"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        f, code, defaults, keywords = map(writer.constant, guard.value[:4])
        return f"{f}.__code__ is {code} and {f}.__defaults__ is {defaults} and {f}.__kwdefaults__ is {keywords}"


class Result(Kind):
    """A pure function that gives the same again: `(function, arguments, result)`."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{_described(guard.value[0])}{guard.value[1]!r} == {guard.value[2]!r}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        function, arguments, result = map(writer.constant, guard.value)
        return f"same_constant({function}(*{arguments}), {result})"


class Super(Kind):
    """The attribute under a name in the bases: `(class, class of the object, name, what is there)`."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"super({_described(guard.value[0])}, {_described(guard.value[1])}).{guard.value[2]} is as it was"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        this, kind, name, attribute = guard.value
        return f"super_has({writer.constant(this)}, {writer.constant(kind)}, {name!r}) is {writer.constant(attribute)}"


class Arguments(Kind):
    """So many positional arguments, and these keywords."""

    @staticmethod
    def text(guard: Any) -> str:
        return f"{guard.value[0]} positional arguments and keywords {list(guard.value[1])}"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"len(args) == {guard.value[0]} and tuple(kwargs) == {writer.constant(guard.value[1])}"


class Shapes(Kind):
    """Sizes by which the program decides the same: a function of `(args, kwargs)` that tells."""

    @staticmethod
    def text(guard: Any) -> str:
        return "the program decides the same by the sizes"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"{writer.constant(guard.value)}(args, kwargs)"

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> str:
        return "the program decides something else by these sizes"


class State(Kind):
    """The settings of the thread."""

    @staticmethod
    def text(guard: Any) -> str:
        return "grad mode, autocast, default dtype and device as they were"

    @staticmethod
    def condition(writer: Any, of: Any, guard: Any) -> str:
        return f"global_state() == {writer.constant(guard.value)}"

    @classmethod
    def why(cls, guard: Any, args: Any, kwargs: dict[str, Any]) -> str:
        changed = [name for name, a, b in zip(_STATE_NAMES, global_state(), guard.value) if a != b]
        return f"global state changed: {', '.join(changed)}"
