"""These tests run in a process that has the emulator as its CANN; ../test_commands.py starts it. By hand:

python -m mindtorch_v2.npu emulate -- python -m pytest tests/npu/on_emulator
"""

import ctypes
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mindtorch_v2._backends.npu import libraries

# A process without the emulator collects nothing here: what it did with the device would show in other tests.
collect_ignore_glob = [] if os.environ.get("ASCEND_HOME_PATH") == str(libraries.EMULATOR) else ["test_*.py"]


def _report(acl: Any) -> dict[str, Any]:
    acl.emulatorReport.restype = ctypes.c_char_p
    return json.loads(acl.emulatorReport())


@pytest.fixture(scope="session")
def _emulator() -> Any:
    from mindtorch_v2._backends import npu  # noqa: PLC0415  (loads the libraries)
    from mindtorch_v2._backends.npu import state  # noqa: PLC0415

    npu.load()
    return state.get()


@pytest.fixture(autouse=True)
def report(_emulator: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """What the emulator counts. A test fails if it misused the interface."""
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
