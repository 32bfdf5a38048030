"""Stubs for the name `torch`: each module says that its names are those of the module of this package.

Type checkers look for `torch-stubs` beside the programs they check, or in an environment. There it would be taken before a
PyTorch that is installed; so only the metadata-only distribution brings it, which is refused where PyTorch is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DISTRIBUTED = "torch-stubs"
"""Name of the folder in an environment; in a project's own folder of stubs it is `torch`."""
_PACKAGE = Path(__file__).parent.parent
_OURS = ("_as_torch", "_backends", "_behaviours", "_capture", "_deferred", "_dispatch", "_lowered", "_sizes", "interop")
# Modules that are attributes of their packages before anybody imports them, and that their packages do not list.
_LOADED = {"utils": "checkpoint cpp_extension deterministic dlpack flop_counter hooks weak"}


def stub_files(folder: str = DISTRIBUTED) -> Iterator[tuple[str, str]]:
    """Name, and text, of each stub."""
    modules = {path.with_suffix("") for kind in ("py", "pyi") for path in _PACKAGE.rglob(f"*.{kind}")}
    for module in sorted(modules):
        parts = module.relative_to(_PACKAGE).parts
        if parts[0] in _OURS or parts[-1] == "__main__":
            continue
        dotted = ".".join(part for part in ("mindtorch_v2", *parts) if part != "__init__")
        text = f"from {dotted} import *\n"
        if parts[-1] == "__init__":
            text += "".join(
                f"from . import {name} as {name}\n" for name in _LOADED.get("/".join(parts[:-1]), "").split()
            )
        yield f"{folder}/{'/'.join(parts)}.pyi", text


def write(place: Path) -> Path:
    """Write the stubs into `place`, a project's own folder of stubs (`typings`), and return where they are.

    pyright looks into `typings` by itself (`stubPath`), mypy where MYPYPATH says.
    """
    for name, text in stub_files("torch"):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place / "torch"
