"""Call every operator twice, in processes whose new memory holds different bytes, and report results that differ.

What differs reads memory that nobody wrote: an output left as it was for sizes of zero, a buffer that is summed up before it is filled.
The calls are each row's samples with one of their sizes made zero wherever it stands (numbers below zero), and those of `tools/fuzz_ops.py`.
They are called again by the same three things:

    python tools/fuzz_unwritten.py --calls 50                       every row
    python tools/fuzz_unwritten.py --rows '^add.Tensor$' --only 17  one call, with its arguments and both outcomes

The bytes are those of glibc's MALLOC_PERTURB_; the allocator keeps nothing for reuse. Operators that promise nothing about what is in
their results are left out. The exit status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import fuzz_ops

UNWRITTEN = re.compile(r"empty|resize|^set_|_nested_view_from|allocate|storage|^_make_dep_token|^from_file|^_print")
"""Rows whose results hold what was there, which is what they are for; and those that write elsewhere."""
BYTES = ("85", "170")


def digest(torch: Any, values: Any) -> str:
    """A word for all numbers in some values."""
    found = hashlib.blake2b(digest_size=8)
    for tensor in fuzz_ops.tensors(torch, values):
        if tensor.device.type == "meta" or tensor.numel() > fuzz_ops.MEMORY_LIMIT:
            continue
        for each in (tensor, tensor.grad if tensor.is_leaf else None):
            if each is None:
                continue
            if each.layout != torch.strided:
                each = each.to_dense()
            # As numbers: the bytes of a NaN, and those between items, are nobody's promise.
            found.update(repr(each.detach().resolve_conj().resolve_neg().tolist()).encode())
    return found.hexdigest()


def without_a_size(torch: Any, row: Any, seed: int) -> list[Any]:
    """A row's samples with one of their sizes made zero in all arguments, and the samples as they are."""
    made = []
    for sample in row.samples or ():
        sizes = {size for value in (*sample.args, *sample.kwargs.values()) for size in _sizes(value)}
        for gone in (*sorted(sizes), None):
            calls = fuzz_ops.Calls(torch, row, seed, 0)
            calls.form = "handle"
            args = [_without(calls._from_sample(value), gone) for value in sample.args]
            kwargs = {name: _without(calls._from_sample(value), gone) for name, value in sample.kwargs.items()}
            made.append((calls, args, kwargs))
    return made


def _sizes(value: Any) -> list[int]:
    if hasattr(value, "options"):
        return list(value.shape)
    return [size for item in value for size in _sizes(item)] if isinstance(value, (list, tuple)) else []


def _without(value: Any, gone: int | None) -> Any:
    if isinstance(value, fuzz_ops.Made):
        fill = value.fill if gone is None else "zero" if value.fill == "index" else value.fill
        return value._replace(shape=tuple(0 if size == gone else size for size in value.shape), fill=fill, grad=True)
    if isinstance(value, (list, tuple)):
        return type(value)(_without(item, gone) for item in value)
    return 0 if type(value) is int and value == gone and gone > 1 else value


def planned(torch: Any, rows: list[Any], options: argparse.Namespace) -> Any:
    """The calls in their order: row, number, form, arguments."""
    for row in rows:
        for place, (calls, args, kwargs) in enumerate(without_a_size(torch, row, options.seed)):
            if options.only in (None, -1 - place):
                yield row, -1 - place, calls.form, args, kwargs
        for _, number in fuzz_ops.plan([row], options):
            if number >= 0:
                calls = fuzz_ops.Calls(torch, row, options.seed, number)
                yield row, number, calls.form, *calls.arguments()


def work(options: argparse.Namespace) -> None:
    """Make calls from `--start` on; a line for each."""
    resource.setrlimit(resource.RLIMIT_AS, (fuzz_ops.ADDRESS_SPACE, fuzz_ops.ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    import mindtorch_v2 as torch  # the limits come first

    rows = [row for row in fuzz_ops.chosen(options.rows) if options.excused or not UNWRITTEN.search(row.name)]
    with open(options.lines, "a", buffering=1) as lines:
        for position, (row, number, form, args, kwargs) in enumerate(planned(torch, rows, options)):
            if position < options.start:
                continue
            print(position, row.name, number, sep="\t", end="\t", file=lines)
            lines.flush()
            values: list[Any] = []
            try:
                values = _called(torch, row, form, args, kwargs)
                outcome = digest(torch, values)
            except Exception as error:  # noqa: BLE001  (it is an outcome)
                outcome = type(error).__name__
            print(outcome, file=lines)
            if options.only is not None:
                print(form, args, kwargs, outcome, *values, sep="\n    ")


def _called(torch: Any, row: Any, form: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Results of one call, with its arguments, which it may have changed, and whose gradients are asked for."""
    torch.manual_seed(0)
    written = form == "inplace" or "!" in row.schema
    made = fuzz_ops.built(torch, args, written)
    named = {name: fuzz_ops.built(torch, value, written) for name, value in kwargs.items()}
    with torch.set_grad_enabled(form != "out"):
        result = getattr(row, form)(*made, **named)
    outputs = [t for t in fuzz_ops.tensors(torch, result) if t.requires_grad and t.numel() <= fuzz_ops.BACKWARD_LIMIT]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    return [result, made, named]


def lines_of(options: argparse.Namespace, byte: str) -> dict[int, list[str]]:
    """The lines of a process whose new memory holds that byte; another one goes on behind a call that ended it."""
    environment = dict(os.environ, MALLOC_PERTURB_=byte, MINDTORCH_KEEP_MEMORY="0", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(prefix="unwritten-") as folder:
        path, start = Path(folder) / "lines", 0
        while True:
            command = [sys.executable, __file__, "--rows", options.rows, "--seed", str(options.seed)]
            command += ["--calls", str(options.calls), "--start", str(start), "--lines", str(path)]
            if options.only is not None:
                command += ["--only", str(options.only)]
            if options.excused:
                command += ["--excused"]
            status = subprocess.run(command, env=environment, check=False).returncode
            found = [line.split("\t") for line in path.read_text().splitlines()]
            if status == 0:
                return {int(line[0]): line for line in found if len(line) == 4}
            if not found or int(found[-1][0]) < start:
                raise RuntimeError(f"the process ended with {status} before its first call")
            print(f"{found[-1][1]} {found[-1][2]}: the process ended with {status}", flush=True)
            start = int(found[-1][0]) + 1
            with path.open("a") as more:
                print(file=more)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="tools/fuzz_unwritten.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", default="", help="a pattern of their names")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--excused", action="store_true", help="the operators that are left out as well")
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--lines", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lines:
        return work(options)
    started = time.monotonic()
    one, two = (lines_of(options, byte) for byte in BYTES)
    found = [line for at, line in sorted(one.items()) if at in two and two[at][3] != line[3]]
    for line in found:
        print(f"{line[1]} {line[2]}: reads what nobody wrote")
    raised = sum(not re.fullmatch("[0-9a-f]{16}", line[3]) for line in one.values())
    print(f"{len(one)} calls, {raised} of them raised, {len(found)} found, {time.monotonic() - started:.0f} s")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
