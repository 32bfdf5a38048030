"""Run tests with this package as `torch`: the command that the design document prints.

    python tests/run_test.py -vs tests/transformers/tests/models/bert/test_modeling_bert.py

The arguments are pytest's. Files below `tests/transformers` are those of transformers' source, which this project does not
hold: its folder is `tests/transformers`, or wherever TRANSFORMERS_SOURCE says.
"""

from __future__ import annotations

import os
import pathlib
import sys

_FOLDER = pathlib.Path("tests") / "transformers"
_HOW = (
    "`git clone --branch v5.15.0 https://github.com/huggingface/transformers` brings the source; set TRANSFORMERS_SOURCE to that "
    "folder"
)


def _found(argument: str) -> str:
    """The argument, with transformers' source where that is; SystemExit if there is none."""
    path, separator, test = argument.partition("::")
    try:
        inside = pathlib.Path(path).relative_to(_FOLDER)
    except ValueError:
        return argument
    if pathlib.Path(path).exists():
        return argument
    source = os.environ.get("TRANSFORMERS_SOURCE")
    if source is None or not (pathlib.Path(source) / inside).exists():
        where = "TRANSFORMERS_SOURCE is not set" if source is None else f"nor is {pathlib.Path(source) / inside}"
        raise SystemExit(f"{path} is not there, {where}. {_HOW}")
    return str(pathlib.Path(source) / inside) + separator + test


def main(arguments: list[str]) -> int:
    """Run pytest with the package as `torch`; its exit status."""
    from mindtorch_v2 import _as_torch

    _as_torch.as_torch()
    import pytest

    chosen = [_found(argument) for argument in arguments]
    source = os.environ.get("TRANSFORMERS_SOURCE")
    if source is not None:
        sys.path.insert(0, source)  # its tests import each other as `tests.models`
    return int(pytest.main(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
