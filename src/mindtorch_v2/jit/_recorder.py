"""The record of `torch.jit.trace`: every call of a function of torch while a program runs once, as a `torch.fx` graph.

A mode sees the calls, and those of `torch.ops` come by way of the key Tracer. What the calls give are tensors of a class of their own, which sees what no mode does: questions for sizes,
attributes, and elements that become Python values. Sizes are numbers that remember where they come from, so that what is computed
from them follows the inputs of a later run. Other Python values (numbers taken out of tensors, the way that an `if` went) are
constants of the record, and a warning says so.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._core import tracer
from mindtorch_v2.fx._naming import _operator_functions
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from mindtorch_v2.fx.node import Node


_Tensor = torch.Tensor


class TracerWarning(Warning):
    """Warn of what a trace does not record.

    >>> import warnings
    >>> def pick(x):
    ...     return x * 2 if x.sum() > 0 else x
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     _ = torch.jit.trace(pick, torch.ones(2))
    >>> any(issubclass(each.category, torch.jit.TracerWarning) for each in seen)
    True
    """

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Leave out those that come from the package itself, not from the program."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"mindtorch_v2\.(?!jit)")


class _State(threading.local):
    """The record on this thread."""

    entered: Any = None  # the recorder that a program runs under
    paused = False  # it runs a function, which records nothing of its own


_state = _State()


def is_recording() -> bool:
    """Whether a program is being recorded on this thread."""
    return _state.entered is not None


def _recorder():
    """The recorder that what happens now belongs to."""
    return None if _state.paused else _state.entered


def _warn_constant(kind) -> None:
    warnings.warn(
        f"Converting a tensor to a Python {kind} might cause the trace to be incorrect. We can't record the data flow of Python "
        "values, so this value will be treated as a constant in the future. This means that the trace might not generalize "
        "to other inputs!",
        TracerWarning,
        stacklevel=4,
    )


_LENGTH = (
    "Using len to get tensor shape might cause the trace to be incorrect. Recommended usage would be tensor.shape[0]. Passing a "
    "tensor of different shape might lead to errors or silently give incorrect results."
)
_CONSTANT = (
    "A tensor that is no input, parameter or buffer is a constant of the trace. You can safely ignore this warning if it would be "
    "the same every time. In any other case, this might cause the trace to be incorrect."
)
_ITERATION = (
    "Iterating over a tensor might cause the trace to be incorrect. Passing a tensor of different shape won't change the "
    "number of iterations executed (and might lead to errors or silently give incorrect results)."
)


class TracedSize(int):
    """A size of a tensor, or a number computed from some, with its node in the graph that is being recorded."""

    node: Any

    def __new__(cls, value: Any, node: Node | None = None) -> Self:
        self = super().__new__(cls, value)
        self.node = node
        return self

    def __reduce__(self) -> tuple:
        return int, (int(self),)  # a copy remembers nothing

    __hash__ = int.__hash__


def _arithmetic(function, reflected=False):
    whole = getattr(int, f"__{'r' if reflected else ''}{function.__name__.strip('_')}__")

    @functools.wraps(whole)
    def compute(self: TracedSize, *others: Any) -> Any:
        result = whole(self, *others)
        if result is NotImplemented or _recorder() is None:
            return result
        operands = [getattr(value, "node", value) for value in (self, *others)]
        return TracedSize(
            result, self.node.graph.call_function(function, tuple(operands[::-1] if reflected else operands))
        )

    return compute


def _comparison(name):
    compare = getattr(int, name)

    @functools.wraps(compare)
    def decide(self: TracedSize, other: Any) -> bool:
        result = compare(self, other)
        if result is not NotImplemented and _recorder() is not None:
            _warn_constant("boolean")
        return result

    return decide


for _function in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
    _name = _function.__name__
    setattr(TracedSize, f"__{_name}__", _arithmetic(_function))
    setattr(TracedSize, f"__r{_name}__", _arithmetic(_function, reflected=True))
TracedSize.__neg__ = _arithmetic(operator.neg)  # type: ignore[method-assign]  # (made from a table of operators)
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(TracedSize, _name, _comparison(_name))

# What a method's node calls instead, for the graph to be read.
_OPERATORS = {
    f"__{name.rstrip('_')}__": getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul neg getitem setitem eq ne lt le gt ge and_ or_ xor invert".split()
}


class _Traced(_Tensor):
    """A tensor that the record knows; it is no other than its own while nothing is recorded."""

    @property
    def shape(self) -> Any:
        recorder = _recorder()
        plain = _Tensor.shape.__get__(self)
        return plain if recorder is None else recorder.sizes(self, plain)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        recorder = _recorder()
        plain = _Tensor.numel(self)
        return plain if recorder is None else TracedSize(plain, recorder.method("numel", self))

    nelement = numel

    def __len__(self) -> int:
        if _recorder() is not None:
            warnings.warn(_LENGTH, TracerWarning, stacklevel=2)
        return _Tensor.__len__(self)

    def __iter__(self) -> Iterator[Any]:
        if _recorder() is not None:
            warnings.warn(_ITERATION, TracerWarning, stacklevel=2)
        return iter(self.unbind(0))


def _attribute(name):
    """A tensor that a tensor has as an attribute."""
    plain = getattr(_Tensor, name)

    def get(self: torch.Tensor) -> torch.Tensor:
        recorder = _recorder()
        if recorder is None:
            return plain.__get__(self)
        return recorder.call(getattr, (self, name), {})

    return property(get)


def _value(name, kind):
    """A method that makes a Python value of the elements."""
    plain = getattr(_Tensor, name)

    @functools.wraps(plain)
    def take(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        recorder = _recorder()
        if recorder is None:
            return plain(self, *args, **kwargs)
        _warn_constant(kind)
        with recorder.paused():
            return plain(self, *args, **kwargs)

    return take


for _name in ("T", "H", "mT", "mH", "data", "real", "imag"):
    setattr(_Traced, _name, _attribute(_name))
for _name, _kind in {
    "__bool__": "boolean",
    "__int__": "integer",
    "__float__": "float",
    "__complex__": "complex number",
    "__index__": "index",
    "__array__": "array",
    "item": "number",
    "tolist": "list",
    "numpy": "array",
}.items():
    setattr(_Traced, _name, _value(_name, _kind))


class Recorder(TorchFunctionMode):
    """A mode under which a function of `root`, a Module or None, is recorded into `graph`.

    `constants` are the tensors that the function did not get, make or have as parameters or buffers, by their names.
    """

    sees_attributes = False

    def __init__(self, root: torch.nn.Module | None = None) -> None:
        super().__init__()
        self.graph = Graph()
        self.constants: dict[Any, Any] = {}
        self._members: dict[Any, Any] = {}  # id of a parameter or buffer -> its name
        for members in () if root is None else (root.named_parameters(), root.named_buffers()):
            self._members.update((id(member), name) for name, member in members)
        self._known: dict[Any, Any] = {}  # id of a tensor -> (the tensor, which keeps the id its own, and its node)
        self._storages: set[Any] = set()  # of tensors that depend on the arguments

    def __enter__(self) -> Self:
        super().__enter__()
        _state.entered = self
        self._operators = contextlib.ExitStack()
        if not tracer.active():
            self._operators.enter_context(tracer.handled_by(self))
            tracer.watch(True)
            self._operators.callback(tracer.watch, False)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._operators.close()
        _state.entered = None
        super().__exit__(*exception)

    # Calls of `torch.ops`, which no mode sees. What a kernel in Python does within is not recorded.

    waits = False

    def put_off(self, handle: Any, args: tuple, kwargs: dict) -> Any:
        """Record a call of an operator by its own name; NotImplemented within another call that is recorded."""
        if _recorder() is not self:
            return NotImplemented
        packet = getattr(torch.ops, handle.namespace)._packet(handle.name)
        return self.call(getattr(packet, handle.overload or "default"), args, kwargs)

    def settle(self, tensor: Any, shown: bool) -> None:
        """Nothing waits."""

    def flush(self, reason: str | None) -> None:
        """Nothing waits."""

    @contextlib.contextmanager
    def paused(self) -> Any:
        """Nothing is recorded inside."""
        before, _state.paused = _state.paused, True
        try:
            with torch._C.DisableTorchFunction():
                yield
        finally:
            _state.paused = before

    # From values to nodes

    def placeholder(self, name: str, value: Any) -> Any:
        """A new argument, which is `value` this time: a tensor, or tensors in lists, tuples and dicts. As the function gets it."""
        return self._learn(value, self.graph.placeholder(name))

    def argument(self, value: Any) -> Any:
        """`value` as the argument of a node."""
        if isinstance(value, _Tensor):
            return self._node_of(value)
        if isinstance(value, TracedSize):
            return value.node
        if isinstance(value, (list, tuple)):
            items = [self.argument(item) for item in value]
            return getattr(type(value), "_make", list if isinstance(value, list) else tuple)(items)
        if isinstance(value, dict):
            return {key: self.argument(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(*map(self.argument, (value.start, value.stop, value.step)))
        return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value

    def _node_of(self, tensor):
        known = self._known.get(id(tensor))
        if known is not None:
            return known[1]
        name = self._members.get(id(tensor))
        if name is None:
            if tensor.requires_grad:
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or "
                    f"detaching the gradient\nTensor:\n{tensor}"
                )
            if _storage(tensor) in self._storages:
                raise RuntimeError(
                    "torch.jit.trace: this tensor comes from the inputs in a way that is not recorded in mindtorch_v2\n"
                    f"Tensor:\n{tensor}"
                )
            warnings.warn(_CONSTANT, TracerWarning, stacklevel=5)
            name = f"_constant{len(self.constants)}"
            self.constants[name] = tensor
        node = self.graph.get_attr(name)
        self._known[id(tensor)] = (tensor, node)
        return node

    # From nodes to values

    def _learn(self, value, node):
        """Remember that `value` is what `node` gives; returned is what the program goes on with."""
        if isinstance(value, _Tensor):
            if id(value) not in self._members and not isinstance(value, _Traced):
                value = value.as_subclass(_Traced)
            self._known[id(value)] = (value, node)
            self._storages.add(_storage(value))
            return value
        if isinstance(value, dict):
            return type(value)((key, self._part(item, node, key)) for key, item in value.items())
        if isinstance(value, (list, tuple)):
            items = [self._part(item, node, place) for place, item in enumerate(value)]
            return getattr(type(value), "_make", type(value))(items)  # named tuples take their items apart
        return value

    def _part(self, value, node, place):
        return self._learn(value, self.graph.call_function(operator.getitem, (node, place)))

    def method(self, name: str, tensor: torch.Tensor) -> Any:
        """A node for a method without arguments."""
        return self.graph.call_method(name, (self.argument(tensor),))

    def sizes(self, tensor: torch.Tensor, plain: Sequence[int]) -> Any:
        """The sizes of a tensor, as numbers that remember."""
        if id(tensor) not in self._known:
            return plain
        node = self.graph.call_function(getattr, (self.argument(tensor), "shape"))
        return torch.Size(
            [TracedSize(n, self.graph.call_function(operator.getitem, (node, i))) for i, n in enumerate(plain)]
        )

    def call(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run `func` and record it."""
        if func in _MAKERS_OF_CONSTANTS:  # of numbers, whose flow no graph has
            with self.paused():
                return func(*args, **kwargs)
        nodes, named = self.argument(args), self.argument(kwargs)  # before the call, which may write into its arguments
        with self.paused():
            result = func(*args, **kwargs)
        if result is not None and not _holds_tensors(result):
            return result  # a constant: what dtype, whether floating
        name = func.__name__
        if getattr(_Tensor, name, None) is not func:
            node = self.graph.call_function(_with_a_name(func), nodes, named)
        elif name in _OPERATORS:
            node = self.graph.call_function(_OPERATORS[name], nodes, named)
        else:
            node = self.graph.call_method(name, nodes, named)
        with self.paused():
            return self._learn(result, node)

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self.call(func, args, kwargs or {})

    def finish(
        self,
        result: dict[str, torch.Tensor]
        | tuple[
            torch.Tensor,
            list[tuple[torch.Tensor, ...] | torch.Tensor] | tuple[tuple[torch.Tensor, ...] | torch.Tensor, ...],
        ]
        | torch.Tensor,
    ) -> None:
        """End the graph with `result`, and take out the questions whose answers nobody uses."""
        with self.paused():
            self.graph.output(self.argument(result))
        for node in reversed(list(self.graph.nodes)):
            question = node.op == "get_attr" or node.target in _QUESTIONS or node.target == "numel"
            if question and not node.users:
                self.graph.erase_node(node)


_MAKERS_OF_CONSTANTS = (torch.tensor, torch.as_tensor, torch.asarray)
_QUESTIONS = (operator.getitem, getattr, operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)


def _with_a_name(func):
    """`func`, or what stands for it in `torch.ops.aten` where only the code of this package can name it."""
    if isinstance(func, torch._C.Function) and id(func) not in _operator_functions():
        return getattr(torch.ops.aten, func.__name__)
    return func


def _storage(tensor):
    return tensor.untyped_storage()._cdata


def _holds_tensors(value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensors, value))
    if isinstance(value, dict):
        return any(map(_holds_tensors, value.values()))
    return isinstance(value, _Tensor)
