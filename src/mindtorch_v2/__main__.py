"""The launcher: runs an unchanged PyTorch program with this package as its `torch`.

    python -m mindtorch_v2 script.py args...      a script, or a directory or zip file with a __main__.py
    python -m mindtorch_v2 -m module args...      a module
    python -m mindtorch_v2 -c "import torch" ...  a command
    python -m mindtorch_v2 -                      standard input
    python -m mindtorch_v2 --install-metadata     let pip find a `torch` distribution in this environment
    python -m mindtorch_v2 --remove-metadata      undo that
    python -m mindtorch_v2 --write-stubs typings  let type checkers find the types of `torch` in that folder
    python -m mindtorch_v2.doctor                 what works on this machine, and what to do about what does not

The program sees what it would see under plain `python`: `sys.argv`, `sys.path[0]`, `__main__`, `__file__`.
"""

from __future__ import annotations

import os
import pathlib
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2 import _as_torch
from mindtorch_v2._as_torch import distribution as _torch_distribution
from mindtorch_v2._as_torch import stubs as _stubs


def main(arguments: Sequence[str]) -> int:
    """Run what `arguments` (those after `-m mindtorch_v2`) name; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if arguments else 2
    first, rest = arguments[0], arguments[1:]
    sys.excepthook = _beginning_at_the_program(sys.excepthook)
    if first == "--version":
        print(f"mindtorch_v2, as torch {_as_torch.TORCH_VERSION}")
    elif first == "--install-metadata":
        print(_torch_distribution.install())
    elif first == "--remove-metadata":
        print(_torch_distribution.remove())
    elif first == "--write-stubs":
        if not rest:
            return _usage_error("a folder is expected after --write-stubs")
        print(_stubs.write(pathlib.Path(rest[0])))
    elif first in ("-m", "-c"):
        if not rest:
            return _usage_error(f"argument expected for the {first} option")
        _as_torch.as_torch()
        (_run_module if first == "-m" else _run_command)(rest[0], rest[1:])
    elif first == "-":
        _as_torch.as_torch()
        _run_command(sys.stdin.read(), rest, name="-", filename="<stdin>")
    elif first.startswith("-"):
        return _usage_error(f"unknown option {first}")
    elif not os.path.exists(first):
        return _usage_error(f"can't open file {first!r}: no such file or directory")
    else:
        _as_torch.as_torch()
        _run_script(first, rest)
    return 0


def _beginning_at_the_program(
    hook: Callable[[type[BaseException], BaseException, types.TracebackType | None], Any],
) -> Callable[[type[BaseException], BaseException, types.TracebackType | None], Any]:
    """The hook, given tracebacks without the frames of the launcher: those that plain `python` would print."""

    def shown(kind: type[BaseException], error: BaseException, traceback: types.TracebackType | None) -> None:
        rest = traceback
        while rest is not None and rest.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>", runpy.__file__):
            rest = rest.tb_next
        if rest is None and not isinstance(error, SyntaxError):
            rest = traceback  # the launcher's own failure
        hook(kind, error.with_traceback(rest), rest)

    return shown


def _run_script(path, arguments) -> None:
    sys.argv = [path, *arguments]
    if not sys.flags.safe_path and not os.path.isdir(path):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    runpy.run_path(path, run_name="__main__")


def _run_module(name, arguments) -> None:
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_command(source, arguments, name="-c", filename="<string>") -> None:
    sys.argv = [name, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = ""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(source, filename, "exec"), module.__dict__)


def _usage_error(text) -> int:
    print(f"python -m mindtorch_v2: {text} (--help lists the options)", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
