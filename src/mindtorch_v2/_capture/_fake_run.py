"""One call on fake tensors: its result, which may not depend on what numbers out of tensors are.

Owns nothing. Numbers that stand for nodes are replaced by those seen; of a number out of a tensor nothing was seen, so the
call is tried with several, and the form of the result has to come out the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_function import DisableTorchFunction, _pop_mode_temporarily, modes
from mindtorch_v2._sizes.recorded import RecordedDatum, RecordedNumber, RecordedSize, stand_in
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedOperatorException,
)
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["run_on_fakes"]


def run_on_fakes(trace: Recorder, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of a call on fake tensors; refused where it depends on values."""
    try:
        with _without_net() if _has_wrapper((args, kwargs)) else DisableTorchFunction():
            if _has_symbols((args, kwargs), RecordedDatum):
                return _tried(trace, function, args, kwargs)
            plain_args, plain_kwargs = _plain((args, kwargs))
            return function(*plain_args, **plain_kwargs)
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        trace.refuse(f"the result of {error.func} depends on values", "data_dependent")
    except UnsupportedOperatorException as error:
        trace.refuse(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")


def _has_wrapper(value: Any) -> bool:
    """Whether there is a tensor whose class wraps others and is asked for what is done with it."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_wrapper, value))
    if type(value) is dict:
        return any(map(_has_wrapper, value.values()))
    return type(value) is not FakeTensor and is_traceable_wrapper_subclass(value)


@contextlib.contextmanager
def _without_net() -> Iterator[None]:
    """A block in which classes of tensors are asked, and the net of the capture catches nothing."""
    if not modes():  # a call that fell into it
        yield
        return
    with _pop_mode_temporarily():
        yield


def _tried(trace: Recorder, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    forms, result = [], None
    for which in range(3):
        plain_args, plain_kwargs = _plain((args, kwargs), which)
        try:
            result = function(*plain_args, **plain_kwargs)
        except (RuntimeError, ValueError, IndexError, TypeError, ArithmeticError) as error:
            trace.refuse(f"a call whose result depends on a number out of a tensor ({error})", "data_dependent")
        forms.append(pytree.tree_map(_form, result))
    if forms[0] != forms[1] or forms[0] != forms[2]:
        trace.refuse("the form of a result depends on values", "data_dependent")
    return result


def _form(value: Any) -> Any:
    """Form of a result, which a captured program may know; numbers stand for themselves."""
    if not isinstance(value, torch.Tensor):
        return value
    return tuple(value.shape), value.stride(), value.dtype, value.device, value.requires_grad


def _plain(value: Any, which: int = 0) -> Any:
    """`value` with the numbers seen in the place of symbolic ones; of numbers out of tensors a stand-in."""
    if isinstance(value, RecordedNumber):
        return stand_in(value, which)
    if isinstance(value, RecordedSize):
        return torch.Size(stand_in(each, which) for each in value)
    if not _has_symbols(value):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(each, which) for each in value)
    if type(value) is dict:
        return {key: _plain(each, which) for key, each in value.items()}
    return slice(*(stand_in(each, which) for each in (value.start, value.stop, value.step)))


def _has_symbols(value: Any, kind: type[RecordedNumber] = RecordedNumber) -> bool:
    if isinstance(value, kind):
        return True
    if isinstance(value, (list, tuple)):
        return any(_has_symbols(each, kind) for each in value)
    if type(value) is dict:
        return any(_has_symbols(each, kind) for each in value.values())
    return type(value) is slice and any(_has_symbols(each, kind) for each in (value.start, value.stop, value.step))
