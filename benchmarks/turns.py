"""Several processes that are timed by turns, so that what else the machine does meets all of them alike.

A process prints a line of JSON when it is ready, and one with what it measured for each line that it reads.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def take_turns(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Any]]:
    """The measurements of each command, round by round; none of one that ended before it made any."""
    running = {}
    for name, command in commands.items():
        running[name] = process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        _answer(process)  # ready before the next begins
    found: dict[str, list[Any]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, process in running.items():
            if process.poll() is None and process.stdin is not None:
                process.stdin.write("go\n")
                process.stdin.flush()
                if (measured := _answer(process)) is not None:
                    found[name].append(measured)
    for process in running.values():
        process.communicate()
    return found


def _answer(process: Any) -> Any:
    line = process.stdout.readline()
    return json.loads(line) if line else None


def serve(prepare: Callable[[], Callable[[], Any]]) -> int:
    """The other side: prepare once, measure for each line; what else is printed goes to standard error."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    measure = prepare()
    print("0", file=answers, flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure()), file=answers, flush=True)
    return 0
