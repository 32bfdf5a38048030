"""Distributions made in a captured function: without the checks of values that nobody asked for, in one graph."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

D = torch.distributions
MADE: dict[str, Callable[[Any], D.Distribution]] = {
    "Normal": lambda x: D.Normal(x, 1.0),
    "Categorical": lambda x: D.Categorical(logits=x),
    "Bernoulli": lambda x: D.Bernoulli(logits=x),
    "Gamma": lambda x: D.Gamma(x.exp(), 1.0),
    "Beta": lambda x: D.Beta(x.exp(), x.exp()),
    "Uniform": lambda x: D.Uniform(x, x + 1),
    "Independent": lambda x: D.Independent(D.Normal(x, 1.0), 1),
    "MultivariateNormal": lambda x: D.MultivariateNormal(x[0], torch.eye(3)),
    "MixtureSameFamily": lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, 1.0)),
}


@pytest.mark.parametrize("name", MADE)
def test_one_graph(name: str) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        made = MADE[name](x)
        drawn = made.sample()
        return drawn, made.log_prob(drawn)

    x = torch.linspace(-1.0, 1.0, 6).reshape(2, 3)
    torch.manual_seed(0)
    wanted = program(x)
    torch.manual_seed(0)
    torch.testing.assert_close(torch.compile(program, fullgraph=True)(x), wanted)


def test_a_check_that_was_asked_for_stays() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return D.Normal(x, -1.0, validate_args=True).mean

    with pytest.raises(ValueError, match="Expected parameter scale"):
        torch.compile(program)(torch.ones(2))
