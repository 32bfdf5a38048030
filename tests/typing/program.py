"""A small program for the stubs: a type checker compares each `assert_type`, and the program runs.

A line that ends in `type: ignore` is wrong, and must be seen to be: the checker reports an ignore that nothing needs.
"""

from typing import assert_type

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn


def values() -> None:
    """Functions, methods, operators, attributes."""
    x = torch.zeros(2, 3, requires_grad=True)
    assert_type(x, Tensor)
    assert_type(torch.ones((2, 3), dtype=torch.float64), Tensor)
    assert_type(x + 1, Tensor)
    assert_type(2 / x, Tensor)
    assert_type(x @ x.t(), Tensor)
    assert_type(-x, Tensor)
    assert_type(x > 0, Tensor)
    assert_type(x == 0, Tensor)
    assert_type(x[0, 1:], Tensor)
    assert_type(x.view(3, -1), Tensor)
    assert_type(x.sum(dim=0, keepdim=True), Tensor)
    assert_type(x.shape, torch.Size)
    assert_type(x.dtype, torch.dtype)
    assert_type(torch.int, torch.dtype)
    assert_type(x.device, torch.device)
    assert_type(x.dim(), int)
    assert_type(x.grad, Tensor | None)
    assert_type(x.to(torch.float16), Tensor)
    assert_type(torch.linalg.norm(x), Tensor)
    assert_type(torch.special.expit(x), Tensor)
    assert_type(torch.nn.Parameter(x), torch.nn.Parameter)


def several_results() -> None:
    """Named results, lists of tensors, an output that is given."""
    x = torch.arange(6.0).reshape(2, 3)
    largest = x.max(0)
    assert_type(largest.values, Tensor)
    assert_type(largest.indices, Tensor)
    found, where = torch.sort(x)
    assert_type(found, Tensor)
    assert_type(where, Tensor)
    assert_type(torch.chunk(x, 2), tuple[Tensor, ...])
    assert_type(torch.add(x, 1, out=torch.empty(2, 3)), Tensor)


def training() -> None:
    """A step of a small network."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = nn.functional.mse_loss(model(torch.ones(2, 3)), torch.zeros(2, 1))
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        assert_type(torch.ones(2).add_(1), Tensor)


def mistakes() -> None:
    """Calls that a checker refuses; they are refused when they run, too."""
    x = torch.ones(2)
    for wrong in (
        lambda: x.no_such_method(),  # type: ignore[attr-defined]
        lambda: torch.zeros("a"),  # type: ignore[arg-type]
        lambda: x.sum(keepdims="no", no_such=1),  # type: ignore[call-overload]
    ):
        try:
            wrong()
        except (AttributeError, TypeError):
            continue
        raise AssertionError("accepted")


if __name__ == "__main__":
    values()
    several_results()
    training()
    mistakes()
