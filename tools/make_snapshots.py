"""Make `tests/snapshots/ops/*.jsonl`: what the installed PyTorch gives for every sample of every operator row.

    python tools/make_snapshots.py [family ...]

Needs PyTorch and this package, whose rows say which operators are called with what; every number comes from PyTorch.
"""

import sys
import warnings
from collections import defaultdict
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from expected import record_row, write
from generic_bernoulli import GenericBernoulli

from mindtorch_v2._operators.table import ROWS


def main() -> None:
    """Write the families named on the command line, or all."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # what PyTorch warns of is not recorded
    families = defaultdict(list)
    for name in sorted(ROWS):
        families[ROWS[name].family].append(ROWS[name])
    for family in sys.argv[1:] or sorted(families):
        with GenericBernoulli():
            entries = [entry for row in families[family] for entry in record_row(torch, row)]
        path = write(family, entries)
        absent = sorted({entry["row"] for entry in entries if "absent" in entry})
        refused = sum("error" in entry for entry in entries)
        note = f"; not in PyTorch: {', '.join(absent)}" if absent else ""
        print(f"{path.name}: {len(entries)} entries, {refused} refused by PyTorch, {path.stat().st_size} bytes{note}")


if __name__ == "__main__":
    main()
