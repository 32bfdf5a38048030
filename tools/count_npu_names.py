"""Which names that Ascend's programs use are there: a table by kind, from the counts in tests/snapshots/names/torch_npu_uses.tsv.

python tools/count_npu_names.py             the table: names and uses, those that resolve, how many raise when used, the share of the uses
python tools/count_npu_names.py --missing   and every name that does not resolve
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import importlib.util
import pathlib
import sys
import types
from typing import Any, NamedTuple

import mindtorch_v2 as torch

COUNTS = pathlib.Path(__file__).resolve().parents[1] / "tests" / "snapshots" / "names" / "torch_npu_uses.tsv"
_ROOTS = {
    "torch.npu": "mindtorch_v2.npu",
    "torch_npu": "mindtorch_v2.npu.torch_npu",
    "torchair": "mindtorch_v2.torchair",
}


class Use(NamedTuple):
    """A counted name."""

    kind: str
    name: str
    uses: int
    defined_by: str


def counted() -> list[Use]:
    """All counted names."""
    with COUNTS.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        return [Use(row["kind"], row["name"], int(row["uses"]), row["defined_by"]) for row in rows]


def find(name: str) -> Any:
    """Find the value of a dotted name, submodules imported on the way as programs would; AttributeError where it is missing."""
    root = next(each for each in _ROOTS if name == each or name.startswith(f"{each}."))
    value = importlib.import_module(_ROOTS[root])
    parts = name[len(root) + 1 :].split(".") if len(name) > len(root) else []
    for place, part in enumerate(parts, 1):
        if isinstance(value, types.ModuleType) and hasattr(value, "__path__") and part not in vars(value):
            module = f"{value.__name__}.{part}"
            if place == len(parts) and (spec := importlib.util.find_spec(module)) is not None:
                return spec  # not imported: transfer_to_npu changes torch when it is
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(module)
        value = getattr(value, part)
    return value


def resolves(use: Use) -> bool:
    """Whether the name is there; an operator's has to be one of an operator with a row, or a function over formats."""
    try:
        value = find(use.name)
    except AttributeError:
        return False
    except RuntimeError:  # it is there, and asks for a device
        return use.kind == "torch.npu"
    return (
        use.kind != "op"
        or isinstance(value, torch._ops.OpOverloadPacket)
        or getattr(value, "__module__", "").endswith(".formats")
    )


def raises(use: Use) -> bool:
    """Whether the name is there only to say that what it stands for is not."""
    with contextlib.suppress(AttributeError, RuntimeError):
        return "is not implemented in mindtorch_v2" in (getattr(find(use.name), "__doc__", None) or "")
    return False


def table() -> dict[str, dict[str, int]]:
    """By kind: names, those that resolve, uses, those of names that resolve, and those of names that raise when used."""
    found: dict[str, dict[str, int]] = {}
    for use in counted():
        numbers = found.setdefault(use.kind, {"names": 0, "there": 0, "uses": 0, "uses_there": 0, "raise": 0})
        there = resolves(use)
        numbers["names"] += 1
        numbers["there"] += there
        numbers["uses"] += use.uses
        numbers["uses_there"] += use.uses * there
        numbers["raise"] += use.uses * raises(use)
    return found


def main() -> None:
    """Print the table."""
    print(f"{'kind':12}{'names':>8}{'there':>8}{'uses':>8}{'there':>8}{'raise':>8}{'share':>9}")
    for kind, numbers in sorted(table().items()):
        share = 100 * numbers["uses_there"] / numbers["uses"]
        print(f"{kind:12}" + "".join(f"{number:8}" for number in numbers.values()) + f"{share:8.1f}%")
    if "--missing" in sys.argv[1:]:
        for use in counted():
            if not resolves(use):
                print(f"{use.kind:12}{use.name:70}{use.uses:5}  {use.defined_by}")


if __name__ == "__main__":
    main()
