"""The functions of `torch.nn.functional` that follow from rows: operators as they are, and their Python forms.

A row says which: `functional="relu(input, inplace=False) relu_"`. A bare name is the operator, its in-place form if it ends
so. A name with parameters is a function of Python that hands them to the operator in their order, and to the in-place
form where there is an `inplace` and it is true.
"""

from __future__ import annotations

import functools
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

from .._core.overridable import overridable
from .table.names import FUNCTIONAL, Functional, bound

MODULE = "mindtorch_v2.nn.functional"


def functions() -> dict[str, Any]:
    """The functions by name."""
    return {
        name: _form(name, entry) if entry.parameters else _operator(name) or _operator(entry.operator)
        for name, entry in FUNCTIONAL.items()
    }


@functools.cache
def _examples() -> dict[str, list[str]]:
    """Lines of an example by the public name, of the Python forms alone (tools/make_examples.py)."""
    lines = (pathlib.Path(__file__).parent / "form_examples.jsonl").read_text("utf-8").splitlines()
    return dict(json.loads(line) for line in lines)


def _operator(name: str) -> Any:
    return bound("nn").get(name) or bound("function").get(name)


def _form(name: str, entry: Functional) -> Callable:
    parameters = [each.partition("=")[0].strip() for each in entry.parameters.split(",")]
    given = ", ".join(each for each in parameters if each != "inplace")
    body = f"operator({given})"
    scope: dict[str, Any] = {"__name__": MODULE, "operator": _operator(entry.operator)}
    if "inplace" in parameters:
        body = f"inplace_operator({given}) if inplace else {body}"
        scope["inplace_operator"] = _operator(f"{entry.operator}_")
    exec(compile(f"def {name}({entry.parameters}):\n    return {body}\n", f"<{MODULE}.{name}>", "exec"), scope)
    function = scope.pop(name)
    example = [f"\n{line}" for line in _examples().get(f"torch.nn.functional.{name}", ())]
    function.__doc__ = "".join([re.sub(r"\bself\b", "input", entry.doc), *(["\n", *example] if example else [])])
    return overridable(function)
