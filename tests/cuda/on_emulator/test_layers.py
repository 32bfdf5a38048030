"""Layers' kernels on the emulated GPU at their corners: long rows, no rows, strides, ignored targets, every kind of window."""

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

_ROWS = [(3, 1), (5, 7), (4, 64), (2, 1000), (3, 1001), (1, 5000), (2, 9001), (1, 60000), (0, 4)]


def _close(ours: Any, theirs: Any, scale: float = 1.0) -> None:
    torch.testing.assert_close(ours.cpu(), theirs, rtol=2e-5 * scale, atol=2e-5 * scale)


def _both(function: Any, *shapes: tuple[int, ...], scale: float = 1.0) -> None:
    """The function's value and gradients are the CPU's."""
    torch.manual_seed(0)
    here = [torch.randn(shape, requires_grad=True) for shape in shapes]
    there = [t.detach().cuda().requires_grad_() for t in here]
    theirs, ours = function(*here), function(*there)
    _close(ours.detach(), theirs.detach(), scale)
    weight = torch.randn(theirs.shape)
    wanted = torch.autograd.grad((theirs * weight).sum(), here, allow_unused=True)
    grads = torch.autograd.grad((ours * weight.cuda()).sum(), there, allow_unused=True)
    for mine, expected in zip(grads, wanted, strict=True):
        assert (mine is None) == (expected is None)
        if expected is not None:
            _close(mine, expected, scale)


@pytest.mark.parametrize("shape", _ROWS)
@pytest.mark.parametrize("function", [F.softmax, F.log_softmax])
def test_softmax(function: Any, shape: tuple[int, int]) -> None:
    _both(lambda x: function(x, dim=-1), shape)


@pytest.mark.parametrize("dim", [0, 1, -2])
def test_softmax_along_a_dimension_inside(dim: int) -> None:
    _both(lambda x: F.softmax(x, dim=dim), (3, 70, 5, 9))
    _both(lambda x: F.log_softmax(x.transpose(1, 3), dim=dim), (3, 7, 5, 9))


def test_softmax_of_infinities() -> None:
    inf = float("inf")
    x = torch.tensor([[-inf, -inf], [-inf, 1.0], [inf, 1.0], [float("nan"), 1.0]])
    for function in (torch.softmax, torch.log_softmax):
        _equal(function(x.cuda(), 1), function(x, 1))
    long = torch.full((2, 60000), -inf)
    long[1, 3] = 2.0
    _equal(torch.softmax(long.cuda(), 1), torch.softmax(long, 1))


def _equal(ours: Any, theirs: Any) -> None:
    torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-6, atol=1e-6, equal_nan=True)


def test_softmax_of_halves_into_floats() -> None:
    x = torch.randn(3, 24).half()
    ours = torch._softmax(x.cuda(), 1, True) if x.is_cuda else torch.softmax(x.cuda(), 1, dtype=torch.float32)
    assert ours.dtype == torch.float32
    _close(ours, torch.softmax(x.float(), 1))


@pytest.mark.parametrize("shape", _ROWS[:-1])
def test_layer_norm(shape: tuple[int, int]) -> None:
    n = shape[1]
    if n > 1:  # one element is always 0, and its gradient rounding
        _both(lambda x, w, b: F.layer_norm(x, (n,), w, b), shape, (n,), (n,), scale=5)
        _both(lambda x, w: F.rms_norm(x, (n,), w, eps=1e-5), shape, (n,), scale=5)
    _both(lambda x: F.layer_norm(x, (2, 3)), (700, 2, 3), scale=5)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups: int) -> None:
    _both(lambda x, w, b: F.group_norm(x, groups, w, b), (3, 6, 5, 7), (6,), (6,), scale=5)


@pytest.mark.parametrize("shape", [(8, 3), (4, 3, 10), (2, 3, 5, 7)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape: tuple[int, ...], training: bool) -> None:
    held = [torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.0, 2.0, 0.5])]
    moved = [t.cuda() for t in held]

    def norm(x: Any, w: Any, b: Any) -> Any:
        return F.batch_norm(x, *(moved if x.is_cuda else held), w, b, training, 0.3)

    _both(norm, shape, (3,), (3,), scale=5)
    for mine, wanted in zip(moved, held, strict=True):
        _close(mine, wanted)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(reduction: str, weighted: bool, smoothing: float) -> None:
    target = torch.tensor([1, 0, -100, 4, 2])
    weight = torch.tensor([1.0, 2.0, 0.5, 3.0, 0.1]) if weighted else None

    def loss(x: Any) -> Any:
        on = [None if t is None else t.to(x.device) for t in (target, weight)]
        return F.cross_entropy(x, on[0], on[1], reduction=reduction, label_smoothing=smoothing)

    _both(loss, (5, 5))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_nll_of_images(reduction: str) -> None:
    target = torch.tensor([[[0, 1], [2, 3]], [[3, 1], [-100, 0]]])
    _both(lambda x: F.nll_loss(x, target.to(x.device), reduction=reduction), (2, 4, 2, 2))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("loss", [F.mse_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_of_elements(loss: Any, reduction: str) -> None:
    _both(lambda x, t: loss(x, t, reduction=reduction), (3, 5), (3, 5))


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": 2}, {"groups": 2}])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution(dims: int, options: dict[str, int]) -> None:
    groups = options.get("groups", 1)
    for name, weight in ((f"conv{dims}d", (6, 4 // groups)), (f"conv_transpose{dims}d", (4, 6 // groups))):
        function = getattr(F, name)
        _both(
            lambda x, w, b, function=function: function(x, w, b, **options),
            (2, 4, *[6] * dims), (*weight, *[3] * dims), (6,), scale=10,
        )  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}, {"padding": 1, "ceil_mode": True}])
@pytest.mark.parametrize("dims", [2, 3])
def test_pooling(dims: int, options: dict[str, Any]) -> None:
    for name in ("max_pool", "avg_pool"):
        function = getattr(F, f"{name}{dims}d")
        _both(lambda x, function=function: function(x, 3, **options), (2, 3, *[7] * dims))
    for name in ("adaptive_max_pool", "adaptive_avg_pool"):
        function = getattr(F, f"{name}{dims}d")
        _both(lambda x, function=function: function(x, 4), (2, 3, *[7] * dims))


def test_max_pooling_with_gaps_and_averages_by_a_divisor() -> None:
    _both(lambda x: F.max_pool2d(x, 2, dilation=2, padding=1), (2, 9, 8))
    _both(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), (2, 9, 8))
    _both(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (2, 9, 8))


def test_windows_as_columns_and_back() -> None:
    options: dict[str, Any] = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": 1, "stride": (1, 2)}
    _both(lambda x: F.unfold(x, **options), (2, 3, 6, 7))
    _both(lambda x: F.fold(x, (6, 7), **options), (2, 18, 24))


@pytest.mark.parametrize(
    ("queries", "keys", "options"),
    [
        ((2, 3, 5, 4), (2, 3, 6, 4), {}),
        ((1, 2, 40, 64), (1, 2, 40, 64), {"is_causal": True}),
        ((1, 4, 33, 16), (1, 2, 33, 16), {"enable_gqa": True, "scale": 0.3}),
        ((1, 2, 20, 33), (1, 2, 50, 33), {"attn_mask": True}),
    ],
)
@pytest.mark.parametrize("kind", ["float32", "bool"])
def test_attention(queries: Any, keys: Any, options: dict[str, Any], kind: str) -> None:
    seen = torch.randn(queries[2], keys[2])
    mask = seen > 0.3 if kind == "bool" else seen

    def attend(q: Any, k: Any, v: Any) -> Any:
        given = {**options, "attn_mask": mask.to(q.device)} if "attn_mask" in options else options
        return F.scaled_dot_product_attention(q, k, v, **given)

    _both(attend, queries, keys, keys)


def test_attention_with_dropout() -> None:
    """Kept weights are scaled; the gradient of the values is the transposed weights times ones."""
    q = torch.randn(1, 2, 24, 16, device="cuda")
    v = torch.ones(1, 2, 24, 16, device="cuda", requires_grad=True)
    torch.manual_seed(3)
    y = F.scaled_dot_product_attention(q, q, v, dropout_p=0.5)
    share = y.detach().cpu()[..., 0]
    assert not torch.allclose(share, torch.ones(share.shape)) and 0.5 < float(share.mean()) < 1.5
    y.sum().backward()
    _close(v.grad.cpu().sum((2, 3)), y.detach().cpu().sum((2, 3)), 10)


def test_gated_linear_units() -> None:
    _both(lambda x: F.glu(x, 1), (3, 8, 5))
    _both(F.logsigmoid, (3, 8, 5))
