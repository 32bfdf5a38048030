"""One fault, judged: a forked process imports the package with it, and runs tests until one fails."""

from __future__ import annotations

import ast
import importlib.machinery
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

from .areas import ROOT, SOURCE, Area
from .coverage import Coverage, Test
from .sites import Site, planted

MEMORY = 12 << 30  # bytes of address space


class _Limits(NamedTuple):
    """How many tests a round runs: in all, in seconds, files, and of one function with several parameters."""

    tests: int
    seconds: float
    files: int
    alike: int


_FEW_FILES = 12
LIMIT = 120  # seconds that a round may take
FIRST, SECOND = _Limits(150, 8.0, 5, 12), _Limits(1500, 30.0, 99, 400)


class Mutant(NamedTuple):
    """A fault in a file."""

    area: Area
    file: Path
    site: Site

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.site.line}"


class Outcome(StrEnum):
    """The end of a run of tests: a test failed, all passed, or the run itself went wrong and says nothing."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    ERROR = "error"


class Verdict(NamedTuple):
    """The outcome for a mutant."""

    outcome: Outcome
    how: str
    tests: int
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether the tests saw the fault."""
        return self.outcome == Outcome.CAUGHT


def _source(mutant: Mutant) -> str:
    return str(mutant.file.relative_to(SOURCE))


def _function(mutant: Mutant) -> tuple[str, int, str]:
    return _source(mutant), mutant.site.scope_line, mutant.site.scope.rpartition(".")[2]


def is_inside(mutant: Mutant, coverage: Coverage) -> bool:
    """Whether the fault is in a function that runs after the import only."""
    return mutant.site.scope_line > 0 and _function(mutant) not in coverage.at_import


def chosen(mutant: Mutant, coverage: Coverage) -> list[Test]:
    """The tests that reach a fault: the nearest folder first, then the fastest."""
    source, site, function = _source(mutant), mutant.site, _function(mutant)
    found = list(coverage.by_function.get(function, []))
    if site.row and not site.scope_line:
        operator = site.row.partition(".")[0].removesuffix("_")
        found = [*coverage.by_row.get(site.row, ()), *coverage.by_operator.get(operator, ())]
    if function in coverage.at_import or not (site.scope_line or found):
        # It has run before any test: what it leaves behind may show in whatever uses the file, or, where nothing is called
        # after the import, in any test of the area.
        found += coverage.by_file.get(source, ())
        if len(found) < FIRST.tests:
            near = [file for file in coverage.by_test_file if file.startswith(mutant.area.tests)]
            found += [test for file in near for test in coverage.by_test_file[file]]
    readers = mutant.area.signatures if not site.scope_line else ()
    found += [test for file in readers for test in coverage.by_test_file.get(file, ())]
    users = set(_tests_of_users(mutant, coverage)) if not site.scope_line else set()

    def order(test: Test) -> tuple[bool, bool, bool, float, str]:
        near = any(test.file.startswith(folder) for folder in mutant.area.tests)
        return test not in users, test.file not in readers, not near, test.seconds, test.node

    return sorted(set(found), key=order)


def _tests_of_users(mutant: Mutant, coverage: Coverage) -> Iterator[Test]:
    """The tests that name what the statement with the fault gives a module or a class, or enter a function that reads it."""
    tree = ast.parse(mutant.file.read_text(encoding="utf-8"))
    names = given(tree, mutant.site.line)
    if not names:
        return
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and not names.isdisjoint(_read(function)):
            first = min([function.lineno, *(each.lineno for each in function.decorator_list)])
            yield from coverage.by_function.get((_source(mutant), first, function.name), ())
    word = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    naming = [file for file in coverage.by_test_file if word.search((ROOT / file).read_text(encoding="utf-8"))]
    for file in naming if len(naming) <= _FEW_FILES else ():  # a word of many files says little
        yield from coverage.by_test_file[file]


def given(tree: ast.Module | ast.ClassDef, line: int) -> set[str]:
    """The names that the statement at this line assigns in the body of the module or of a class."""
    statement = next(each for each in tree.body if (each.end_lineno or 0) >= line)
    if isinstance(statement, ast.ClassDef) and statement.lineno < line:
        return given(statement, line)
    if isinstance(statement, ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.FunctionDef):
        return set()
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _read(function: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(function):
        if isinstance(each, (ast.Name, ast.Attribute)):
            yield each.id if isinstance(each, ast.Name) else each.attr


def rounds(mutant: Mutant, coverage: Coverage) -> list[list[Test]]:
    """The tests that reach a mutant: first a few, then, if it survives, others."""
    tests = chosen(mutant, coverage)
    # What runs at import shows in many places: rather a few tests of each function than many of one.
    few = {} if mutant.site.scope_line or mutant.site.row else {"alike": 3}
    readers = mutant.area.signatures if few else ()
    first = _within(tests, FIRST._replace(**few), readers)
    kept = set(first)
    return [first, _within([test for test in tests if test not in kept], SECOND._replace(**few), readers)]


def judge(mutant: Mutant, coverage: Coverage, log: Path) -> Verdict:
    """Run the tests that reach a mutant, in processes that import the package with it."""
    begun = time.perf_counter()
    end, how, ran = Outcome.SURVIVED, "no test reaches it", 0
    for batch in rounds(mutant, coverage):
        if batch and end == Outcome.SURVIVED:
            end, how = _run(mutant, batch, log)
            ran += len(batch)
    return Verdict(end, how, ran, time.perf_counter() - begun)


def _within(tests: Sequence[Test], limits: _Limits, whole: Sequence[str] = ()) -> list[Test]:
    """The tests that the limits allow; of the files ``whole`` every parameter counts, each reads another part."""
    kept: list[Test] = []
    seconds = limits.seconds
    files: set[str] = set()
    functions = Counter[str]()
    for test in tests:
        function = test.node.partition("[")[0]
        if len(kept) >= limits.tests:
            break
        if kept and seconds < test.seconds:  # too slow for what is left; another may not be
            continue
        if (functions[function] >= limits.alike and test.file not in whole) or (
            test.file not in files and len(files) >= limits.files
        ):
            continue
        files.add(test.file)
        functions[function] += 1
        seconds -= test.seconds
        kept.append(test)
    return kept


def _run(mutant: Mutant, tests: list[Test], log: Path) -> tuple[Outcome, str]:
    """(outcome, how): the tests of a batch in a process of their own."""
    child = os.fork()
    if child == 0:
        os.setpgrp()
        with open(log, "w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        limit_memory()
        _plant(mutant)
        files = list(dict.fromkeys(test.file for test in tests))
        options = ["-q", "-x", "--no-header", "--tb=line", "-p", "no:faulthandler"]
        code = pytest.main([*files, *options], plugins=[_Chosen([test.node for test in tests])])
        sys.stdout.flush()
        os._exit(int(code))
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            end_group(child)
            return outcome(status, log)
        time.sleep(0.02)
    end_group(child)
    os.waitpid(child, 0)
    return Outcome.CAUGHT, f"over {LIMIT} s"


def limit_memory() -> None:
    """A fault that asks for all memory gets an error instead."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def end_group(group: int) -> None:
    """End what the child may have left behind: processes of its own group."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def outcome(status: int, log: Path) -> tuple[Outcome, str]:
    """(outcome, how) by the way a process ended."""
    if os.WIFSIGNALED(status):
        return Outcome.CAUGHT, f"signal {os.WTERMSIG(status)}"
    code = os.WEXITSTATUS(status)
    if code == pytest.ExitCode.OK:
        return Outcome.SURVIVED, "all tests pass"
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return Outcome.SURVIVED, "no test was run"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    if code == pytest.ExitCode.USAGE_ERROR:
        # The same status stands for a conftest that cannot be imported, which is the fault's doing, and for arguments
        # that pytest does not take, which are ours.
        broken = [line for line in lines if line.startswith("ImportError while loading conftest")]
        said = [line for line in lines if line.startswith("ERROR")] or ["pytest did not take its arguments"]
        return (Outcome.CAUGHT, broken[0]) if broken else (Outcome.ERROR, said[0])
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return Outcome.CAUGHT, failed[0].partition(" - ")[0] if failed else f"exit status {code}"


class _Chosen:
    """A plug-in of pytest that runs these tests, in this order."""

    def __init__(self, nodes: list[str]):
        self._order = {node: place for place, node in enumerate(nodes)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Forget the others."""
        items[:] = sorted((i for i in items if i.nodeid in self._order), key=lambda item: self._order[item.nodeid])


def _plant(mutant: Mutant) -> None:
    """From now on the import of the mutant's file gives the fault. Nothing is written."""
    file, load = str(mutant.file), importlib.machinery.SourceFileLoader.get_code

    def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if loader.path != file:
            return load(loader, name)
        tree: ast.Module = planted(mutant.file.read_text(encoding="utf-8"), mutant.site, file)
        return compile(tree, file, "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[assignment,method-assign]  # (modules are compiled from changed sources)
