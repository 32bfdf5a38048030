"""An example of each operator's name for its help: calls made from the rows' samples, run on the real PyTorch, and their output.

    path/to/python-with-torch tools/make_examples.py

Writes `src/mindtorch_v2/_operators/examples.jsonl`, and `form_examples.jsonl` beside it. What no sample makes a good example of stands in
`tools/examples.txt`: the name, then lines of code, the last of which is shown with its output.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from mindtorch_v2._operators import help as operators_help
from mindtorch_v2._operators.table.names import FUNCTIONAL
from mindtorch_v2._operators.table.samples import TensorSpec, samples_of

_PLACE = Path(__file__).parents[1] / "src" / "mindtorch_v2" / "_operators" / "examples.jsonl"
_FORMS = _PLACE.with_name("form_examples.jsonl")  # of functions in Python around operators, read when they are made
_WRITTEN = Path(__file__).parent / "examples.txt"
_LONGEST = 12  # lines of output


def main() -> int:
    """Write the examples; 1 if a name has none."""
    warnings.simplefilter("ignore")
    written = dict(_written())
    found, without = {}, []
    for name, function in sorted(operators_help.public_names().items()):
        if not _is_pytorchs(name):
            continue
        example = _shown(written[name]) if name in written else _from_rows(name, function)
        if example is None:
            without.append(name)
        else:
            found[name] = example
    forms = {name: _shown(written[name]) for name in sorted(map("torch.nn.functional.{}".format, _python_forms()))}
    for place, examples in ((_PLACE, found), (_FORMS, forms)):
        text = "".join(f"{json.dumps([name, lines])}\n" for name, lines in examples.items())
        place.write_text(text, encoding="utf-8")
    print(f"{_PLACE}: {len(found)} names; without: {' '.join(without)}")
    return bool(without)


def _python_forms() -> list[str]:
    return [name for name, entry in FUNCTIONAL.items() if entry.parameters]


def _is_pytorchs(name: str) -> bool:
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


def _written() -> Iterator[tuple[str, list[str]]]:
    name, lines = "", []
    for line in [*_WRITTEN.read_text("utf-8").splitlines(), ""]:
        if line.startswith("#"):
            continue
        if line.strip():
            if name:
                lines.append(line)
            else:
                name = line
        elif name:
            yield name, lines
            name, lines = "", []


def _from_rows(name: str, function: Any) -> list[str] | None:
    short = name.rpartition(".")[2]
    rows = {id(row): row for row in (handle.__dict__.get("row") for handle in function.overloads) if row is not None}
    candidates = []
    for row in rows.values():
        for sample in samples_of(row)[:6]:
            lines = _call(name, short, row, sample)
            if lines is not None:
                candidates.append(lines)
    candidates.sort(key=lambda lines: sum(map(len, lines)))
    for lines in candidates:
        example = _shown(lines)
        if example is not None:
            return example
    return None


def _call(name: str, short: str, row: Any, sample: Any) -> list[str] | None:
    names = [argument["name"] for argument in row.handle.arguments]
    lines: list[str] = []
    if row.facts.draws or "nondeterministic" in str(row.facts.tags):
        lines.append("torch.manual_seed(0)")
    taken = 0

    def spelled(value: Any, called: str) -> str:
        nonlocal taken
        if isinstance(value, TensorSpec):
            taken += 1
            text = _tensor(value, row, square=row.family == "linalg")
            variable = {"self": "x", "input": "x", "A": "A", "B": "B"}.get(called, called)
            if any(line.startswith(f"{variable} = ") for line in lines):
                variable = f"{variable}{taken}"
            lines.append(f"{variable} = {text}")
            return variable
        if isinstance(value, list | tuple):
            inner = [spelled(item, called) for item in value]
            return (
                f"[{', '.join(inner)}]" if isinstance(value, list) else f"({', '.join(inner)}{',' * (len(inner) == 1)})"
            )
        if type(value).__name__ in ("dtype", "layout", "memory_format"):
            return f"torch.{str(value).rpartition('.')[2]}"
        return repr(value)

    positional = [spelled(value, called) for value, called in zip(sample.args, names)]
    keywords = [f"{key}={spelled(value, key)}" for key, value in sample.kwargs.items()]
    if name.startswith("torch.Tensor."):
        if "self" not in names or not positional:
            return None
        owner = positional.pop(names.index("self"))
        lines.append(f"{owner}.{short}({', '.join([*positional, *keywords])})")
    else:
        lines.append(f"{name}({', '.join([*positional, *keywords])})")
    return lines


def _tensor(spec: TensorSpec, row: Any, *, square: bool) -> str:
    options, shape = spec.options, spec.shape
    if "data" in options:
        return f"torch.tensor({options['data']})"
    dtype = str(options.get("dtype") or _dtype(row)).rpartition(".")[2]
    count = math.prod(shape)
    sized = "" if len(shape) == 1 else f".reshape({', '.join(map(str, shape))})" if shape else ".reshape(())"
    if dtype == "bool":
        return f"(torch.arange({count}) % 3 == 0){sized}"
    if "int" in dtype:
        low, high = math.ceil(options.get("low", 0)), math.ceil(options.get("high", 6))
        shift = f" + {low}" if low > 0 else f" - {-low}" if low < 0 else ""
        kind = "" if dtype == "int64" else f", dtype=torch.{dtype}"
        body = f"torch.arange({count}{kind})"
        if count > high - low or shift:
            body = f"({body} % {max(high - low, 1)}{shift})"
        return f"{body}{sized}"
    low, high = options.get("low", -2.0), options.get("high", 2.0)
    if not shape:
        return f"torch.tensor({round(low + (high - low) * 0.6, 4)})"
    if low == -high:  # sums of zero are all rounding
        low, high = round(low * 0.95, 3), round(high * 0.85, 3)
    span = f"torch.linspace({low:g}, {high:g}, {count}){sized}"
    if square and len(shape) >= 2 and shape[-1] == shape[-2]:
        return f"torch.eye({shape[-1]}) + {span}" if count else span
    if dtype.startswith("complex"):
        return f"torch.complex({span}, {span}.flip(0))"
    return span


def _dtype(row: Any) -> str:
    words = row.dtypes.replace("+", " ").split()
    if not words or {"float", "floating", "real", "all", "float32"} & set(words):
        return "float32"
    return {"integer": "int64", "bool": "bool", "complex": "complex64"}.get(words[0], words[0])


def _shown(lines: list[str]) -> list[str] | None:
    """The lines as a session of the interpreter, or None where the last raises or prints what says little."""
    scope: dict[str, Any] = {"torch": torch}
    torch.manual_seed(0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            for line in lines[:-1]:
                exec(line, scope)
            value = eval(lines[-1], scope)
        last, text = lines[-1], _text(value)
        if text is None:
            shapes = f"[each.shape for each in {last}]" if isinstance(value, list | tuple) else f"{last}.shape"
            for line in [line for line in lines[:-1] if "manual_seed" in line or "_(" in last]:
                exec(line, scope)
            last, text = shapes, _text(eval(shapes, scope))
    except Exception:  # noqa: BLE001  (a sample that makes no example may raise anything)
        return None
    if text is None or (text == "" and not lines[-1].startswith("print")):
        return None
    prompts = [f">>> {line}" if "manual_seed" not in line else f">>> _ = {line}" for line in [*lines[:-1], last]]
    return [*prompts, *text.splitlines()]


def _text(value: Any) -> str | None:
    if value is None:
        return ""
    text = repr(value)
    # Addresses, rounding of what should be zero; and blank lines end an example.
    if text.count("\n") >= _LONGEST or re.search(r"0x[0-9a-f]{6}|e-0[6-9]|e-[1-9]\d|\n\n", text):
        return None
    return text


if __name__ == "__main__":
    sys.exit(main())
