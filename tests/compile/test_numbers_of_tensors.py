"""Numbers that `fullgraph` programs read out of tensors: nodes of the graph, where nothing is decided by them."""

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional


def _product(x):
    return x * x.sum().item()


def _several(x):
    n = x.sum().item()
    return n, n + 1, x * (n * 2 - 1), float(x[0]), -n, int(x.sum())


def _after_a_write(x):
    n = x.sum().item()
    x.add_(1)
    return x * n + x.sum().item()


def _arguments(x):
    mean = x.mean().item()
    kept = torch.where(x > mean, x, 0.0)
    return (
        x.clamp(max=mean),
        kept,
        x**mean,
        torch.add(x, x, alpha=mean),
        F.leaky_relu(x - 2, mean),
        torch.full((2,), mean),
    )


def _of_a_list(x):
    return torch.stack([x * factor for factor in [x.sum().item(), 2]])


def _unused(x):
    x.sum().item()
    return x + 1


def _integers(x):
    n = x.sum().long().item()
    return x + n, n // 2, n % 3, torch.full((2,), n), float(n), x > n


_CAPTURED = [_product, _several, _after_a_write, _arguments, _of_a_list, _unused, _integers]


def _values(result):
    return [_values(r) for r in result] if isinstance(result, tuple) else torch.as_tensor(result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", _CAPTURED, ids=lambda f: f.__name__)
def test_captured_once_and_right_for_all_values(program, backend):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(program, fullgraph=True, backend=backend)
    for given in ([1.0, 3.0], [4.0, 10.5], [-2.0, 0.25]):
        mine, eager = torch.tensor(given), torch.tensor(given)
        torch.testing.assert_close(_values(compiled(mine)), _values(program(eager)), equal_nan=True)
        assert torch.equal(mine, eager)
    assert torch._dynamo.utils.counters["frames"]["ok"] == 1
    assert not torch._dynamo.utils.counters["recompiles"]


def test_gradients_pass_by_the_number():
    torch._dynamo.reset()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.compile(_product, fullgraph=True, backend="eager")(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def _branch(x):
    return x * 2 if x.sum().item() > 1 else x


def _size(x):
    return torch.zeros(int(x.sum()))


def _slice(x):
    return x[: int(x.sum())]


def _slice_from(x):
    return x[int(x.sum()) :]


def _dimension(x):
    return x[None].sum(int(x.sum()))


def _text(x):
    return f"{x.sum().item()}"


def _loop(x):
    for _ in range(int(x.sum())):
        x = x + 1
    return x


def _key(x):
    return {2: x}[int(x.sum())]


@pytest.mark.parametrize(
    "program", [_branch, _size, _slice, _slice_from, _dimension, _text, _loop, _key], ids=lambda f: f.__name__
)
def test_decisions_by_numbers_are_refused(program):
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="depends? on (values|a number out of a tensor)"):
        torch.compile(program, fullgraph=True, backend="eager")(torch.ones(2))


@pytest.mark.parametrize("program", [_product, _branch, _slice, _loop], ids=lambda f: f.__name__)
def test_without_fullgraph_the_graph_breaks(program):
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="eager")
    for given in ([1.0, 1.0], [0.25, 0.25]):
        assert compiled(torch.tensor(given)).tolist() == program(torch.tensor(given)).tolist()
