"""Scaled dot product attention against PyTorch: masks, causal, scale, grouped heads, long sequences, gradients, dropout."""

import numpy
import pytest
from agreement import same, same_error

import mindtorch_v2 as torch


def _array(*shape, seed=0):
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape)


def _run(library, shapes, dtype="float64", mask=None, heads_last=False, **options):
    tensors = []
    for i, shape in enumerate(shapes):
        x = library.from_numpy(_array(*shape, seed=i)).to(getattr(library, dtype))
        if heads_last:  # as attention layers make them: (batch, position, head, feature) transposed
            x = x.transpose(1, 2).contiguous().transpose(1, 2)
        tensors.append(x.requires_grad_())
    if mask is not None:
        kind, shape = mask
        given = library.from_numpy(_array(*shape, seed=9))
        mask = given > -0.5 if kind == "bool" else given.to(getattr(library, dtype))
        if kind == "blocked":
            mask = mask.masked_fill(given < 10, -float("inf"))
            mask[..., 0, :] = 0
    y = library.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask, **options)
    weight = library.from_numpy(_array(*y.shape, seed=5)).to(y.dtype)
    return (y, *library.autograd.grad((y * weight).sum(), tensors))


def _compare(*args, tolerance=1e-10, **kwargs):
    same(lambda library: _run(library, *args, **kwargs), tolerance, tolerance)


_SHAPES = [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8)]


@pytest.mark.parametrize("heads_last", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_plain(heads_last, causal, scale):
    _compare(_SHAPES, heads_last=heads_last, is_causal=causal, scale=scale)


@pytest.mark.parametrize("kind", ["bool", "float", "blocked"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 1, 1, 7), (2, 3, 5, 7), (1, 1, 5, 7)])
def test_masks(kind, shape):
    _compare(_SHAPES, mask=(kind, shape))


def test_mask_and_causal_together():
    _compare(_SHAPES, mask=("float", (5, 7)), is_causal=True)


def test_fully_masked_rows_are_zero():
    query = torch.randn(1, 1, 2, 4)
    mask = torch.tensor([[True, True], [False, False]])
    y = torch.nn.functional.scaled_dot_product_attention(query, query, query, attn_mask=mask)
    assert y[0, 0, 1].tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 2, 130, 16), (1, 2, 130, 16), (1, 2, 130, 16)],
        [(1, 1, 70, 8), (1, 1, 1100, 8), (1, 1, 1100, 8)],
        [(1, 2, 1, 8), (1, 2, 600, 8), (1, 2, 600, 8)],
        [(2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 6)],
        [(3, 5, 8), (3, 7, 8), (3, 7, 8)],
    ],
)
@pytest.mark.parametrize("causal", [False, True])
def test_sizes(shapes, causal):
    _compare(shapes, dtype="float32", is_causal=causal, tolerance=3e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_reduced_precision(dtype):
    _compare(_SHAPES, dtype=dtype, tolerance=2e-2 if dtype == "float16" else 6e-2)


def test_grouped_heads():
    _compare([(2, 6, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)], enable_gqa=True)


def test_dropout_is_that_of_the_separate_operators():
    shapes = _SHAPES
    results = []
    for fused in (True, False):
        torch.manual_seed(3)
        tensors = [torch.from_numpy(_array(*s, seed=i)).requires_grad_() for i, s in enumerate(shapes)]
        if fused:
            y = torch.nn.functional.scaled_dot_product_attention(*tensors, dropout_p=0.3)
        else:
            y = torch._scaled_dot_product_attention_math(*tensors, dropout_p=0.3)[0]
        results.append((y, *torch.autograd.grad((y * y).sum(), tensors), torch.rand(1)))
    for fused, separate in zip(*results, strict=True):
        numpy.testing.assert_allclose(fused.detach().numpy(), separate.detach().numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, t: f(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).double(), t.ones(1, 1, 2, 2)),
        lambda f, t: f(t.ones(2), t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2)),
        lambda f, t: f(*[t.ones(1, 1, 2, 2)] * 3, attn_mask=t.ones(2, 2).int()),
        lambda f, t: f(*[t.ones(1, 1, 2, 2)] * 3, dropout_p=1.5),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(lambda library: call(library.nn.functional.scaled_dot_product_attention, library))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_statistics_of_rows(dtype, causal):
    """The largest score of each row, and the sum of exp(score - largest), by what they are."""
    q = (torch.arange(2 * 4 * 70 * 8) * 0.37 % 1.9 - 0.8).reshape(2, 70, 4, 8).to(dtype).transpose(1, 2)
    k, v = ((torch.arange(2 * 2 * 600 * 8) * step % 1.7 - 0.8).reshape(2, 2, 600, 8).to(dtype) for step in (0.21, 0.53))
    out, largest, total = torch.ops.aten._scaled_dot_product_attention_statistics(q, k, v, causal, scale=0.5)
    scores = q.double() @ k.double().repeat_interleave(2, 1).mT * 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(70, 600).triu(1).bool(), -float("inf"))
    tight = 1e-12 if dtype == torch.float64 else 2e-6
    wanted = scores.amax(-1)
    torch.testing.assert_close(largest.double(), wanted, rtol=tight, atol=tight)
    torch.testing.assert_close(total.double(), (scores - wanted[..., None]).exp().sum(-1), rtol=tight, atol=tight)
    plain = scores.softmax(-1) @ v.double().repeat_interleave(2, 1)
    torch.testing.assert_close(out.double(), plain, rtol=1e-2 if dtype == torch.bfloat16 else tight, atol=tight * 10)
    assert largest.dtype == total.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert largest.is_contiguous() and total.is_contiguous()


def test_statistics_of_rows_that_see_nothing():
    q, none = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 0, 4)
    out, largest, total = torch.ops.aten._scaled_dot_product_attention_statistics(q, none, none)
    assert not out.any() and not largest.any() and not total.any()
    with pytest.raises(RuntimeError, match="the heads of K and V must divide those of Q"):
        torch.ops.aten._scaled_dot_product_attention_statistics(torch.ones(1, 3, 2, 4), *[torch.ones(1, 2, 2, 4)] * 2)
