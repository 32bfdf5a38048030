"""The graph of a trace: inputs that are lifted, and calls that are run on fake tensors and written down."""

import contextlib
import linecache
import operator
import re
import sys

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2._capture._guard_kinds import TensorMeta, is_constant
from mindtorch_v2._capture._guards import Guard
from mindtorch_v2._capture._result import Uncapturable
from mindtorch_v2._capture._symbolic import SymNumber, SymSize, plain, wrap_number
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from mindtorch_v2._torch_function import DisableTorchFunction
from mindtorch_v2.overrides import TorchFunctionMode
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Recorder"]

_OPERATORS = {
    f"__{name}__": getattr(operator, name, None) or getattr(operator, name + "_")
    for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor neg invert getitem setitem".split()
    + "lt le gt ge eq ne iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift abs".split()
}
_PLAIN = (bool, int, float, complex, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class _Net(TorchFunctionMode):
    """Catches calls that reach torch by a way that the trace did not see coming."""

    def __init__(self, trace):
        self.trace = trace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if type(func).__name__ == "wrapper_descriptor":
            if name in _OPERATORS:
                return self.trace.record("call_function", _OPERATORS[name], args, kwargs)
            if name.startswith("__r") and f"__{name[3:]}" in _OPERATORS:
                return self.trace.record("call_function", _OPERATORS[f"__{name[3:]}"], args[::-1], kwargs)
            self.trace.refuse(f"{name} of a tensor cannot be captured")
        if type(func).__name__ == "Method" and args and isinstance(args[0], torch.Tensor):
            return self.trace.record("call_method", name, args, kwargs)
        return self.trace.record("call_function", func, args, kwargs)


class _Mode(FakeTensorMode):
    """Fake tensors of a trace: where a value is asked for, the capture has failed, whoever catches the error."""

    def __init__(self, trace):
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.trace.note_failure(f"the result of {error.func} depends on values", "data_dependent")
            raise
        except UnsupportedOperatorException as error:
            self.trace.note_failure(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")
            raise


class Recorder:
    """Half of a trace: tensors, nodes, guards."""

    def __init__(self, dynamic_sizes):
        self.graph = fx.Graph()
        self.fake_mode = _Mode(self)
        self.nodes = {}  # id of a fake tensor -> its node
        self.kept = []  # what ids are taken of
        self.tainted = set()  # ids of fake tensors whose sizes may differ between calls
        self.symbolic = set()  # nodes of numbers
        self.conditions = {}  # node -> value
        self.inputs = []  # (node, source, real tensor, fake tensor)
        self.input_of = {}  # id of a real tensor -> its place in inputs
        self.real_of = {}  # id of a fake tensor -> its place in inputs
        self.guards, self._known_guards = [], set()
        self.dynamic_sizes = dynamic_sizes  # (source text, tensor) -> indices
        self.failed = None
        self.tries = 0  # blocks of try statements that the program is in
        self.recorded_in_try = False
        self.tries_by_form = 0  # those whose handlers catch what does not depend on values
        self.recorded_in_try_by_form = False
        self._last_input = None
        self.input_names = {}
        self.net = _Net(self)

    # ---- refusals ----

    def refuse(self, reason, kind="unsupported"):
        """Give the capture up."""
        self.fail(Uncapturable(reason, kind))

    def note_failure(self, reason, kind):
        """Give the capture up, at the next chance."""
        if self.failed is None:
            self.failed = Uncapturable(reason, kind, self.location())

    def fail(self, error):
        """Give the capture up for good, with the place that the program is at."""
        if error.location is None:
            error.location = self.location()
        if self.failed is None:
            self.failed = error
        raise self.failed

    def location(self):
        """Where the program is: the innermost line of the user's code, else of any code that is traced."""
        frame, found = sys._getframe(1), None
        while frame is not None:
            code = frame.f_code
            if "__mt_h" in code.co_freevars:
                place = (code.co_filename, frame.f_lineno, self._line(code.co_filename, frame.f_lineno))
                found = found or place
                if not _is_library(code.co_filename):
                    return place
            frame = frame.f_back
        return found

    @staticmethod
    def _line(name, number):
        return linecache.getline(name, number)

    def alive(self):
        """Raise again what the program may have caught."""
        if self.failed is not None:
            raise self.failed

    # ---- guards ----

    def guard(self, kind, source, value=None):
        """A guard, once."""
        if kind in ("absent", "constant", "has", "keys"):
            key = (kind, source, _key(value))
        elif kind == "result":
            key = (kind, id(value[0]), _key(value[1]))
        elif kind == "function":
            key = (kind, id(value[0]))
        elif kind == "super":
            key = (kind, *map(id, value[:2]), value[2])
        else:
            key = (kind, source, value if isinstance(value, int) else id(value))
        if key not in self._known_guards:
            self._known_guards.add(key)
            self.kept.append(value)
            self.guards.append(Guard(kind, source, value))

    # ---- tensors that come from outside ----

    def tensor_input(self, real, source):
        """The fake tensor of a tensor that was read; an input of the graph."""
        place = self.input_of.get(id(real))
        if place is not None:
            _, known, _, fake = self.inputs[place]
            if known is not source:
                self.guard("same", source, known)
            return fake
        if type(real) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
            self.refuse(f"a tensor of the class {type(real).__name__} cannot be captured", "tensor_subclass")
        try:
            with DisableTorchFunction():
                fake = self.fake_mode.from_tensor(real)
        except UnsupportedFakeTensorException as error:
            self.refuse(f"this tensor cannot be captured: {error}", "tensor_subclass")
        if id(fake) in self.nodes:
            self.refuse("a view of another input cannot be captured", "view_input")
        indices = frozenset(self.dynamic_sizes(source, real)) if real.is_contiguous() else frozenset()
        self.guard("tensor", source, TensorMeta(real, indices))
        insert = (
            self.graph.inserting_before() if self._last_input is None else self.graph.inserting_after(self._last_input)
        )
        with insert:
            name = _input_name(source)
            self.input_names[name] = count = self.input_names.get(name, 0) + 1
            node = self.graph.placeholder(name if count == 1 else f"{name}_{count}_")
        self._last_input = node
        node.meta["example_value"] = fake
        self.input_of[id(real)] = len(self.inputs)
        self.real_of[id(fake)] = len(self.inputs)
        self.inputs.append((node, source, real, fake))
        self.nodes[id(fake)] = node
        self.kept.append(fake)
        if indices:
            self.tainted.add(id(fake))
        return fake

    def real_class(self, tensor):
        """The class that the program knows a tensor by."""
        place = self.real_of.get(id(tensor))
        if place is not None:
            return type(self.inputs[place][2])
        return torch.Tensor if type(tensor) is FakeTensor else type(tensor)

    # ---- numbers ----

    def symbolic_node(self, function, args):
        """The node of a number that is computed of numbers."""
        args = tuple(a.node if isinstance(a, SymNumber) else a for a in args)
        node = self.graph.call_function(function, args)
        self.symbolic.add(node)
        return node

    def condition(self, node, value):
        """Note that the program decided by the value of a node."""
        self.conditions[node] = value

    def shape_of(self, tensor):
        """The shape as the program may know it."""
        if id(tensor) not in self.tainted:
            return tensor.shape
        node = self.node_of(tensor)
        self.fact(tensor, "dim")
        sizes = []
        for index, size in enumerate(tensor.shape):
            of = self.graph.call_method("size", (node, index))
            self.symbolic.add(of)
            sizes.append(wrap_number(self, of, size))
        return SymSize(sizes)

    def fact(self, tensor, name, args=(), kwargs=None):
        """What a method tells of a tensor's form; a condition where sizes may differ."""
        value = getattr(tensor, name)(*args, **(kwargs or {}))
        if id(tensor) in self.tainted:
            arguments = (tensor, *args)
            if any(isinstance(a, torch.Tensor) and id(a) not in self.nodes for a in arguments):
                self.refuse(f"Tensor.{name}() of an unknown tensor", "unknown_tensor")
            node = self.graph.call_method(name, tuple(self._argument(a) for a in arguments), kwargs or {})
            self.symbolic.add(node)
            self.condition(node, value)
        return value

    # ---- calls ----

    def node_of(self, tensor):
        """The node that gives a tensor."""
        node = self.nodes.get(id(tensor))
        if node is None:
            self.refuse("a tensor that the capture has not seen being made or read", "unknown_tensor")
        return node

    def _argument(self, value):
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, SymNumber):
            return value.node
        kind = type(value)
        if kind in _PLAIN or value is ...:
            return value
        if kind in (list, SymSize):
            made = [self._argument(v) for v in value]
            return made if kind is list else tuple(made)
        if isinstance(value, torch.Size):
            return tuple(value)
        if isinstance(value, tuple):
            return tuple(self._argument(v) for v in value)
        if kind is dict:
            return {k: self._argument(v) for k, v in value.items()}
        if kind is slice:
            return slice(*(self._argument(v) for v in (value.start, value.stop, value.step)))
        if isinstance(value, (bool, int, float, str)):
            return value
        self.refuse(f"a {kind.__name__} as an argument of a torch function cannot be captured", "argument")
        return None

    def record(self, op, target, args, kwargs):
        """Run a call on fake tensors, write it down, and give its result."""
        self.alive()
        node_args = tuple(self._argument(a) for a in args)
        node_kwargs = {key: self._argument(value) for key, value in kwargs.items()}
        plain_args, plain_kwargs = _plain((args, kwargs))
        tainted = self._tainted(args, kwargs)
        function = getattr(torch.Tensor, target) if op == "call_method" else target
        try:
            with DisableTorchFunction():
                result = function(*plain_args, **plain_kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.refuse(f"the result of {error.func} depends on values", "data_dependent")
        except UnsupportedOperatorException as error:
            self.refuse(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")
        if result is NotImplemented:
            return result
        node = self.graph.create_node(op, target, node_args, node_kwargs)
        self.recorded_in_try = self.recorded_in_try or self.tries > 0
        self.recorded_in_try_by_form = self.recorded_in_try_by_form or self.tries_by_form > 0
        node.meta["example_value"] = result
        place = self.location()
        if place is not None:
            node.meta["stack_trace"] = f'  File "{place[0]}", line {place[1]}\n    {place[2].strip()}'
        self.track(result, node, tainted)
        return result

    def _tainted(self, args, kwargs):
        if not self.tainted:
            return False
        leaves = pytree.arg_tree_leaves(*args, **kwargs)
        return any(isinstance(x, SymNumber) or id(x) in self.tainted for x in leaves)

    def track(self, result, node, tainted):
        """Note which node gives the tensors of a result."""
        if isinstance(result, torch.Tensor):
            if id(result) not in self.nodes:
                if not isinstance(result, FakeTensor):
                    self.refuse("a call gave a tensor that is not fake", "unknown_tensor")
                self.nodes[id(result)] = node
                self.kept.append(result)
                if tainted:
                    self.tainted.add(id(result))
        elif isinstance(result, (tuple, list)):
            if tainted:
                length = self.graph.call_function(len, (node,))
                self.symbolic.add(length)
                self.condition(length, len(result))
            for index, each in enumerate(result):
                if isinstance(each, (torch.Tensor, tuple, list)):
                    item = self.graph.call_function(operator.getitem, (node, index))
                    item.meta["example_value"] = each
                    self.track(each, item, tainted)
                elif tainted and isinstance(each, (int, float)):
                    self.refuse("a number among the results of a call with dynamic sizes", "dynamic")
        elif result is not None and not isinstance(result, (bool, int, float, str, torch.dtype, torch.device)):
            self.refuse(f"a {type(result).__name__} as the result of a torch function", "result")

    @contextlib.contextmanager
    def recording(self):
        """Fake tensors, and the net for calls that come by other ways."""
        with self.fake_mode, self.net:
            yield


def _key(value):
    """What tells a guarded value from others: its text where it is a constant, else which object it is."""
    if type(value) is tuple:
        return tuple(map(_key, value))
    return (type(value), repr(value)) if is_constant(value) else id(value)


def _plain(value):
    """`value` with the numbers seen in the place of symbolic ones."""
    if isinstance(value, SymNumber):
        return value.value
    if isinstance(value, SymSize):
        return torch.Size(map(plain, value))
    if not _has_symbols(value):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    if type(value) is dict:
        return {key: _plain(each) for key, each in value.items()}
    return slice(plain(value.start), plain(value.stop), plain(value.step))


def _has_symbols(value):
    if isinstance(value, SymNumber):
        return True
    if isinstance(value, (list, tuple)):
        return any(map(_has_symbols, value))
    if type(value) is dict:
        return any(map(_has_symbols, value.values()))
    return type(value) is slice and any(map(_has_symbols, (value.start, value.stop, value.step)))


_PACKAGE = torch.__path__[0]
_STANDARD = contextlib.__file__.rpartition("/")[0]


def _is_library(name):
    return name.startswith((_PACKAGE, "<frozen")) or name.startswith(_STANDARD) and "site-packages" not in name


def _input_name(source):
    return re.sub(r"\W+", "_", source.text()).strip("_") or "input"
