"""Make `tests/snapshots/library/*`: what the installed PyTorch answers to the cases of torch.library, schemas and binding.

    python tools/make_library_snapshots.py [--check] [schemas registered generated calls conversions errors]

Needs PyTorch, from which every answer comes; the cases are those of the files as they are, and the values and programs those
of tests/library. With --check nothing is written: the parts whose answers have changed are named, and the exit status is 1.

`behaviours.jsonl` and `overloads.jsonl` hold what programs of the tests gave, by name: `pytest tests/library --reference` runs
those programs on PyTorch and compares.

PyTorch ends the process on some of the conversions, so each is asked in a process of its own; what ends it has no answer.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SNAPSHOTS = ROOT / "tests" / "snapshots" / "library"
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "library"), str(ROOT / "src")]

import generated_schemas
import reference

reference.use_as_ours()  # from here on `mindtorch_v2` is PyTorch, also in what the tests import

import test_binding
import test_errors
import test_schemas
import torch

TRACE = (
    "\n\nException raised from",
    "\nC++ CapturedTraceback",
    "\n(#define PYBIND11",
    "\nCast error details: Unable to cast Python",
)


def _lines(name: str) -> list[Any]:
    return [json.loads(line) for line in (SNAPSHOTS / name).read_text().splitlines()]


def _jsonl(entries: Any) -> bytes:
    return "".join(json.dumps(entry) + "\n" for entry in entries).encode()


def _said(error: BaseException) -> str:
    """An error's text without the traces of C++ and what a C++ library adds."""
    text = str(error)
    for mark in TRACE:
        text = text.partition(mark)[0] if mark != TRACE[-1] else _without_cast_details(text, mark)
    return text


def _without_cast_details(text: str, mark: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(mark.strip()))


def schemas() -> Iterator[dict]:
    """Each text of the schema language: how PyTorch prints it and what it is made of, or the error."""
    for case in _lines("schemas.jsonl"):
        text = case["text"]
        try:
            schema = torch._C.parse_schema(text)
        except (RuntimeError, ValueError, IndexError) as error:  # the last two with the names of C++ functions
            yield {"text": text, "error": _said(error)}
            continue
        made = {
            "text": text,
            "shown": str(schema),
            "arguments": [test_schemas._described(argument) for argument in schema.arguments],
            "returns": [test_schemas._described(result) for result in schema.returns],
        }
        try:
            torch._C.parse_schema(text, False)  # type: ignore[call-arg, unused-ignore]  # (only where PyTorch is not installed)
        except RuntimeError:
            made["variables"] = True
        yield made


def registered() -> bytes:
    """The schemas of all operators of PyTorch, a line each."""
    program = "import torch; print(*sorted({str(s) for s in torch._C._jit_get_all_schemas()}), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return gzip.compress(done.stdout, mtime=0)  # of a process that imports nothing else


def calls() -> Iterator[dict]:
    """Calls of four small operators: what their kernels receive, or the error."""
    library = torch.library.Library("bnd", "FRAGMENT")
    received: list = []
    test_binding.define_called(library, received)
    for case in _lines("calls.jsonl"):
        kind, _, text = case["call"].partition(" ")
        name, _, arguments = text.partition("(")
        operator = getattr(torch.ops.bnd, name)
        operator = operator.default if kind == "[overload]" else operator
        try:
            eval(f"operator({arguments}", {"operator": operator, "x": torch.ones(2)})
        except RuntimeError as error:
            yield {"call": case["call"], "error": _said(error)}
            continue
        args, kwargs = received
        shown = {name: test_binding._shown(value) for name, value in kwargs.items()}
        yield {
            "call": case["call"],
            "received": "(" + ", ".join(map(test_binding._shown, args)) + ")",
            "keywords": "{" + ", ".join(f"'{name}': {value}" for name, value in shown.items()) + "}" if shown else "",
        }
    library._destroy()


def _apart(ask: Callable[[], Any]) -> Any:
    """The answer of ``ask`` in a process of its own; None if that ends it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException), os.fdopen(writing, "w") as out:
            json.dump(ask(), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def conversions() -> Iterator[dict]:
    """For each type of the schema language the values that it takes, and as what, and those that it refuses."""
    library = torch.library.Library("bnd", "FRAGMENT")
    found = "but instead found type '"
    for row in _lines("conversions.jsonl"):
        if "schema" not in row:  # a type that no operator can be defined with
            yield row
            continue
        library.define(row["schema"])
        made = {key: row[key] for key in ("type", "operator", "schema", "annotation")} | dict(
            takes={}, refuses={}, raises={}
        )
        for name in row["takes"] | row["refuses"] | row["raises"]:
            if name not in test_binding._values():
                continue

            def ask(name: str = name, row: dict = row) -> tuple[str, str]:
                try:
                    received = test_binding._received(library, row, test_binding._values()[name])
                except RuntimeError as error:
                    text = str(error)
                    if found in text:
                        return "refuses", text.partition(found)[2].partition("'")[0]
                    return "raises", f"RuntimeError: {_said(error)}"
                except (TypeError, ValueError) as error:
                    return "raises", f"{type(error).__name__}: {_said(error)}"
                return "takes", test_binding._shown(received)

            answer = _apart(ask)
            if answer is not None:
                made[answer[0]][name] = answer[1]
        yield made
    library._destroy()


def generated() -> bytes:
    """PyTorch's answers to random schemas: a line each, its text, or nothing if it is refused."""
    lines = []
    for text in generated_schemas.generated(generated_schemas.SEED, generated_schemas.COUNT):
        try:
            lines.append(str(torch._C.parse_schema(text)))
        except (RuntimeError, ValueError, IndexError):  # the last two are C++'s own errors of numbers
            lines.append("")
    return gzip.compress("\n".join(lines).encode(), mtime=0)


def errors() -> Iterator[list]:
    """The errors of calls that fit no overload of a function."""
    for call in test_errors.CALLS:
        yield [call, test_errors.said(call)]


PARTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "schemas": ("schemas.jsonl", lambda: _jsonl(schemas())),
    "registered": ("registered_schemas.txt.gz", registered),
    "generated": ("generated_schemas.txt.gz", generated),
    "calls": ("calls.jsonl", lambda: _jsonl(calls())),
    "conversions": ("conversions.jsonl", lambda: _jsonl(conversions())),
    "errors": ("call_errors.jsonl", lambda: _jsonl(errors())),
}


def _plain(data: bytes, name: str) -> bytes:
    return gzip.decompress(data) if name.endswith(".gz") else data


def main() -> None:
    """Write or check the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--check", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    changed = []
    for part in chosen.parts or PARTS:
        name, make = PARTS[part]
        path, data = SNAPSHOTS / name, make()
        before = path.read_bytes() if path.exists() else b""
        same = _plain(data, name) == (_plain(before, name) if before else None)
        if not same:
            old, new = (_plain(b, name).decode().splitlines() if b else [] for b in (before, data))
            print(
                f"{name}: {sum(a != b for a, b in zip(old, new)) + abs(len(old) - len(new))} of {len(new)} lines differ"
            )
            changed.append(part)
            if not chosen.check:
                path.write_bytes(data)
        else:
            print(f"{name}: as it was")
    if chosen.check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
