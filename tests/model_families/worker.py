"""One library's side: `python -m tests.model_families.worker LIBRARY FOLDER CLASS...` leaves a file for each class."""

from __future__ import annotations

import pathlib
import pickle
import signal
import sys


class _Late(BaseException):
    pass


def _late(*_: object) -> None:
    raise _Late


def main() -> None:
    """Run the classes one after the other; what ends the process leaves the rest undone."""
    library, folder, *names = sys.argv[1:]
    if library == "ours":
        import mindtorch_v2

        mindtorch_v2.as_torch()
    import torch

    from . import program

    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _late)
    for name in names:
        path = pathlib.Path(folder, f"{name}.{library}.pickle")
        path.with_suffix(".started").touch()
        found = {}
        signal.alarm(120)
        try:
            for step, value in program.steps(name):
                found[step] = f"{type(value).__name__}: {value}" if isinstance(value, Exception) else value
        except _Late:
            found["late"] = "took more than two minutes"
        finally:
            signal.alarm(0)
        path.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
