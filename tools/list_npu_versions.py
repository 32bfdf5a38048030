"""Write the table of docs/npu-versions.md from `_backends/npu/versions.py`; with --check, say whether it is up to date."""

import argparse
import pathlib
import sys

from mindtorch_v2._backends.npu import versions

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "npu-versions.md"
_BEGIN, _END = "<!-- versions: tools/list_npu_versions.py -->\n", "<!-- end of the versions -->\n"


def main() -> int:
    """Write or check; 1 where the page is out of date."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    before = PAGE.read_text(encoding="utf-8")
    head, _, rest = before.partition(_BEGIN)
    after = head + _BEGIN + versions.table() + _END + rest.partition(_END)[2]
    if arguments.parse_args().check:
        return int(before != after)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
