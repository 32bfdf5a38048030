"""The compatibility page says what the tables say."""

import importlib.util
import pathlib

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("make_compatibility", ROOT / "tools" / "make_compatibility.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_page_is_made_of_the_tables(tool):
    """The figures of yardsticks are those of the day that the page was made."""
    assert tool.names_table() in tool.PAGE.read_text(), "write it anew: python tools/make_compatibility.py"


def test_causes_are_those_of_their_page(tool):
    page = (ROOT / "docs" / "operator-database.md").read_text()
    (table,) = (part for part in page.split("\n\n") if part.startswith("| Cause |"))
    told = f"listed, by {len(table.splitlines()) - 2} causes | [operator-database](operator-database.md) |"
    assert told in tool.yardsticks_table() and told in tool.PAGE.read_text()


def test_what_counts_as_usable(tool):
    gone = {"torch.a": {"f": "function"}, "torch.b": {"*": "module"}}
    assert tool.works([3], gone)
    assert tool.works({"A": 0}, gone)
    assert tool.works("class=torch.c.C", gone)
    assert not tool.works("function", gone)
    assert not tool.works("function=torch.a.f", gone)
    assert not tool.works("class=torch.b.C", gone)
    assert not tool.works("class=torch._c.C", gone)
