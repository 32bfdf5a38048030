"""Operators whose gradient PyTorch does not compute either: results require grad, and asking for it raises; never a silent zero."""

import pytest
from agreement import same

# PyTorch's own, of parts of it that its forward mode goes through, and of a form that it wants to drop.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore:The reduce argument of torch.scatter with Tensor src:UserWarning"
)

NUMBERS = [3.0, 1.0, 1.0, 2.0]
PROGRAMS = {
    "unique": lambda torch, x: torch.unique(x, return_inverse=True, return_counts=True),
    "unique of slices": lambda torch, x: torch.unique(x.view(2, 2), dim=0),
    "unique in order": lambda torch, x: torch._unique(x),
    "unique_consecutive": lambda torch, x: torch.unique_consecutive(x, return_counts=True),
    "unique_consecutive of slices": lambda torch, x: torch.unique_consecutive(x.view(2, 2), dim=0),
    "igamma of both": lambda torch, x: torch.igamma(x, x),
    "igamma of the first": lambda torch, x: torch.igamma(x, x.detach()),
    "igamma of the second": lambda torch, x: torch.igamma(x.detach(), x),
    "igammac of both": lambda torch, x: torch.igammac(x, x),
    "igammac of the second": lambda torch, x: torch.igammac(x.detach(), x),
    "zeta of both": lambda torch, x: torch.special.zeta(x + 1, x),
    "zeta of a number": lambda torch, x: torch.special.zeta(x, 2.0),
    "zeta of the second": lambda torch, x: torch.special.zeta(x.detach() + 1, x),
    "histogram": lambda torch, x: torch.histogram(x, 3),
    "histogram of edges": lambda torch, x: torch.histogram(x, torch.tensor([0.0, 2.0, 4.0], dtype=x.dtype)),
    "histogram of weights": lambda torch, x: torch.histogram(x.detach(), 3, weight=x),
    "histogramdd": lambda torch, x: torch.histogramdd(x.view(2, 2), [2, 2])[0],
    "geqrf": lambda torch, x: torch.geqrf(x.view(2, 2)),
    "bincount": lambda torch, x: torch.bincount(torch.tensor([1, 2, 1, 0]), x),
    "heaviside": lambda torch, x: torch.heaviside(x, x),
    "heaviside of values": lambda torch, x: torch.heaviside(x.detach(), x),
    "scatter of a product": lambda torch, x: x.scatter(0, torch.tensor([0, 1, 1, 0]), x, reduce="multiply"),
    "scatter of a source": lambda torch, x: x.detach().scatter(0, torch.tensor([0, 1, 1, 0]), x, reduce="add"),
    "scatter of a number": lambda torch, x: x.scatter(0, torch.tensor([0, 1, 1, 0]), 2.0, reduce="add"),
    "ldl_factor": lambda torch, x: torch.linalg.ldl_factor(x.view(2, 2)),
    "ldl_solve": lambda torch, x: torch.linalg.ldl_solve(
        x.view(2, 2), torch.tensor([1, 2], dtype=torch.int32), x.detach().view(2, 2)
    ),
    "nextafter": lambda torch, x: torch.nextafter(x, torch.tensor([3.0, 2.0, 0.0, 2.0], dtype=x.dtype)),
    "nextafter of the second": lambda torch, x: torch.nextafter(x.detach() + 1, x),
    "floor_divide": lambda torch, x: torch.floor_divide(x, x),
    "floor_divide by a number": lambda torch, x: x // 2,
    "a number divided": lambda torch, x: 7.0 // x,
    "embedding_renorm_": lambda torch, x: torch.embedding_renorm_(x.view(2, 2).clone(), torch.tensor([0]), 1.0, 2.0),
}


def _x(torch):
    return torch.tensor(NUMBERS, dtype=torch.float64, requires_grad=True)


def _gradient(torch, result, x):
    try:
        return torch.autograd.grad(result.sum(), x, retain_graph=True)[0]
    except RuntimeError as error:
        return [type(error).__name__, str(error)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradient(program):
    def outcome(torch):
        x = _x(torch)
        made = PROGRAMS[program](torch, x)
        made = made if isinstance(made, tuple) else (made,)
        return [
            [each.requires_grad, type(each.grad_fn).__name__, _gradient(torch, each, x)]
            if each.requires_grad
            else False
            for each in made
        ]

    same(outcome, rtol=1e-12)


MOVING = {
    "unique": lambda torch, x: torch.unique(x),
    "igamma": lambda torch, x: torch.igamma(x, x),
    "zeta": lambda torch, x: torch.special.zeta(x, 2.0),
    "geqrf": lambda torch, x: torch.geqrf(x.view(2, 2))[0],
}


@pytest.mark.parametrize("program", MOVING)
def test_tangent(program):
    def outcome(torch):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            x = forward.make_dual(_x(torch).detach(), torch.ones(4, dtype=torch.float64))
            try:
                return MOVING[program](torch, x)
            except NotImplementedError as error:
                return str(error).partition("\n")[0]

    same(outcome)


def test_in_place_on_a_leaf():
    """As every write that is recorded: refused."""

    def outcome(torch):
        try:
            _x(torch).floor_divide_(2)
        except RuntimeError as error:
            return str(error)

    same(outcome)
