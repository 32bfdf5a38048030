"""Draw the house: `docs/map.svg`, the parts of the package by level and what stands on what, from the imports of the code.

python tools/draw_map.py            write docs/map.svg and the tables in docs/map.md
python tools/draw_map.py --check    exit with 1 if they are not what the code says
"""

from __future__ import annotations

import ast
import dataclasses
import html
import pathlib
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import layers

ROOT = pathlib.Path(__file__).resolve().parents[1]
SVG, PAGE = ROOT / "docs" / "map.svg", ROOT / "docs" / "map.md"
BEGIN, END = "<!-- made by tools/draw_map.py: -->", "<!-- end -->"

# Parts that are drawn as boxes with arrows, left to right; their levels are those of tools/layers.py. Public names (levels 9
# and 10) and what is assembled are listed in one box for each level.
PARTS = (
    ("_dispatch", "_core", "_operators", "_ops"),
    (
        "_behaviours.batched",
        "_behaviours.functional",
        "_behaviours.sharded",
        "_behaviours.sparse",
        "_behaviours.quantized",
        "_behaviours.onednn",
        "_behaviours.composed",
        "_behaviours.whole",
    ),
    ("_library", "_subclasses", "_sizes"),
    ("fx", "_capture", "_deferred", "_backends.npu", "_backends.ge", "_backends.cuda", "_backends.common", "_lowered"),
)
ALSO = {"_core": ("_tensor",), "_library": ("library",)}  # drawn in one box
LOWEST = "_core (level 0)"  # what of `_core` stands on nothing else
FOLDERS = ("_behaviours", "_backends")  # they hold parts, and no code of their own
GROUPS = {9: "public names", 10: "programs", 11: "the package"}

WIDTH, MARGIN, LABEL = 1180, 20, 185
INK, PALE, LINE = "#1d2733", "#5d6b7a", "#9aa7b5"
FILLS = (
    "#eef1f5",
    "#e3edf9",
    "#e3edf9",
    "#e2f3ea",
    "#e2f3ea",
    "#fdf3dc",
    "#fdf3dc",
    "#fbe6dd",
    "#fbe6dd",
    "#f0e8f8",
    "#f0e8f8",
    "#e9ecf2",
)


@dataclasses.dataclass
class Box:
    """One part: its level, the modules in it, and where it is drawn."""

    name: str
    level: int
    about: str
    names: tuple[str, ...] = ()
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0


def _about(module: str) -> str:
    """The first sentence of a package's docstring."""
    text = ast.get_docstring(ast.parse(layers.modules()[module].read_text("utf-8"))) or ""
    first = text.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")
    return first.replace("`", "")


def _part_of(module: str) -> str:
    """The box that a module is drawn in."""
    level = layers.level_of(module) or 0
    if not module or level >= 9:
        return GROUPS[level if module else 11]
    if level == 0:
        return LOWEST
    for name in (name for row in PARTS for name in row):
        if any(f"{module}.".startswith(f"{part}.") for part in (name, *ALSO.get(name, ()))):
            return name
    return GROUPS[9] if not module.startswith("_") else module.split(".")[0]


def boxes() -> dict[str, Box]:
    """The parts of the house, by name."""
    members: dict[str, list[str]] = {}
    for module in layers.modules():
        if module in FOLDERS:
            continue
        members.setdefault(_part_of(module), []).append(module)
    found = {}
    for name, modules in members.items():
        level = (
            max(layers.level_of(module) or 0 for module in modules)
            if name in GROUPS.values()
            else layers.level_of(name)
        )
        level = 0 if name == LOWEST else level
        tops = {
            m.split(".")[0] or "__init__" for m in modules if layers.level_of(m.split(".")[0]) == level or "." not in m
        }
        about = _about(name) if name in layers.modules() else ""
        if name == LOWEST:
            about = "What stands on nothing else: " + ", ".join(sorted(m.rpartition(".")[2] for m in modules))
        found[name] = Box(name, int(level or 0), about, tuple(sorted(tops)))
    return found


def arrows(parts: dict[str, Box]) -> list[tuple[str, str]]:
    """Pairs of a part and one that it stands on, without those that follow from others."""
    direct: dict[str, set[str]] = {name: set() for name in parts}
    for module in layers.modules():
        here = _part_of(module)
        if module in FOLDERS or here in GROUPS.values():
            continue
        for each in layers.imports(module):
            target = each.target if each.target in layers.modules() else each.target.rpartition(".")[0]
            if target and not layers.is_excepted(each):
                there = _part_of(target)
                if there in parts and parts[there].level < parts[here].level:
                    direct[here].add(there)

    def reach(name: str) -> set[str]:
        found = set(direct[name])
        for each in direct[name]:
            found |= reach(each)
        return found

    return sorted(
        (name, target)
        for name, targets in direct.items()
        for target in targets
        if not any(target in reach(other) for other in targets if other != target)
    )


# ---- drawing ----


def _text(x: float, y: float, words: str, size: float, color: str = INK, weight: str = "400") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" font-weight="{weight}">'
        f"{html.escape(words)}</text>"
    )


def _rows(parts: dict[str, Box]) -> list[list[Box]]:
    """The boxes by level, the highest first."""
    order = {name: place for place, name in enumerate(name for row in PARTS for name in row)}
    rows = []
    for level in range(len(layers.TITLES) - 1, -1, -1):
        row = sorted(
            (box for box in parts.values() if box.level == level), key=lambda b: (order.get(b.name, 99), b.name)
        )
        rows.append(row)
    return rows


def _words(box: Box) -> list[str]:
    """The lines of text in a box below its name."""
    room = int((box.width - 16) / 6.7)
    text = " ".join(box.names) if box.name in GROUPS.values() else box.about
    return textwrap.wrap(text, room)


def _place(rows: list[list[Box]]) -> float:
    y = 64.0
    for row in rows:
        room = WIDTH - LABEL - MARGIN
        width = (room - 14 * (len(row) - 1)) / max(1, len(row))
        for place, box in enumerate(row):
            box.width, box.x, box.y = width, LABEL + place * (width + 14), y
            box.height = 34 + 14 * len(_words(box))
        height = max((box.height for box in row), default=30)
        for box in row:
            box.height = height
        y += height + 34
    return y


def _arrow(start: Box, end: Box, place: float, landing: float) -> str:
    x1, y1 = start.x + start.width * place, start.y + start.height
    x2, y2 = end.x + end.width * landing, end.y - 2
    bend = max(18.0, (y2 - y1) * 0.5)
    dashes = ' stroke-dasharray="4 4"' if start.level - end.level > 1 else ""  # it passes behind others
    return (
        f'<path d="M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}" fill="none" '
        f'stroke="{LINE}" stroke-width="1.3"{dashes} marker-end="url(#tip)"/>'
    )


def _spread(ends: list[tuple[str, str]], name: str, other: int, parts: dict[str, Box]) -> dict[tuple[str, str], float]:
    """Places along an edge of a box for its arrows, in the order of where they go."""
    mine = sorted(
        (e for e in ends if e[1 - other] == name), key=lambda e: parts[e[other]].x + parts[e[other]].width / 2
    )
    return {each: (place + 1) / (len(mine) + 1) for place, each in enumerate(mine)}


def svg() -> str:
    """The drawing."""
    parts = boxes()
    rows = _rows(parts)
    bottom = _place(rows)
    ends = arrows(parts)
    leave: dict[tuple[str, str], float] = {}
    land: dict[tuple[str, str], float] = {}
    for name in parts:
        leave |= _spread(ends, name, 1, parts)
        land |= _spread(ends, name, 0, parts)
    height = bottom + 56
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{LINE}"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
        _text(MARGIN, 32, "mindtorch_v2: what stands on what", 20, weight="700"),
        _text(
            MARGIN,
            50,
            "A part imports only what is below it. Arrows: which of that, without those that follow from others; levels 9 to 11 import all.",
            12,
            PALE,
        ),
    ]
    for row in rows:
        if row:
            level = row[0].level
            for place, line in enumerate(textwrap.wrap(layers.TITLES[level], 18)):
                out.append(_text(MARGIN + 28, row[0].y + 17 + 14 * place, line, 12, PALE))
            out.append(_text(MARGIN, row[0].y + 18, str(level), 15, weight="700"))
    out += [_arrow(parts[a], parts[b], leave[a, b], land[a, b]) for a, b in ends]
    for box in (box for row in rows for box in row):
        out.append(
            f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="6" '
            f'fill="{FILLS[box.level]}" stroke="{LINE}"/>'
        )
        out.append(_text(box.x + 10, box.y + 19, box.name, 14, weight="700"))
        out += [_text(box.x + 10, box.y + 35 + 14 * n, line, 11.5, PALE) for n, line in enumerate(_words(box))]
    native = "   ".join(sorted(f"csrc/{path.name}" for path in (ROOT / "csrc").iterdir() if path.is_dir()))
    out.append(
        f'<rect x="{LABEL}" y="{bottom - 6:.0f}" width="{WIDTH - LABEL - MARGIN}" height="40" rx="6" fill="{FILLS[0]}" stroke="{LINE}"/>'
    )
    out.append(_text(LABEL + 10, bottom + 12, "_C, in C++", 14, weight="700"))
    out.append(_text(LABEL + 10, bottom + 27, native, 11.5, PALE))
    return "\n".join([*out, "</svg>", ""])


def page() -> str:
    """The page, with its table made anew."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_table()}{END}{after}"


def _table() -> str:
    rows = ["| Level | | Parts |", "|---|---|---|"]
    for row in _rows(boxes()):
        if row:
            names = [name for box in row for name in (box.names if box.name in GROUPS.values() else (box.name,))]
            said = ", ".join(f"`{name}`" for name in names)
            rows.append(f"| {row[0].level} | {layers.TITLES[row[0].level]} | {said} |")
    return "\n".join([*rows, "", ""])


def main() -> int:
    """Write, or with --check compare."""
    made = {SVG: svg(), PAGE: page()}
    if "--check" in sys.argv[1:]:
        stale = [path for path, text in made.items() if not path.exists() or path.read_text("utf-8") != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the code says: run `python tools/draw_map.py`")
        return 1 if stale else 0
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
