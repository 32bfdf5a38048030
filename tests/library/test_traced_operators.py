"""Traces hold operators of `torch.ops`, and not what a kernel in Python does within."""

from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def twice() -> Iterator[Any]:
    library = torch.library.Library("watched", "DEF")
    library.define("twice(Tensor x, *, int by=2) -> Tensor")
    library.impl("twice", lambda x, *, by=2: torch.from_numpy(x.numpy() * by), "CPU")
    yield torch.ops.watched.twice
    library._destroy()


def test_a_trace_holds_the_operator_and_not_what_its_kernel_did(twice: Any) -> None:
    traced = torch.jit.trace(lambda x: twice(x, by=5) + 1, (torch.ones(2),))
    assert traced(torch.tensor([1.0, 2.0])).tolist() == [6.0, 11.0]
    assert "watched.twice" in str(traced.graph)


def test_a_trace_of_several_results_and_of_writes() -> None:
    library = torch.library.Library("watched", "FRAGMENT")
    library.define("halves(Tensor x) -> (Tensor, Tensor)")
    library.define("add_one_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("halves", lambda x: tuple(torch.from_numpy(part) for part in x.numpy().reshape(2, -1)), "CPU")

    def add_one_(x: torch.Tensor) -> torch.Tensor:
        x.numpy()[...] += 1
        return x

    library.impl("add_one_", add_one_, "CPU")

    def program(x: torch.Tensor) -> torch.Tensor:
        a, b = torch.ops.watched.halves(x * 2)
        torch.ops.watched.add_one_.default(a)
        return torch.ops.aten.sub(a, b)

    traced = torch.jit.trace(program, (torch.ones(4),))
    assert traced(torch.tensor([1.0, 2.0, 3.0, 5.0])).tolist() == [-3.0, -5.0]
    library._destroy()
