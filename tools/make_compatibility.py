"""The compatibility page, docs/compatibility.md, from the tables in the repository.

    python tools/make_compatibility.py

Names: tests/snapshots/names/pytorch.json has PyTorch's, src/mindtorch_v2/_core/absent_names.jsonl those that are here for their names
alone. Yardsticks: the recorded results of others' tests and programs. `tests/meta/test_compatibility.py` holds the page to them.
"""

from __future__ import annotations

import collections
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
SNAPSHOTS = ROOT / "tests" / "snapshots"
PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- made by tools/make_compatibility.py: -->", "<!-- end -->"

# Values that PyTorch has in any case and that stand for something elsewhere: constants, enumerations, names handed on.
_DATA = (list, dict)


def absent() -> dict[str, dict]:
    """The names that are here for their names alone, by module."""
    names, *lines = (ROOT / "src/mindtorch_v2/_core/absent_names.jsonl").read_text().splitlines()
    return dict(zip(json.loads(names), map(json.loads, lines), strict=True))


def is_public(module: str, name: str) -> bool:
    """Whether neither has a part that begins with an underscore."""
    return not any(part.startswith("_") for part in (*module.split("."), name))


def works(kind: object, gone: dict[str, dict]) -> bool:
    """Whether what the list gives for a name can be used: a constant, an enumeration, a type, or something defined elsewhere that is here."""
    if isinstance(kind, _DATA) or kind == "type":
        return True
    _, _, elsewhere = str(kind).partition("=")
    home, _, name = elsewhere.rpartition(".")
    return (
        bool(elsewhere)
        and not any(part.startswith("_") for part in home.split("."))
        and name not in gone.get(home, {})
        and "*" not in gone.get(home, {})
    )


def counts() -> dict[str, tuple[int, int]]:
    """By the first part below torch: public names of PyTorch's, and how many of them can be used here."""
    table, gone = json.loads((SNAPSHOTS / "names" / "pytorch.json").read_text()), absent()
    found: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for module, names in table.items():
        area = ".".join(module.split(".")[:2])
        for name in names:
            if is_public(module, name) and names[name] != "module":
                kind = gone.get(module, {}).get(name)
                found[area][0] += 1
                found[area][1] += kind is None or works(kind, gone)
    return {area: (whole, here) for area, (whole, here) in sorted(found.items()) if whole}


def unused(area: str) -> str:
    """The modules of an area none of whose names can be used, as text."""
    gone = [
        name
        for name, names in absent().items()
        if "*" in names and (name + ".").startswith(area + ".") and is_public(name, "x")
    ]
    tops = [name for name in gone if name.rpartition(".")[0] not in gone]
    return ", ".join(f"`{name.removeprefix('torch.')}`" for name in tops[:8]) + (
        f" and {len(tops) - 8} more" if len(tops) > 8 else ""
    )


def names_table() -> str:
    """The table of names."""
    rows = counts()
    lines = [
        "| | public names | usable here | | modules that are here to be imported only |",
        "|---|---:|---:|---:|---|",
    ]
    for area, (whole, here) in rows.items():
        lines.append(
            f"| `{area}` | {whole} | {here} | {here / whole:.1%} | {unused(area) if area != 'torch' else ''} |"
        )
    whole, here = (sum(row[place] for row in rows.values()) for place in (0, 1))
    return "\n".join([*lines, f"| **all** | **{whole}** | **{here}** | **{here / whole:.1%}** | |"])


def yardsticks_table() -> str:
    """The table of others' tests and programs."""
    lines = ["| Yardstick | Result | Page |", "|---|---|---|"]
    rows = json.loads((SNAPSHOTS / "ecosystem.json").read_text())
    day = rows.pop("date")
    counted = [row for row in rows.values() if row["status"] != "neither"]
    good = sum(row["status"] in ("equal", "close") for row in counted)
    values, equal = (sum(row[key] for row in counted) for key in ("values", "equal"))
    lines.append(
        f"| Programs of other libraries | {good} of {len(counted)} equal or close ({good / len(counted):.1%}), {equal} of {values} values equal to the last bit; {day} | [libraries](ecosystem.md) |"
    )
    classes = json.loads((SNAPSHOTS / "model_families.json").read_text())["classes"].values()
    agree = sum(not each["differs"] for each in classes)
    lines.append(
        f"| transformers' classes of models, made small | {agree} of {len(classes)} agree in every step ({agree / len(classes):.1%}) | [model families](model-families.md) |"
    )
    families = json.loads((SNAPSHOTS / "transformers_suite.json").read_text()).values()
    wanted, passed = (sum(each[place] for each in families) for place in (0, 1))
    lines.append(
        f"| transformers' own tests of its families, a sample | {passed} of {wanted} pass ({passed / wanted:.2%}) | [transformers' tests](transformers-tests.md) |"
    )
    run = json.loads((SNAPSHOTS / "docstring_examples.json").read_text())
    right, whole = run["same"] + run["close"], sum(run[key] for key in ("same", "close", "differs", "raises"))
    lines.append(
        f"| Examples in PyTorch's docstrings | {right} of {whole} print the same ({right / whole:.1%}); {run['date']} | `python -m tests.docstring_examples` |"
    )
    for page, what in (
        ("pytorch-test-files.md", "PyTorch's own test files"),
        ("torch-npu.md", "torch_npu's tests and names"),
    ):
        total = next(
            (line for line in (ROOT / "docs" / page).read_text().splitlines() if line.startswith("| **user, all**")),
            None,
        )
        figure = (
            "by file on its page"
            if total is None
            else "{1} of {0} pass ({2})".format(*[part.strip(" *") for part in total.split("|")[2:5]])
        )
        lines.append(f"| {what} | {figure} | [{page.removesuffix('.md')}]({page}) |")
    lines.append(
        f"| PyTorch's operator database | calls that differ are listed, by {causes()} causes | [operator-database](operator-database.md) |"
    )
    return "\n".join(lines)


def causes() -> int:
    """The number of rows of the table of causes on the page of the operator database."""
    _, _, table = (ROOT / "docs" / "operator-database.md").read_text().partition("| Cause | Entries |\n|---|---|\n")
    return sum(line.startswith("| ") for line in table.partition("\n\n")[0].splitlines())


def page() -> str:
    """The whole page, as it is to be."""
    return f"""# Compatibility with PyTorch 2.13

{BEGIN}
## Yardsticks

{yardsticks_table()}

## Names

Every public name of PyTorch 2.13 can be imported. A name counts as usable that is implemented here, that is a constant or a type, or that PyTorch
hands on from a place where it is. The others raise NotImplementedError when they are used. The whole list, a line a module:
`src/mindtorch_v2/_core/absent_names.jsonl`. A name that can be used may lack an argument or a case: the yardsticks tell that.

{names_table()}
{END}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
