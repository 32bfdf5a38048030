"""The documents' examples and those of docstrings run and print what they show; the documents' links lead somewhere."""

import ast
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2

_ROOT = Path(__file__).parent.parent.parent
_SOURCE = _ROOT / "src" / "mindtorch_v2"
_DOCUMENTS = sorted([*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("examples/**/*.md")])
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
_EXAMPLE = re.compile(r"^ *>>>", re.MULTILINE)


def _names(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def _with_examples(paths: list[Path]) -> list[Path]:
    return [path for path in paths if _EXAMPLE.search(path.read_text(encoding="utf-8"))]


def _run(text: str, names: dict[str, object], path: Path, line: int = 0) -> int:
    """The number of examples in `text`, each of which has run and printed what stands below it."""
    printed: list[str] = []
    examples = doctest.DocTestParser().get_doctest(text, names, path.stem, str(path), line)
    count, runner = len(examples.examples), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(examples, out=printed.append)
    assert not printed, "".join(printed)
    assert runner.summarize(verbose=False).attempted == count
    return count


def _docstrings(source: str) -> list[tuple[int, str]]:
    """Line and text of each string that stands alone and has examples: docstrings, those of attributes included."""
    strings = (
        (node.lineno, node.value.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    return [(line, inspect.cleandoc(text)) for line, text in strings if _EXAMPLE.search(text)]


def test_an_example_that_prints_something_else_fails() -> None:
    assert _run(">>> 1 + 1\n2\n", {}, Path("right.md")) == 1
    with pytest.raises(AssertionError, match="Expected:\n *3\n *Got:\n *2"):
        _run(">>> 1 + 1\n3\n", {}, Path("wrong.md"))
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        _run(">>> 1 / 0\n", {}, Path("raises.md"))


@pytest.mark.parametrize("path", _with_examples(_DOCUMENTS), ids=_names)
def test_examples_run(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    examples = "".join(block for block in _BLOCK.findall(text) if ">>>" in block)
    assert _run(examples, {}, path) == len(_EXAMPLE.findall(text)), "an example stands outside of a python block"


@pytest.mark.parametrize("path", _with_examples(sorted(_SOURCE.rglob("*.py"))), ids=_names)
def test_examples_of_docstrings_run(path: Path) -> None:
    """Beside its module's own names, a docstring may say `torch`."""
    source = path.read_text(encoding="utf-8")
    parts = path.relative_to(_SOURCE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    found = _docstrings(source)
    assert sum(len(_EXAMPLE.findall(text)) for _, text in found) == len(_EXAMPLE.findall(source))
    for line, text in found:
        assert _run(text, {**vars(module), "torch": mindtorch_v2}, path, line)


@pytest.mark.parametrize("path", _DOCUMENTS, ids=_names)
def test_links_lead_somewhere(path: Path) -> None:
    links = _LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_program_of_the_tutorial_on_fine_tuning_runs(tmp_path: Path) -> None:
    (block,) = _BLOCK.findall((_ROOT / "docs/tutorials/fine-tune.md").read_text(encoding="utf-8"))
    (tmp_path / "fine_tune.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "mindtorch_v2", str(tmp_path / "fine_tune.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_device_of_the_page_runs(tmp_path: Path) -> None:
    text = (_ROOT / "docs/add-a-device.md").read_text(encoding="utf-8")
    device, program = _BLOCK.findall(text)
    (printed,) = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(device.splitlines()) <= 200
    (tmp_path / "toy_xpu.py").write_text(device, encoding="utf-8")
    (tmp_path / "use_xpu.py").write_text(program, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "use_xpu.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (printed, "")
