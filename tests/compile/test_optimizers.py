"""Optimizers under torch.compile: their step becomes a graph, and whole training runs are eager's to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dynamo.utils import counters

STEPS = 20
OPTIMIZERS: dict[str, Callable] = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1),
    "SGD, momentum": lambda parameters: torch.optim.SGD(
        parameters, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True
    ),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "Adam, amsgrad": lambda parameters: torch.optim.Adam(parameters, lr=0.01, amsgrad=True),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01),
    "AdamW, fused": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, fused=True),
}


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


class _Run:
    """A model, an optimizer and data, always the same."""

    def __init__(self, make: Callable) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        self.optimizer = make(self.model.parameters())
        self.data = torch.Generator().manual_seed(1)

    def forward_and_backward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = ((self.model(x) - y) ** 2).mean()
        loss.backward()
        return loss

    def step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = self.forward_and_backward(x, y)
        self.optimizer.step()
        return loss

    def train(self, step: Callable, scheduler: Any = None) -> list[torch.Tensor]:
        """Every loss, then the parameters and the optimizer's state."""
        found = []
        for _ in range(STEPS):
            found.append(step(*(torch.randn(5, n, generator=self.data) for n in (4, 3))).detach())
            if scheduler is not None:
                scheduler.step()
        for parameter in self.model.parameters():
            found.append(parameter.detach())
            state = self.optimizer.state[parameter]
            found += [torch.as_tensor(state[name]) for name in sorted(state) if state[name] is not None]
        return found


def _compiled_step(run: _Run, how: str, **options: Any) -> Callable:
    if how == "all of training":
        return torch.compile(run.step, **options)
    step = torch.compile(run.optimizer.step if how == "method" else lambda: run.optimizer.step(), **options)

    def train(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = run.forward_and_backward(x, y)
        step()
        return loss

    return train


def _assert_equal(found: list, expected: list) -> None:
    assert len(found) == len(expected)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))


@pytest.mark.parametrize("how", ["method", "function", "all of training"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_eager_training(name: str, how: str) -> None:
    eager = _Run(OPTIMIZERS[name])
    expected = eager.train(eager.step)
    run = _Run(OPTIMIZERS[name])
    _assert_equal(run.train(_compiled_step(run, how)), expected)
    # The first step makes the state; all others are one graph.
    assert counters["stats"]["unique_graphs"] <= (3 if how == "all of training" else 2)
    assert not counters["recompiles"]


@pytest.mark.parametrize("name", ["SGD, momentum", "AdamW"])
def test_a_step_is_one_graph_of_operators(name: str) -> None:
    run, graphs = _Run(OPTIMIZERS[name]), []

    def keep(module: Any, inputs: list) -> Any:
        graphs.append([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
        return module

    backend = torch._dynamo.backends.common.aot_autograd(fw_compiler=keep)
    run.train(_compiled_step(run, "method", backend=backend))
    assert len(graphs) == 2
    words = "mul add" if name.startswith("SGD") else "mul lerp sqrt addcdiv"
    assert all(any(word in target for target in graphs[-1]) for word in words.split()) or any(
        "fused" in target for target in graphs[-1]
    ), graphs[-1]


@pytest.mark.parametrize("lr", [0.1, torch.tensor(0.1)], ids=["float", "tensor"])
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_learning_rates_that_change(kind: str, lr: Any) -> None:
    def make(parameters: Any) -> Any:
        return getattr(torch.optim, kind)(parameters, lr=lr.clone() if isinstance(lr, torch.Tensor) else lr)

    eager = _Run(make)
    expected = eager.train(eager.step, torch.optim.lr_scheduler.ExponentialLR(eager.optimizer, 0.9))
    run = _Run(make)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(run.optimizer, 0.9)
    _assert_equal(run.train(_compiled_step(run, "method"), scheduler), expected)


def test_closures_and_groups() -> None:
    def make(parameters: Any) -> torch.optim.Optimizer:
        first, *rest = parameters
        return torch.optim.AdamW([{"params": [first], "weight_decay": 0.0}, {"params": rest, "lr": 0.02}], lr=0.01)

    eager, run = _Run(make), _Run(make)
    expected = eager.train(eager.step)
    step = torch.compile(lambda x, y: run.optimizer.step(lambda: run.forward_and_backward(x, y)))
    _assert_equal(run.train(step), expected)
