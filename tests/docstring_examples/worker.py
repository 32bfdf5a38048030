"""Run examples, each docstring's in a process of its own: `worker.py EXAMPLES RESULTS`, or with `--find` write what to run.

`import torch` is PyTorch, or this package where the runner is `python -m mindtorch_v2`.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import pathlib
import pkgutil
import random
import re
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import torch

SECONDS = 15  # for the examples of one docstring
# Modules whose examples want several processes, a network, another device, or a package that is not here.
_LEFT_OUT = (
    "cuda",
    "distributed",
    "hub",
    "onnx",
    "testing",
    "utils.benchmark.examples",
    "utils.data.datapipes",
    "utils.tensorboard",
)


def found() -> Iterator[dict[str, Any]]:
    """Every docstring of public names that has examples: {"name", "examples": [source, ...]}."""
    seen: set[str] = set()
    for name, value in _public_values():
        text = getattr(value, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and text not in seen:
            seen.add(text)
            try:
                examples = doctest.DocTestParser().get_examples(re.sub(r"(?m)^(\s*)>>>(?=\S)", r"\1>>> ", text))
            except ValueError:  # not indented as doctest wants it
                continue
            yield {"name": name, "examples": [each.source for each in examples]}


def _public_values() -> Iterator[tuple[str, Any]]:
    modules = ["torch"]
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda name: None):
        parts = info.name.split(".")
        if not any(part.startswith("_") for part in parts) and not info.name.removeprefix("torch.").startswith(
            _LEFT_OUT
        ):
            modules.append(info.name)
    for name in modules:
        try:
            module = importlib.import_module(name)
        except Exception:  # noqa: BLE001  (it wants a package that is not here)
            continue
        for key, value in sorted(vars(module).items()):
            if key.startswith("_") or isinstance(value, types.ModuleType):
                continue
            yield f"{name}.{key}", value
            if inspect.isclass(value) and str(getattr(value, "__module__", "")).startswith("torch"):
                members = {
                    each: inspect.getattr_static(value, each) for each in vars(value) if not each.startswith("_")
                }
                yield from (
                    (f"{name}.{key}.{each}", getattr(of, "__func__", of)) for each, of in sorted(members.items())
                )
    yield from ((f"torch.Tensor.{name}", getattr(torch.Tensor, name, None)) for name in sorted(dir(torch.Tensor)))


def run(examples: list[str], results: pathlib.Path) -> None:
    """Run examples one after the other in one namespace; what each prints, or the error it ends with."""
    torch.manual_seed(0)
    numpy.random.seed(0)
    random.seed(0)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": numpy, "__name__": "__main__"}
    kept: list[list[str]] = []
    for source in examples:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(source, "<example>", "single"), names)
            kept.append(["printed", printed.getvalue()])
        except BaseException as error:  # noqa: BLE001  (the example's own)
            kept.append(["raised", f"{type(error).__name__}: {str(error)[:500]}"])
        results.write_text(json.dumps(kept))


def apart(examples: list[str]) -> list[list[str]]:
    """The same in a process of its own, which may end as it likes."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results"
        child = os.fork()
        if child == 0:
            os.setsid()
            os.chdir(folder)
            for number in range(3):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            run(examples, results)
            os._exit(0)
        end = time.monotonic() + SECONDS
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.003)
        return json.loads(results.read_text()) if results.exists() else []


def main(examples: str, results: str, *more: str) -> None:
    """Find the examples, or run them: a docstring a line."""
    warnings.simplefilter("ignore")
    if "--find" in more:
        pathlib.Path(examples).write_text("".join(json.dumps(each) + "\n" for each in found()))
    lines = pathlib.Path(examples).read_text().splitlines()
    with open(results, "w") as out:
        for number, each in enumerate(map(json.loads, lines)):
            out.write(json.dumps({"name": each["name"], "results": apart(each["examples"])}) + "\n")
            if number % 100 == 99:
                print(f"{number + 1} of {len(lines)} docstrings", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
