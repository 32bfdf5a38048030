"""Operators whose fake results a kernel in Python says: as the real ones, alone and in captured programs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils import _pytree as pytree

F = nn.functional
aten = torch.ops.aten


def _told(result: Any) -> list:
    return [(tuple(t.shape), t.stride(), t.dtype) for t in pytree.tree_leaves(result)]


def _assert_told(op: Any, *args: Any) -> None:
    mode = FakeTensorMode()
    fakes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, args)
    assert _told(op(*fakes)) == _told(op(*args))


@pytest.mark.parametrize("name", ["_embedding_bag", "_embedding_bag_forward_only"])
@pytest.mark.parametrize(("mode", "last"), list(itertools.product((0, 1, 2), (False, True))))
def test_embedding_bag(name: str, mode: int, last: bool) -> None:
    offsets = torch.tensor([0, 2, 6] if last else [0, 2])
    for dtype in (torch.int64, torch.int32):
        indices = torch.tensor([1, 2, 4, 5, 4, 3], dtype=dtype)
        _assert_told(
            getattr(aten, name), torch.rand(10, 3), indices, offsets.to(dtype), False, mode, False, None, last, -1
        )


def test_ctc_loss() -> None:
    log_probs = torch.rand(7, 2, 5).log_softmax(-1)
    for targets in (torch.tensor([[1, 2, 3], [1, 2, 2]]), torch.tensor([1, 2, 3, 1, 2])):
        _assert_told(aten._ctc_loss, log_probs, targets, [7, 6], [3, 2])
        loss, alpha = aten._ctc_loss(log_probs, targets, [7, 6], [3, 2])
        _assert_told(aten._ctc_loss_backward, loss, log_probs, targets, [7, 6], [3, 2], loss, alpha, 0)
    with FakeTensorMode(allow_non_fake_inputs=True), pytest.raises(DynamicOutputShapeException):
        aten._ctc_loss(log_probs, targets, torch.tensor([7, 6]), torch.tensor([3, 2]))


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        ((2, 6, 16), (2, 16, 8), None),
        ((6, 16), (2, 16, 8), [2, 6]),
        ((2, 6, 16), (16, 8), [4, 8]),
        ((6, 16), (16, 8), [8, 16]),
    ],
)
def test_grouped_mm(first: tuple, second: tuple, ends: list | None) -> None:
    offs = None if ends is None else torch.tensor(ends, dtype=torch.int32)
    _assert_told(torch._grouped_mm, torch.rand(first), torch.rand(second), offs)


def test_programs_with_them_are_graphs() -> None:
    def bags(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(indices, weight, offsets, mode="mean").sin().sum()

    def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.ctc_loss(logits.log_softmax(-1), targets, (7, 6), (3, 2))

    weight, logits = torch.rand(10, 3, requires_grad=True), torch.rand(7, 2, 5, requires_grad=True)
    for function, leaf, rest, operator in (
        (bags, weight, (torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])), "_embedding_bag"),
        (loss, logits, (torch.tensor([[1, 2, 3], [1, 2, 2]]),), "_ctc_loss"),
    ):
        (expected,) = torch.autograd.grad(function(leaf, *rest), leaf)
        compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
        assert torch.equal(torch.autograd.grad(compiled(leaf, *rest), leaf)[0], expected)
        assert f"aten.{operator}" in make_fx(function, tracing_mode="fake")(leaf, *rest).code
