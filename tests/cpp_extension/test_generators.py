"""generators.cpp: random generators of a program's own. Expected values are closed forms, and PyTorch's operators."""

import pytest


@pytest.mark.parametrize("name", ["refusals", "in_cpp", "types"])
def test_in_cpp(generators, name):
    getattr(generators.module, name)()


FILLS = {
    "random": lambda t, g: t.random_(generator=g),
    "random_from_to": lambda t, g: t.random_(3, 90, generator=g),
    "random_from": lambda t, g: t.random_(3, None, generator=g),
    "random_all": lambda t, g: t.random_(-(2**63), None, generator=g),
    "uniform": lambda t, g: t.uniform_(-1, 2, generator=g),
    "normal": lambda t, g: t.normal_(0.5, 2, generator=g),
    "log_normal": lambda t, g: t.log_normal_(0.5, 0.25, generator=g),
    "cauchy": lambda t, g: t.cauchy_(0.5, 2, generator=g),
    "geometric": lambda t, g: t.geometric_(0.25, generator=g),
    "exponential": lambda t, g: t.exponential_(1.5, generator=g),
    "bernoulli": lambda t, g: t.bernoulli_(0.25, generator=g),
    "bernoulli_each": lambda t, g: t.bernoulli_(t.double().fill_(0.25), generator=g),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("which", FILLS)
def test_templates_draw_as_operators_do(generators, which, dtype):
    torch = generators.torch
    dtype = getattr(torch, dtype)
    if not dtype.is_floating_point and which in ("uniform", "normal", "log_normal", "cauchy", "exponential"):
        pytest.skip("of floats only")
    if which == "random_all" and dtype == torch.uint8:
        pytest.skip("of 64 bits only")
    for n in (5, 16, 37):
        expected = FILLS[which](torch.empty(n, dtype=dtype), torch.Generator().manual_seed(4))
        found = generators.module.filled(which, torch.empty(n, dtype=dtype), torch.Generator().manual_seed(4))
        # Functions of float32 are another library's here.
        assert torch.allclose(found.double(), expected.double(), rtol=1e-2 if dtype == torch.bfloat16 else 2e-5), n


def test_operators_draw_from_it(generators):
    torch, module = generators.torch, generators.module
    before = module.alive()
    g = module.counting(5)
    assert isinstance(g, torch.Generator) and g.device == torch.device("cpu")
    assert module.alive() == before + 1
    assert module.same(g) is g
    assert torch.empty(3, dtype=torch.int64).random_(generator=g).tolist() == [5, 6, 7]
    assert torch.empty(3).random_(10, generator=g).tolist() == [8, 9, 0]
    assert torch.empty(2, dtype=torch.uint8).random_(1, 4, generator=g).tolist() == [3, 1]
    # Functions that make a tensor draw into it.
    drawn = torch.randint(10, (3,), generator=module.counting(5))
    assert drawn.tolist() == [5, 6, 7] and drawn.dtype == torch.int64
    assert torch.randint(1, 4, (2,), generator=module.counting(14)).tolist() == [3, 1]
    # Others draw as they did.
    first = torch.empty(3, dtype=torch.int64).random_(generator=torch.Generator().manual_seed(1))
    assert torch.equal(first, torch.empty(3, dtype=torch.int64).random_(generator=torch.Generator().manual_seed(1)))
    with pytest.raises(NotImplementedError, match="'CustomRNGKeyId' backend"):
        torch.empty(3).uniform_(generator=g)
    del g
    assert module.alive() == before


def test_python_asks_it(generators):
    module = generators.module
    g = module.counting(5)
    assert g.initial_seed() == 5
    assert g.manual_seed(2**63 + 1) is g and g.initial_seed() == 2**63 + 1
    assert g.seed() == 1000
    state = g.get_state()
    assert state.tolist() == [1000]
    with pytest.raises(RuntimeError, match="a counter has no offset"):
        g.get_offset()
    g.set_state(state + 1)
    assert g.initial_seed() == 1001
    copy = g.clone_state()
    assert copy.initial_seed() == 1001 and copy is not g


def test_gradients_go_past_it(generators):
    torch = generators.torch
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    before = y._version
    y.random_(10, generator=generators.module.counting(1))
    assert y.tolist() == [1, 2, 3] and y._version == before + 1
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
