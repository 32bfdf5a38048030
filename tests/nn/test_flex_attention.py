"""`flex_attention`: against `scaled_dot_product_attention` and products written out; block masks as PyTorch 2.13 makes them."""

import math

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b, h, q, kv):
    return q >= kv


def _qkv(heads=4, kv_heads=4, queries=9, keys=9, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    shapes = (2, heads, queries, 8), (2, kv_heads, keys, 8), (2, kv_heads, keys, 5)
    return [torch.randn(s, generator=generator, dtype=dtype, requires_grad=True) for s in shapes]


def test_a_causal_mask_and_its_gradients():
    q, k, v = _qkv()
    got = flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 9, 9))
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(got, wanted)
    weight = torch.randn_like(got)
    ours = torch.autograd.grad(got, (q, k, v), weight)
    torch.testing.assert_close(ours, torch.autograd.grad(wanted, (q, k, v), weight))


def test_functions_read_tensors_by_position():
    q, k, v = _qkv(queries=6, keys=7)
    bias = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    document = torch.tensor([[0, 0, 1, 1, 1, 2, 2], [0, 1, 1, 1, 2, 2, 2]])

    def score(s, b, h, i, j):
        return s * 2 + bias[h][i] - (i - j).abs()

    def same(b, h, i, j):
        return document[b, i] == document[b][j]

    got = flex_attention(q, k, v, score, create_block_mask(same, 2, None, 6, 7), scale=0.5)
    i, j = torch.arange(6).view(-1, 1), torch.arange(7)
    scores = (q @ k.mT) * 0.5 * 2 + bias.unsqueeze(-1) - (i - j).abs()
    mask = (document[:, :6, None] == document[:, None, :]).unsqueeze(1)
    wanted = scores.masked_fill(~mask, -math.inf).softmax(-1) @ v
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(*(torch.autograd.grad(x.sum(), bias)[0] for x in (got, wanted)))


def test_shared_heads_and_further_outputs():
    q, k, v = _qkv(kv_heads=2)
    got, aux = flex_attention(q, k, v, enable_gqa=True, return_aux=AuxRequest(lse=True, max_scores=True))
    torch.testing.assert_close(got, torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True))
    scores = q @ k.repeat_interleave(2, 1).mT / math.sqrt(8)
    torch.testing.assert_close(aux.lse, scores.logsumexp(-1))
    torch.testing.assert_close(aux.max_scores, scores.amax(-1))
    with pytest.warns(FutureWarning, match="return_lse is deprecated"):
        _, lse = flex_attention(q, k, v, enable_gqa=True, return_lse=True)
    torch.testing.assert_close(lse, aux.lse)


def test_a_query_without_keys_gets_zeros():
    q, k, v = _qkv()
    mask = create_block_mask(lambda b, h, i, j: (i > 0) & (j >= 0), None, None, 9, 9)
    out = flex_attention(q, k, v, block_mask=mask)
    assert out[:, :, 0].eq(0).all() and out[:, :, 1].ne(0).all()
    assert torch.autograd.grad(out.sum(), q)[0].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bits_are_computed_in_32(dtype):
    q, k, v = (x.detach().to(dtype) for x in _qkv())
    got = flex_attention(q, k, v)
    wanted = flex_attention(q.float(), k.float(), v.float()).to(dtype)
    assert got.dtype == dtype and got.equal(wanted)


def test_masks():
    assert create_mask(causal, None, None, 2, 3).tolist() == [[[[True, False, False], [True, True, False]]]]
    assert create_mask(noop_mask, 2, 1, 1, 2).tolist() == [[[[True, True]]]] * 2
    below = create_mask(lambda s, b, h, i, j: torch.where(i >= j, s, -math.inf), 1, 1, 2, 2)
    assert below.tolist() == [[[[True, False], [True, True]]]]
    first = or_masks(causal, lambda b, h, i, j: j < 2)
    assert create_mask(first, 1, 1, 2, 3).tolist() == [[[[True, True, False], [True, True, False]]]]
    both = and_masks(causal, lambda b, h, i, j: j > 0)
    assert create_mask(both, 1, 1, 2, 2).tolist() == [[[[False, False], [False, True]]]]
    with pytest.raises(AssertionError, match="Expected 4 or 5 positional args, got 1"):
        create_mask(lambda b: b, 1, 1, 2, 2)


def test_blocks_of_a_causal_mask():
    mask = create_block_mask(causal, None, None, 300, 300)
    assert mask.shape == (1, 1, 300, 300) and mask.BLOCK_SIZE == (128, 128)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2, 1]]]
    assert mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0], [2, 0, 1]]]]
    assert mask.kv_indices.dtype == torch.int32
    assert str(mask) == "BlockMask(shape=(1, 1, 300, 300), sparsity=-9.23%, \n(0, 0)\n██    \n████  \n██████\n)"
    assert mask._adjust(128, 200).shape == (1, 1, 128, 200)
    assert mask._adjust(128, 200).to_dense().tolist() == [[[[1, 0]]]]
    assert mask.to("cpu").kv_indices.equal(mask.kv_indices)


def test_blocks_of_several_batches():
    mask = create_block_mask(causal, 2, 3, 256, 384, BLOCK_SIZE=64)
    assert mask.numel() == 2 * 3 * 256 * 384
    assert mask.sparsity() == pytest.approx(100 * 14 / 24)
    assert "To print out more" in str(mask)
    assert mask[0].shape == (1, 3, 256, 384)
    assert mask[0, -1].shape == (1, 1, 256, 384)
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        mask[0].mask_mod(0, 0, 0, 0)
    assert create_block_mask(causal, None, None, 4, 4, BLOCK_SIZE=2, separate_full_blocks=False).full_kv_indices is None


def test_a_mask_from_its_blocks():
    mask = BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]]), torch.tensor([[[[0, 1], [0, 1]]]]), BLOCK_SIZE=4)
    assert mask.shape == (1, 1, 8, 8) and mask.mask_mod is noop_mask
    assert mask.to_dense().tolist() == [[[[1, 0], [1, 1]]]]
    assert mask.q_num_blocks.tolist() == [[[2, 1]]] and mask.q_indices.tolist() == [[[[0, 1], [1, 0]]]]


def test_errors():
    q, k, v = _qkv()
    for kind, text, call in (
        (NotImplementedError, "must be 4D", lambda: flex_attention(q[0], k, v)),
        (ValueError, "Hq=4 and Hkv=2. Try setting enable_gqa=True", lambda: flex_attention(q, k[:, :2], v[:, :2])),
        (ValueError, "a multiple of kv heads", lambda: flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True)),
        (ValueError, "same embedding dimension", lambda: flex_attention(q, k[..., :3], v)),
        (
            ValueError,
            "for a smaller length",
            lambda: flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 8, 9)),
        ),
        (
            ValueError,
            "for a larger length",
            lambda: flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 10, 9)),
        ),
        (
            RuntimeError,
            "sliced BlockMask",
            lambda: flex_attention(q, k, v, block_mask=create_block_mask(causal, 2, 4, 9, 9)[0]),
        ),
    ):
        with pytest.raises(kind, match=text):
            call()
