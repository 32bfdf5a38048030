"""Which test enters which function: watched once for each file of tests, and kept in build/mutants until something changes."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from .areas import AREAS, ROOT, SOURCE, TESTS

_KEPT = ROOT / "build" / "mutants"


class Test(NamedTuple):
    """A test that passes, and how long it takes a processor."""

    file: str
    node: str
    seconds: float


class Coverage:
    """Tests by the functions that they enter: (source below the package, first line, name)."""

    def __init__(self) -> None:
        self.by_function: dict[tuple[str, int, str], list[Test]] = {}
        self.by_file: dict[str, set[Test]] = {}
        self.by_row: dict[str, list[Test]] = {}
        self.by_operator: dict[str, list[Test]] = {}  # its overloads together: "linalg_norm"
        self.by_test_file: dict[str, list[Test]] = {}
        self.at_import: set[tuple[str, int, str]] = set()

    def add(self, file: str, watched: dict[str, Any]) -> None:
        """Take in what was seen in one file of tests."""
        functions = [tuple(each) for each in watched["functions"]]
        for node, (seconds, entered) in watched["tests"].items():
            test = Test(file, node, seconds)
            self.by_test_file.setdefault(file, []).append(test)
            if "/test_derived.py::" in node:
                row = node.partition("[")[2].rpartition("-")[0]
                self.by_row.setdefault(row, []).append(test)
            elif "/test_operator_database.py::" in node and "[" in node:
                entry = node.partition("[")[2].removesuffix("]").removeprefix("nn.functional.")
                for operator in {entry.replace(".", "_"), entry.partition(".")[0]}:
                    self.by_operator.setdefault(operator, []).append(test)
            for place in entered:
                self.by_function.setdefault(functions[place], []).append(test)
                self.by_file.setdefault(functions[place][0], set()).add(test)


def collect(jobs: int, tests: Sequence[str] = TESTS) -> Coverage:
    """The coverage of these tests; what changed since the last time is run again."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    files = [str(path.relative_to(ROOT)) for path in _files(tests)]
    running: set[int] = set()
    for file in files:
        if _kept(file) is None:
            while len(running) >= jobs:
                running.discard(os.wait()[0])
            child = os.fork()
            if child == 0:
                _watch(file)
            running.add(child)
    while running:
        running.discard(os.wait()[0])
    found = Coverage()
    found.at_import = _at_import()
    for file in files:
        watched = _kept(file)
        if watched is None:
            print(f"no coverage of {file}: see {_path(file).with_suffix('.log')}", file=sys.stderr)
        else:
            found.add(file, watched)
    return found


def import_sources() -> None:
    """Import every source of every area."""
    for area in AREAS:
        for path in area.files():
            name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
            importlib.import_module(name.removesuffix(".__init__"))


def _at_import() -> set[tuple[str, int, str]]:
    """The functions that run while the sources are imported, seen in a child process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        watcher = _Watcher()
        with os.fdopen(writing, "w") as pipe:
            json.dump(watcher.of_imports(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = json.load(pipe)
    os.waitpid(child, 0)
    return {(file, line, name) for file, line, name in found}


def _files(tests: Sequence[str]) -> Iterable[Path]:
    for name in tests:
        path = ROOT / name
        yield from (path,) if path.suffix == ".py" else sorted(path.glob("test_*.py"))


def _path(file: str) -> Path:
    return _KEPT / (file.replace("/", ".").removesuffix(".py") + ".json")


def _kept(file: str) -> dict[str, Any] | None:
    """The record of a file of tests, if neither it nor a source that it enters has changed since."""
    if not _path(file).exists():
        return None
    watched: dict[str, Any] = json.loads(_path(file).read_text(encoding="utf-8"))
    return watched if watched["digests"] == _digests(file, watched["functions"]) else None


def _digests(file: str, functions: Iterable[Sequence[Any]]) -> dict[str, str]:
    """Check sums of a file of tests, its recorded answers, the sources of functions, and which sources there are at all."""
    recorded = (ROOT / "tests" / "snapshots" / "recorded" / Path(file).relative_to("tests")).with_suffix(".jsonl")
    paths = [ROOT / file, recorded, *(SOURCE / source for source in {each[0] for each in functions})]
    return {"": _digest_of_names(), **{str(path.relative_to(ROOT)): _digest(path) for path in sorted(paths)}}


@functools.cache
def _digest_of_names() -> str:
    """The check sum of which sources there are: what moved into a new one was entered elsewhere before, perhaps unwatched."""
    names = sorted(str(path.relative_to(SOURCE)) for area in AREAS for path in area.files())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


@functools.cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _watch(file: str) -> None:
    """In a child process: run one file of tests and write down what each test entered."""
    watcher = _Watcher()
    with open(_path(file).with_suffix(".log"), "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        pytest.main([file, "-q", "-m", "not slow"], plugins=[watcher])
        log.flush()
    seen = watcher.result()
    text = json.dumps({"digests": _digests(file, seen["functions"]), **seen})
    _path(file).write_text(text, encoding="utf-8")
    os._exit(0)


class _Watcher:
    """A plug-in of pytest that notes the functions of the package which a test enters."""

    def __init__(self) -> None:
        self._entered: set[CodeType] = set()
        self._functions: dict[tuple[str, int, str], int] = {}
        self._tests: dict[str, tuple[float, list[int]]] = {}
        self._passed = False
        self._sources = {str(path): str(path.relative_to(SOURCE)) for area in AREAS for path in area.files()}
        self._number = functools.cache(self._numbered)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Around one test with its fixtures."""
        self._entered, self._passed = set(), False
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        begun = time.process_time()  # other work on the machine must not shorten what fits in a round
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            if self._passed:
                seconds = round(time.process_time() - begun, 4)
                self._tests[item.nodeid] = seconds, self._numbers(self._entered)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Only tests that pass can fail later."""
        if report.when == "call":
            self._passed = report.passed

    def of_imports(self) -> list[tuple[str, int, str]]:
        """The functions that run while the sources are imported."""
        sys.settrace(self._trace)
        import_sources()
        sys.settrace(None)
        self._numbers(self._entered)
        return list(self._functions)

    def result(self) -> dict[str, Any]:
        """The record, for JSON."""
        return {"functions": list(self._functions), "tests": self._tests}

    def _numbers(self, codes: set[CodeType]) -> list[int]:
        return sorted({number for code in codes if (number := self._number(code)) is not None})

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        self._entered.add(frame.f_code)

    def _numbered(self, code: CodeType) -> int | None:
        source = self._sources.get(code.co_filename)
        if source is None:
            return None
        return self._functions.setdefault((source, code.co_firstlineno, code.co_name), len(self._functions))
