"""The pages of the site: those of docs/ and the root as they are, and those that are made from the rows and tables."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from . import reference

_ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)]*)?\)")
_FROM_ROOT = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")

# The order of the pages; those of docs/ that stand nowhere come under "More".
NAVIGATION: dict[str, dict[str, str]] = {
    "Home": {"": "index.md"},
    "Tutorials": {
        "Train a model": "tutorials/train.md",
        "Fine-tune and generate": "tutorials/fine-tune.md",
        "An operator in Python": "custom-operators.md",
        "An operator in C++": "cpp-operators.md",
        "The NPU emulator": "tutorials/npu-emulator.md",
        "Graphs": "graph-mode.md",
        "Several processes": "distributed.md",
    },
    "Guides": {
        "Training": "training.md",
        "Saving and loading": "saving-and-loading.md",
        "Larger clusters": "scaling.md",
        "Profiling": "profiling.md",
        "Sparse tensors": "sparse.md",
        "Being torch": "being-torch.md",
        "Coming from PyTorch": "coming-from-pytorch.md",
        "Coming from torch_npu": "coming-from-torch-npu.md",
        "Troubleshooting": "troubleshooting.md",
        "Environment variables": "environment.md",
    },
    "NVIDIA": {"NVIDIA GPUs": "cuda.md"},
    "Ascend": {
        "Ascend NPUs": "npu.md",
        "torch_npu": "torch-npu.md",
        "Versions": "npu-versions.md",
        "GE graphs": "ge.md",
        "MindSpore": "mindspore.md",
    },
    "Reference": {
        "Names": "reference/index.md",
        "PyTorch's names": "compatibility.md",
        "Where operators run": "support.md",
        "PyTorch's own tests": "pytorch-test-files.md",
        "Platforms": "platforms.md",
        "Wheels": "wheels.md",
        "Dependencies": "dependencies.md",
        "Comparison": "comparison.md",
    },
    "The project": {
        "The house": "map.md",
        "How an operator call works": "how-an-op-call-works.md",
        "Add an operator": "add-an-operator.md",
        "Add a device": "add-a-device.md",
        "Checking the tests": "checking-the-tests.md",
        "Contributing": "contributing.md",
        "Changes": "changelog.md",
        "Security": "security.md",
        "Versions and maturity": "maturity.md",
    },
}


def write(folder: Path, modules: list[str] | None = None) -> int:
    """Write every page; returns how many there are."""
    folder.mkdir(parents=True)
    for source in sorted((_ROOT / "docs").rglob("*")):
        target = folder / source.relative_to(_ROOT / "docs")
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif source.suffix == ".md":
            target.write_text(_page(source, target, folder), encoding="utf-8")
        else:
            shutil.copy(source, target)
    for name in _FROM_ROOT:
        target = folder / ("index.md" if name == "README.md" else name.lower())
        target.write_text(_page(_ROOT / name, target, folder), encoding="utf-8")
    overview = folder / "examples" / "index.md"
    overview.parent.mkdir(exist_ok=True)
    overview.write_text(_page(_ROOT / "examples" / "README.md", overview, folder), encoding="utf-8")
    for readme in sorted((_ROOT / "examples").glob("*/README.md")):
        target = folder / "examples" / f"{readme.parent.name}.md"
        target.parent.mkdir(exist_ok=True)
        target.write_text(_page(readme, target, folder), encoding="utf-8")
        for picture in readme.parent.glob("*.png"):
            shutil.copy(picture, target.parent / f"{readme.parent.name}-{picture.name}")
    _write_reference(folder, modules)
    (folder / "support.md").write_text(_support(), encoding="utf-8")
    return len(list(folder.rglob("*.md")))


def _place(path: Path, folder: Path) -> Path | None:
    """Where the page of a file of the repository is on the site."""
    relative = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else None
    if relative is None:
        return None
    if str(relative) in _FROM_ROOT:
        return folder / ("index.md" if relative.name == "README.md" else relative.name.lower())
    if relative.parts[0] == "docs":
        return folder.joinpath(*(relative.parts[1:] or ("index.md",)))
    if str(relative) == "examples/README.md":
        return folder / "examples" / "index.md"
    if relative.parts[0] == "examples" and relative.name == "README.md":
        return folder / "examples" / f"{relative.parts[1]}.md"
    if relative.parts[0] == "examples" and relative.suffix == ".png":
        return folder / "examples" / f"{relative.parts[1]}-{relative.name}"
    if relative.parts[0] == "examples" and (path / "README.md").exists():
        return folder / "examples" / f"{relative.parts[1]}.md"
    return None


def _page(source: Path, target: Path, folder: Path) -> str:
    """The text of a page, its links led to where things are on the site; a file that is not on it becomes its name."""

    def led(match: re.Match[str]) -> str:
        picture, text, link, place = match.groups()
        found = (source.parent / link).resolve()
        if found.is_dir() and (found / "README.md").exists():
            found = found / "README.md"
        there = _place(found, folder)
        if there is None or (found.is_dir() and there.suffix != ".md"):
            return text if not picture else f"*{text}*"
        return f"{picture}[{text}]({os.path.relpath(there, target.parent)}{place or ''})"

    return _LINK.sub(led, source.read_text("utf-8"))


def _write_reference(folder: Path, modules: list[str] | None) -> None:
    every = reference.entries()
    here = [entry for entry in every if entry.page is not None]
    home = {entry.full: entry for entry in here}
    by_module: dict[str, list[reference.Entry]] = {}
    for entry in every:
        by_module.setdefault(entry.module, []).append(entry)
    there = [module for module, named in by_module.items() if any(entry.page for entry in named)]
    chosen = [module for module in there if modules is None or module in modules]
    root = folder / "reference"
    for module in there:
        (root / module).mkdir(parents=True)
        shown = by_module[module] if module in chosen else []
        (root / module / "index.md").write_text(reference.index(module, _with_pages(shown, chosen)), encoding="utf-8")
    for full, entry in home.items():
        if entry.page == full and entry.module in chosen:
            (root / reference.path(full)).write_text(reference.page(entry), encoding="utf-8")
    lines = [
        "# Reference",
        "",
        "A page for each public name: what `help()` says, and where it runs.",
        "",
        "| module | names here |",
        "|---|---:|",
    ]
    for module in sorted(there):
        lines.append(
            f"| [`{module}`]({module}/index.md) | {sum(entry.page is not None for entry in by_module[module])} |"
        )
    (root / "index.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "compatibility.md").write_text(reference.compatibility(every), encoding="utf-8")


def _with_pages(named: list[reference.Entry], chosen: list[str]) -> list[reference.Entry]:
    """Without those whose page belongs to a module that is left out."""
    return [entry for entry in named if entry.page is None or entry.page.rpartition(".")[0] in chosen]


def _support() -> str:
    from mindtorch_v2._operators.table import every_row
    from mindtorch_v2.status import OP_STATUS

    lines = [
        "# Where operators run",
        "",
        "From the registry: a kernel of the device's own, composed of other operators, or missing.",
        "",
    ]
    for device in ("cpu", "npu", "meta"):
        counts = [
            sum(OP_STATUS[name][device] == state for name in every_row())
            for state in ("native", "composite", "missing")
        ]
        lines.append(f"- **{device}**: {counts[0]} native, {counts[1]} composite, {counts[2]} missing")
    lines += ["", "| operator | dtypes | cpu | npu | meta |", "|---|---|---|---|---|"]
    for name, row in sorted(every_row().items()):
        state = OP_STATUS[name]
        lines.append(f"| `{name}` | {row.dtypes} | {state['cpu']} | {state['npu']} | {state['meta']} |")
    return "\n".join([*lines, ""])


def write_configuration(pages: Path, out: Path) -> None:
    """Write MkDocs' settings: the navigation, and every other page within reach of the search."""
    docs = pages / "docs"
    lines = [
        "site_name: mindtorch_v2",
        "site_description: PyTorch's semantics without PyTorch",
        f"site_dir: {out}",
        "docs_dir: docs",
        "use_directory_urls: false",
        "theme:",
        "  name: material",
        "  font: false",
        "  features: [navigation.tabs, navigation.top, search.suggest, search.highlight, content.code.copy]",
        "  palette:",
        "    - {media: '(prefers-color-scheme: light)', scheme: default, toggle: {icon: material/weather-night, name: dark}}",
        "    - {media: '(prefers-color-scheme: dark)', scheme: slate, toggle: {icon: material/weather-sunny, name: light}}",
        "plugins: [search]",
        "markdown_extensions: [tables, fenced_code, toc: {permalink: true}, pymdownx.highlight, pymdownx.superfences]",
        "validation: {omitted_files: ignore}",
        "nav:",
    ]
    named = set()
    for tab, entries in NAVIGATION.items():
        if list(entries) == [""]:
            lines.append(f"  - {tab}: {entries['']}")
            named.add(entries[""])
            continue
        lines.append(f"  - {tab}:")
        for title, file in entries.items():
            if not (docs / file).exists():
                raise FileNotFoundError(f"the navigation names {file}, and there is no such page")
            named.add(file)
            lines.append(f"    - {title!r}: {file}")
    lines.append("  - More:")
    for path in sorted([*docs.glob("*.md"), *docs.glob("decisions/*.md"), *docs.glob("examples/*.md")]):
        file = str(path.relative_to(docs))
        if file not in named:
            lines.append(f"    - {file}")
    (pages / "mkdocs.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
