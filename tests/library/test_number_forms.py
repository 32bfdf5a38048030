"""A kernel that replaces `aten::mul.Tensor` serves `x * 2` as well: expectations as seen with PyTorch 2.13."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

X = torch.tensor([1.0, 4.0])

CALLS: dict[str, tuple[str, Callable[[], Any], Any, dict[str, Any]]] = {
    "add": ("add.Tensor", lambda: torch.add(X, 3, alpha=2), 3, {"alpha": 2}),
    "sub": ("sub.Tensor", lambda: X - 3, 3, {}),
    "mul": ("mul.Tensor", lambda: X * 2.5, 2.5, {}),
    "mul from the left": ("mul.Tensor", lambda: 2.5 * X, 2.5, {}),
    "div": ("div.Tensor", lambda: X / 2, 2, {}),
    "div, rounded": ("div.Tensor_mode", lambda: torch.div(X, 2, rounding_mode="floor"), 2, {"rounding_mode": "floor"}),
    "floor_divide": ("floor_divide", lambda: X // 2, 2, {}),
    "mul_": ("mul_.Tensor", lambda: X.clone().mul_(3), 3, {}),
    "add_": ("add_.Tensor", lambda: X.clone().add_(3, alpha=2), 3, {"alpha": 2}),
}


@pytest.mark.parametrize("key", ["CPU", "AutogradCPU"])
@pytest.mark.parametrize("case", CALLS)
def test_a_call_with_a_number_reaches_the_kernel_for_tensors(case: str, key: str) -> None:
    overload, call, number, keywords = CALLS[case]
    before = call()
    seen = []

    def kernel(self: Any, other: Any, **kwargs: Any) -> Any:
        seen.append((other, kwargs))
        return torch.zeros(2)

    with warnings.catch_warnings(), torch.library._scoped_library("aten", "IMPL") as library:
        warnings.simplefilter("ignore")
        library.impl(overload, kernel, key)
        assert call().tolist() == [0, 0]
    assert seen == [(number, keywords)]
    assert torch.equal(call(), before)


def test_compositions_of_the_number_form_stay() -> None:
    """A composition counts where no device has a kernel: the CPU's stays."""
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("mul.Tensor", lambda self, other: self.clone(), "CompositeExplicitAutograd")
        assert (X * 2).tolist() == [2, 8]
