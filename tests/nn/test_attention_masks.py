"""Block masks and flexible attention, formats of memory, names that warnings give: every step as PyTorch has it."""

import importlib
import math
import warnings
from typing import Any

import pytest
from expressions import check, check_session, lines

import mindtorch_v2 as torch
from mindtorch_v2 import nn

FLEXIBLE = lines("""
f.flex_attention(q, k, v)
f.flex_attention(q, k, v, scale=0.3)
f.flex_attention(q, k, v, lambda s, b, h, i, j: s * 2 + h - (i - j).abs())
f.flex_attention(q, k, v, block_mask=f.create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 5, "cpu"))
f.flex_attention(q, k[:, :1], v[:, :1], enable_gqa=True)
f.flex_attention(q, k, v, return_aux=f.AuxRequest(lse=True))[1].lse
f.flex_attention(q, k, v, return_aux=f.AuxRequest(lse=True))[1].max_scores
f.flex_attention(q, k, v, return_aux=f.AuxRequest())[1]
f.flex_attention(q.half(), k.half(), v.half()).dtype
f.flex_attention(q, k, v, return_lse=True, return_aux=f.AuxRequest(lse=True))
f.flex_attention(q[0], k, v)
f.flex_attention(q, k[:, :1], v[:, :1])
""")
SESSIONS = {
    "block masks": """
        f = importlib.import_module(nn.__name__ + ".attention.flex_attention")
        def causal(b, h, q, k): return q >= k
        def parts(m): return [m.kv_num_blocks, m.kv_indices, m.full_kv_num_blocks, m.full_kv_indices, m.q_num_blocks, m.q_indices, m.full_q_num_blocks, m.full_q_indices]
        m = f.create_block_mask(causal, None, None, 7, 9, device="cpu", BLOCK_SIZE=2)
        parts(m)
        (m.shape, m.BLOCK_SIZE, m.seq_lengths, m.numel(), m.sparsity(), m.to_dense())
        str(m)
        m.to_string()
        m.to_string(grid_size=2)
        m.to_string(grid_size=(3, 2))
        m.to_string(grid_size=-1)
        n = f.create_block_mask(causal, 2, 3, 8, 6, "cpu", (4, 2))
        parts(n)
        (n.shape, n.BLOCK_SIZE, n.sparsity(), n.numel(), n.mask_mod is causal)
        n.to_string(limit=2)
        n.to_string(limit=6)
        parts(n[0])
        parts(n[1, 2])
        parts(n[:, 1:])
        parts(n[0, 0, 1:])
        parts(n[-1])
        n[0].shape
        parts(n._adjust(4, 4))
        (n._adjust(4, 4).shape, n._adjust(4, 4).mask_mod is causal, n._adjust(5, 3).shape)
        o = f.create_block_mask(causal, 1, 1, 8, 8, "cpu", 4, separate_full_blocks=False)
        parts(o)
        (o.sparsity(), o.to_dense())
        parts(o._adjust(4, 8))
        o.to_string()
        p = f.BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32), BLOCK_SIZE=4, compute_q_blocks=False)
        parts(p)
        (p.shape, p.mask_mod is f.noop_mask, p.to_dense())
        p = f.BlockMask.from_kv_blocks(torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[0, 1], [0, 1]]]], dtype=torch.int32), torch.tensor([[[1, 0]]], dtype=torch.int32), torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32), (4, 2), causal, (7, 3))
        parts(p)
        (p.shape, p.BLOCK_SIZE, p.to_dense())
        f.BlockMask.from_kv_blocks(torch.tensor([1]), torch.tensor([1]))
        f.BlockMask.from_kv_blocks(torch.tensor([[1]]), torch.tensor([[[1]]]), torch.tensor([[1]]))
        f.create_mask(causal, None, None, 2, 3, "cpu")
        f.create_mask(lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")), 2, 1, 2, 2, "cpu")
        f.create_mask(lambda b, h, q, k: (q + b) >= (k + h), 2, 3, 2, 2, device="cpu")
        f.create_mask(f.or_masks(causal, lambda b, h, q, k: k < 2), 1, 1, 3, 3, "cpu")
        f.create_mask(f.and_masks(causal, lambda b, h, q, k: k > 0), 1, 1, 3, 3, "cpu")
        f.create_mask(f.or_masks(), 1, 1, 1, 2, "cpu")
        f.create_mask(f.and_masks(), 1, 1, 1, 2, "cpu")
        f.and_masks(3)
        f.or_masks(3)
        (f.AuxRequest(), f.AuxOutput(), f._DEFAULT_SPARSE_BLOCK_SIZE)
    """,
    "formats of memory": """
        c = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
        (prune.l1_unstructured(c, "weight", 0.3) is c, c.weight_mask, c.weight_mask.stride())
        (prune.random_unstructured(c, "weight", 3) is c, c.weight_mask, c.weight_mask.stride())
        c = nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
        (prune.random_unstructured(c, "weight", 3) is c, c.weight_mask, c.weight_mask.stride())
        x1 = torch.arange(12.0).view(3, 4).sin().mT
        F.gumbel_softmax(x1)
        F.gumbel_softmax(x1, hard=True)
        nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1, 7, 7, 7])[:3])
        nn.utils.rnn.invert_permutation(torch.tensor([2, 9, 0, 9, 1])[::2]).stride()
        [str(getattr(importlib.import_module(nn.__name__ + ".common_types"), n)) for n in ("_scalar_or_tuple_any_t", "_scalar_or_tuple_1_t", "_scalar_or_tuple_2_t", "_scalar_or_tuple_3_t", "_scalar_or_tuple_4_t", "_scalar_or_tuple_5_t", "_scalar_or_tuple_6_t", "_size_any_t", "_size_1_t", "_size_2_t", "_size_3_t", "_size_4_t", "_size_5_t", "_size_6_t", "_ratio_2_t", "_ratio_3_t", "_ratio_any_t", "_tensor_list_t", "_maybe_indices_t")]
        [hasattr(importlib.import_module(nn.__name__ + ".common_types"), n) for n in ("_size_any_opt_t", "_size_2_opt_t", "_size_3_opt_t", "_size_4_opt_t", "_size_5_opt_t", "_size_6_opt_t")]
        nn.modules.utils._pair(3)
        [u(3) for u in (nn.modules.utils._single, nn.modules.utils._pair, nn.modules.utils._triple, nn.modules.utils._quadruple)]
        [u([1, 2]) for u in (nn.modules.utils._single, nn.modules.utils._pair, nn.modules.utils._triple)]
        [u.__name__ for u in (nn.modules.utils._single, nn.modules.utils._pair, nn.modules.utils._triple, nn.modules.utils._quadruple)]
        nn.modules.utils._reverse_repeat_tuple((1, 2, 3), 2)
        nn.modules.utils._list_with_default([None, 3], [4, 5, 6])
        nn.modules.utils._list_with_default(7, [4, 5])
        nn.modules.utils._list_with_default([1, 2], [4])
        nn.modules.utils._list_with_default([1, 2], [4, 5])
        a = torch.ones(2, 3)
        nn.L1Loss()(a, torch.ones(3))
        nn.MSELoss()(a, torch.ones(3))
        nn.SmoothL1Loss()(a, torch.ones(3))
        nn.HuberLoss()(a, torch.ones(3))
        nn.L1Loss(True)(a, a)
        nn.KLDivLoss(reduction="mean")(a, a)
        nn.KLDivLoss(reduction="sum")(a, a)
        [type(nn.functional._canonical_mask(m, "m", None, "o", torch.float32)).__name__ for m in (None, torch.ones(2).bool(), torch.ones(2))]
        nn.functional._canonical_mask(torch.tensor([True, False]), "m", None, "o", torch.float64)
        nn.functional._canonical_mask(torch.ones(2).double(), "m", torch.float32, "o", torch.float64)
        nn.functional._canonical_mask(torch.ones(2).double(), "m", torch.float32, "o", torch.float64, check_other=False)
        nn.functional._canonical_mask(torch.ones(2).long(), "m", None, "o", torch.float32)
        nn.functional._canonical_mask(torch.ones(2).bool(), "m", torch.float32, "o", torch.float32)
        (nn.functional._none_or_dtype(None), nn.functional._none_or_dtype(torch.ones(1)))
        nn.functional._none_or_dtype(3)
        e = nn.Embedding(3, 2, padding_idx=1)
        with torch.no_grad(): e.weight.fill_(5)
        e.reset_parameters()
        e.weight
        g = nn.EmbeddingBag(3, 2, padding_idx=1)
        with torch.no_grad(): g.weight.fill_(5)
        g.reset_parameters()
        g.weight
        m = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], head_bias=True)
        before = [p.clone() for p in m.parameters()]
        m.reset_parameters()
        [bool((p != q).any()) for p, q in zip(before, m.parameters())]
        n = nn.LayerNorm(2)
        with torch.no_grad(): (n.weight.fill_(5), n.bias.fill_(5))
        n.reset_parameters()
        (n.weight, n.bias)
        n = nn.GroupNorm(1, 2)
        with torch.no_grad(): (n.weight.fill_(5), n.bias.fill_(5))
        n.reset_parameters()
        (n.weight, n.bias)
        n = nn.PReLU(2, 0.3)
        with torch.no_grad(): n.weight.fill_(5)
        n.reset_parameters()
        n.weight
        l = nn.Linear(2, 3)
        l.reset_parameters()
        (l.weight, l.bias)
        l = nn.Conv2d(2, 3, 2)
        l.reset_parameters()
        (l.weight, l.bias)
        l = nn.Bilinear(2, 3, 2)
        l.reset_parameters()
        (l.weight, l.bias)
        l = nn.GRU(2, 2)
        l.reset_parameters()
        [p for p in l.parameters()]
        l = nn.MultiheadAttention(4, 2, add_bias_kv=True)
        l._reset_parameters()
        [p for p in l.parameters()]
        l = nn.MultiheadAttention(4, 2, kdim=3)
        l._reset_parameters()
        [p for p in l.parameters()]
        s = dict(nn.MultiheadAttention(4, 2).__dict__)
        del s["_qkv_same_embed_dim"]
        o = nn.MultiheadAttention.__new__(nn.MultiheadAttention)
        o.__setstate__(s)
        o._qkv_same_embed_dim
        s = dict(nn.TransformerEncoderLayer(4, 2, 3).__dict__)
        del s["activation"]
        o = nn.TransformerEncoderLayer.__new__(nn.TransformerEncoderLayer)
        o.__setstate__(s)
        o.activation.__name__
        s = dict(nn.TransformerDecoderLayer(4, 2, 3).__dict__)
        del s["activation"]
        o = nn.TransformerDecoderLayer.__new__(nn.TransformerDecoderLayer)
        o.__setstate__(s)
        o.activation.__name__
        nn.modules.activation.Hardtanh(min_val=-2.0, max_val=3.0)
        c = nn.Conv2d(2, 2, 3, padding=1)
        s = dict(c.__dict__)
        del s["padding_mode"]
        o = nn.Conv2d.__new__(nn.Conv2d)
        o.__setstate__(s)
        o.padding_mode
    """,
}


def _prune(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


def _flex(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.attention.flex_attention")


def _waves(*shape: int) -> Any:
    count = math.prod(shape)
    return lambda torch: torch.arange(float(count), dtype=torch.float64).view(shape).sin()


PARTS: dict[str, Any] = {"prune": _prune}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(name: str) -> None:
    check_session(SESSIONS[name], 1e-5, 1e-6, importlib=lambda _: importlib, **PARTS)


@pytest.mark.parametrize("text", FLEXIBLE)
def test_flexible_attention(text: str) -> None:
    check(text, f=_flex, q=_waves(1, 2, 4, 6), k=_waves(1, 2, 5, 6), v=_waves(1, 2, 5, 4))


def test_divergences_of_batches_of_wisharts() -> None:
    """A batch's divergences are those of its members; PyTorch's own formula gives negative numbers."""
    lower = (torch.arange(24.0).double() * 1.3).sin().view(2, 3, 2, 2).tril() * 0.4 + torch.eye(2).double()
    df = torch.tensor([[3.5, 4.0, 6.0], [5.0, 7.5, 2.5]]).double()
    p, q = (torch.distributions.Wishart(d, scale_tril=f) for d, f in ((df, lower), (df.flip(1), lower.flip(0))))
    whole = torch.distributions.kl_divergence(p, q)
    for i in range(2):
        for j in range(3):
            one, other = (torch.distributions.Wishart(d.df[i, j], scale_tril=d.scale_tril[i, j]) for d in (p, q))
            assert whole[i, j].item() == pytest.approx(torch.distributions.kl_divergence(one, other).item())


@pytest.mark.parametrize(
    "warns",
    [
        lambda x: torch.nn.functional.softmax(x),
        lambda x: torch.nn.functional.softmin(x),
        lambda x: nn.Softmin()(x),
        lambda x: nn.Softmax()(x),
        lambda x: nn.LogSoftmax()(x),
        lambda x: torch.nn.functional.log_softmax(x),
        lambda x: torch.nn.functional.l1_loss(x, x[0]),
        lambda x: torch.nn.functional.mse_loss(x, x[0]),
        lambda x: nn.LSTM(2, 2, dropout=0.5),
    ],
)
def test_warnings_name_the_callers_file(warns: Any) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warns(torch.ones(2, 3))
    assert [each.filename for each in seen] == [__file__]
