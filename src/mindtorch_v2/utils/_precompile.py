"""Program that precompiles a C++ header beside other work: `python _precompile.py LOCK RESULT COMPILER ARGUMENT...`

It goes on after the program that started it, at the lowest priority, and imports nothing of the package: its start is
part of a build. The result appears whole, under a lock that the kernel gives up with the process; an error leaves none,
since the compilation of the extension itself says what is wrong.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

__all__ = ["main"]


def main(lock: str, result: str, command: list[str]) -> None:
    """Start a process that makes `result` by `command` with `-o` added; return at once."""
    if os.fork():
        return
    os.setsid()
    os.nice(19)
    try:
        with open(lock, "w") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(result):
                unfinished = f"{result}.{os.getpid()}"
                done = subprocess.run([*command, "-o", unfinished], check=False)
                if done.returncode == 0:
                    os.rename(unfinished, result)
                elif os.path.exists(unfinished):
                    os.unlink(unfinished)
    except OSError:
        pass  # another process makes it, or the folder is gone
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
