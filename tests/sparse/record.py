"""Write what PyTorch answers to the programs of `tests/support/sparse_cases.py`.

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

    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in sparse_cases.outcomes().items())
    (TESTS / "snapshots" / "sparse" / "cases.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
