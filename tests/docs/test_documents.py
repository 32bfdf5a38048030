"""The documents' examples run and print what they show; their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent.parent
_DOCUMENTS = sorted([*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("examples/**/*.md")])
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def _names(path: Path) -> str:
    return str(path.relative_to(_ROOT))


@pytest.mark.parametrize("path", [path for path in _DOCUMENTS if ">>>" in path.read_text()], ids=_names)
def test_examples_run(path: Path) -> None:
    text = "".join(block for block in _BLOCK.findall(path.read_text(encoding="utf-8")) if ">>>" in block)
    examples = doctest.DocTestParser().get_doctest(text, {}, _names(path), str(path), 0)
    printed: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(examples, printed.append)
    assert not printed, "".join(printed)


@pytest.mark.parametrize("path", _DOCUMENTS, ids=_names)
def test_links_lead_somewhere(path: Path) -> None:
    links = _LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
