"""Warnings of what is to go, by PyTorch's text: once in a process, or each time."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from agreement import answer

import mindtorch_v2


def _solved(torch: Any) -> Any:
    return torch.lu_solve(torch.ones(2, 1), *torch.linalg.lu_factor(torch.eye(2)))


def _with_graph(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(create_graph=True)


# Each warns once in a process.
ONCE: dict[str, Callable[[Any], Any]] = {
    "qr": lambda torch: torch.qr(torch.eye(2)),
    "lu": lambda torch: torch.lu(torch.eye(2)),
    "cholesky": lambda torch: torch.eye(2).cholesky(),
    "lu_solve": _solved,
    "triangular_solve": lambda torch: torch.triangular_solve(torch.ones(2, 1), torch.eye(2)),
    "chain_matmul": lambda torch: torch.chain_matmul(torch.eye(2), torch.eye(2)),
    "cross": lambda torch: torch.cross(torch.ones(3), torch.ones(3)),
    "nuclear_norm": lambda torch: torch.nuclear_norm(torch.eye(2)),
    "frobenius_norm": lambda torch: torch.frobenius_norm(torch.eye(2), [0, 1]),
    "set_default_tensor_type": lambda torch: torch.set_default_tensor_type(torch.FloatTensor),
    "backward": _with_graph,
    "same": lambda torch: torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding="same"),
    "float": lambda torch: float(torch.ones(1, requires_grad=True)),
    "complex": lambda torch: complex(torch.ones(1, requires_grad=True)),
    "x.T": lambda torch: torch.ones(2, 3, 4).T,
    "0-D x.T": lambda torch: torch.ones(()).T,
    "0-D x.H": lambda torch: torch.ones(()).H,
    "sparse types": lambda torch: torch.sparse.FloatTensor(torch.tensor([[0]]), torch.ones(1), torch.Size([2])),
}
# Each warns whenever it is called.
ALWAYS: dict[str, Callable[[Any], Any]] = {
    "autocast": lambda torch: torch.cuda.amp.autocast(enabled=False),
    "GradScaler": lambda torch: torch.cuda.amp.GradScaler(enabled=False),
    "custom_fwd": lambda torch: torch.cuda.amp.custom_fwd(print),
    "custom_bwd": lambda torch: torch.cuda.amp.custom_bwd(print),
    "assert_allclose": lambda torch: torch.testing.assert_allclose(torch.ones(1), torch.ones(1)),
    "sdp_kernel": lambda torch: torch.backends.cuda.sdp_kernel(enable_flash=False),
    "script": lambda torch: torch.jit.script(torch.nn.Linear(1, 1)),
}


def _told(torch: Any, call: Callable[[Any], Any]) -> list[list[str]]:
    """Class and text of each warning, without the place in PyTorch's sources."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call(torch)
    return [[each.category.__name__, str(each.message).partition(" (Triggered internally")[0]] for each in told]


def _by_force(torch: Any, call: Callable[[Any], Any]) -> list[list[str]]:
    torch.set_warn_always(True)
    try:
        return _told(torch, call)
    finally:
        torch.set_warn_always(False)


@pytest.mark.parametrize("name", ONCE)
def test_told_once(name: str) -> None:
    told = _by_force(mindtorch_v2, ONCE[name])
    assert told
    assert told == answer(lambda torch: _by_force(torch, ONCE[name]))
    assert _told(mindtorch_v2, ONCE[name]) == []


@pytest.mark.parametrize("name", ALWAYS)
def test_told_always(name: str) -> None:
    told = _told(mindtorch_v2, ALWAYS[name])
    assert told == _told(mindtorch_v2, ALWAYS[name])
    assert told[-1:] == answer(lambda torch: _told(torch, ALWAYS[name])[:1])


def test_a_warning_names_the_line_that_called() -> None:
    mindtorch_v2.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"torch\.qr is deprecated") as told:
            mindtorch_v2.qr(mindtorch_v2.eye(2))
    finally:
        mindtorch_v2.set_warn_always(False)
    assert told[0].filename == __file__


def test_typed_storage_is_told_of_once() -> None:
    program = "import mindtorch_v2 as torch; s = torch.ones(3).storage(); s[0]; s[1]"
    done = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count("TypedStorage is deprecated") == 1
