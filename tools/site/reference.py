"""The reference: a page for each of PyTorch's public names that is here, and the table of all that PyTorch has.

Names and where they belong come from the table of PyTorch's names (tests/snapshots/names/pytorch.json), texts from the
objects themselves: `help()` and the site say the same.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mindtorch_v2
from mindtorch_v2 import _C
from mindtorch_v2._core.absent_modules import absent_names

_ROOT = Path(__file__).parents[2]
_TABLE = _ROOT / "tests" / "snapshots" / "names" / "pytorch.json"
_MARKUP = re.compile(r"([<>*_\[\]#|])")


class Entry(NamedTuple):
    """A public name: its module and name as PyTorch has them, its kind, the page that tells of it, and the object."""

    module: str
    name: str
    kind: str
    page: str | None
    value: Any

    @property
    def full(self) -> str:
        """The dotted name."""
        return f"{self.module}.{self.name}"


def entries() -> list[Entry]:
    """Every public name of PyTorch's; those that are not here, or by name only, have no page."""
    table = {module: names for module, names in json.loads(_TABLE.read_text("utf-8")).items() if _is_public(module)}
    found: list[Entry] = []
    modules = {module: _imported(module) for module in table}  # all first: each is a name of its package then
    for module, names in table.items():
        ours = modules[module]
        absent = absent_names(module)
        for name, kind in names.items():
            if name.startswith("_"):
                continue
            spelled, _, home = kind.partition("=") if isinstance(kind, str) else ("constant", "", "")
            value = _value(ours, name)
            here = ours is not None and value is not _NONE and name not in absent
            canonical = home if home and _listed(table, home) else f"{module}.{name}"
            found.append(Entry(module, name, spelled, canonical if here else None, value))
    found += [
        Entry("torch.Tensor", name, "method", f"torch.Tensor.{name}", inspect.getattr_static(mindtorch_v2.Tensor, name))
        for name in dir(mindtorch_v2.Tensor)
        if not name.startswith("_")
    ]
    homes = {entry.full for entry in found if entry.page == entry.full}
    # Where the home of a name is not here, the name is told of where it is.
    return [each if each.page is None or each.page in homes else each._replace(page=each.full) for each in found]


_NONE = object()


def _is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


def _listed(table: dict[str, dict[str, Any]], full: str) -> bool:
    module, _, name = full.rpartition(".")
    return (
        name in table.get(module, {})
        and not isinstance(table[module][name], list)
        and "=" not in str(table[module][name])
    )


def _imported(module: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(module.replace("torch", "mindtorch_v2", 1))
        except Exception:  # noqa: BLE001  (a part that lacks a dependency may raise anything)
            return None


def _value(module: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(module, name, _NONE)
        except Exception:  # noqa: BLE001  (so may a name that is asked for)
            return _NONE


def page(entry: Entry) -> str:
    """The page of a name, as Markdown."""
    value = entry.value
    lines = [f"# {entry.full}", ""]
    if isinstance(value, types.ModuleType):
        return "\n".join(
            [
                *lines,
                _prose((value.__doc__ or "A module.").strip()),
                "",
                f"See the names of [{entry.full}](index.md).",
                "",
            ]
        )
    signature = _signature(entry)
    if signature:
        lines += ["```python", signature, "```", ""]
    text = vars(value).get("__doc__") if isinstance(value, type) else inspect.getdoc(value)
    if not callable(value) and not inspect.isdatadescriptor(value):
        lines.append(f"A constant: `{repr(value)[:200]}`.")
    elif isinstance(text, str) and text.strip():
        lines.append(_prose(inspect.cleandoc(text)))
    else:
        lines.append(f"Handed on from Python: `{getattr(value, '__module__', '')}`.")
    if isinstance(value, type):
        lines += _members(value)
    rows = [row for row in (handle.__dict__.get("row") for handle in _overloads(value)) if row is not None]
    if isinstance(value, _C.Function | _C.Method) and rows:
        lines += ["", *_support(rows)]
    return "\n".join([*lines, ""])


def _signature(entry: Entry) -> str:
    value = entry.value
    if not callable(value):
        return ""
    try:
        parameters = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    parameters = re.sub(r"<([^<>]*) at 0x[0-9a-f]+>", r"<\1>", parameters)
    return f"{'class ' if isinstance(value, type) else ''}{entry.full}{parameters}"


def _prose(text: str) -> str:
    """A docstring as Markdown: examples and what is indented as they stand, the rest as text."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        run: list[str] = []
        for line in lines:
            kept = line.startswith((" ", ">>>", "...")) or (run and run[0].lstrip().startswith(">>>"))
            if kept:
                run.append(line)
                continue
            out += _fenced(run)
            run = []
            fact = re.match(r"(Shapes|Dtypes|Derivatives|Random): ", line)
            out.append(f"- **{fact[1]}**: {_text(line[fact.end() :])}" if fact else _text(line))
        out += [*_fenced(run), ""]
    return "\n".join(out).rstrip()


def _fenced(lines: list[str]) -> list[str]:
    if not lines:
        return []
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    kind = "pycon" if lines[0].lstrip().startswith(">>>") else "text"
    return ["", f"```{kind}", *(line[indent:] for line in lines), "```", ""]


def _text(line: str) -> str:
    """A line with nothing that Markdown reads, but for what stands in backquotes and lists."""
    if line.startswith("- "):
        return "\n- " + _text(line[2:])
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)


def _members(value: type) -> Iterator[str]:
    named = []
    for name, member in sorted(vars(value).items()):
        if name.startswith("_") or not (
            callable(member) or inspect.isdatadescriptor(member) or isinstance(member, classmethod | staticmethod)
        ):
            continue
        summary = (inspect.getdoc(member) or "").partition("\n")[0]
        named.append(f"| `{name}` | {_text(summary).replace('|', '&#124;')} |")
    if named:
        yield from ("", "## Members", "", "| name | what it is |", "|---|---|", *named)


def _overloads(value: Any) -> Iterable[Any]:
    """The operators that a function stands for; a packet of `torch.ops` names its own, and has its page there."""
    found = getattr(value, "overloads", ())
    return () if callable(found) else found


def _support(rows: list[Any]) -> Iterator[str]:
    from mindtorch_v2.status import OP_STATUS

    yield from ("## Where it runs", "", "| operator | cpu | npu | meta |", "|---|---|---|---|")
    for row in {row.name: row for row in rows}.values():
        state = OP_STATUS[row.name]
        yield f"| `{row.name}` | {state['cpu']} | {state['npu']} | {state['meta']} |"


def index(module: str, named: list[Entry]) -> str:
    """The page of a module: its text, and its names with the first sentence of each."""
    ours = _imported(module) if module != "torch.Tensor" else mindtorch_v2.Tensor
    lines = [
        f"# {module}",
        "",
        _prose(inspect.cleandoc(ours.__doc__ or "").strip()) if ours is not None else "",
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    for entry in sorted(named, key=lambda each: each.name):
        if entry.page is None:
            lines.append(f"| `{entry.name}` | *not here* |")
        else:
            value = entry.value
            text = (
                inspect.getdoc(value)
                if callable(value) or inspect.isdatadescriptor(value) or isinstance(value, types.ModuleType)
                else None
            )
            first = _text((text or f"{entry.kind}").strip().partition("\n")[0]).replace("|", "&#124;")
            lines.append(f"| [`{entry.name}`]({_relative(entry, module)}) | {first} |")
    return "\n".join([*lines, ""])


def path(full: str) -> str:
    """The file of a name's page, below the reference."""
    module, _, name = full.rpartition(".")
    return f"{module}/{_file(name)}.md"


def _file(name: str) -> str:
    # Systems whose file names know no case, and the page of the module itself.
    capitals = "".join("1" if letter.isupper() else "0" for letter in name)
    return name if "1" not in capitals and name != "index" else f"{name.lower()}-{int(capitals, 2):x}"


def _relative(entry: Entry, module: str) -> str:
    file = path(entry.page or "")
    return file.partition("/")[2] if file.startswith(f"{module}/") else f"../{file}"


def compatibility(all_entries: list[Entry]) -> str:
    """The page that counts, by module, what of PyTorch's names is here."""
    counts: dict[str, list[int]] = {}
    for entry in all_entries:
        if entry.module == "torch.Tensor":
            continue
        count = counts.setdefault(entry.module, [0, 0])
        count[0] += 1
        count[1] += entry.page is not None
    total, here = (sum(each[i] for each in counts.values()) for i in (0, 1))
    lines = ["# PyTorch's names, and which are here", ""]
    lines += [
        f"PyTorch 2.13 has {total:,} public names in {len(counts)} modules; {here:,} of them are here. The others can be imported",
        "where PyTorch has them, and raise an error that names them when they are used.",
        "",
    ]
    lines += ["| module | names | here |", "|---|---:|---:|"]
    for module, (names, there) in sorted(counts.items()):
        shown = f"[`{module}`](reference/{module}/index.md)" if there else f"`{module}`"
        lines.append(f"| {shown} | {names} | {there} |")
    return "\n".join([*lines, ""])
