"""Record what PyTorch's modes see of the calls of its operator database: what tests/fx/test_calls_as_modes_see_them.py compares with.

PYTHONPATH=src path/to/python-with-torch tools/record_calls.py      # writes tests/snapshots/recorded_calls.jsonl.gz
"""

import gzip
import json
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import torch  # noqa: E402  (after the path is set)
from recorded_calls import SNAPSHOTS, recordings  # noqa: E402  (likewise)


def main():
    """Write the file: a call a line."""
    warnings.simplefilter("ignore")
    lines = [json.dumps(each) for each in recordings(torch)]
    with (
        open(SNAPSHOTS / "recorded_calls.jsonl.gz", "wb") as place,
        gzip.GzipFile("", "wb", mtime=0, fileobj=place) as out,
    ):
        out.write(("\n".join(lines) + "\n").encode())
    print(f"{len(lines)} calls")


if __name__ == "__main__":
    main()
