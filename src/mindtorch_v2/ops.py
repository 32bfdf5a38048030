"""`python -m mindtorch_v2.ops [NAME]`: the operators that are registered, or one of them with its kernels, as a table.

    python -m mindtorch_v2.ops                  every operator, one a line
    python -m mindtorch_v2.ops softmax          those whose name contains the word
    python -m mindtorch_v2.ops aten::add        its overloads: schema, origin, and the kernel behind each key
    python -m mindtorch_v2.ops aten::add.Tensor --import my_operators

Imported as a module this is `torch.ops` itself.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any

from mindtorch_v2 import _C

__all__ = ["describe", "main"]

_HEADS = ("key", "kernel", "from")
# Keys that a call can reach, as the table lists them: devices first, then behaviours, then what stands for several.
_REACHED = (
    "CPU CUDA NPU XPU Meta BackendSelect Python Functionalize ADInplaceOrView AutogradOther AutogradCPU AutogradCUDA AutogradNPU AutogradXPU "
    "AutogradMeta AutocastCPU AutocastCUDA AutocastNPU FuncTorchBatched"
).split()


def _name(handle: Any) -> str:
    return f"{handle.namespace}::{handle.name}" + (f".{handle.overload}" if handle.overload else "")


def _origin(handle: Any) -> str:
    from mindtorch_v2._operators.table import every_row  # only for operators of the framework

    given = handle.__dict__.get("origin")
    if given:
        return str(given)
    for row in every_row().values():
        if handle in (row.handle, row.inplace, row.out, row.generated_out):
            kind = "native" if row.body is None else row.body.__module__.split(".")[-2]
            return f"the row {row.name} of _operators/{kind}/{row.family}.py"
    return "the framework"


def _kernel(kernel: Any) -> str:
    if isinstance(kernel, str):
        return "skipped (fallthrough)" if kernel == "fallthrough" else "native"
    code = getattr(getattr(kernel, "__wrapped__", kernel), "__code__", None)
    place = f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code else ""
    return f"{getattr(kernel, '__name__', type(kernel).__name__)}{place}"


def _derived(key: str, own: dict) -> str:
    """Where the kernel of a key without one of its own comes from."""
    if key.startswith("Autograd"):
        if "Autograd" in own:
            return "as Autograd"
        opaque = "CompositeExplicitAutograd" in own or "CompositeImplicitAutograd" not in own
        return "the gradient of the row" if opaque else "as CompositeImplicitAutograd"
    if key == "ADInplaceOrView":
        return "views and versions, by the schema"
    for alias in ("CompositeExplicitAutograd", "CompositeImplicitAutograd"):
        if alias in own:
            return f"as {alias}"
    return "the shape rule of the row" if key == "Meta" else "the fallback of the key"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in (_HEADS, *rows)) for column in range(len(_HEADS))]

    def line(row: tuple[str, ...]) -> str:
        return "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

    return "\n".join([line(_HEADS), line(tuple("-" * width for width in widths)), *map(line, rows)])


def describe(handle: Any) -> str:
    """An operator's schema, where it was registered, and the kernel that each key finds."""
    own = handle.kernels()
    origins = handle.__dict__.get("kernel_origins", {})
    rows: list[tuple[str, ...]] = [
        (key, _kernel(own[key]), origins.get(handle.registration(key), "").removeprefix("registered at "))
        for key in sorted(own, key=lambda key: (_REACHED.index(key) if key in _REACHED else len(_REACHED), key))
    ]
    for key in _REACHED:
        if key not in own and handle.has_kernel(key):
            rows.append((key, _derived(key, own), ""))
    return f"{handle.schema}\n  registered by {_origin(handle)}\n{_table(rows)}"


def main(argv: list[str]) -> int:
    """List operators, or describe one; the exit status is 1 if none has the name."""
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.ops", description="The operators that are registered."
    )
    parser.add_argument("name", nargs="?", help="ns::name, ns::name.overload, or a part of a name")
    parser.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE", help="import it first"
    )
    given = parser.parse_args(argv)
    for module in given.modules:
        importlib.import_module(module)
    handles = _C._all_operators()
    if given.name is None:
        print("\n".join(handle.schema for handle in handles))
        return 0
    exact = [h for h in handles if given.name in (_name(h), f"{h.namespace}::{h.name}")]
    if exact:
        print("\n\n".join(map(describe, exact)))
        return 0
    found = [handle.schema for handle in handles if given.name in _name(handle)]
    if not found:
        print(f"no operator is called {given.name}", file=sys.stderr)
        return 1
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
else:
    from mindtorch_v2._ops import ops

    sys.modules[__name__] = ops
