"""Measurements outside a running library: import time, installed size, and the peak memory of a training step."""

import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workers import Worker

_IMPORT_ROUNDS = 7


def import_seconds(libraries: tuple[str, str]) -> dict[str, float]:
    """Median wall time of a process that imports the library, less that of one that imports nothing, interleaved.

    Both have their byte code at hand, as installed packages do: a first import, which is not counted, writes it.
    """
    seconds: dict[str, list[float]] = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for library in libraries:
            _process_seconds(f"import {library}", environment)
        for _ in range(_IMPORT_ROUNDS):
            for library in libraries:
                empty = _process_seconds("pass", environment)
                seconds[library].append(_process_seconds(f"import {library}", environment) - empty)
    return {library: statistics.median(values) for library, values in seconds.items()}


def peak_bytes(library: str, size: str, threads: int) -> int:
    """Peak resident memory of a fresh process that takes three training steps of BERT. Raises CaseFailedError."""
    with Worker(library, threads) as worker:
        return worker.ask(peak=size)


def installed_bytes(distribution: str) -> int | None:
    """Size of a distribution's installed files; None where it is not installed as one."""
    try:
        files = importlib.metadata.files(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
    paths = [Path(str(file.locate())) for file in files or []]
    return sum(path.stat().st_size for path in paths if path.is_file())


def wheel_bytes(folder: Path) -> int | None:
    """Size of the newest wheel in `folder`; None if there is none."""
    wheels = sorted(folder.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    return wheels[-1].stat().st_size if wheels else None


def _process_seconds(program: str, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    return time.perf_counter() - started
