"""Write what PyTorch answers to the programs of `tests/support/sparse_cases.py` and `sparse_slices.py`.

Run where PyTorch 2.13 is installed: `python tests/sparse/record.py`.
"""

import json
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def main() -> None:
    sys.path[:0] = [str(TESTS / "support")]
    import reference

    reference.use_as_ours()
    import sparse_cases
    import sparse_slices

    for place, found in (("cases", sparse_cases.outcomes()), ("slices", sparse_slices.outcomes())):
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
        (TESTS / "snapshots" / "sparse" / f"{place}.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
