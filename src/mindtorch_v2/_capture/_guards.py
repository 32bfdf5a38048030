"""Guards: what must hold for a captured graph to be used, and the function that checks it, made as Python code."""

import enum
import math
import types

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture._sources import absent, look_up, sequence_item
from mindtorch_v2._torch_dispatch import modes as _modes
from mindtorch_v2._torch_function import _state as _function_modes

__all__ = ["Guard", "compile_check", "compile_gather", "first_failure", "global_state", "is_constant", "same_constant"]

_BY_IDENTITY = (type(None), bool, type(...), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
_BY_VALUE = (int, float, complex, str, bytes, torch.device, torch.Size, range)


def is_constant(value):
    """Whether a value cannot change and is compared by type and value."""
    kind = type(value)
    if kind in _BY_IDENTITY or kind in _BY_VALUE or isinstance(value, enum.Enum):
        return True
    if kind in (tuple, frozenset):
        return all(map(is_constant, value))
    return kind is slice and all(map(is_constant, (value.start, value.stop, value.step)))


def same_constant(found, expected):
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


def active_modes():
    """The modes of this thread that see calls of functions or operators."""
    return (*_function_modes.modes, *_modes())


def global_state():
    """What operators' results depend on besides their arguments."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        str(_C._get_default_device()),
        tuple((torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in ("cpu", "npu")),
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
    """What is guarded of a tensor. `sizes` has None for a dynamic size, with which strides are those of `order`."""

    def __init__(self, tensor, dynamic=()):
        self.kind = type(tensor)
        self.dtype, self.device = tensor.dtype, tensor.device
        self.requires_grad = tensor.requires_grad
        self.is_leaf = tensor.is_leaf
        self.inference = tensor.is_inference()
        self.conj, self.neg = tensor.is_conj(), tensor.is_neg()
        self.dynamic = frozenset(dynamic)
        self.native = _C._TensorGuard(tensor, tuple(self.dynamic))
        self.shape, self.stride = tensor.shape, tensor.stride()

    def differs(self, value):
        """What is different in `value`, as text; None if nothing is."""
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

    def matches(self, value):
        """Whether `value` is such a tensor."""
        return self.native(value)


class Guard:
    """One condition. `kind` is the name of a rule in `_CONDITIONS`, `source` and `value` what it is about."""

    __slots__ = ("kind", "source", "value", "where")

    def __init__(self, kind, source, value=None, where=None):
        self.kind, self.source, self.value, self.where = kind, source, value, where

    def text(self):
        """The condition as text."""
        return _TEXTS[self.kind](self)

    def why(self, args, kwargs):
        """Why it does not hold for these arguments."""
        try:
            if self.kind == "tensor":
                return f"tensor {self.source.text()} {self.value.differs(self.source.get(args, kwargs))}"
            if self.kind == "state":
                now = global_state()
                changed = [n for n, a, b in zip(_STATE_NAMES, now, self.value) if a != b]
                return f"global state changed: {', '.join(changed)}"
            if self.kind == "constant":
                return f"{self.text()}, it is {self.source.get(args, kwargs)!r}"
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            return f"{self.text()}, which cannot be read"
        return self.text()


def _described(value):
    if value is absent:
        return "missing"
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"<{type(value).__name__}>"


_TEXTS = {
    "absent": lambda g: f"{g.value!r} not in {g.source.text()}",
    "arguments": lambda g: f"{g.value[0]} positional arguments and keywords {list(g.value[1])}",
    "class": lambda g: f"type({g.source.text()}) is {_described(g.value)}",
    "code": lambda g: f"{g.source.text()} runs the code of {g.value.co_name}",
    "constant": lambda g: f"{g.source.text()} == {g.value!r}",
    "different": lambda g: f"{g.source.text()} is not {g.value.text()}",
    "distinct": lambda g: f"{len(g.value)} tensors are different objects",
    "function": lambda g: f"{_described(g.value[0])} runs the same code",
    "has": lambda g: f"{g.value!r} in {g.source.text()}",
    "identity": lambda g: f"{g.source.text()} is {_described(g.value)}",
    "keys": lambda g: f"keys of {g.source.text()} are {list(g.value)!r}",
    "length": lambda g: f"len({g.source.text()}) == {g.value}",
    "lookup": lambda g: f"{g.source.text()} is {_described(g.value)}",
    "result": lambda g: f"{_described(g.value[0])}{g.value[1]!r} == {g.value[2]!r}",
    "same": lambda g: f"{g.source.text()} is {g.value.text()}",
    "separate": lambda g: f"the memory of {len(g.value)} tensors does not overlap",
    "state": lambda g: "grad mode, autocast, default dtype and device as they were",
    "super": lambda g: f"super({_described(g.value[0])}, {_described(g.value[1])}).{g.value[2]} is as it was",
    "tensor": lambda g: (
        f"{g.source.text()} is a {g.value.kind.__name__} of {g.value.dtype}, {g.value.device}, "
        f"size {[None if i in g.value.dynamic else n for i, n in enumerate(g.value.shape)]}, "
        f"stride {list(g.value.stride)}, requires_grad={g.value.requires_grad}"
    ),
    "truth": lambda g: f"bool({g.source.text()}) is {g.value}",
}


def _overlap(tensors):
    seen = set()
    for tensor in tensors:
        place = tensor.untyped_storage()._cdata
        if place in seen:
            return True
        seen.add(place)
    return False


def super_has(this, kind, name):
    """What stands under a name in the bases of `kind` after `this`."""
    line = type.__dict__["__mro__"].__get__(kind)
    for base in line[line.index(this) + 1 :]:
        found = type.__dict__["__dict__"].__get__(base).get(name, absent)
        if found is not absent:
            return found
    return absent


class _Writer:
    """Writes the code of a check: a variable for each source, a test for each guard."""

    def __init__(self):
        self.space = {
            "absent": absent,
            "attribute": object.__getattribute__,
            "dict_item": dict.__getitem__,
            "dict_has": dict.__contains__,
            "function_type": types.FunctionType,
            "global_state": global_state,
            "look_up": look_up,
            "overlap": _overlap,
            "same_constant": same_constant,
            "super_has": super_has,
            "sequence_item": sequence_item,
        }
        self.lines, self.names, self.constants = [], {}, {}

    def constant(self, value):
        """The name of an object."""
        name = self.constants.get(id(value))
        if name is None:
            name = self.constants[id(value)] = f"k{len(self.constants)}"
            self.space[name] = value
        return name

    def value(self, source):
        """The name of the variable that holds the value of a source."""
        name = self.names.get(source)
        if name is None:
            parent = None if source.parent is None else self.value(source.parent)
            code = source.code(parent, self.constant)
            if code.isidentifier():
                name = code
            else:
                name = f"v{len(self.names)}"
                self.lines.append(f"{name} = {code}")
            self.names[source] = name
        return name

    def condition(self, guard):
        """The expression that is true where the guard holds."""
        kind, value = guard.kind, guard.value
        of = None if guard.source is None else self.value(guard.source)
        if kind == "constant":
            if type(value) is bool or value is None:
                return f"{of} is {value}"
            if type(value) in (int, str):
                return f"{of} == {value!r} and type({of}) is {type(value).__name__}"
            if type(value) in _BY_IDENTITY or isinstance(value, enum.Enum):
                return f"{of} is {self.constant(value)}"
            return f"same_constant({of}, {self.constant(value)})"
        if kind in ("identity", "lookup"):
            return f"{of} is {self.constant(value)}"
        if kind == "class":
            return f"type({of}) is {self.constant(value)}"
        if kind == "absent":
            return (
                f"not dict_has({of}, {value!r})"
                if type(value) is str
                else f"not dict_has({of}, {self.constant(value)})"
            )
        if kind == "has":
            return f"dict_has({of}, {self.constant(value)})"
        if kind == "truth":
            return f"(len({of}) != 0) is {value}"
        if kind == "length":
            return f"len({of}) == {value}"
        if kind == "keys":
            return f"same_constant(tuple({of}), {self.constant(value)})"
        if kind in ("same", "different"):
            return f"{of} {'is' if kind == 'same' else 'is not'} {self.value(value)}"
        if kind == "tensor":
            return f"{self.constant(value.native)}({of})"
        if kind == "apart":
            apart, memory, sources = value
            return f"{self.constant(apart)}({memory}, {', '.join(map(self.value, sources))})"
        if kind == "looks":
            return f"{self.constant(value)}({of})"
        if kind == "code":
            return f"type({of}) is function_type and {of}.__code__ is {self.constant(value)}"
        if kind == "function":
            f = self.constant(value[0])
            return (
                f"{f}.__code__ is {self.constant(value[1])} and {f}.__defaults__ is {self.constant(value[2])} "
                f"and {f}.__kwdefaults__ is {self.constant(value[3])}"
            )
        if kind == "result":
            return f"same_constant({self.constant(value[0])}(*{self.constant(value[1])}), {self.constant(value[2])})"
        if kind == "super":
            this, of, name, attribute = value
            return f"super_has({self.constant(this)}, {self.constant(of)}, {name!r}) is {self.constant(attribute)}"
        if kind == "arguments":
            return f"len(args) == {value[0]} and tuple(kwargs) == {self.constant(value[1])}"
        if kind == "state":
            return f"global_state() == {self.constant(value)}"
        if kind == "distinct":
            return f"len({{{', '.join(f'id({self.value(s)})' for s in value)}}}) == {len(value)}"
        if kind == "separate":
            return f"not overlap(({', '.join(self.value(s) for s in value)},))"
        raise AssertionError(kind)


def _compile(writer, name, lines, otherwise):
    body = "\n".join(f"        {line}" for line in lines)
    text = (
        f"def {name}(args, kwargs):\n    i = 0\n    try:\n{body}\n    except Exception:\n        return {otherwise}\n"
    )
    exec(compile(text, f"<{name}>", "exec"), writer.space)
    return writer.space[name]


def compile_check(guards, watch=None):
    """A function of `(args, kwargs)`: whether every guard holds.

    `watch` is `(check, full, casts, dtypes, cache_enabled)`: where `check()` is false, or autocast's settings are not
    these, `full(args, kwargs)` decides.
    """
    writer = _Writer()
    if watch is not None:
        check, full, casts, dtypes, cache = watch
        deterministic = torch.are_deterministic_algorithms_enabled
        writer.space.update(watch=check, full=full, casts=casts, dtypes=dtypes, deterministic=deterministic)
        changed = (
            f"not watch() or casts.dtypes != dtypes or casts.cache_enabled is not {cache} "
            f"or deterministic() is not {deterministic()}"
        )
        writer.lines.append(f"if {changed}: return full(args, kwargs)")
    for guard in guards:
        condition = writer.condition(guard)
        writer.lines.append(f"if not ({condition}): return False")
    return _compile(writer, "guards", [*writer.lines, "return True"], False)


def first_failure(guards, args, kwargs):
    """Why the first guard that does not hold fails, in a list; empty if all hold."""
    writer = _Writer()
    for index, guard in enumerate(guards):
        writer.lines.append(f"i = {index}")
        condition = writer.condition(guard)
        writer.lines.append(f"if not ({condition}): return {index}")
    found = _compile(writer, "failing_guard", [*writer.lines, "return -1"], "i")(args, kwargs)
    return [] if found == -1 else [guards[found].why(args, kwargs)]


def compile_gather(sources):
    """A function of `(args, kwargs)` that gives the graph's inputs."""
    writer = _Writer()
    names = [writer.value(source) for source in sources]
    body = "\n".join(f"    {line}" for line in writer.lines)
    exec(
        compile(
            f"def gather(args, kwargs):\n{body or '    pass'}\n    return [{', '.join(names)}]\n", "<inputs>", "exec"
        ),
        writer.space,
    )
    return writer.space["gather"]
