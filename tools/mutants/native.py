"""Faults in the C++ kernels: one at a time, compiled as one translation unit, linked beside the others, and tested.

The build folder is read, not written: compile and link commands come from ninja, the object with the fault goes into a
folder of its own, and so does a copy of the package whose library has that object in it. The tests are those of the
operators that the source registers, and those of its own name.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pytest

from .areas import ROOT, SOURCE
from .native_sites import NativeSite, native_sites, operators, planted

SOURCES = ("csrc/cpu/*.cpp", "csrc/core/*.cpp", "csrc/core/*/*.cpp")
LIMIT = 240  # seconds of tests for a fault
_BUILD = ROOT / "build"
_TESTS = ("tests/ops", "tests/nn", "tests/sparse", "tests/pytorch_port", "tests/core")
_ANY = ("tests/core", "tests/pytorch_port")  # of sources that register no operators
_FILES = 6  # of tests, besides the derived ones


class Outcome(StrEnum):
    """The end of a fault: a test failed, all passed, or it does not compile and is none."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    NO_FAULT = "no fault"


class Fault(NamedTuple):
    """A fault in a file."""

    file: Path
    site: NativeSite

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.site.line}"


class Build:
    """The commands of a finished build, and a copy of the package to link into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._package = folder / "package" / "mindtorch_v2"
        self._package.mkdir(parents=True)
        for entry in SOURCE.iterdir():
            if entry.name.startswith("_C.") and entry.suffix == ".so":
                shutil.copy2(entry, self._package / entry.name)
            elif entry.name not in ("_lib", "__pycache__"):
                (self._package / entry.name).symlink_to(entry)
        self._libraries = self._package / "_lib"
        self._libraries.mkdir()
        self._commands = [
            (library, _said(["ninja", "-C", str(_BUILD), "-t", "commands", library.stem.removeprefix("lib")]))
            for library in sorted((SOURCE / "_lib").glob("lib*.so"))
        ]

    def made(self, fault: Fault) -> bool:
        """Put the fault into the package's libraries; False if it does not compile or changes no code."""
        for library in (SOURCE / "_lib").iterdir():
            target = self._libraries / library.name
            target.unlink(missing_ok=True)
            target.symlink_to(library)
        text = fault.file.read_text(encoding="utf-8")
        source = self._folder / fault.file.name
        source.write_text(planted(text, fault.site), encoding="utf-8")
        changed = False
        for library, commands in self._commands:
            found = [line for line in commands if line.endswith(f" -c {fault.file}")]
            for line in found:
                if not self._linked(library, commands[-1], line, fault.file, source):
                    return False
                changed = True
        return changed

    def _linked(self, library: Path, link: str, command: str, file: Path, source: Path) -> bool:
        words = shlex.split(command)
        while "ccache" in Path(words[0]).name:
            words.pop(0)
        own = words[words.index("-o") + 1]
        made = self._folder / "fault.o"
        words[words.index("-o") + 1] = str(made)
        words[words.index("-MF") + 1] = str(self._folder / "fault.d")
        words[words.index("-c") + 1] = str(source)
        words[1:1] = ["-w", "-iquote", str(file.parent)]
        if subprocess.run(words, cwd=_BUILD, capture_output=True, check=False).returncode:
            return False
        target = self._libraries / library.name
        target.unlink()
        linking = re.sub(rf"(?<=\s){re.escape(own)}(?=\s)", str(made), link)
        linking = linking.replace(f"-o {library}", f"-o {target}", 1)
        return not subprocess.run(linking, shell=True, cwd=_BUILD, capture_output=True, check=False).returncode

    def tested(self, fault: Fault) -> tuple[Outcome, str]:
        """Run the nearest tests on the package with the fault."""
        names = operators(fault.file.read_text(encoding="utf-8"))
        files = nearest(fault.file, names)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self._package.parent), str(ROOT)]),
            "MT_MUTANT_ROWS": json.dumps(sorted(names)),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "--tb=line",
            "-p",
            "no:cacheprovider",
            "-p",
            __name__,
            *files,
        ]
        log = self._folder / "log"
        with log.open("w", encoding="utf-8") as file:
            try:
                done = subprocess.run(
                    command, cwd=ROOT, env=environment, stdout=file, stderr=file, timeout=LIMIT, check=False
                )
            except subprocess.TimeoutExpired:
                return Outcome.CAUGHT, f"over {LIMIT} s"
        if done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return Outcome.SURVIVED, "all tests pass"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line.partition(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))]
        return Outcome.CAUGHT, failed[0] if failed else f"exit status {done.returncode}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the tests that are derived from rows, keep those of the operators in MT_MUTANT_ROWS; fast ones first."""
    names = set(json.loads(os.environ["MT_MUTANT_ROWS"]))

    def is_wanted(item: pytest.Item) -> bool:
        if item.path.name not in ("test_derived.py", "test_vmap.py", "test_exactness.py"):
            return True
        row = item.nodeid.partition("[")[2].partition("-")[0].removesuffix("]")
        return row.partition(".")[0].strip("_") in names

    items[:] = [item for item in items if is_wanted(item)]


def nearest(file: Path, names: set[str]) -> list[str]:
    """Files of tests for a source: the derived ones, those of its name, and those that name its operators most often."""
    if not names:
        own = [name for name in _ANY if (ROOT / name).exists()]
        return own or ["tests/ops"]
    found = [ROOT / "tests/ops/test_derived.py"]
    stem = file.stem
    while stem:
        found.append(ROOT / f"tests/ops/test_{stem}.py")
        stem = stem.rpartition("_")[0]
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    tests = [path for folder in _TESTS for path in sorted((ROOT / folder).glob("test_*.py"))]
    counted = Counter(
        {path: len(words.findall(path.read_text(encoding="utf-8"))) for path in tests if path not in found}
    )
    found += [path for path, count in counted.most_common(_FILES) if count]
    return [str(path.relative_to(ROOT)) for path in dict.fromkeys(found) if path.exists()]


def faults(patterns: list[str] | None) -> list[Fault]:
    """All faults of the sources."""
    files = sorted({path for pattern in patterns or SOURCES for path in ROOT.glob(pattern)})
    return [Fault(file, site) for file in files for site in native_sites(file.read_text(encoding="utf-8"))]


def run(seed: int, count: int, patterns: list[str] | None, only: str | None = None) -> int:
    """Draw faults until `count` compile, judge each, report; 1 if less than nine in ten were caught."""
    if not (_BUILD / "build.ninja").exists():
        print("no build to start from: run scripts/build", file=sys.stderr)
        return 2
    drawn = faults(patterns)
    if only:
        name, _, line = only.rpartition(":")
        drawn = [fault for fault in drawn if str(fault.file).endswith(name) and fault.site.line == int(line)]
        count = len(drawn)
    else:
        random.Random(seed).shuffle(drawn)
    print(f"{count} faults of {len(drawn)} places, seed {seed}", flush=True)
    judged: list[tuple[Fault, Outcome]] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        build = Build(Path(folder))
        for fault in drawn:
            if len(judged) == count:
                break
            begun = time.perf_counter()
            if not build.made(fault):
                continue
            outcome, how = build.tested(fault)
            judged.append((fault, outcome))
            state = outcome if outcome == Outcome.CAUGHT else outcome.upper()
            print(f"{state:<8} {fault} [{fault.site.kind}] {how} ({time.perf_counter() - begun:.0f} s)", flush=True)
    return _report(judged)


def _report(judged: list[tuple[Fault, Outcome]]) -> int:
    print("\nSurvivors:")
    for fault, outcome in judged:
        if outcome == Outcome.SURVIVED:
            text = fault.file.read_text(encoding="utf-8").splitlines()[fault.site.line - 1].strip()
            print(f"\n{fault}: {text}\n  - {fault.site.before}\n  + {fault.site.after}")
    print(f"\n{'source':<40}{'faults':>8}{'caught':>8}{'share':>9}")
    total = Counter(str(fault.file.relative_to(ROOT)) for fault, _ in judged)
    caught = Counter(str(fault.file.relative_to(ROOT)) for fault, outcome in judged if outcome == Outcome.CAUGHT)
    rows: Iterator[tuple[str, int, int]] = ((name, total[name], caught[name]) for name in sorted(total))
    for name, among, found in [*rows, ("all", total.total(), caught.total())]:
        print(f"{name:<40}{among:>8}{found:>8}{found / max(1, among):>9.1%}")
    return int(caught.total() < 0.9 * total.total())


def _said(command: list[str]) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
