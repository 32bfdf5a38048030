"""The driver's side of a worker process, and interleaved measurement of two of them."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_BLOCK_SECONDS = 0.05
ROUNDS, SLOW_ROUNDS = 15, 5
# After a parallel region OpenMP's threads spin for a while; the other process must not be timed during that.
_PAUSE_SECONDS = 0.01


class CaseFailedError(RuntimeError):
    """A case ended its worker; the text is the last thing that the worker said."""


class CaseRaisedError(CaseFailedError):
    """A case raised; its worker goes on."""


@dataclass(frozen=True)
class Times:
    """Seconds per call: the medians of both libraries over interleaved rounds, and the fastest rounds."""

    reference: float
    ours: float
    reference_fastest: float
    ours_fastest: float

    @property
    def speed(self) -> float:
        """How many times as fast as the reference ours is."""
        return self.reference / self.ours


class Worker:
    """A running worker. Use as a context manager."""

    def __init__(self, library: str, threads: int, clock: str = "wall"):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        environment |= {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"}
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, str(_HERE / "worker.py"), library, str(threads), clock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
        )
        assert self._process.stdin is not None  # both were asked for
        assert self._process.stdout is not None
        self._commands, self._answers = self._process.stdin, self._process.stdout
        self._library = library

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):  # what the process had not read when it ended
            self._commands.close()
        self._process.wait()
        self._answers.close()
        self._errors.close()

    def ask(self, **command: Any) -> Any:
        """Send one command and wait for its answer. Raises CaseFailedError, CaseRaisedError if the worker lives."""
        try:
            self._commands.write(json.dumps(command) + "\n")
            self._commands.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise CaseFailedError(f"{self._library}: {self._last_words()}")
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise CaseRaisedError(f"{self._library}: {answer['raised']}")
        return answer

    def _last_words(self) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        return f"{lines[-1] if lines else 'no message'} (exit status {status})"


def measure(
    reference: Worker, ours: Worker, name: str, rounds: int = ROUNDS, block_seconds: float = _BLOCK_SECONDS
) -> Times:
    """Time one case in both, block by block in turn, changing who goes first. Raises CaseFailedError."""
    blocks = {}
    for worker in (reference, ours):
        worker.ask(prepare=name)
        worker.ask(time=1)
        blocks[worker] = max(1, int(block_seconds / max(worker.ask(time=3), 1e-9)))
        if blocks[worker] > 1000:  # calls this short are estimated again, warm
            blocks[worker] = max(1, int(block_seconds / max(worker.ask(time=1000), 1e-9)))
    seconds: dict[Worker, list[float]] = {reference: [], ours: []}
    for number in range(rounds):
        for worker in (reference, ours) if number % 2 == 0 else (ours, reference):
            time.sleep(_PAUSE_SECONDS)
            seconds[worker].append(worker.ask(time=blocks[worker]))
    theirs, own = seconds[reference], seconds[ours]
    return Times(statistics.median(theirs), statistics.median(own), min(theirs), min(own))
