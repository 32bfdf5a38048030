"""`torch_npu.jit`: traces with Ascend's operators in the place of PyTorch's."""

import copy
import pathlib

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import torch_npu


def _layers() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.GELU(approximate="tanh"))


def test_exact_gelus_become_fast_ones(tmp_path: pathlib.Path) -> None:
    model, x = _layers(), torch.linspace(-3, 3, 6).reshape(2, 3)
    traced = torch.jit.trace(model, x)
    before = copy.deepcopy(traced)
    torch_npu.jit.optimize(traced)
    inner = model[0](x)
    fast = inner / (1 + torch.exp(-1.702 * inner))
    torch.testing.assert_close(traced(x), torch.nn.functional.gelu(fast, approximate="tanh"))
    assert torch.equal(before(x), model(x)) and not torch.equal(traced(x), model(x))
    traced.save(tmp_path / "fast.pt")
    assert torch.equal(torch.jit.load(tmp_path / "fast.pt")(x), traced(x))


def test_functions_too() -> None:
    x = torch.linspace(-2, 2, 5)
    traced = torch.jit.trace(lambda x: torch.nn.functional.gelu(x * 2), x)
    torch_npu.jit.optimize(traced)
    assert "npu.fast_gelu" in traced.code and any(node.target is torch.ops.npu.fast_gelu for node in traced.graph.nodes)
    assert (traced(x) - torch.nn.functional.gelu(x * 2)).abs().max() < 0.021


def test_what_is_no_trace_is_refused() -> None:
    with pytest.raises(TypeError, match=r"torch\.jit\.trace, but it is GELU"):
        torch_npu.jit.optimize(torch.nn.GELU())  # type: ignore[arg-type]  # (the wrong argument is the subject)
