"""Programs on the emulated NPU and the emulated GPU, for those of the two that this process has."""

from __future__ import annotations

import os
from typing import Any

import mindtorch_v2 as torch
from tools.faults.programs import program


def _on(device: str) -> Any:
    return torch.arange(6.0).view(2, 3), device


def _computed(ready: Any) -> Any:
    """Numbers there and back: a product on a stream of its own, and gradients."""
    host, device = ready
    library = getattr(torch, device)
    x = host.to(device).requires_grad_()
    stream = library.Stream()
    stream.wait_stream(library.current_stream())
    with library.stream(stream):
        y = (x @ x.t()).relu()
    library.current_stream().wait_stream(stream)
    (y + 1).sum().backward()
    library.synchronize()
    assert x.grad is not None
    return y.cpu().tolist(), x.grad.cpu().tolist()


def _recorded(ready: Any) -> Any:
    """A graph that is recorded, and replayed with other numbers."""
    host, device = ready
    library = getattr(torch, device)
    x = host.to(device)
    graph = library.NPUGraph() if device == "npu" else library.CUDAGraph()
    (x * 2).relu().add_(1)
    library.synchronize()
    with library.graph(graph):
        y = (x * 2).relu().add_(1)
    x.copy_(host + 1)
    graph.replay()
    library.synchronize()
    return y.cpu().tolist()


def _right_numbers(ready: Any, y: Any) -> bool:
    return y == ([[5.0, 14.0], [14.0, 50.0]], [[6.0, 10.0, 14.0]] * 2)


def _add(device: str) -> None:
    program(lambda folder: _on(device), _right_numbers, threads=True, name=f"{device}_numbers")(_computed)
    program(
        lambda folder: _on(device),
        lambda ready, y: y == [[3.0, 5.0, 7.0], [9.0, 11.0, 13.0]],
        threads=True,
        name=f"{device}_graph",
    )(_recorded)


if os.environ.get("ASCEND_HOME_PATH"):
    _add("npu")
if os.environ.get("MINDTORCH_CUDA_EMULATOR") == "1":
    _add("cuda")
