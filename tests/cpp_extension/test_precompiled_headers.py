"""Precompiled headers of extensions: they are large, and few are kept."""

import fcntl
import os
import sys
from pathlib import Path

import pytest

from mindtorch_v2.utils import _ninja, _precompile


def _made(root: Path, name: str, age: int) -> Path:
    folder = root / name
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "extension.h.gch").write_bytes(b"")
    os.utime(folder, (1_000_000 - age, 1_000_000 - age))
    return folder


def test_those_used_last_are_kept(tmp_path: Path) -> None:
    old = [_made(tmp_path, f"precompiled-{name}", age) for name, age in (("b", 3), ("a", 1), ("d", 4), ("c", 2))]
    other = _made(tmp_path, "include-a", 9)
    mine = _made(tmp_path, "precompiled-e", 8)
    _ninja._forget_old_ones(mine)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "include-a",
        "precompiled-a",
        "precompiled-c",
        "precompiled-e",
    ]
    assert other.exists() and mine.exists() and old[1].exists()
    _ninja._forget_old_ones(tmp_path / "precompiled-new")  # one that is yet to be made
    assert sorted(p.name for p in tmp_path.glob("precompiled-*")) == ["precompiled-a", "precompiled-c"]


def test_those_that_are_being_made_stay(tmp_path: Path) -> None:
    """Of four builds with flags of their own each would else delete what another one makes."""
    unfinished = tmp_path / "precompiled-z" / "torch" / "extension.h.gch.7"
    unfinished.parent.mkdir(parents=True)
    unfinished.write_bytes(b"")
    for age, name in enumerate("abc"):
        _made(tmp_path, f"precompiled-{name}", age)
    _ninja._forget_old_ones(tmp_path / "precompiled-new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["precompiled-a", "precompiled-b", "precompiled-z"]
    assert unfinished.exists()


def test_one_is_made_at_a_time(tmp_path: Path) -> None:
    result = tmp_path / "precompiled-a" / "torch" / "extension.h.gch"
    left = tmp_path / "precompiled-b" / "torch" / "extension.h.gch.7"
    for path in (result, left):
        path.parent.mkdir(parents=True)
    left.write_bytes(b"")
    lock = tmp_path / "precompiling"
    command = [sys.executable, "-c", "import sys; open(sys.argv[-1], 'w').write('made')"]
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError):
            _precompile.make(str(lock), str(result), command)
        assert not result.exists() and left.exists()
    _precompile.make(str(lock), str(result), command)
    assert result.read_text() == "made" and not left.exists()
    _precompile.make(str(lock), str(result), [sys.executable, "-c", "raise SystemExit('it was made again')"])
    assert result.read_text() == "made" and list(result.parent.iterdir()) == [result]
    result.unlink()
    _precompile.make(str(lock), str(result), [sys.executable, "-c", "raise SystemExit(1)"])
    assert not result.exists()


SOURCES = {
    "begins.cpp": "// its first\n#include <torch/extension.h>\n",
    "ops.cpp": '#include "inner/ops.h"\n',
    "inner/ops.h": '#include "../macros.h"\n#include <torch/torch.h>\n',
    "macros.h": "#pragma once\n",
    "script.cpp": "#ifdef WITH_PYTHON\n#include <Python.h>\n#endif\n#include <torch/script.h>\n",
    "types.cpp": '#include <vector>\n#include "loop.h"\n#include <torch/types.h>\n',
    "loop.h": '#pragma once\n#include "loop.h"\n',
    "light.cpp": "#include <ATen/core/Tensor.h>\n",
    "stable.cpp": "#include <torch/csrc/stable/library.h>\n",
    "plain.c": "#include <stdio.h>\n",
}


@pytest.mark.parametrize(
    ("sources", "header", "ahead"),
    [
        ("begins.cpp", "torch/extension.h", False),
        ("begins.cpp light.cpp plain.c", "torch/extension.h", False),
        ("ops.cpp script.cpp", "torch/extension.h", True),
        ("script.cpp types.cpp", "torch/all.h", True),
        ("script.cpp", None, False),
        ("script.cpp types.cpp light.cpp", None, False),
        ("script.cpp types.cpp plain.c", None, False),
        ("light.cpp stable.cpp", None, False),
        ("absent.cpp types.cpp", None, False),
    ],
)
def test_what_is_precompiled_for(sources: str, header: str | None, ahead: bool, tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert _ninja._header_to_precompile([str(tmp_path / name) for name in sources.split()]) == (header, ahead)
