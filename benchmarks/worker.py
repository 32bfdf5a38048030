"""One library in one process: prepares a case when told to, times blocks of calls when told to, and answers in JSON.

    python worker.py torch|mindtorch_v2 THREADS wall|cpu

Commands arrive one a line on standard input: {"prepare": name}, {"time": calls}, {"peak": size}. Every answer is one
line on the standard output that the process began with; whatever the cases print goes to standard error. What a case
raises is the answer {"raised": text}; if it ends the process, the driver reads the reason from standard error.
"""

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Serve until standard input ends."""
    library, threads = sys.argv[1], int(sys.argv[2])
    clock = time.process_time if sys.argv[3] == "cpu" else time.perf_counter
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if library != "torch":
        importlib.import_module(library).as_torch()
    import torch  # which one it is was decided in the line before
    from cases import CASES
    from cases.training import bert_step

    torch.set_num_threads(threads)
    call = None
    for line in sys.stdin:
        (command, argument), *_ = json.loads(line).items()
        try:
            if command == "prepare":
                call = None
                gc.collect()
                torch.manual_seed(0)
                call = CASES[argument].prepare(torch)
                answer: Any = None
            elif command == "time":
                answer = _seconds(call, argument, clock)
            else:
                answer = _peak_of_training(torch, bert_step, argument)
        except Exception as error:  # noqa: BLE001  (whatever a case raises is its result)
            answer = {"raised": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=answers, flush=True)


def _seconds(call: Any, calls: int, clock: Callable[[], float]) -> float:
    """Seconds per call by `clock`, over `calls` calls."""
    gc.disable()
    started = clock()
    for _ in range(calls):
        call()
    stopped = clock()
    gc.enable()
    return (stopped - started) / calls


def _peak_of_training(torch: Any, bert_step: Any, size: str) -> int:
    """Bytes of memory that this process needed at most, after three steps; meaningful in a fresh process only."""
    step = bert_step(torch, size)
    for _ in range(3):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
