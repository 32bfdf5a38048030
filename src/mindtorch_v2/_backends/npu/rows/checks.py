"""Demands of these operators of their arguments, said in one sentence each before anything is computed."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from ...._core.dtype import DTYPES
from ...._library.names import handle_named
from ...._operators import table

_FLOAT32 = DTYPES["float32"]
_WIDE = (_FLOAT32, DTYPES["float64"])
HALF_AND_FLOAT = ("float16", "bfloat16", "float32", "float64")


_SAYS_WHOSE = re.compile(r"\b_?npu_\w+")


def composite(schema: str, doc: str, **words: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """State an operator by a body of other operators, whose errors tell of the arguments of this one.

    The caller knows nothing of the operators within: where one of them refuses what it is given, RuntimeError has this
    operator's name before the sentence, and after it what came.
    """
    stated = table.composite(schema, doc, **words)
    name = schema.partition("(")[0].partition("::")[2].partition(".")[0]

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(body)
        def telling(*args: Any, **kwargs: Any) -> Any:
            try:
                return body(*args, **kwargs)
            except RuntimeError as error:
                if type(error) is not RuntimeError or _SAYS_WHOSE.search(str(error)):
                    raise
                raise RuntimeError(f"{name}(): {error}\nIts arguments are {_came(body, args, kwargs)}") from error

        return stated(telling)

    return decorate


def _came(body: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> str:
    given = inspect.signature(body).bind(*args, **kwargs).arguments
    return ", ".join(f"{name} {_shown(value)}" for name, value in given.items() if value is not None)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if not hasattr(value, "dtype"):
        return repr(value)
    return f"({str(value.dtype).rpartition('.')[2]} {list(value.shape)})"


def require(condition: bool, operator: str, sentence: str) -> None:
    """Raise RuntimeError with the operator's name and `sentence`, which says what was expected and what came."""
    if not condition:
        raise RuntimeError(f"{operator}(): {sentence}")


def require_dtype(operator: str, name: str, tensor: Any, allowed: tuple[str, ...]) -> None:
    """Raise RuntimeError where the dtype of the argument `name` is none of `allowed`."""
    short = str(tensor.dtype).rpartition(".")[2]
    require(short in allowed, operator, f"{name} must be one of {', '.join(allowed)}, but it is {short}")


def require_choice(operator: str, name: str, value: Any, allowed: tuple) -> None:
    """Raise RuntimeError where an argument is none of the values that the operator knows."""
    require(value in allowed, operator, f"{name} must be one of {', '.join(map(repr, allowed))}, but it is {value!r}")


def require_absent(operator: str, **arguments: Any) -> None:
    """Raise NotImplementedError for arguments that ask for what is not defined here."""
    for name, value in arguments.items():
        if value is not None:
            raise NotImplementedError(f"{operator}(): {name} is not supported; leave it out")


def wide(tensor: Any) -> Any:
    """The tensor in the type that the operators compute in: 16 bits become float32."""
    return tensor if tensor.dtype in _WIDE else tensor.to(_FLOAT32)


def until_a_library_defines(*names: str) -> None:
    """Let a library that registers these operators of the namespace npu itself take the place of our rows."""
    for name in names:
        handle_named(f"npu::{name}").__dict__["until_a_library_defines"] = True


def no_gradient(operator: str, *names: str) -> dict:
    """Formulas for a row whose operator has no gradient on the device: backward says so instead of leaving one out."""

    def refuse(grad: Any) -> Any:
        raise RuntimeError(f"derivative for npu::{operator} is not implemented")

    return {names: refuse}
