"""Optimizers from older pickles, and gradients through their steps, beside PyTorch."""

import inspect

import pytest
from expressions import check, check_session

import mindtorch_v2 as torch

NAMES = ("ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD")


@pytest.mark.parametrize("name", [*NAMES, "SparseAdam", "Adafactor", "LBFGS"])
def test_settings_that_older_states_lack(name: str) -> None:
    """State that was saved when an optimizer had only a rate of learning."""
    check(
        "(lambda o: (o.__setstate__({'defaults': o.defaults, 'state': {}, 'param_groups': "
        "[{k: o.param_groups[0][k] for k in ('params', 'lr')}]}), "
        "sorted((k, str(v)) for k, v in o.param_groups[0].items() if k != 'params'))[1])"
        f"(torch.optim.{name}([torch.ones(2)]))"
    )


OPTIONS = {
    "Adam": ("amsgrad=True", "weight_decay=0.1", "maximize=True"),
    "AdamW": ("amsgrad=True", "weight_decay=0.1"),
    "NAdam": ("weight_decay=0.1", "decoupled_weight_decay=True, weight_decay=0.1"),
    "RAdam": ("betas=(0.5, 0.6)", "decoupled_weight_decay=True, weight_decay=0.1"),
    "RMSprop": ("momentum=0.9", "centered=True", "weight_decay=0.1, momentum=0.5, centered=True"),
    "SGD": ("momentum=0.9, nesterov=True", "momentum=0.9, dampening=0.2", "weight_decay=0.1, maximize=True"),
    "Adagrad": ("lr_decay=0.1", "weight_decay=0.1"),
    "ASGD": ("t0=1", "weight_decay=0.1"),
}


NUMBER, TENSOR = "0.1", "torch.tensor(0.1, dtype=torch.float64, requires_grad=True)"
# PyTorch refuses the others' second backward, or a tensor as their rate.
BY_RATE = ("ASGD", "Adam", "AdamW", "NAdam", "RAdam", "SGD")
BY_OTHERS = ("Adadelta", "Adagrad", "RMSprop")
CASES = [
    (name, options, rate)
    for rate, names in ((NUMBER, (*BY_RATE, *BY_OTHERS)), (TENSOR, BY_RATE))
    for name in names
    for options in ("", *OPTIONS.get(name, ()))
]


@pytest.mark.parametrize(("name", "options", "rate"), CASES)
def test_gradients_through_steps(name: str, options: str, rate: str) -> None:
    """By the parameters, their gradients and the rate, where it is a tensor."""
    check_session(
        f"""
        p = x(3)
        q = p * 1.0
        lr = {rate}
        o = torch.optim.{name}([q], lr=lr, differentiable=True{", " * bool(options)}{options})
        for step in range(7):
            q.grad = (p * (step + 2)).sin()
            o.step()
        q.detach()
        q.sin().sum().backward()
        p.grad
        lr.grad
        """
    )


@pytest.mark.no_torch
@pytest.mark.parametrize(
    "options", [{}, {"weight_decay": 0.1}, {"momentum": 0.5}, {"centered": True}, {"lr_decay": 0.1}]
)
@pytest.mark.parametrize("name", ["Adadelta", "Adagrad", "Adamax", "RMSprop"])
def test_gradients_by_the_rate(name: str, options: dict) -> None:
    """The difference quotients, where PyTorch takes no tensor as the rate of a differentiable step."""
    kind = getattr(torch.optim, name)
    if not set(options) <= set(inspect.signature(kind).parameters):
        pytest.skip("not an option of this one")

    def steps(rate: torch.Tensor) -> torch.Tensor:
        q = torch.tensor([0.3, -0.7], dtype=torch.float64) * 1.0
        optimizer = kind([q], lr=rate, differentiable=True, **options)
        for step in range(3):
            q.grad = torch.tensor([0.5 + step, -1.5], dtype=torch.float64)
            optimizer.step()
        return q

    assert torch.autograd.gradcheck(steps, [torch.tensor(0.1, dtype=torch.float64, requires_grad=True)])
