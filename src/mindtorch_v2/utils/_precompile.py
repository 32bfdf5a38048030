"""Program that precompiles a C++ header beside other work: `python _precompile.py LOCK RESULT COMPILER ARGUMENT...`

It goes on after the program that started it, at the lowest priority, and imports nothing of the package: its start is
part of a build. One header is made at a time, under a lock that the kernel gives up with the process: each takes a gigabyte
of memory, and on a busy machine they would pile up. The result appears whole; an error leaves none, since the compilation
of the extension itself says what is wrong.
"""

from __future__ import annotations

import fcntl
import glob
import os
import subprocess
import sys

__all__ = ["main", "make"]


def main(lock: str, result: str, command: list[str]) -> None:
    """Start a process that makes `result` by `command`; return at once."""
    if os.fork():
        return
    os.setsid()
    os.nice(19)
    try:
        make(lock, result, command)
    except OSError:
        pass  # another is being made, and a later build asks again; or the folder is gone
    os._exit(0)


def make(lock: str, result: str, command: list[str]) -> None:
    """Make `result` by `command` with `-o` added, unless it is there; BlockingIOError while another process holds `lock`."""
    with open(lock, "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(result):
            return
        folders = os.path.join(glob.escape(os.path.dirname(lock)), "precompiled-*")
        for left in glob.glob(os.path.join(folders, "**", "*.gch.*"), recursive=True):
            os.unlink(left)  # by a process that was ended: who holds the lock is the only one at work
        unfinished = f"{result}.{os.getpid()}"
        done = subprocess.run([*command, "-o", unfinished], check=False)
        if done.returncode == 0:
            os.rename(unfinished, result)
        elif os.path.exists(unfinished):
            os.unlink(unfinished)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
