"""Make `tests/snapshots/training/*.json` with the installed PyTorch: the losses of `tests/training/programs/*.py`.

Arguments are the names of programs; all of them without any.
"""

import contextlib
import io
import json
import runpy
import sys
from pathlib import Path

import torch

_TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(_TESTS / "support"))

from generic_bernoulli import GenericBernoulli


def main() -> None:
    """Run each program under PyTorch and keep what it prints."""
    torch.set_num_threads(1)
    for program in sorted((_TESTS / "training" / "programs").glob("*.py")):
        if sys.argv[1:] and program.stem not in sys.argv[1:]:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), GenericBernoulli():
            runpy.run_path(str(program), run_name="__main__")
        target = _TESTS / "snapshots" / "training" / f"{program.stem}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps({"torch": torch.__version__, **json.loads(printed.getvalue())}, indent=1) + "\n")
        print(f"{target}: {len(target.read_bytes())} bytes")


if __name__ == "__main__":
    main()
