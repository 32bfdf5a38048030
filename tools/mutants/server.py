"""Faults inside of functions, judged cheaply: the tests are collected once, and each fault gets a fork of that process.

The fork gives the functions that are alive the code with the fault. That is not enough for what runs at import: those
faults are judged by a fresh import instead; see judge.py.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, NamedTuple

import pytest

from .coverage import Coverage, Test, import_sources
from .judge import LIMIT, Mutant, Outcome, Verdict, end_group, limit_memory, outcome, rounds
from .sites import planted

_CANNOT = 77  # exit status of a fork that could not plant its fault


class _Running(NamedTuple):
    number: int
    round: int
    ran: int
    begun: float
    log: Path


def serve(mutants: dict[int, Mutant], coverage: Coverage, jobs: int) -> Iterator[tuple[int, Verdict | None]]:
    """(number, verdict) of each mutant; None where it has to be judged by a fresh import."""
    chosen = {number: rounds(mutant, coverage) for number, mutant in mutants.items()}
    files = sorted({test.file for batches in chosen.values() for batch in batches for test in batch})
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log, os.fdopen(writing, "w") as pipe:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            server = _Server(mutants, chosen, jobs, pipe)
            pytest.main([*files, "-q", "--no-header", "-m", "not slow", "-p", "no:faulthandler"], plugins=[server])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        for line in pipe:
            number, verdict = json.loads(line)
            yield number, Verdict(*verdict) if verdict else None
    os.waitpid(child, 0)


class _Server:
    """A plug-in of pytest that, in place of running the tests once, runs some of them for each mutant."""

    def __init__(self, mutants: dict[int, Mutant], chosen: dict[int, list[list[Test]]], jobs: int, pipe: IO[str]):
        self._mutants, self._chosen, self._jobs, self._pipe = mutants, chosen, jobs, pipe
        self._running: dict[int, _Running] = {}
        self._items: dict[str, pytest.Item] = {}
        self._folder = Path(tempfile.mkdtemp())
        self._in_fork: Path | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge all mutants."""
        self._items = {item.nodeid: item for item in session.items}
        import_sources()
        gc.collect()
        gc.freeze()  # what is there now is shared with the forks
        for number in self._mutants:
            self._start(number, 0, 0, time.perf_counter())
            while len(self._running) >= self._jobs:
                self._wait()
        while self._running:
            self._wait()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a fork, the first failure decides."""
        if self._in_fork is not None and report.failed:
            self._in_fork.write_text(f"FAILED {report.nodeid}\n", encoding="utf-8")
            os._exit(int(pytest.ExitCode.TESTS_FAILED))

    def _start(self, number: int, place: int, ran: int, begun: float) -> None:
        batches = self._chosen[number]
        if place >= len(batches) or not batches[place]:
            how = "all tests pass" if ran else "no test reaches it"
            self._tell(number, Verdict(Outcome.SURVIVED, how, ran, time.perf_counter() - begun))
            return
        log = self._folder / f"{number}.log"
        child = os.fork()
        if child == 0:
            self._fork(self._mutants[number], batches[place], log)
        self._running[child] = _Running(number, place, ran + len(batches[place]), begun, log)

    def _fork(self, mutant: Mutant, tests: list[Test], log: Path) -> None:
        os.setpgrp()
        limit_memory()
        self._pipe = sys.stderr  # not ours to write to
        try:
            _replace(mutant)
        except ValueError:
            os._exit(_CANNOT)
        self._in_fork = log
        items = [self._items[test.node] for test in tests if test.node in self._items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os._exit(0 if items else int(pytest.ExitCode.NO_TESTS_COLLECTED))

    def _wait(self) -> None:
        """Until a fork ends or has had its time."""
        while True:
            for child, running in list(self._running.items()):
                pid, status = os.waitpid(child, os.WNOHANG)
                late = time.perf_counter() - running.begun > LIMIT * (running.round + 1)
                if pid or late:
                    end_group(child)
                    del self._running[child]
                    if not pid:
                        os.waitpid(child, 0)
                        self._tell(
                            running.number, Verdict(Outcome.CAUGHT, f"over {LIMIT} s", running.ran, float(LIMIT))
                        )
                    else:
                        self._ended(running, status)
                    return
            time.sleep(0.005)

    def _ended(self, running: _Running, status: int) -> None:
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _CANNOT:
            self._tell(running.number, None)
            return
        end, how = outcome(status, running.log)
        if end != Outcome.SURVIVED:
            self._tell(running.number, Verdict(end, how, running.ran, time.perf_counter() - running.begun))
        else:
            self._start(running.number, running.round + 1, running.ran, running.begun)

    def _tell(self, number: int, verdict: Verdict | None) -> None:
        self._pipe.write(json.dumps([number, verdict]) + "\n")
        self._pipe.flush()


def _replace(mutant: Mutant) -> None:
    """Give the living functions of a file the code with the fault; ValueError where there is none, or it does not fit."""
    file = str(mutant.file)
    text = mutant.file.read_text(encoding="utf-8")
    before = _codes(compile(text, file, "exec", dont_inherit=True))
    after = _codes(compile(planted(text, mutant.site, file), file, "exec", dont_inherit=True))
    if len(before) != len(after):
        raise ValueError("a function came or went")
    changed = {old: new for old, new in zip(before[1:], after[1:], strict=True) if old != new}
    gc.unfreeze()
    replaced = 0
    for function in gc.get_objects():
        if (
            isinstance(function, FunctionType)
            and function.__code__.co_filename == file
            and function.__code__ in changed
        ):
            function.__code__ = changed[function.__code__]
            replaced += 1
    if not replaced:
        raise ValueError("no function of this code is alive")


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and all that are in it, from the outside in."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return [code, *(each for one in inner for each in _codes(one))]
