"""`torch.jit.trace`: a function or Module as the record of one run of it."""

from __future__ import annotations

import copy
import difflib
import inspect
import linecache
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2._core.annotations import read_signature
from mindtorch_v2.jit._errors import warn_of_deprecation
from mindtorch_v2.jit._recorder import Recorder, TracerWarning, is_recording
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph import Graph


__all__ = [
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "is_tracing",
    "trace",
    "trace_module",
]


class TracingCheckError(Exception):
    """Raised when a trace does not reproduce the function.

    >>> import warnings
    >>> calls = []
    >>> def drifting(x):
    ...     calls.append(1)
    ...     return x + len(calls)
    >>> try:
    ...     with warnings.catch_warnings(action="ignore"):
    ...         _ = torch.jit.trace(drifting, torch.ones(2))
    ... except torch.jit.TracingCheckError as error:
    ...     print(type(error).__name__)
    TracingCheckError
    """


def is_tracing() -> Any:
    """Whether the running code is being traced by `torch.jit.trace`, on this thread.

    >>> torch.jit.is_tracing()
    False
    """
    return is_recording()


class _Record:
    """A graph that `Recorder` made, and the Python function that runs it: `run(module, *inputs)`."""

    def __init__(self, graph: Graph, name: str, constants: dict[str, torch.Tensor], example: dict[str, Any]) -> None:
        self.graph, self.constants = graph, constants
        self.example = example  # arguments by name; tensors without memory
        code = graph.python_code(root_module="self")
        self.code = code.src.lstrip("\n")
        file = f"<torch.jit.trace of {name} at {id(self):#x}>"
        linecache.cache[file] = (len(self.code), None, self.code.splitlines(keepends=True), file)
        namespace = dict(code.globals)
        exec(compile(self.code, file, "exec", dont_inherit=True), namespace)
        self.run = namespace["forward"]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # never changed


class ScriptModule(torch.nn.Module):
    """The class of a traced Module. It cannot be made otherwise: TorchScript itself is not implemented.

    >>> traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
    >>> isinstance(traced, torch.jit.ScriptModule), traced(torch.tensor([-1.0, 1.0]))
    (True, tensor([0., 1.]))
    """

    def __init__(self) -> None:
        raise NotImplementedError(
            "torch.jit.ScriptModule is not implemented in mindtorch_v2; run the Python Module itself, or trace it"
        )

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write it, see `torch.jit.save`."""
        torch.jit.save(self, f, **kwargs)


class TracedModule(ScriptModule):
    """A Module in a traced one: its parameters and buffers, under their names, without its code.

    Parameters and buffers are the original's own tensors.

    >>> traced = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(2, 1)), torch.ones(2))
    >>> child = traced.get_submodule("0")
    >>> type(child).__name__, [name for name, _ in child.named_parameters()]
    ('TracedModule', ['weight', 'bias'])
    """

    def __init__(self, original: Any) -> None:
        torch.nn.Module.__init__(self)
        self.original_name = getattr(original, "original_name", type(original).__name__)
        self.training = original.training
        self._parameters.update(original._parameters)
        self._buffers.update(original._buffers)
        self._non_persistent_buffers_set.update(original._non_persistent_buffers_set)
        self._modules.update(
            (name, None if child is None else TracedModule(child)) for name, child in original._modules.items()
        )

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def _get_name(self):
        return self.original_name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self.original_name}: only the traced Module itself can be called in mindtorch_v2, not the Modules in it"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Pickling is refused, which a copy would otherwise go through.
        new = object.__new__(type(self))
        memo[id(self)] = new
        new.__dict__.update((name, copy.deepcopy(value, memo)) for name, value in self.__dict__.items())
        return new

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            "ScriptModules cannot be pickled; save the state_dict with torch.save, and trace again after loading it"
        )


class TopLevelTracedModule(TracedModule):
    """Module that `torch.jit.trace` returns for one: calls run the record, with this module's parameters and buffers.

    >>> traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
    >>> type(traced).__name__, traced(torch.tensor([-1.0, 2.0]))
    ('TopLevelTracedModule', tensor([0., 2.]))
    """

    def __init__(self, original: Any, records: dict[str, _Record]) -> None:
        super().__init__(original)
        self.__dict__["_records"] = records

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._run("forward", args, kwargs)

    def _run(self, method, args, kwargs):
        return self._records[method].run(self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        records = self.__dict__.get("_records", ())
        if name in records:
            return lambda *args, **kwargs: self._run(name, args, kwargs)
        return super().__getattr__(name)

    @property
    def graph(self) -> Any:
        """The record of `forward`, a `torch.fx.Graph`."""
        return self._records["forward"].graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The record of `forward` as Python's source."""
        return self._records["forward"].code


class ScriptFunction:
    """The function that `torch.jit.trace` returns for one: calls run the record.

    >>> double = torch.jit.trace(lambda x: x * 2, torch.ones(2))
    >>> double(torch.tensor([3.0, 4.0]))
    tensor([6., 8.])
    """

    def __init__(self, name: str, record: _Record) -> None:
        self.name = self.__name__ = name
        self._record = record
        self._self = types.SimpleNamespace(**record.constants)  # the code's `self`

    @property
    def graph(self) -> Graph:
        """The record, a `torch.fx.Graph`."""
        return self._record.graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The record as Python's source."""
        return self._record.code

    @property
    def qualified_name(self) -> str:
        """The name with the module that TorchScript's functions stand in."""
        return f"__torch__.{self.name}"

    def __call__(
        self, *args: Any, **kwargs: Any
    ) -> dict[str, torch.Tensor] | tuple[torch.Tensor, list[tuple[torch.Tensor, ...] | torch.Tensor]] | torch.Tensor:
        return self._record.run(self._self, *args, **kwargs)

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write it, see `torch.jit.save`."""
        torch.jit.save(self, f, **kwargs)


def rewrite(traced: ScriptFunction | TopLevelTracedModule, change: Callable[[Graph], None]) -> None:
    """Let `change` write copies of the records of a trace, which takes them instead; other copies of it stay as they are."""

    def changed(name: str, record: _Record) -> _Record:
        graph = copy.deepcopy(record.graph)
        change(graph)
        return _Record(graph, name, record.constants, record.example)

    if isinstance(traced, ScriptFunction):
        traced._record = changed(traced.name, traced._record)
    else:
        records = traced._records
        records.update({name: changed(name, record) for name, record in records.items()})


# ---- recording ----


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """`func` as the record of one run with `example_inputs`: a Module that can be called as it, or a `ScriptFunction`.

    `example_inputs` is a tensor or a tuple of the positional arguments, `example_kwarg_inputs` a dict of arguments by name; they
    are tensors, or lists, tuples and dicts of tensors. The functions of torch that the run calls are recorded, with the sizes of
    tensors as numbers that a later run finds out again: other batch sizes work. What depends on the elements of tensors, or on
    which way an `if` went, stays as it was in the example, and a `TracerWarning` says so where it happens. Functions of a
    Module's training mode (dropout) stay in the mode of the recording.

    The result of a Module has its parameters and buffers; gradients pass. With `check_trace` it is run again beside `func`, on
    `check_inputs` (a list of such inputs) if given: TracingCheckError if that leaves another record, and a `TracerWarning`
    tells of results that differ by more than `check_tolerance`. `strict=False` lets it return dicts.

    >>> import mindtorch_v2 as torch
    >>> traced = torch.jit.trace(lambda x: x.view(x.size(0), -1) * 2, torch.ones(2, 3, 4))
    >>> traced(torch.ones(5, 2, 2)).shape
    torch.Size([5, 4])
    >>> print(traced.code)
    def forward(self, x):
        ...
    """
    warn_of_deprecation("trace")
    if isinstance(func, (ScriptModule, ScriptFunction)):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    if example_kwarg_inputs is not None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    if not callable(func):
        raise TypeError(f"torch.jit.trace: expected a function or a Module, got {type(func).__name__}")
    given = _as_inputs(example_inputs, example_kwarg_inputs)
    if isinstance(func, torch.nn.Module):
        checks = None if check_inputs is None else [{"forward": each} for each in check_inputs]
        return _trace_methods(func, {"forward": given}, check_trace, checks, check_tolerance, strict)
    record = _record(func, func, None, given, strict)
    traced = ScriptFunction(_name_of(func), record)
    if check_trace:
        for each in [given] if check_inputs is None else map(_as_inputs, check_inputs):
            _check_record(record, func, func, None, each, strict)
            _check(func, traced, each, check_tolerance)
    return traced


def trace_module(
    mod: Any,
    inputs: Any,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """`mod` as the records of some of its methods: `inputs` gives the example of each, by its name; see `trace`.

    >>> class Model(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1
    ...     def twice(self, x):
    ...         return x * 2
    >>> traced = torch.jit.trace_module(Model(), {"forward": torch.ones(2), "twice": torch.ones(2)})
    >>> traced(torch.ones(2)), traced.twice(torch.ones(2))
    (tensor([2., 2.]), tensor([2., 2.]))
    """
    if not isinstance(mod, torch.nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    given = {
        name: _as_inputs(None, each) if example_inputs_is_kwarg else _as_inputs(each) for name, each in inputs.items()
    }
    return _trace_methods(mod, given, check_trace, check_inputs, check_tolerance, strict)


def _as_inputs(example_inputs, example_kwarg_inputs=None):
    """(positional arguments, arguments by name)."""
    args: tuple[Any, ...]
    if example_inputs is None:
        args = ()
    elif isinstance(example_inputs, (torch.Tensor, dict)):
        args = (example_inputs,)
    else:
        args = tuple(example_inputs)
    return args, example_kwarg_inputs or {}


def _name_of(func):
    return getattr(func, "__name__", type(func).__name__).replace("<lambda>", "_lambda")


def _trace_methods(module, inputs, check_trace, check_inputs, tolerance, strict):
    records = {}
    for name, given in inputs.items():
        method = module if name == "forward" else getattr(module, name)
        records[name] = _record(method, getattr(module, name), module, given, strict)
    traced = TopLevelTracedModule(module, records)
    for record in records.values():
        for name, constant in record.constants.items():
            traced.__dict__.setdefault(name, constant)
    if check_trace:
        for each in [inputs] if check_inputs is None else check_inputs:
            for name, given in each.items():
                method, ours = (module, traced) if name == "forward" else (getattr(module, name), getattr(traced, name))
                given = given if check_inputs is None else _as_inputs(given)
                _check_record(records[name], method, getattr(module, name), module, given, strict)
                _check(method, ours, given, tolerance)
    return traced


def _record(call, signature_of, root, given, strict):
    """Run `call` on copies of the examples, and record it."""
    if is_recording():
        raise RuntimeError("Tracing can't be nested")
    args, kwargs = given
    for value in (*args, *kwargs.values()):
        _refuse_unless_tensors(value, (*args, *kwargs.values()))
    args, kwargs = pytree.tree_map(_copy_of, (args, kwargs))
    bound = read_signature(signature_of).bind(*args, **kwargs)
    recorder = Recorder(root)
    made: Any
    example = _example(bound)
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            made = tuple(recorder.placeholder(f"{name}_{place}", item) for place, item in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            made = {key: recorder.placeholder(key, item) for key, item in value.items()}
        else:
            made = recorder.placeholder(name, value)
        bound.arguments[name] = made
    with recorder:
        result = call(*bound.args, **bound.kwargs)
    _refuse_result(result, strict)
    recorder.finish(result)
    return _Record(recorder.graph, _name_of(signature_of), recorder.constants, example)


def _example(bound):
    """The arguments of a call by the names that the record has for them, their tensors on meta."""
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found.update((f"{name}_{place}", item) for place, item in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return pytree.tree_map_only(torch.Tensor, lambda x: torch.empty_like(x, device="meta"), found)


def _copy_of(value):
    return value.clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def _refuse_unless_tensors(value, everything) -> None:
    def holds_only(value: Any) -> bool:
        if isinstance(value, (list, tuple)):
            return all(map(holds_only, value))
        if isinstance(value, dict):
            return all(map(holds_only, value.values()))
        return isinstance(value, torch.Tensor)

    if not holds_only(value):
        kinds = ", ".join("Tensor" if isinstance(each, torch.Tensor) else type(each).__name__ for each in everything)
        raise RuntimeError(
            f"Type 'Tuple[{kinds}]' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors "
            "can be traced"
        )


def _refuse_result(result, strict) -> None:
    if result is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op."
        )
    if isinstance(result, dict) and strict:
        raise RuntimeError(
            "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
            "container structure does not change based on the module's inputs. Consider using a constant container instead "
            "(e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). If you absolutely need this "
            "and know the side effects, pass strict=False to trace() to allow this behavior."
        )
    if not isinstance(result, (torch.Tensor, list, tuple, dict)):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions"
        )


def _check_record(record, call, signature_of, root, given, strict) -> None:
    """Raise where another run leaves another record: the function does something else each time, or by its inputs."""
    with warnings.catch_warnings(action="ignore", category=TracerWarning):
        again = _record(call, signature_of, root, given, strict)
    if again.code != record.code:
        lines = difflib.ndiff(record.code.splitlines(), again.code.splitlines())
        raise TracingCheckError(
            "Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n\tGraph diff:\n\t\t"
            + "\n\t\t".join(line.rstrip() for line in lines)
        )


def _check(original, traced, given, tolerance) -> None:
    """Warn of results of the record that are not the original's."""
    theirs, ours = (
        pytree.tree_leaves(function(*args, **kwargs))
        for function, (args, kwargs) in ((each, pytree.tree_map(_copy_of, given)) for each in (original, traced))
    )
    for number, (expected, got) in enumerate(zip(theirs, ours, strict=True), 1):
        if not isinstance(expected, torch.Tensor):
            continue
        try:
            torch.testing.assert_close(got.detach(), expected.detach(), rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the Python "
                f"function. Detailed error:\n{error}",
                TracerWarning,
                stacklevel=4,
            )
