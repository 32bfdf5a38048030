"""Precompiled headers of extensions: they are large, and few are kept."""

import os
from pathlib import Path

from mindtorch_v2.utils import _ninja


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
