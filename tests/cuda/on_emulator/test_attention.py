"""Attention by tensor cores, beside double precision by NumPy: within what its roundings can make.

The weights are rounded once before they multiply the values, and so are their gradients before they multiply queries and keys; every
result is rounded, and the output that the gradients read was. Sums are of single precision, which the margin is for.
"""

from typing import Any

import numpy
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2._backends.cuda import table

_UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}  # half of the distance of 1 and the next number
_MARGIN = 1.05


def _drawn(generator: Any, shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    """Numbers of a dtype on the device, and the same in double precision."""
    here = torch.from_numpy(generator.standard_normal(shape)).to(dtype)
    return here.cuda(), here.double().numpy()


def _expected(q: Any, k: Any, v: Any, grad: Any, added: Any, unit: float, scale: float) -> list[tuple[Any, Any]]:
    """(number, how far from it a result may be) of the output and the three gradients; heads of keys are as many as of queries."""
    scores = q @ k.swapaxes(-1, -2) * scale + added
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    out = weights @ v
    out_error = unit * (weights @ abs(v)) + unit * abs(out)
    delta, delta_error = (grad * out).sum(-1, keepdims=True), (abs(grad) * out_error).sum(-1, keepdims=True)
    slopes = weights * (grad @ v.swapaxes(-1, -2) - delta)
    slopes_error = unit * abs(slopes) + weights * delta_error
    down = weights.swapaxes(-1, -2)
    by_q, by_k, by_v = slopes @ k * scale, slopes.swapaxes(-1, -2) @ q * scale, down @ grad
    return [
        (out, out_error),
        (by_q, slopes_error @ abs(k) * scale + unit * abs(by_q)),
        (by_k, slopes_error.swapaxes(-1, -2) @ abs(q) * scale + unit * abs(by_k)),
        (by_v, unit * (down @ abs(grad)) + unit * abs(by_v)),
    ]


def _within(found: Any, expected: Any, error: Any) -> None:
    assert (abs(found.double().cpu().numpy() - expected) <= _MARGIN * error + 1e-5).all()


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels of attention that were launched."""
    names, launch = [], table.Source.launch

    def noted(self: Any, *args: Any) -> None:
        if self.header.startswith("attention"):
            names.append(self.entry)
        launch(self, *args)

    monkeypatch.setattr(table.Source, "launch", noted)
    return names


_BY_TENSOR_CORES = ["attend_mma", "attend_mma_backward_queries", "attend_mma_backward_keys"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("heads", "key_heads", "queries", "keys", "features", "value_features", "kind"),
    [
        (1, 1, 16, 16, 16, 16, ""),
        (2, 2, 150, 130, 64, 64, ""),
        (2, 2, 140, 140, 64, 64, "causal"),
        (4, 2, 70, 70, 32, 32, "causal"),
        (2, 1, 33, 90, 24, 40, "numbers"),
        (2, 2, 33, 90, 8, 8, "bools"),
        (1, 1, 40, 70, 128, 128, "causal"),
        (1, 1, 40, 36, 256, 256, ""),
    ],
)
def test_numbers(
    dtype: Any, heads: int, key_heads: int, queries: int, keys: int, features: int, value_features: int, kind: str,
    launched: list[str],
) -> None:  # fmt: skip
    generator = numpy.random.default_rng(3)
    q, q_ = _drawn(generator, (2, heads, queries, features), dtype)
    k, k_ = _drawn(generator, (2, key_heads, keys, features), dtype)
    v, v_ = _drawn(generator, (2, key_heads, keys, value_features), dtype)
    grad, grad_ = _drawn(generator, (2, heads, queries, value_features), dtype)
    mask, added = None, numpy.zeros((queries, keys))
    if kind == "causal":
        added[~numpy.tri(queries, keys, dtype=bool)] = -numpy.inf
    if kind == "numbers":
        mask, added = _drawn(generator, (2, 1, queries, keys), dtype)
    if kind == "bools":
        seen = generator.random((queries, keys)) > 0.4
        mask, added = torch.from_numpy(seen).cuda(), numpy.where(seen, 0, -numpy.inf)
    given = [t.requires_grad_() for t in (q, k, v)]
    out = F.scaled_dot_product_attention(
        *given, mask, is_causal=kind == "causal", scale=0.2, enable_gqa=heads != key_heads
    )
    found = [out.detach(), *torch.autograd.grad(out, given, grad)]
    assert launched[0] == _BY_TENSOR_CORES[0] and set(launched) == set(_BY_TENSOR_CORES)
    share = heads // key_heads
    expected = _expected(q_, k_.repeat(share, 1), v_.repeat(share, 1), grad_, added, _UNIT[dtype], 0.2)
    for place, (number, error) in enumerate(expected):
        if place >= 2:  # a head of keys gets what all of its heads of queries give
            shape = (2, key_heads, share, *number.shape[2:])
            number, error = number.reshape(shape).sum(2), error.reshape(shape).sum(2)
        _within(found[place], number, error)


def test_views_are_not_copied(launched: list[str]) -> None:
    """Heads that a projection left interleaved are read where they are, and the output lies as the queries do."""
    x = torch.randn(2, 40, 3, 4, 16, device="cuda", dtype=torch.bfloat16)
    q, k, v = x.permute(2, 0, 3, 1, 4)
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    out = F.scaled_dot_product_attention(q, k, v)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] - before == 2  # the output and logsumexp
    assert launched == ["attend_mma"] and out.transpose(1, 2).is_contiguous()
    torch.testing.assert_close(
        out, F.scaled_dot_product_attention(*(t.contiguous() for t in (q, k, v))), rtol=0, atol=0
    )


@pytest.mark.parametrize("features", [20, 264])
def test_other_sizes_have_the_ordinary_kernel(features: int, launched: list[str]) -> None:
    q = torch.randn(1, 1, 20, features, dtype=torch.float16)
    out = F.scaled_dot_product_attention(q.cuda(), q.cuda(), q.cuda())
    assert launched == ["attend"]
    torch.testing.assert_close(out.cpu(), F.scaled_dot_product_attention(q, q, q), rtol=2e-3, atol=2e-3)


def test_rows_that_are_not_aligned_are_copied(launched: list[str]) -> None:
    x = torch.randn(1, 2, 20, 17, device="cuda", dtype=torch.float16)
    q = x[..., 1:]
    out = F.scaled_dot_product_attention(q, q, q)
    assert launched == ["attend_mma"]
    torch.testing.assert_close(out, F.scaled_dot_product_attention(*[q.contiguous()] * 3), rtol=0, atol=0)


def test_queries_that_see_nothing_are_zero() -> None:
    q = torch.randn(1, 1, 20, 16, device="cuda", dtype=torch.float16, requires_grad=True)
    seen = torch.ones(20, 20, dtype=torch.bool, device="cuda")
    seen[3] = False
    out = F.scaled_dot_product_attention(q, q, q, seen)
    assert not out[0, 0, 3].any() and out[0, 0, 4].any()
    (grad,) = torch.autograd.grad(out.float().square().sum(), q)
    assert grad.isfinite().all()


def test_dropout() -> None:
    """Kept weights are scaled; the same drop holds in the gradients."""
    q = torch.randn(1, 2, 24, 16, device="cuda", dtype=torch.float16)
    v = torch.ones(1, 2, 24, 16, device="cuda", dtype=torch.float16, requires_grad=True)
    torch.manual_seed(3)
    out = F.scaled_dot_product_attention(q, q, v, dropout_p=0.5)
    shares = out.detach().float().cpu()
    assert 0.5 < float(shares.mean()) < 1.5 and not torch.allclose(shares, torch.ones(shares.shape), atol=0.05)
    out.float().sum().backward()
    torch.testing.assert_close(v.grad.float().cpu().sum((2, 3)), shares.sum((2, 3)), rtol=5e-3, atol=0.05)
