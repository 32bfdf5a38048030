"""Dropout: the same seed drops the same elements as PyTorch's generic generator, forward and backward."""

import contextlib
from types import ModuleType

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2


def _generic(torch: ModuleType) -> contextlib.AbstractContextManager:
    """PyTorch draws dropout's masks otherwise on Intel's processors; see generic_bernoulli.py."""
    if torch is mindtorch_v2:
        return contextlib.nullcontext()
    from generic_bernoulli import GenericBernoulli

    return GenericBernoulli()


def _wave(torch, *shape):
    n = 1
    for size in shape:
        n *= size
    return torch.sin(torch.arange(n, dtype=torch.float64) * 1.7).reshape(shape)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(
    "name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "dropout_", "native_dropout"]
)
def test_same_seed_same_elements(name, p, dtype):
    def program(torch):
        torch.manual_seed(3)
        with _generic(torch):
            x = _wave(torch, 5, 30, 11).to(getattr(torch, dtype)).requires_grad_()
            y = getattr(torch, name)(x * 1, p, True)
            y = y[0] if name == "native_dropout" else y
            (grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
            return [y, grad, torch.rand(3)]  # as many numbers are drawn

    agree(program, factor=4)


def test_transposed_input_keeps_its_layout():
    def program(torch):
        torch.manual_seed(3)
        with _generic(torch):
            return [
                torch.dropout(_wave(torch, 7, 9).t(), 0.5, True),
                torch.dropout(_wave(torch, 7, 9)[:, ::2], 0.5, True),
            ]

    agree(program, factor=4)


def test_nothing_is_dropped_in_evaluation():
    x = mindtorch_v2.ones(3)
    assert mindtorch_v2.dropout(x, 0.5, False) is x
    assert mindtorch_v2.dropout(x, 0.0, True) is x


def test_errors():
    agree_on_error(lambda torch: torch.dropout(torch.ones(2), 2.0, True))
    agree_on_error(lambda torch: torch.feature_dropout(torch.ones(2), 0.5, True))
    agree_on_error(lambda torch: torch.native_dropout(torch.ones(2).long(), 0.5, True))
