"""Write the table of Ascend's own operators in docs/torch-npu.md, from their rows; with --check, say whether it is up to date."""

import argparse
import importlib
import pathlib
import sys
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import rows_of

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "torch-npu.md"
_BEGIN, _END = "<!-- operators: tools/list_npu_operators.py -->\n", "<!-- end of the operators -->\n"


def _gradient(row: Any) -> str:
    if "!" in row.schema:
        return "writes"
    refuses = "no_gradient" in getattr(next(iter((row.grad or {}).values()), None), "__qualname__", "")
    differentiable = row.grad is not None or "CompositeImplicitAutograd" in row.handle.kernels()
    return "raises" if refuses or not differentiable else "yes"


def table() -> str:
    """The operators by family: what they mean, whether a gradient goes through, what computes them, and where that was seen."""
    torch.ops.npu.npu_rms_norm  # noqa: B018  (defines the operators)
    symbols = importlib.import_module("mindtorch_v2._backends.npu.fused.kernels").SYMBOLS
    sources = importlib.import_module("mindtorch_v2._backends.npu.aclnn").sources()
    calls = importlib.import_module("mindtorch_v2.npu.verify").CALLS
    rows = [row for space in ("npu", "atb") for row in rows_of(space).values()]
    lines = [
        "| family | operator | meaning | defined | gradient | on NPUs | declared in | emulator | hardware |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda row: (row.family, row.handle.namespace, row.name)):
        name = f"{row.handle.namespace}::{row.name}"
        by = symbols.get(name, "composition")
        declared = ", ".join(dict.fromkeys(sources[symbol] for symbol in symbols.get(name, "").split(", ") if symbol))
        defined = "no" if row.doc.startswith("Raises") else "yes"
        seen = "yes" if row.samples or name in calls else "no"
        facts = (row.doc, defined, _gradient(row), by, declared or "-", seen, "no")
        lines.append(f"| {row.family} | `{name}` | {' | '.join(facts)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check; 1 where the page is out of date."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    made = f"{before}{_BEGIN}{table()}{_END}{after}"
    if options.check:
        if made != text:
            print(f"{PAGE.name} is out of date: run `python tools/list_npu_operators.py`")
        return int(made != text)
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
