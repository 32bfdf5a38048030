"""These tests run in a process that has the emulator as its CANN; ../test_commands.py starts it. By hand:

python -m mindtorch_v2.npu emulate -- python -m pytest tests/npu/on_emulator
"""

import ctypes
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mindtorch_v2._backends.npu import faults, libraries, table

# A process without the emulator collects nothing here: what it did with the device would show in other tests.
_HERE = os.environ.get("ASCEND_HOME_PATH") == str(libraries.EMULATOR)
collect_ignore_glob = [] if _HERE else ["test_*.py"]

RAN: set[str] = set()  # the rows whose NPU kernel was run in this process


def _watch(register: Callable[..., None]) -> Callable[..., None]:
    """Registration of kernels that note when they are run."""

    def registered(key: str, name: str, compute: Callable[..., Any], flags: int = 0) -> None:
        def watched(*arguments: Any, **named: Any) -> Any:
            RAN.add(name)
            return compute(*arguments, **named)

        # As the kernels are, this is no line of the program's.
        watched.__code__ = watched.__code__.replace(co_filename=faults.FILE.format("watched"))
        register(key, name, watched, flags)

    return registered


if _HERE:
    table.register = _watch(table.register)


@pytest.fixture
def kernels_run() -> set[str]:
    """The rows whose NPU kernel was run in this process so far."""
    return RAN


def _report(acl: Any) -> dict[str, Any]:
    acl.emulatorReport.restype = ctypes.c_char_p
    return json.loads(acl.emulatorReport())


@pytest.fixture(scope="session")
def _emulator() -> Any:
    from mindtorch_v2._backends import npu  # loads the libraries
    from mindtorch_v2._backends.npu import state

    npu.load()
    return state.get()


@pytest.fixture(autouse=True)
def report(_emulator: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """The counters of the emulator. A test fails if it misused the interface."""
    acl = _emulator.runtime.libraries.acl
    acl.emulatorForgetMisuses()
    yield lambda: _report(acl)
    for index in range(_emulator.runtime.device_count):
        _emulator.runtime.synchronize(index)
    found = _report(acl)
    acl.emulatorForgetMisuses()
    assert found["misuses"] == 0, "\n".join(found["messages"])


@pytest.fixture
def emulator(_emulator: Any) -> Any:
    """The back end's state, on the emulator."""
    return _emulator
