"""Gradients under vmap of layers and losses: those of one slice after the other, whichever arguments are mapped over."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F

pytestmark = pytest.mark.no_torch

N = 3


def _values(*shape: int, start: float = 0.3) -> Any:
    count = torch.Size(shape).numel()
    return torch.arange(count, dtype=torch.float64).mul(0.7).add(start).sin().add(1.5).reshape(shape)


_CLASSES = torch.tensor([0, 2, 1, 2])
_WEIGHTS = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 5), (4,), (4,)]),
    "group_norm without bias": (lambda x, w: F.group_norm(x, 2, w), [(2, 4, 5), (4,)]),
    "group_norm alone": (lambda x: F.group_norm(x, 2), [(2, 4)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(2, 4), (4,), (4,)]),
    "layer_norm of all": (lambda x, w, b: F.layer_norm(x, (2, 4), w, b), [(2, 4), (2, 4), (2, 4)]),
    "layer_norm without bias": (lambda x, w: F.layer_norm(x, (4,), w), [(2, 4), (4,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), [(2, 4), (4,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(3, 4, 2), (4,), (4,)]),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, None, None, w, b), [(2, 4, 5), (4,), (4,)]),
    "nll_loss": (lambda x: F.nll_loss(x, _CLASSES, _WEIGHTS), [(4, 3)]),
    "nll_loss, one left out": (lambda x: F.nll_loss(x, _CLASSES, ignore_index=1), [(4, 3)]),
    "nll_loss of each": (lambda x: F.nll_loss(x, _CLASSES, _WEIGHTS, reduction="none"), [(4, 3)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, _CLASSES, _WEIGHTS, label_smoothing=0.1), [(4, 3)]),
    "cross_entropy of one": (lambda x: F.cross_entropy(x, _CLASSES[1]), [(3,)]),
    "mse_loss": (F.mse_loss, [(4, 3), (4, 3)]),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, delta=0.4), [(4, 3), (4, 3)]),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.4), [(4, 3), (4, 3)]),
    "kl_div": (lambda x, y: F.kl_div(x, y, reduction="sum"), [(4, 3), (4, 3)]),
    "cdist": (torch.cdist, [(4, 3), (2, 3)]),
    "cdist of batches": (torch.cdist, [(2, 4, 3), (2, 2, 3)]),
    "pdist": (F.pdist, [(4, 3)]),
    "linear": (F.linear, [(2, 4), (3, 4), (3,)]),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1), [(2, 3, 5), (4, 3, 2), (4,)]),
    "attention": (F.scaled_dot_product_attention, [(2, 3, 4), (2, 5, 4), (2, 5, 4)]),
    "embedding": (lambda w: F.embedding(_CLASSES, w), [(3, 4)]),
    "softmax": (lambda x: F.softmax(x, -1), [(2, 4)]),
    "log_softmax of one": (lambda x: F.log_softmax(x, 0), [(4,)]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), [(2, 3, 6)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), [(2, 3, 4, 4)]),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0, mode="linear"), [(2, 3, 4)]),
    "pad": (lambda x: F.pad(x, (1, 2), mode="reflect"), [(2, 3, 4)]),
    "cumprod": (lambda x: x.cumprod(0), [(4, 2)]),
    "sort": (lambda x: x.sort(0).values, [(4, 2)]),
    "gather": (lambda x: x.gather(0, _CLASSES[:, None]), [(4, 2)]),
    "index_add": (lambda x, y: x.index_add(0, _CLASSES, y), [(4, 2), (4, 2)]),
    "baddbmm": (torch.baddbmm, [(2, 3, 5), (2, 3, 4), (2, 4, 5)]),
    "logsumexp": (lambda x: x.logsumexp(-1), [(2, 4)]),
    "std": (lambda x: x.std(0), [(4, 2)]),
    "norm": (lambda x: x.norm(3, 0), [(4, 2)]),
    "prod": (lambda x: x.prod(0), [(4, 2)]),
    "solve": (lambda a, b: torch.linalg.solve(a + 3 * torch.eye(3, dtype=a.dtype), b), [(3, 3), (3, 2)]),
    "det": (lambda a: torch.linalg.det(a + 3 * torch.eye(3, dtype=a.dtype)), [(3, 3)]),
    "inv": (lambda a: torch.linalg.inv(a + 3 * torch.eye(3, dtype=a.dtype)), [(3, 3)]),
    "eigh": (lambda a: torch.linalg.eigvalsh(a + a.mT), [(3, 3)]),
    "cholesky": (lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(3, dtype=a.dtype)), [(3, 3)]),
}


def _mapped(shapes: list[tuple[int, ...]]) -> list[tuple[int | None, ...]]:
    """The dimensions that arguments are mapped over, in every combination; a mapped one stands first or last."""
    first = [each for each in itertools.product((0, None), repeat=len(shapes)) if each.count(None) < len(shapes)]
    return [*first, (-1,) * len(shapes)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_slice_after_the_other(name: str) -> None:
    function, shapes = FUNCTIONS[name]

    def value(*args: Any) -> Any:
        made = function(*args)
        return (made * _values(*made.shape, start=1.0)).sum()

    gradients = torch.func.grad(value, argnums=tuple(range(len(shapes))))
    for dims in _mapped(shapes):
        args, slices = [], []
        for place, (shape, dim) in enumerate(zip(shapes, dims, strict=True)):
            whole = _values(*((N,) if dim is not None else ()), *shape, start=0.1 + place)
            slices.append([whole] * N if dim is None else list(whole))
            args.append(whole.movedim(0, -1).contiguous() if dim == -1 else whole)
        found = torch.func.vmap(gradients, in_dims=dims)(*args)
        expected = [gradients(*each) for each in zip(*slices, strict=True)]
        for got, parts in zip(found, zip(*expected, strict=True), strict=True):
            torch.testing.assert_close(got, torch.stack(parts), rtol=1e-9, atol=1e-11)


def test_matrices_and_vectors_on_the_right_side() -> None:
    """`b` of one dimension less than `a` is a batch of vectors only where their sizes say so."""
    a = _values(N, 2, 3, 3) + 3 * torch.eye(3, dtype=torch.float64)
    for shape in ((3, 4), (2, 3), (3,), (2, 3, 4)):
        b = _values(N, *shape, start=0.9)
        expected = torch.stack([torch.linalg.solve(x, y) for x, y in zip(a, b, strict=True)])
        torch.testing.assert_close(torch.func.vmap(torch.linalg.solve)(a, b), expected)


@pytest.mark.parametrize("dims", [(0, 0, None, 0), (0, 0, None, None), (None, 0, None, 0)])
def test_backward_of_root_mean_squares(dims: tuple[int | None, ...]) -> None:
    def backward(g: Any, x: Any, r: Any, w: Any) -> Any:
        scale = x.square().mean(-1, True).rsqrt() if r is None else r
        return torch.ops.aten._fused_rms_norm_backward(g, x, (4,), scale, w, [True, True])

    shapes = [(2, 4), (2, 4), None, (4,)]
    args = [
        None if shape is None else _values(*(() if dim is None else (N,)), *shape, start=1.0 + place)
        for place, (shape, dim) in enumerate(zip(shapes, dims, strict=True))
    ]
    found = torch.func.vmap(backward, in_dims=dims)(*args)
    rows = [[each if dim is None else each[n] for each, dim in zip(args, dims, strict=True)] for n in range(N)]
    for got, parts in zip(found, zip(*(backward(*row) for row in rows), strict=True), strict=True):
        torch.testing.assert_close(got, torch.stack(parts))
