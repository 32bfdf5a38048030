"""A plugin of pytest that writes down what each test came to, as it comes, and goes on where another process ended.

SUITE_LOG names the file, with lines as `tests/pytorch_suite/worker.py` writes them. Of what is collected run: what passed by the log
that SUITE_WANTED names; else a sample of SUITE_MOST of each file, which the ids choose. A test has SUITE_TIMEOUT seconds.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import signal
import types
import zlib
from typing import Any

import pytest

LOG = pathlib.Path(os.environ["SUITE_LOG"])
TIMEOUT = int(os.environ["SUITE_TIMEOUT"])


class TimedOut(BaseException):
    """A test took too long."""


def _lines(path: pathlib.Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def _write(**entry: str) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def _time_out(number: int, frame: types.FrameType | None) -> None:
    raise TimedOut("took too long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the sample, without what is done."""
    wanted = os.environ.get("SUITE_WANTED")
    if wanted is not None:
        passed = {line["id"] for line in _lines(pathlib.Path(wanted)) if line.get("status") == "pass"}
        kept = [item for item in items if item.nodeid in passed]
    else:
        files: dict[str, list[pytest.Item]] = collections.defaultdict(list)
        for item in items:
            files[item.nodeid.partition("::")[0]].append(item)
        most = int(os.environ["SUITE_MOST"])
        kept = [
            item
            for of_file in files.values()
            for item in sorted(of_file, key=lambda item: zlib.crc32(item.nodeid.encode()))[:most]
        ]
    done = {line["id"] for line in _lines(LOG) if "id" in line}
    chosen = {item.nodeid for item in kept} - done
    items[:] = [item for item in items if item.nodeid in chosen]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Any:
    """Say which test comes, and watch its time."""
    _write(begun=item.nodeid)
    signal.signal(signal.SIGALRM, _time_out)
    signal.alarm(TIMEOUT)
    try:
        return (yield)
    except TimedOut:
        _write(id=item.nodeid, status="hang", cause=f"not done after {TIMEOUT} s")
        return True
    finally:
        signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down the call's end, or that of the set-up where it did not come to the call."""
    if report.when == "call" or report.when == "setup" and not report.passed:
        status = {"passed": "pass", "skipped": "skip", "failed": "fail"}[report.outcome]
        text = "" if report.passed else re.sub(r"\s+", " ", str(report.longrepr))[-700:]
        _write(id=report.nodeid, status=status, cause=text)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The end of a run that nothing ended before."""
    _write(id="", status="done", cause="")
