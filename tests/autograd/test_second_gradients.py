"""Second gradients, against PyTorch: of complex convolutions, and of products whose factors are picked by an index."""

import pytest
from agreement import same, same_error

# PyTorch's, of operators that it calls experimental.
pytestmark = pytest.mark.filterwarnings("ignore:.*is in beta and the API may change:UserWarning")


def _numbers(torch, *shape, dtype="complex128", start=0):
    """Numbers with nothing in common, the same for both libraries."""
    count = 1
    for size in shape:
        count *= size
    steps = torch.arange(start, start + count, dtype=torch.float64).view(shape)
    real = torch.cos(steps * 1.7)
    return real if dtype == "float64" else torch.complex(real, torch.sin(steps * 0.9))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_complex_convolution(dims, transposed):
    """The adjoint of the gradient: neither of its factors is conjugated twice."""

    def second(torch):
        x = _numbers(torch, 2, 2, *[4] * dims).requires_grad_()
        w = _numbers(torch, *((2, 3) if transposed else (3, 2)), *[2] * dims, start=50).requires_grad_()
        b = _numbers(torch, 3, start=90).requires_grad_()
        name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
        y = getattr(torch.nn.functional, name)(x, w, b, stride=1, padding=1)
        g = _numbers(torch, *y.shape, start=120).requires_grad_()
        first = torch.autograd.grad(y, (x, w, b), g, create_graph=True)
        weights = [_numbers(torch, *each.shape, start=7 * place) for place, each in enumerate(first)]
        return [*first, *torch.autograd.grad(first, (g, x, w), weights)]

    same(lambda torch: [each.detach().numpy() for each in second(torch)], rtol=1e-12, atol=1e-12)


# Factors of the first position: one zero, one in the tensor itself, two of which one is there.
FACTORS = {
    "no zero": ([1.0, 2, 3], [2.0, 3, 4]),
    "one": ([1.0, 2, 3], [0.0, 3, 4]),
    "one in self": ([0.0, 2, 3], [5.0, 3, 4]),
    "one each": ([0.0, 2, 3], [0.0, 5, 4]),
    "elsewhere": ([1.0, 2, 0], [3.0, 5, 0]),
}


def _product(torch, kind, self, factors, include_self=True):
    x = torch.tensor(self, dtype=torch.float64, requires_grad=True)
    s = torch.tensor(factors, dtype=torch.float64, requires_grad=True)
    reduce = x.scatter_reduce if kind == "scatter_reduce" else x.index_reduce
    y = reduce(0, torch.tensor([0, 0, 1]), s, "prod", include_self=include_self)
    first = torch.autograd.grad(y.sum(), (x, s), create_graph=True)
    total = (first[0] * torch.arange(1.0, 4.0, dtype=torch.float64)).sum() + (first[1] ** 2).sum()
    return [each.detach() for each in first], lambda: torch.autograd.grad(total, (x, s))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("kind", ["scatter_reduce", "index_reduce"])
def test_products_by_index(kind, factors, include_self):
    def gradients(torch):
        first, second = _product(torch, kind, *FACTORS[factors], include_self)
        return [*first, *second()]

    same(gradients, rtol=1e-12)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["scatter_reduce", "index_reduce"])
def test_products_of_several_zeros(kind, include_self):
    """The gradient is zeros; its own would be wrong, as the other zero is taken for a constant, and is refused."""
    same(lambda torch: _product(torch, kind, [1.0, 2, 3], [0.0, 0, 4], include_self)[0])
    same_error(lambda torch: _product(torch, kind, [1.0, 2, 3], [0.0, 0, 4], include_self)[1]())
