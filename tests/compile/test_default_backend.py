"""`torch.compiler.set_default_backend`, and the arguments of `torch.compile` that say how many graphs there may be."""

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def default():
    yield
    torch.compiler.set_default_backend(None)


def test_default_backend_is_used(default):
    seen = []

    def backend(graph, inputs):
        seen.append(graph)
        return graph.forward

    torch.compiler.set_default_backend(backend)
    assert torch.compile(lambda x: x + 1)(torch.ones(1)).item() == 2
    assert len(seen) == 1
    assert torch.compiler.get_default_backend() is backend
    torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_unknown_name_changes_nothing():
    with pytest.raises(RuntimeError, match="Invalid backend: 'nowhere'"):
        torch.compiler.set_default_backend("nowhere")
    assert torch.compiler.get_default_backend() == "inductor"


def test_limit_of_one_function():
    seen = []

    def backend(graph, inputs):
        seen.append(graph)
        return graph.forward

    limited = torch.compile(lambda x: x + 1, backend=backend, recompile_limit=2, dynamic=False)
    for size in range(1, 6):
        assert limited(torch.ones(size)).sum().item() == 2 * size
    assert len(seen) == 2


def test_shapes_spec_says_what_to_do():
    with pytest.raises(NotImplementedError, match="use dynamic=True"):
        torch.compile(torch.sin, shapes_spec={})


def test_compiling_draws_no_random_numbers():
    """Attention with dropout, whose kernel a compiler that takes it for pure would try on some numbers."""

    def attention(q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.1)

    q = torch.randn(2, 4, 16, 8, requires_grad=True)
    outcomes = []
    for run in (attention, torch.compile(attention)):
        torch.manual_seed(1)
        outcomes.append((run(q).detach(), torch.rand(1)))
    assert all(map(torch.equal, *outcomes))
