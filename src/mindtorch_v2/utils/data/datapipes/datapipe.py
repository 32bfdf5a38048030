"""Pipes: datasets that are made of one another, iterated or indexed."""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from mindtorch_v2.autograd import _profiler_enabled
from mindtorch_v2.autograd.profiler import record_function
from mindtorch_v2.utils.data.datapipes._hook_iterator import _SnapshotState
from mindtorch_v2.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class _Methods:
    """The methods that pipes of a kind get from other pipes' classes, and how pipes are copied to workers."""

    functions: dict[str, Callable[..., Any]] = {}
    reduce_ex_hook: Callable[..., Any] | None = None
    getstate_hook: Callable[..., Any] | None = None
    str_hook: Callable[..., str] | None = None
    repr_hook: Callable[..., str] | None = None

    def __getattr__(self, attribute_name: str) -> Any:
        function = type(self).functions.get(attribute_name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute_name}")
        bound = functools.partial(function, self)
        functools.update_wrapper(bound, function, assigned=("__doc__",))
        return bound

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let pipes have a method of that name, which gets the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Let pipes have a method that makes another pipe of them; Exception if the name is taken."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")

        def make(source: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source, *args, **kwargs)

        make.__doc__ = cls_to_register.__doc__
        cls.functions[function_name] = make

    def __getstate__(self) -> Any:
        hook = type(self).getstate_hook
        return hook(self.__dict__) if hook is not None else self.__dict__

    def __reduce_ex__(self, *args: Any, **kwargs: Any) -> Any:
        hook = type(self).reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(*args, **kwargs)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Any) -> None:
        """Set what gives the state that is pickled; RuntimeError if there is one already."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Any) -> None:
        """Set what pickles pipes; RuntimeError if there is one already."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        return self.repr_hook() if self.repr_hook is not None else str(type(self).__qualname__)

    def __str__(self) -> str:
        return self.str_hook() if self.str_hook is not None else str(type(self).__qualname__)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Methods, IterableDataset[_T_co]):
    """A dataset that is iterated, made of others: `IterableWrapper(range(4)).map(f).batch(2)`.

    A pipe has one iterator at a time: a second one ends the first, which then raises RuntimeError. A subclass writes `__iter__`,
    and `reset()`, which runs whenever an iterator is made.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).map((10).__mul__).batch(2))
    [[0, 10], [20, 30], [40]]
    """

    functions: dict[str, Callable[..., Any]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded: int = 0
    _snapshot_state: _SnapshotState = _SnapshotState.NotStarted
    _fast_forward_iterator: Iterator[Any] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__iter__" in cls.__dict__:
            setattr(cls, "__iter__", _one_at_a_time(cls.__dict__["__iter__"]))  # noqa: B010  (mypy has no assignment to methods)

    def __iter__(self) -> Iterator[_T_co]:
        return self  # a pipe without `__iter__` is one that has `__next__`

    def reset(self) -> None:
        """Prepare for a new iterator: nothing here."""


def _one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """An `__iter__` that begins a new turn; one that is a generator does so when its first element is asked for."""

    def begun(self: Any) -> Iterator[Any] | None:
        """The iterator that a snapshot was restored with."""
        before, self._fast_forward_iterator = self._fast_forward_iterator, None
        self._snapshot_state = _SnapshotState.Iterating
        return before

    def begin(self: Any) -> int:
        self._valid_iterator_id = (self._valid_iterator_id or 0) + 1
        self._number_of_samples_yielded = 0
        self.reset()
        return self._valid_iterator_id

    @functools.wraps(function)
    def generator(self: Any) -> Iterator[Any]:
        if (before := begun(self)) is not None:
            yield from before
            return
        turn = begin(self)
        yield from _Turns(self, function(self), turn)

    @functools.wraps(function)
    def iterator(self: Any) -> Iterator[Any]:
        if (before := begun(self)) is not None:
            return before
        turn = begin(self)
        return _Turns(self, function(self), turn)

    return generator if inspect.isgeneratorfunction(function) else iterator


class _Turns:
    """An iterator of a pipe, as long as no other was made."""

    def __init__(self, pipe: Any, iterator: Iterator[Any], turn: int) -> None:
        self.pipe, self.iterator, self.turn = pipe, iterator, turn

    def __iter__(self) -> _Turns:
        return self

    def __next__(self) -> Any:
        if self.pipe._valid_iterator_id != self.turn:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created "
                f"from the same IterDataPipe: {_with_arguments(self.pipe)}\n"
                "This may be caused by multiple references to the same IterDataPipe. We recommend "
                "using `.fork()` if that is necessary.\n"
                "For feedback regarding this single iterator per IterDataPipe constraint, feel free "
                "to comment on this issue: https://github.com/pytorch/data/issues/45."
            )
        try:
            value = next(self.iterator) if not _profiler_enabled() else self._recorded()
        except StopIteration:
            raise
        except Exception as error:
            _say_where(error, self.pipe)
            raise
        self.pipe._number_of_samples_yielded += 1
        return value

    def _recorded(self) -> Any:
        with record_function(_with_arguments(self.pipe).replace("IterDataPipe", "")):
            return next(self.iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


def _say_where(error: Exception, pipe: Any) -> None:
    """Add the pipe that an error came of to its text, once."""
    said = "thrown by __iter__ of"
    first = error.args[0] if error.args else None
    if isinstance(first, str) and said not in first:
        error.args = (f"{first}\nThis exception is {said} {_with_arguments(pipe)}", *error.args[1:])


def _with_arguments(pipe: Any) -> str:
    """A pipe's class with what it was made of: "MapperIterDataPipe(datapipe=..., fn=f, input_col=None)"."""
    names = sorted(list(inspect.signature(type(pipe).__init__).parameters)[1:])
    values = [(name, getattr(pipe, name)) for name in names if name in vars(pipe)]
    shown = (f"{name}={getattr(value, '__name__', None) or _shortened(value)}" for name, value in values)
    return f"{type(pipe).__name__}({', '.join(shown)})"


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 50 else text[:50] + "..."


class DFIterDataPipe(IterDataPipe[_T_co]):
    """A pipe of data frames, by its type alone.

    >>> from mindtorch_v2.utils.data.datapipes.datapipe import DFIterDataPipe, IterDataPipe
    >>> issubclass(DFIterDataPipe, IterDataPipe)
    True
    """

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Methods, Dataset[_T_co]):
    """A dataset that is indexed, made of others: `SequenceWrapper(range(4)).map(f)[2]`.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> pipe = SequenceWrapper(range(5)).map((10).__mul__)
    >>> pipe[3], len(pipe)
    (30, 5)
    """

    functions: dict[str, Callable[..., Any]] = {}


class _DataPipeSerializationWrapper:
    """A pipe that is pickled whole, for workers; RuntimeError if something in it cannot be."""

    def __init__(self, datapipe: Any) -> None:
        self._datapipe = datapipe

    def __getstate__(self) -> bytes:
        return pickle.dumps(self._datapipe)

    def __setstate__(self, state: bytes) -> None:
        self._datapipe = pickle.loads(state)

    def __len__(self) -> int:
        try:
            return len(self._datapipe)
        except Exception as error:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length") from error


class _IterDataPipeSerializationWrapper(_DataPipeSerializationWrapper, IterDataPipe):
    def __iter__(self) -> Iterator[Any]:
        yield from self._datapipe


class _MapDataPipeSerializationWrapper(_DataPipeSerializationWrapper, MapDataPipe):
    def __getitem__(self, idx: Any) -> Any:
        return self._datapipe[idx]


class DataChunk(list):
    """A batch: a list that remembers what it was made of.

    >>> from mindtorch_v2.utils.data.datapipes.datapipe import DataChunk
    >>> chunk = DataChunk([1, 2])
    >>> chunk == [1, 2], list(chunk.raw_iterator())
    (True, [1, 2])
    """

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The elements as text."""
        return indent + "[" + ", ".join(str(each) for each in iter(self)) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """The elements as they were given."""
        yield from self.items
