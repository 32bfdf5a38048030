"""Losses: reductions, weights, ignored targets, smoothing, broadcasting, derivatives, errors."""

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch


def _wave(torch, *shape, dtype="float32", shift=0.0, scale=1.0):
    n = 1
    for size in shape:
        n *= size
    return (
        (torch.sin(torch.arange(n, dtype=torch.float64) * 1.7 + shift) * scale).reshape(shape).to(getattr(torch, dtype))
    )


def _upstream(torch, y):
    return _wave(torch, *y.shape, shift=0.3).to(y.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("shape", [(7,), (5, 7), (300, 11), (3, 7, 4), (2, 7, 3, 3)])
def test_cross_entropy(shape, reduction, weighted, smoothing, dtype):
    def program(torch):
        x = _wave(torch, *shape, dtype=dtype, scale=6.0).requires_grad_()
        classes = shape[1] if len(shape) > 1 else shape[0]
        places = [shape[0], *shape[2:]] if len(shape) > 1 else []
        n = 1
        for size in places:
            n *= size
        target = (torch.arange(n) * 5 % classes).reshape(places)
        if n > 1:
            target[target == 3] = -100
        weight = _wave(torch, classes, dtype=dtype).abs() + 0.1 if weighted else None
        y = torch._C._nn.cross_entropy_loss(x, target, weight, reduction, -100, smoothing)
        return [y, *torch.autograd.grad(y, x, _upstream(torch, y))]

    agree(program, factor=20, layout=False)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_with_probabilities(weighted, reduction):
    def program(torch):
        x = _wave(torch, 4, 6, scale=6.0).requires_grad_()
        p = torch.softmax(_wave(torch, 4, 6, shift=2.0), 1)
        weight = _wave(torch, 6).abs() if weighted else None
        y = torch._C._nn.cross_entropy_loss(x, p, weight, reduction, -100, 0.1)
        return [y, *torch.autograd.grad(y, x, _upstream(torch, y))]

    agree(program, factor=20, layout=False)


def test_large_scores():
    def program(torch):
        x = _wave(torch, 4, 6, scale=1e4).requires_grad_()
        y = torch._C._nn.cross_entropy_loss(x, torch.arange(4), None, 1)
        nothing = torch._C._nn.cross_entropy_loss(x, torch.full([4], -100), None, 1)
        return [y, *torch.autograd.grad(y, x), nothing]

    agree(program, factor=20)


def _pair(torch, name, x, t, reduction):
    nn = torch._C._nn
    return {
        "mse": lambda: nn.mse_loss(x, t, reduction),
        "l1": lambda: nn.l1_loss(x, t, reduction),
        "smooth_l1": lambda: nn.smooth_l1_loss(x, t, reduction, 0.5),
        "huber": lambda: nn.huber_loss(x, t, reduction, 0.7),
        "bce": lambda: nn.binary_cross_entropy(x.sigmoid(), t.sigmoid(), None, reduction),
        "bce_weighted": lambda: nn.binary_cross_entropy(x.sigmoid(), t.sigmoid(), t.abs(), reduction),
        "bce_logits": lambda: torch.binary_cross_entropy_with_logits(x, t.sigmoid(), None, t.abs(), reduction),
        "soft_margin": lambda: nn.soft_margin_loss(x, t.sign(), reduction),
        "kl_div": lambda: torch.kl_div(x, t.abs(), reduction),
        "kl_div_log": lambda: torch.kl_div(x, t, reduction, log_target=True),
        "poisson": lambda: torch.poisson_nll_loss(x, t.abs() * 4, True, True, 1e-8, reduction),
        "hinge_embedding": lambda: torch.hinge_embedding_loss(x, t.sign(), 1.0, reduction),
        "margin_ranking": lambda: torch.margin_ranking_loss(x, t, t.sign(), 0.3, reduction),
        "cosine_embedding": lambda: torch.cosine_embedding_loss(x, t, torch.tensor([1, -1, 1, -1]), 0.1, reduction),
        "triplet": lambda: torch.triplet_margin_loss(x, t, t * 0.5, 1.0, 2.0, 1e-6, True, reduction),
        "multi_margin": lambda: nn.multi_margin_loss(x, torch.tensor([0, 2, 4, 1]), 2, 0.8, None, reduction),
        "multilabel_margin": lambda: nn.multilabel_margin_loss(
            x, torch.tensor([[0, 2, -1, 1, 1], [3, -1, 0, 0, 0], [-1, 1, 1, 1, 1], [0, 1, 2, 3, 4]]), reduction
        ),
    }[name]()


_PAIRS = [
    "mse", "l1", "smooth_l1", "huber", "bce", "bce_weighted", "bce_logits", "soft_margin", "kl_div", "kl_div_log",
    "poisson", "hinge_embedding", "margin_ranking", "cosine_embedding", "triplet", "multi_margin", "multilabel_margin",
]  # fmt: skip


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("name", _PAIRS)
def test_pairs(name, reduction):
    def program(torch):
        x, t = _wave(torch, 4, 5, scale=2.0).requires_grad_(), _wave(torch, 4, 5, shift=1.0, scale=2.0)
        t.requires_grad_(name in ("mse", "l1", "smooth_l1", "huber", "bce"))
        y = _pair(torch, name, x, t, reduction)
        leaves = [x, t] if t.requires_grad else [x]
        return [y, *torch.autograd.grad(y, leaves, _upstream(torch, y))]

    agree(program, factor=20, layout=False)


@pytest.mark.parametrize("name", ["mse", "smooth_l1", "huber", "bce", "bce_logits", "soft_margin"])
@pytest.mark.parametrize("reduction", [0, 1])
def test_second_derivative(name, reduction):
    def program(torch):
        x, t = _wave(torch, 4, 5, dtype="float64").requires_grad_(), _wave(torch, 4, 5, dtype="float64", shift=1.0)
        (first,) = torch.autograd.grad(_pair(torch, name, x, t, reduction).sum(), x, create_graph=True)
        return [first, *torch.autograd.grad((first * first).sum(), x)]

    agree(program, factor=1000, layout=False)


def test_cross_entropy_second_derivative():
    def program(torch):
        x = _wave(torch, 4, 5, dtype="float64").requires_grad_()
        y = torch._C._nn.cross_entropy_loss(x, torch.tensor([1, -100, 0, 4]), None, 1, -100, 0.1)
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        return [first, *torch.autograd.grad((first * first).sum(), x)]

    agree(program, factor=1000, layout=False)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("padded", [True, False])
def test_ctc(padded, reduction):
    def program(torch):
        x = torch.log_softmax(_wave(torch, 12, 3, 6, scale=2.0), 2).detach().requires_grad_()
        targets = torch.tensor([[1, 2, 2, 3], [4, 5, 1, 0], [3, 3, 3, 3]])
        lengths = torch.tensor([4, 2, 0])
        if not padded:
            targets = torch.tensor([1, 2, 2, 3, 4, 5])
        y = torch.ctc_loss(x, targets, torch.tensor([12, 9, 5]), lengths, 0, reduction, True)
        return [y, *torch.autograd.grad(y, x, _upstream(torch, y))]

    agree(program, factor=50, layout=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(3).long()),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2)),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2).int()),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2).long() * 5),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2, 3), None, 1, 4),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2, 3).int()),
        lambda torch, ce: ce(torch.ones(2, 3, 4), torch.ones(2, 3).long()),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2).long(), torch.ones(2)),
        lambda torch, ce: ce(torch.ones(2, 3), torch.ones(2).long(), None, 1, -100, 2.0),
        lambda torch, ce: torch._C._nn.nll_loss_nd(torch.tensor(1.0), torch.tensor(1)),
        lambda torch, ce: torch._C._nn.binary_cross_entropy(torch.full([2], 2.0), torch.ones(2)),
        lambda torch, ce: torch._C._nn.mse_loss(torch.ones(2, 3), torch.ones(4)),
    ],
)
def test_errors(call):
    agree_on_error(lambda torch: call(torch, torch._C._nn.cross_entropy_loss))


@pytest.mark.parametrize(("shape", "whole"), [((4, 5), True), ((4, 5, 3), False), ((5,), False)])
def test_cross_entropy_of_rows_is_one_operator(shape, whole):
    places = torch.zeros([n for d, n in enumerate(shape) if d != (len(shape) > 1)], dtype=torch.int64)
    with torch.autograd.profiler.profile() as run:
        torch.nn.functional.cross_entropy(torch.zeros(shape), places)
    names = {event.name for event in run.function_events}
    assert ("aten::_cross_entropy" in names, "aten::log_softmax" in names or "aten::_log_softmax" in names) == (
        whole,
        not whole,
    )


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy"])
def test_losses_of_elements_lie_as_the_input_does(name):
    def run(torch):
        x, y = (torch.full((2, 3, 4, 5), 0.5).contiguous(memory_format=torch.channels_last) for _ in range(2))
        return getattr(torch.nn.functional, name)(x, y, reduction="none").stride()

    assert run(torch) == (60, 1, 15, 3)
