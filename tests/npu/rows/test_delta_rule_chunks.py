"""The chunked gated delta rule: its operators together beside the recurrence, token by token, and its gradients by autograd."""

import subprocess
import sys
from typing import Any

import pytest

import mindtorch_v2 as torch

npu: Any = torch.ops.npu
CHUNK = 64


def _spans(tokens: int, ends: list[int] | None) -> list[tuple[int, int]]:
    return [(0, tokens)] if ends is None else list(zip(ends, ends[1:], strict=False))


def _recurrence(q: Any, k: Any, v: Any, beta: Any, steps: Any, state: Any, scale: float, ends: Any) -> tuple:
    """S <- exp(step) S, then S += k (beta (v - k' S)), result scale q' S: the definition, one token after the other."""
    group = v.shape[1] // q.shape[1]
    q, k = (torch.repeat_interleave(x, group, 1) for x in (q, k))
    outs, last = [], []
    for number, (start, stop) in enumerate(_spans(q.shape[2], ends)):
        s = state if ends is None else state[number : number + 1]
        for t in range(start, stop):
            s = s * steps[:, :, t].exp()[..., None, None]
            key = k[:, :, t].unsqueeze(-1)
            moved = beta[:, :, t, None] * (v[:, :, t] - (key * s).sum(-2))
            s = s + key * moved.unsqueeze(-2)
            outs.append((q[:, :, t].unsqueeze(-1) * s).sum(-2) * scale)
        last.append(s)
    return torch.stack(outs, 2), torch.cat(last)


def _sums_in_chunks(x: Any, ends: Any, reverse: bool = False) -> Any:
    parts = []
    for start, stop in _spans(x.shape[2], ends):
        for first in range(start, stop, CHUNK):
            part = x[:, :, first : min(first + CHUNK, stop)]
            parts.append(part.flip(2).cumsum(2).flip(2) if reverse else part.cumsum(2))
    return torch.cat(parts, 2)


def _solved(k: Any, beta: Any, g: Any, ends: Any) -> Any:
    """A = (I + L)^-1 of each chunk, (batch, heads of values, tokens, 64)."""
    keys = torch.repeat_interleave(k, g.shape[1] // k.shape[1], 1)
    parts = []
    for start, stop in _spans(k.shape[2], ends):
        for first in range(start, stop, CHUNK):
            at = slice(first, min(first + CHUNK, stop))
            a, n = g[:, :, at], at.stop - at.start
            lower = keys[:, :, at] @ keys[:, :, at].mT * beta[:, :, at, None] * (a[..., None] - a[..., None, :]).exp()
            one = torch.eye(n, dtype=k.dtype).expand(*k.shape[:1], g.shape[1], n, n)
            parts.append(torch.nn.functional.pad(torch.linalg.inv(one + lower.tril(-1)), (0, CHUNK - n)))
    return torch.cat(parts, 2)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("ends", [None, [0, 70, 130]])
def test_chunks_are_the_recurrence(heads: int, ends: list[int] | None) -> None:
    torch.manual_seed(0)
    batch, sequences, value_heads, tokens = (2, 2, 2, 100) if ends is None else (1, 2, 2, 130)
    indices = None if ends is None else [0, 0, 0, 1, 1, 0]
    double: Any = {"dtype": torch.float64}
    q, k = (torch.nn.functional.normalize(torch.randn(batch, heads, tokens, 128, **double), dim=-1) for _ in range(2))
    v = torch.randn(batch, value_heads, tokens, 128, **double)
    beta = torch.rand(batch, value_heads, tokens, **double)
    steps = -torch.rand(batch, value_heads, tokens, **double) / 4
    state = torch.randn(sequences, value_heads, 128, 128, **double)
    leaves = [x.requires_grad_() for x in (q, k, v, beta, steps, state)]
    expected, last = _recurrence(*leaves, 0.3, ends)
    d_o, dht = torch.randn_like(expected), torch.randn_like(last)
    dq, dk, dv, dbeta, dsteps, dstate = torch.autograd.grad([expected, last], leaves, [d_o, dht])
    with torch.no_grad():
        both: Any = {"cu_seqlens": ends, "chunk_indices": indices}
        g = _sums_in_chunks(steps, ends)
        A = _solved(k, beta, g, ends)
        w, u = npu.npu_recompute_w_u_fwd(k, v, beta, A, CHUNK, g=g, **both)
        h, new, final = npu.npu_chunk_gated_delta_rule_fwd_h(
            k, w, u, g, initial_state=state, output_final_state=True, chunk_size=CHUNK, **both
        )
        out = npu.npu_chunk_fwd_o(q, k, new, h, 0.3, g=g, chunk_size=CHUNK, **both)
        torch.testing.assert_close(out, expected)
        torch.testing.assert_close(final, last)
        turned = npu.npu_chunk_gated_delta_rule_fwd_h(
            k, w, u, g, initial_state=state.mT, output_final_state=True, state_v_first=True, **both
        )
        torch.testing.assert_close([turned[0].mT, turned[2].mT], [h, final])

        local = npu.npu_chunk_bwd_dv_local(q, k, d_o, g, 0.3, CHUNK, **both)
        dh, first, du = npu.npu_chunk_gated_delta_rule_bwd_dhu(
            q, k, w, d_o, local, 0.3, CHUNK, g=g, h0=state, dht=dht, **both
        )
        torch.testing.assert_close(first, dstate)
        our_dq, our_dk, dw, dg = npu.npu_chunk_bwd_dqkwg(q, k, new, g, h, d_o, dh, du, CHUNK, scale=0.3, **both)
        torch.testing.assert_close(our_dq, dq)
        dA = npu.npu_prepare_wy_repr_bwd_da(k, v, beta, A, dw, du, g, chunk_size=CHUNK, **both)
        more_dk, our_dv, our_dbeta, more_dg = npu.npu_prepare_wy_repr_bwd_full(
            k, v, beta, A, dA, dw, du, g, CHUNK, **both
        )
        torch.testing.assert_close(our_dk + more_dk, dk)
        torch.testing.assert_close(our_dv, dv)
        torch.testing.assert_close(our_dbeta, dbeta)
        torch.testing.assert_close(_sums_in_chunks(dg + more_dg, ends, reverse=True), dsteps)


def test_gates_of_each_width_are_powers_of_two() -> None:
    torch.manual_seed(0)
    k, w = torch.randn(2, 1, 1, 80, 128, dtype=torch.float64)
    u, gk = torch.randn(1, 1, 80, 128, dtype=torch.float64), -torch.rand(1, 1, 80, 128, dtype=torch.float64)
    h, new, final = npu.npu_chunk_gated_delta_rule_fwd_h(k, w, u, gk=gk, output_final_state=True)
    first = k[0, 0, :64].T @ u[0, 0, :64]
    torch.testing.assert_close(h[0, 0], torch.stack([torch.zeros_like(first), first]))
    behind = u[0, 0, 64:] - w[0, 0, 64:] @ first
    torch.testing.assert_close(new[0, 0], torch.cat([u[0, 0, :64], behind]))
    last = first * torch.exp2(gk[0, 0, -1])[:, None] + k[0, 0, 64:].T @ behind
    torch.testing.assert_close(final[0, 0], last.float())


def test_arguments_are_held_to_the_documents() -> None:
    k, v, s, a = (
        torch.zeros(1, 2, 64, 128),
        torch.zeros(1, 4, 64, 128),
        torch.zeros(1, 4, 64),
        torch.zeros(1, 4, 64, 64),
    )
    call = npu.npu_recompute_w_u_fwd
    for wrong, text in (
        (lambda: call(k, v, s, a, 64), "g is needed"),
        (lambda: call(k, v, s, a, 32, g=s), "chunk_size must be one of 64, 128, but it is 32"),
        (lambda: call(k[..., :64], v, s, a, 64, g=s), "k must have width 128, but it has 64"),
        (lambda: call(k, v[:, :3], s[:, :3], a, 64, g=s[:, :3]), "the 2 heads of keys must divide the 3 of values"),
        (lambda: call(k, v, s[:, :2], a, 64, g=s), r"beta must have \[1, 4, 64\] as its batch, heads and tokens"),
        (lambda: call(k, v, s, a, 64, g=s, cu_seqlens=[0, 64]), "given together"),
        (
            lambda: call(k, v, s, a, 64, g=s, cu_seqlens=[0, 60], chunk_indices=[0, 0]),
            "must rise from 0 to the 64 tokens",
        ),
        (
            lambda: call(k, v, s, a, 64, g=s, cu_seqlens=[0, 64], chunk_indices=[0, 1]),
            r"chunk_indices must be \[0, 0\]",
        ),
        (lambda: npu.npu_chunk_gated_delta_rule_fwd_h(k, k, v[:, :2]), "g or gk is needed"),
    ):
        with pytest.raises(RuntimeError, match=text):
            wrong()


PROGRAM = """
import mindtorch_v2 as torch

before = torch.ops.npu.npu_chunk_fwd_o.default
library = torch.library.Library("npu", "FRAGMENT")
library.define("npu_chunk_fwd_o(Tensor q) -> Tensor")
library.impl("npu_chunk_fwd_o", lambda q: q + 1, "CompositeExplicitAutograd")
assert torch.ops.npu.npu_chunk_fwd_o(torch.ones(1)).item() == 2
assert torch.ops.npu.npu_chunk_fwd_o.default is not before
try:
    library.define("npu_rms_norm(Tensor q) -> Tensor")
except RuntimeError as error:
    assert "multiple times" in str(error)
else:
    raise AssertionError("a row of torch_npu's own was replaced")
"""


def test_the_library_itself_takes_the_rows_places() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
