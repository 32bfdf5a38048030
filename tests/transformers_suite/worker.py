"""Files of transformers' tests, each in a fork of this process, which has imported what they share.

python worker.py {pytorch,ours} ROOT OUT TIMEOUT MOST FILE...

ROOT is the folder that holds transformers' `tests` and `utils`, a FILE is named from there. What each test came to is appended to
logs in OUT, as `tests/pytorch_suite/worker.py` writes them: what is in a log already is not run again. On "ours" run the tests that
passed by the log of "pytorch"; there, of each file so many that MOST pass, in an order that their ids give, and of the cases of one
parametrized test only the first of that order.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import pathlib
import re
import resource
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

RESTARTS = 6  # of one file, whose tests may end the process
SHARED = ("tests.test_modeling_common", "tests.generation.test_utils", "tests.test_pipeline_mixin")


def _single_files() -> Any:
    """The worker that runs one file: by its path, as `tests` is transformers' package here."""
    path = pathlib.Path(__file__).parents[1] / "pytorch_suite" / "worker.py"
    spec = importlib.util.spec_from_file_location("single_files", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["single_files"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _in_turn(single: Any, log: Any, most: int, cases: list[Any]) -> Iterator[Any]:
    """Tests by the sum of their ids' letters, one of each name without its parameters, until `most` have passed."""
    names: set[str] = set()
    for case in sorted(cases, key=lambda case: zlib.crc32(single.name_of(case).encode())):
        if list(log.done.values()).count("pass") >= most:
            return
        name = re.sub(r"_\d+(_\w+)?$", "", single.name_of(case))
        if name not in names:
            names.add(name)
            yield case


def _seeded(single: Any, choose: Any, cases: list[Any]) -> Iterator[Any]:
    """The cases that `choose` gives, before each of which the tests' own random numbers begin anew, by its name."""
    numbers = importlib.import_module(SHARED[0]).global_rng
    for case in choose(cases):
        numbers.seed(single.name_of(case))
        yield case


def _run(single: Any, side: str, file: str, out: pathlib.Path, timeout: int, most: int) -> None:
    """Run one file to its end, in as many forks as that takes."""
    log = out / side / (file.replace("/", ".") + ".jsonl")
    wanted = out / "pytorch" / log.name if side == "ours" else None
    name = file.replace("/", ".")
    for _ in range(RESTARTS):
        if '"id": ""' in (log.read_text("utf-8") if log.exists() else ""):
            return
        child = os.fork()
        if child == 0:
            try:
                os.setpgid(0, 0)
                silence = os.open(os.devnull, os.O_WRONLY)
                os.dup2(silence, 1)
                os.dup2(silence, 2)
                entries = single.Log(log)
                choose = functools.partial(_in_turn, single, entries, most)
                if wanted is not None:
                    choose = functools.partial(single.passed_by, wanted)
                choose = functools.partial(_seeded, single, choose)
                single.run(lambda: importlib.import_module(name), entries, timeout, choose)
            finally:
                os._exit(0)
        size, since = -1, time.monotonic()
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            time.sleep(0.2)
            now = log.stat().st_size if log.exists() else 0
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > 2 * timeout + 60:  # beyond signals: the test is a crash
                os.kill(child, signal.SIGKILL)


def main() -> None:
    """Run the files that the arguments name."""
    side, root, folder, timeout, most, *files = sys.argv[1:]
    single = _single_files()
    resource.setrlimit(resource.RLIMIT_AS, (single.MEMORY, single.MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = pathlib.Path(folder)
    (out / side).mkdir(parents=True, exist_ok=True)
    if side == "ours":
        single.stand_in()
    sys.path[0] = root
    sys.path.insert(1, os.path.join(root, "utils"))
    sys.argv = ["transformers"]
    warnings.simplefilter("ignore")
    for name in SHARED:
        importlib.import_module(name)
    for file in files:
        _run(single, side, file, out, int(timeout), int(most))
        print(file, flush=True)


if __name__ == "__main__":
    main()
