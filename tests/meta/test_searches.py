"""The searches without a build of their own find what is planted for them: captured functions, and memory that nobody wrote."""

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.captured import __main__ as captured
from fuzz.captured.programs import Statement, source

pytestmark = pytest.mark.no_torch
ROOT = Path(captured.__file__).resolve().parents[2]


def _line(text):
    return Statement(text)


@pytest.mark.parametrize("way", captured.WAYS)
def test_a_captured_function_that_does_otherwise_is_found_and_made_short(way, monkeypatch):
    body = [_line("numbers.append(n)"), Statement("", [("if n > 0:", [_line("counts['b'] = n"), _line("t = t * 2")])])]
    assert captured.outcome(source(body), way, grad=False) == (None, len(captured.CALLS))

    def forgets(function, **options):
        def captured_function(*arguments):
            result = function(*arguments)
            arguments[6].pop("b", None)
            return result

        return captured_function

    monkeypatch.setattr(captured.torch, "compile", forgets)
    assert "counts" in captured.outcome(source(body), way, grad=False)[0]
    short = captured.smaller(body, lambda less: captured.outcome(source(less), way, grad=False)[0] is not None)
    assert "".join(each.text("") for each in short) == "counts['b'] = n\n"


def test_a_refused_capture_that_changed_something_is_found(monkeypatch):
    def refuses(function, **options):
        def captured_function(*arguments):
            arguments[4].append(0)
            raise captured.Unsupported("no")

        return captured_function

    monkeypatch.setattr(captured.torch, "compile", refuses)
    assert "refused" in captured.outcome(source([]), "whole", grad=False)[0]


@pytest.mark.parametrize(("row", "found"), [("^empty_like$", True), ("^zeros_like$", False)])
def test_memory_that_nobody_wrote_is_found(row, found):
    command = [sys.executable, str(ROOT / "tools/fuzz_unwritten.py"), "--rows", row, "--calls", "3", "--excused"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == found, done.stdout + done.stderr
    assert ("reads what nobody wrote" in done.stdout) is found
