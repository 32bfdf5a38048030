"""The style of the sources that a machine can tell: docstrings, ignored rules of the linter."""

import ast
import pathlib
import re
import tomllib

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
_KINDS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _docstrings(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        text = ast.get_docstring(node) if isinstance(node, _KINDS) else None
        if text:
            yield node.body[0].lineno, text.strip()


def test_docstrings_name_the_thing():
    """They begin with a noun or a verb, not with "What"."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        for line, text in _docstrings(path)
        if text.startswith("What ")
    ]
    assert wrong == []


# Words that stand behind a verb, and those that stand behind a noun in the plural: "Sums the rows", "Sums of rows".
_OBJECTS = {"the", "a", "an", "all", "each", "every", "it", "its", "one", "two", "what", "whether", "how", "nothing"}
_AFTER_NOUNS = set(
    "of that which and or in by with to for are from on as whose between where at without under over through is was were that have "
    "has not come since made given saved put held cut padded counted back one".split()
)


def _words(text):
    """The first word, if nothing but a space is behind it, and the one behind that."""
    found = re.match(r"([A-Z][a-z]+) (?:(`)|([\w']+))?", text)
    return (found[1], found[2] or (found[3] or "").lower()) if found else ("", "")


def _in_the_third_person(texts):
    """The docstrings that begin with "Sets", where others begin with "Set the ..."; "Calls of" is no such verb."""
    imperatives = {first for first, second in map(_words, texts) if second in _OBJECTS | {"`"}}
    plurals = {first for first, second in map(_words, texts) if second in ("of", "that", "whose")}
    found = []
    for text in texts:
        first, second = _words(text)
        bases = {first.removesuffix("s"), first.removesuffix("es"), re.sub("ies$", "y", first)} - {first}
        is_noun = first in plurals and second in _AFTER_NOUNS
        if first.endswith("s") and not first.endswith("ss") and bases & imperatives and not is_noun:
            found.append(text)
    return found


def test_docstrings_are_in_one_style():
    """A verb that begins one is in the imperative: "Set the ...", not "Sets the ..."."""
    texts = {text: f"{path.relative_to(ROOT)}:{line}" for path in FILES for line, text in _docstrings(path)}
    assert len(texts) > 5000
    assert [f"{texts[text]}: {text[:60]}" for text in _in_the_third_person(texts)] == []


def test_docstrings_of_another_style_are_seen():
    third = ["Sets the rate.", "Applies `f`.", "Goes on.", "Sets"]
    others = [
        "Set a rate.",
        "Apply it.",
        "Go on.",
        "Sets of rates.",
        "Rates.",
        "Pass it on.",
        "Calls of `f`.",
        "Is it?",
    ]
    assert _in_the_third_person([*third, *others]) == third[:2]


def test_each_exception_to_the_type_checker_has_a_reason():
    """In what it reads, the reason is behind it in brackets: `# type: ignore[override]  # (of this device only)`."""
    read = ("src/", "tools/", "benchmarks/", "examples/", "tests/support/")
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in FILES
        if str(path.relative_to(ROOT)).startswith(read)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if re.search(r"# type: ignore(?!\[[a-z, -]+\]  # \(.+\))", line)
    ]
    assert bare == []


_SUPPRESSION = re.compile(r"#.*\bnoqa\b", re.IGNORECASE)
_EXPLAINED = re.compile(r"# (ruff: )?noqa: [A-Z]+\d+(, [A-Z]+\d+)*  \(.+\)$")


def _is_bare(line):
    """Whether a line switches rules of the linter off without naming them, or without a reason."""
    return _SUPPRESSION.search(line) is not None and _EXPLAINED.search(line) is None


def _unexplained(section):
    """Entries of per-file-ignores without a comment before them; one comment is for entries below it of the same kind."""
    found, families = [], None
    for line in filter(None, section.split("\n")):
        if line.startswith("#"):
            families = None if re.fullmatch(r"#\W*", line) else set()
            continue
        own = set(re.findall(r'"([A-Z]+)\d+"', line.partition("=")[2]))
        if families is None or families and not own <= families:
            found.append(line)
        elif not families:
            families = own
    return found


def test_each_exception_to_the_linter_has_a_reason():
    """In the sources behind it in brackets, as in `# noqa: BLE001  (it is raised again)`; in pyproject.toml in a comment."""
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in FILES
        if path != pathlib.Path(__file__)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _is_bare(line)
    ]
    assert bare == []
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    ignored = tomllib.loads(text)["tool"]["ruff"]["lint"]["ignore"]
    assert all(re.search(rf'"{rule}",  # \w', text) for rule in ignored)
    assert "B023" not in ignored
    section = text.partition("[tool.ruff.lint.per-file-ignores]\n")[2].partition("\n[")[0]
    assert len(section) > 100
    assert _unexplained(section) == []


@pytest.mark.parametrize(
    "line",
    [
        "# ruff: noqa",
        "# ruff: noqa: E402",
        "import os  # noqa",
        "import os  # noqa and that",
        "import os  # noqa: F401",
        "import os  # noqa: F401 (it is handed on)",
        "import os  # noqa: F401  ()",
        "import os  # NOQA: F401",
        "import os  # type: ignore[x]  # (why)  # noqa",
    ],
)
def test_bare_exceptions_to_the_linter_are_seen(line):
    assert _is_bare(line)


@pytest.mark.parametrize(
    "line", ["import os  # noqa: F401, E402  (it is handed on)", "# ruff: noqa: E402  (why)", "noqa = 1"]
)
def test_explained_exceptions_to_the_linter_are_let_through(line):
    assert not _is_bare(line)


def test_unexplained_entries_are_seen():
    one, other, third = '"a.py" = ["UP006", "UP007"]', '"b.py" = ["UP007"]', '"c.py" = ["B023"]'
    assert _unexplained(f"# Why.\n{one}\n{other}\n# And why.\n{third}\n") == []
    assert _unexplained(f"{one}\n# Why.\n{third}\n") == [one]
    assert _unexplained(f"# Why.\n{one}\n{third}\n{other}\n") == [third]
    assert _unexplained(f"#\n{one}\n") == [one]


def test_libraries_make_texts_without_streams():
    """Streams bring the C++ library's locales along, into each library of a wheel: csrc/core/text.h does without."""
    header = re.compile(r"#include <(fstream|iomanip|ios|iostream|istream|locale|ostream|regex|sstream|streambuf)>")
    for_users = (ROOT / "csrc" / "include", ROOT / "emulator" / "ascendc")  # compiled with what they write
    sources = [path for folder in ("csrc", "emulator") for path in sorted((ROOT / folder).rglob("*.[ch]*"))]
    assert len(sources) > 300
    found = [
        str(path.relative_to(ROOT))
        for path in sources
        if not any(path.is_relative_to(folder) for folder in for_users) and header.search(path.read_text("utf-8"))
    ]
    assert found == ["csrc/stable/cxx_helpers.cpp"]  # which starts them for libraries of a newer compiler
