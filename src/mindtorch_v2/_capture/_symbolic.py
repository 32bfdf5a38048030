"""Sizes that may differ between calls: numbers that stand for a node of the graph and carry the value seen.

What the program decides by such a number is a condition. `ShapeProgram` tells for other sizes whether every decision
comes out the same: it runs the graph on fake tensors of those sizes.
"""

import operator

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.interpreter import Interpreter

__all__ = ["ShapeProgram", "SymFloat", "SymInt", "SymSize", "plain"]


class SymNumber:
    """A number that a node of a graph gives; `value` is what it was in the capture."""

    def __init__(self, trace, node, value):
        self.trace, self.node, self.value = trace, node, value

    def _with(self, function, *args):
        values = function(*map(plain, args))
        node = self.trace.symbolic_node(function, args)
        return wrap_number(self.trace, node, values)

    def _decided(self, function, *args):
        value = function(*map(plain, args))
        self.trace.condition(self.trace.symbolic_node(function, args), value)
        return value

    def __bool__(self):
        return self._decided(operator.ne, self, 0)

    def __index__(self):
        self.trace.condition(self.node, self.value)
        return operator.index(self.value)

    def __int__(self):
        self.trace.condition(self.node, self.value)
        return int(self.value)

    def __float__(self):
        self.trace.condition(self.node, self.value)
        return float(self.value)

    def __hash__(self):
        self.trace.condition(self.node, self.value)
        return hash(self.value)

    def __repr__(self):
        self.trace.condition(self.node, self.value)
        return repr(self.value)

    def __format__(self, spec):
        self.trace.condition(self.node, self.value)
        return format(self.value, spec)


class SymInt(SymNumber):
    """An integer of this kind."""


class SymFloat(SymNumber):
    """A float of this kind."""


def plain(value):
    """The number seen, for one of these; anything else as it is."""
    return value.value if isinstance(value, SymNumber) else value


def wrap_number(trace, node, value):
    """The number that `node` gives, `value` in the capture."""
    return (SymFloat if isinstance(value, float) else SymInt)(trace, node, value)


def _binary(function):
    def forward(self, other):
        return self._with(function, self, other) if isinstance(other, (int, float, SymNumber)) else NotImplemented

    def reflected(self, other):
        return self._with(function, other, self) if isinstance(other, (int, float, SymNumber)) else NotImplemented

    return forward, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _reflected = _binary(getattr(operator, _name))
    setattr(SymNumber, f"__{_name}__", _forward)
    setattr(SymNumber, f"__r{_name}__", _reflected)


def _comparison(function):
    def compare(self, other):
        return self._decided(function, self, other) if isinstance(other, (int, float, SymNumber)) else NotImplemented

    return compare


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(SymNumber, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in ("neg", "pos", "abs"):
    setattr(SymNumber, f"__{_name}__", lambda self, function=getattr(operator, _name): self._with(function, self))


class SymSize(tuple):
    """The shape of a tensor in which sizes are such numbers."""

    __slots__ = ()

    def numel(self):
        """The product of the sizes."""
        result = 1
        for size in self:
            result = result * size
        return result


class ShapeProgram:
    """The graph with every condition as an output; remembers the answer for each combination of sizes."""

    _LIMIT = 1024

    def __init__(self, module, expected, examples, dynamic):
        self.module, self.expected = module, expected
        self.metas = [(tuple(t.shape), t.stride(), t.dtype, t.device, t.requires_grad, t.is_leaf) for t in examples]
        self.dynamic = dynamic
        self._known = {}

    def holds(self, inputs):
        """Whether the graph serves inputs of these sizes."""
        key = tuple(tuple(inputs[i].shape) for i in self.dynamic)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._LIMIT:
                self._known.clear()
            known = self._known[key] = self._run(dict(zip(self.dynamic, key)))
        return known

    def _run(self, sizes):
        mode = FakeTensorMode()
        before = torch.is_grad_enabled()
        try:
            with mode:
                made = [self._fake(sizes.get(i), *meta) for i, meta in enumerate(self.metas)]
                found = Interpreter(self.module).run(*made)
        except Exception:  # noqa: BLE001  (whatever an operator says of these sizes, the graph is not made for them)
            return False
        finally:
            torch.set_grad_enabled(before)
        return all(type(f) is type(e) and f == e for f, e in zip(found, self.expected))

    @staticmethod
    def _fake(shape, seen, stride, dtype, device, requires_grad, is_leaf):
        if shape is None:
            made = torch.empty_strided(seen, stride, dtype=dtype, device=device)
        else:
            made = torch.empty(shape, dtype=dtype, device=device)
        if requires_grad:
            made.requires_grad_()
            if not is_leaf:
                made = made.clone()
        return made
