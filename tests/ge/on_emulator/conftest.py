"""These tests run in a process that has the emulator as its CANN; ../test_emulated.py starts it. By hand:

python -m mindtorch_v2.npu emulate -- python -m pytest tests/ge/on_emulator
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


@pytest.fixture(scope="session")
def _state() -> Any:
    from mindtorch_v2._backends import npu  # loads the libraries
    from mindtorch_v2._backends.npu import state

    npu.load()
    return state.get()


@pytest.fixture(autouse=True)
def _no_misuse(_state: Any) -> Iterator[None]:
    """A test fails if it misused the interface."""
    acl = _state.runtime.libraries.acl
    acl.emulatorForgetMisuses()
    yield
    for index in range(_state.runtime.device_count):
        _state.runtime.synchronize(index)
    acl.emulatorReport.restype = ctypes.c_char_p
    found = json.loads(acl.emulatorReport())
    acl.emulatorForgetMisuses()
    assert found["misuses"] == 0, "\n".join(found["messages"])


@pytest.fixture
def converted() -> Callable[..., Any]:
    """Make a GE graph of a program: `converted(program, *inputs)`, the inputs on the device."""
    import mindtorch_v2 as torch
    from mindtorch_v2 import torchair
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

    def convert(program: Any, *inputs: Any) -> Any:
        module = make_fx(torch.func.functionalize(lambda *values: program(*values)), tracing_mode="fake")(*inputs)
        return torchair.ge_compile(module)

    return convert
