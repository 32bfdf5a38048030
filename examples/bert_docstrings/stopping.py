"""Ctrl-C: the first asks the run to stop where nothing is lost, the second stops it at once."""

import signal
import sys
from types import FrameType


class Stopped(Exception):
    """The run ended early because somebody asked for it, and its state is saved."""


class Request:
    """Whether Ctrl-C was pressed. While entered it takes SIGINT; the second one raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.made = False

    def __enter__(self) -> "Request":
        signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *exception: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.made:
            raise KeyboardInterrupt
        self.made = True
        print("\nstopping after this batch, then saving; Ctrl-C again stops at once", file=sys.stderr, flush=True)


def nothing_lost_yet() -> None:
    """From here until training begins, Ctrl-C ends the program in one line."""

    def end(number: int, frame: FrameType | None) -> None:
        print("\ninterrupted before training began: nothing is lost, and nothing was written", file=sys.stderr)
        raise SystemExit(130)

    signal.signal(signal.SIGINT, end)
