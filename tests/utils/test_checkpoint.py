"""Checkpointing in both ways: gradients, random numbers, memory, nesting, and what is said when the runs differ."""

import contextlib
import gc
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


def block(x, w):
    return torch.sin(x @ w).relu() * x.sum()


def gradients(run):
    torch.manual_seed(0)
    x = torch.randn(3, 3, requires_grad=True)
    w = torch.randn(3, 3, requires_grad=True)
    run(x, w).sum().backward()
    return x.grad.tolist(), w.grad.tolist()


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_gradients(use_reentrant):
    assert gradients(lambda x, w: checkpoint(block, x, w, use_reentrant=use_reentrant)) == gradients(block)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_random_numbers_are_drawn_again(use_reentrant):
    def noisy(x, w):
        return torch.nn.functional.dropout(x @ w, 0.5) * torch.rand(3, 3)

    plain = gradients(noisy)
    assert gradients(lambda x, w: checkpoint(noisy, x, w, use_reentrant=use_reentrant)) == plain
    # The numbers after backward are those that an unrecomputed run would see.
    torch.manual_seed(1)
    x = torch.ones(3, 3, requires_grad=True)
    y = checkpoint(noisy, x, x, use_reentrant=use_reentrant)
    before = torch.get_rng_state()
    y.sum().backward()
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_runs_twice(use_reentrant):
    runs = []

    def counted(x):
        runs.append(torch.is_grad_enabled())
        return (x * 2).sin()

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(counted, x, use_reentrant=use_reentrant)
    assert len(runs) == 1
    y.sum().backward()
    assert len(runs) == 2
    assert runs[1]


def test_intermediate_tensors_are_not_kept():
    kept = []

    def body(x):
        y = x * 2
        kept.append(weakref.ref(y))
        return y.sin().exp()

    x = torch.ones(4, requires_grad=True)
    out = checkpoint(body, x, use_reentrant=False)
    gc.collect()
    assert kept[0]() is None
    out.sum().backward()
    assert x.grad.tolist() == pytest.approx([-2.0662, -2.0662, -2.0662, -2.0662], abs=1e-4)  # 2 cos(2) exp(sin(2))


def test_keyword_arguments_and_structures():
    def body(pair, *, scale, options):
        a, b = pair
        return {"out": (a * b * scale).sin(), "n": options["n"]}

    a = torch.ones(2, requires_grad=True)
    result = checkpoint(body, (a, 3.0), scale=2.0, options={"n": 1}, use_reentrant=False)
    result["out"].sum().backward()
    assert a.grad.tolist() == pytest.approx([6 * torch.cos(torch.tensor(6.0)).item()] * 2)


def test_nested():
    def inner(x):
        return checkpoint(lambda y: y.sin().exp(), x, use_reentrant=False).cos()

    def outer(x):
        return checkpoint(inner, x * 2, use_reentrant=False).sin()

    x = torch.tensor([0.3, 0.7], requires_grad=True)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    y = torch.tensor([0.3, 0.7], requires_grad=True)
    (y * 2).sin().exp().cos().sin().sum().backward()
    assert x.grad.tolist() == pytest.approx(y.grad.tolist())


def test_second_backward_needs_retain_graph():
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(lambda a: (a * 2).sin().sum(), x, use_reentrant=False)
    (first,) = torch.autograd.grad(y, x, retain_graph=True)
    (second,) = torch.autograd.grad(y, x)
    assert first.tolist() == second.tolist()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        torch.autograd.grad(y, x)


def test_reentrant_refuses_chosen_inputs():
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(lambda a: (a * 2).sin().sum(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="incompatible with .grad"):
        torch.autograd.grad(y, x)


def test_reentrant_without_gradients_warns():
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(lambda a: a * 2, torch.ones(2), use_reentrant=True).requires_grad


def test_parameters_get_gradients_without_inputs_that_do():
    layer = torch.nn.Linear(3, 3)
    checkpoint(layer, torch.ones(2, 3), use_reentrant=False).sum().backward()
    assert layer.weight.grad.tolist() == [[2.0, 2.0, 2.0]] * 3


def test_what_two_formulas_read_is_recomputed_once():
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    checkpoint(lambda a: a / a.sum(-1, keepdim=True), x, use_reentrant=False)[0].backward()
    assert x.grad.tolist() == [0.1875, -0.0625]


class Changing:
    """Behave differently the second time."""

    def __init__(self, first, second):
        self.runs = [first, second]

    def __call__(self, x):
        return self.runs.pop(0)(x)


def test_fewer_saved_tensors():
    x = torch.ones(3, requires_grad=True)
    y = checkpoint(Changing(lambda a: (a * 2).sin().sum(), lambda a: (a * 2).sum()), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        y.backward()


def test_other_shapes():
    x = torch.ones(3, requires_grad=True)
    body = Changing(lambda a: (a * 2).sin().sum(), lambda a: (a[:2] * 2).sin().sum())
    with pytest.raises(CheckpointError, match="have different metadata than during the forward pass"):
        checkpoint(body, x, use_reentrant=False).backward()


def test_determinism_check_is_validated():
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got x"):
        checkpoint(torch.sin, torch.ones(1), use_reentrant=False, determinism_check="x")


def test_early_stop():
    reached = []

    def body(x):
        y = x.sin()
        reached.append(1)
        return y

    def run():
        reached.clear()
        x = torch.ones(2, requires_grad=True)
        checkpoint(body, x, use_reentrant=False).sum().backward()
        return len(reached)

    assert run() == 1
    with set_checkpoint_early_stop(False):
        assert run() == 2


def test_contexts():
    seen = []

    @contextlib.contextmanager
    def named(name):
        seen.append(name)
        yield

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.sin, x, use_reentrant=False, context_fn=lambda: (named("forward"), named("again")))
    y.sum().backward()
    assert seen == ["forward", "again"]
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, context_fn=lambda: (named("a"), named("b")))


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_autocast_is_repeated(use_reentrant):
    seen = []

    def body(x, w):
        y = x @ w
        seen.append(y.dtype)
        return y.sin()

    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        y = checkpoint(body, x, x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16] or seen == [torch.bfloat16]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_sequential(use_reentrant):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(5)))
    x = torch.ones(2, 3, requires_grad=True)
    model(x).sum().backward()
    expected = [p.grad.tolist() for p in model.parameters()]
    model.zero_grad()
    checkpoint_sequential(model, 2, x, use_reentrant=use_reentrant).sum().backward()
    assert [p.grad.tolist() for p in model.parameters()] == expected


def test_arguments():
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.sin, torch.ones(1), use_reentrant=True, foo=1)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, torch.ones(1, requires_grad=True))


def test_without_gradients_nothing_is_kept():
    with torch.no_grad():
        assert not checkpoint(torch.sin, torch.ones(1, requires_grad=True), use_reentrant=False).requires_grad


def test_settings_of_autocast_as_its_arguments():
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
        device, host = torch.utils.checkpoint._get_autocast_kwargs("cpu")
    assert device == host == {"enabled": True, "dtype": torch.float16, "cache_enabled": False}
    assert torch.utils.checkpoint._get_autocast_kwargs("meta")[0] is None
