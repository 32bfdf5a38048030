"""Composite definitions of Ascend's operators on the CPU, beside the best plain formulation in this package's own operators.

python benchmarks/npu_composites.py [names ...]

Both run in turn in one process on one thread; printed are the medians of processor time and their ratio. The operators are those
that public programs call most. Where a gradient is asked for, it is part of both.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

npu: Any = torch.ops.npu
F: Any = torch.nn.functional
LIMIT = 1.5  # of the ratio


def _x(*sizes: int, dtype: Any = torch.float32, grad: bool = False) -> torch.Tensor:
    made = torch.randn(*sizes).to(dtype)
    return made.requires_grad_() if grad else made


def _int8(*sizes: int) -> torch.Tensor:
    return torch.randint(-128, 128, sizes).to(torch.int8)


def _turned(x: torch.Tensor) -> torch.Tensor:
    left, right = x.chunk(2, -1)
    return torch.cat([-right, left], -1)


def _with_gradient(call: Callable[[], Any], *leaves: torch.Tensor) -> Callable[[], Any]:
    def both() -> Any:
        y = call()
        return torch.autograd.grad(y, leaves, torch.ones_like(y))

    return both


def _attention() -> dict[str, tuple]:
    q, k, v = (_x(1, 8, 512, 64, grad=True) for _ in range(3))
    kv = [_x(1, 2, 512, 64) for _ in range(2)]
    mask = torch.ones(2048, 2048).triu(1).bool()
    scale = 1 / math.sqrt(64)
    one = _x(4, 8, 1, 64)
    cache = [_x(4, 8, 1024, 64) for _ in range(2)]
    found: dict[str, tuple] = {}
    with torch.no_grad():
        a, b, c = q.detach(), k.detach(), v.detach()
        causal = {"scale": scale, "atten_mask": mask, "sparse_mode": 2}
        stats = npu.npu_fusion_attention(a, b, c, 8, "BNSD", **causal)
    dy = _x(1, 8, 512, 64)
    found["npu_fusion_attention"] = (
        lambda: npu.npu_fusion_attention(a, b, c, 8, "BNSD", **causal)[0],
        lambda: F.scaled_dot_product_attention(a, b, c, is_causal=True, scale=scale),
    )
    found["npu_fusion_attention, no mask"] = (
        lambda: npu.npu_fusion_attention(a, b, c, 8, "BNSD", scale=scale)[0],
        lambda: F.scaled_dot_product_attention(a, b, c, scale=scale),
    )
    found["npu_fusion_attention, grouped heads"] = (
        lambda: npu.npu_fusion_attention(a, *kv, 8, "BNSD", **causal)[0],
        lambda: F.scaled_dot_product_attention(a, *kv, is_causal=True, scale=scale, enable_gqa=True),
    )
    found["npu_fusion_attention, with its gradient"] = (
        _with_gradient(lambda: npu.npu_fusion_attention(q, k, v, 8, "BNSD", **causal)[0], q, k, v),
        _with_gradient(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale), q, k, v),
    )
    found["npu_fusion_attention_grad"] = (
        lambda: npu.npu_fusion_attention_grad(
            a, b, c, dy, 8, "BNSD", softmax_max=stats[1], softmax_sum=stats[2], attention_in=stats[0], scale_value=scale,
            atten_mask=mask, sparse_mode=2,
        ),
        _with_gradient(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale), q, k, v),
    )  # fmt: skip
    options = {"num_heads": 8, "input_layout": "BNSD", "scale": scale}
    found["npu_fused_infer_attention_score"] = (
        lambda: npu.npu_fused_infer_attention_score(a, b, c, atten_mask=mask, sparse_mode=2, **options)[0],
        lambda: F.scaled_dot_product_attention(a, b, c, is_causal=True, scale=scale),
    )
    found["npu_fused_infer_attention_score, one token"] = (
        lambda: npu.npu_fused_infer_attention_score(one, *cache, **options)[0],
        lambda: F.scaled_dot_product_attention(one, *cache, scale=scale),
    )
    found["npu_fused_infer_attention_score_v2"] = (
        lambda: npu.npu_fused_infer_attention_score_v2(
            a, b, c, num_query_heads=8, input_layout="BNSD", softmax_scale=scale, atten_mask=mask, sparse_mode=2
        )[0],
        lambda: F.scaled_dot_product_attention(a, b, c, is_causal=True, scale=scale),
    )
    return found


def _norms_and_gates() -> dict[str, tuple]:
    x, y, gain = _x(512, 1024), _x(512, 1024), _x(1024)
    xg, gg = _x(512, 1024, grad=True), _x(1024, grad=True)
    heads, cos, sin = _x(1, 512, 8, 64), _x(1, 512, 1, 64), _x(1, 512, 1, 64)
    wide, dy = _x(512, 2048), _x(512, 1024)
    scores, mask = _x(4, 8, 128, 128), torch.rand(4, 1, 128, 128) > 0.5

    def plain_swiglu(x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, -1)
        return F.silu(left) * right

    def plain_swiglu_gradient() -> torch.Tensor:
        left, right = wide.chunk(2, -1)
        s = torch.sigmoid(left)
        return torch.cat([dy * right * s * (1 + left * (1 - s)), dy * left * s], -1)

    def clipped(x: torch.Tensor) -> torch.Tensor:
        a, b = x[..., ::2].clamp(max=7.0), x[..., 1::2].clamp(-7.0, 7.0)
        return a * torch.sigmoid(1.702 * a) * (b + 1)

    return {
        "npu_rms_norm": (lambda: npu.npu_rms_norm(x, gain)[0], lambda: F.rms_norm(x, (1024,), gain, 1e-6)),
        "npu_rms_norm, with its gradient": (
            _with_gradient(lambda: npu.npu_rms_norm(xg, gg)[0], xg, gg),
            _with_gradient(lambda: F.rms_norm(xg, (1024,), gg, 1e-6), xg, gg),
        ),
        "npu_add_rms_norm": (
            lambda: npu.npu_add_rms_norm(x, y, gain),
            lambda: (F.rms_norm(z := x + y, (1024,), gain, 1e-6), z),
        ),
        "npu_rotary_mul": (lambda: npu.npu_rotary_mul(heads, cos, sin), lambda: heads * cos + _turned(heads) * sin),
        "npu_swiglu": (lambda: npu.npu_swiglu(wide), lambda: plain_swiglu(wide)),
        "npu_swiglu_backward": (lambda: npu.npu_swiglu_backward(dy, wide, -1), plain_swiglu_gradient),
        "npu_clipped_swiglu": (lambda: npu.npu_clipped_swiglu(wide), lambda: clipped(wide)),
        "npu_scaled_masked_softmax": (
            lambda: npu.npu_scaled_masked_softmax(scores, mask, 0.5, False),
            lambda: torch.softmax((scores * 0.5).masked_fill(mask, -10000.0), -1),
        ),
        "npu_gelu": (lambda: npu.npu_gelu(x), lambda: F.gelu(x)),
        "npu_interleave_rope": (
            lambda: npu.npu_interleave_rope(scores[..., :64].contiguous(), cos[:, :128].transpose(1, 2).expand(4, 1, 128, 64), sin[:, :128].transpose(1, 2).expand(4, 1, 128, 64)),
            lambda: _interleaved(scores[..., :64].contiguous(), cos[:, :128].transpose(1, 2), sin[:, :128].transpose(1, 2)),
        ),
        "npu_confusion_transpose": (
            lambda: npu.npu_confusion_transpose(heads, [0, 2, 1, 3], [1, 8, 512 * 64], True),
            lambda: heads.permute(0, 2, 1, 3).reshape(1, 8, 512 * 64),
        ),
    }  # fmt: skip


def _interleaved(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    halves = torch.cat([x[..., ::2], x[..., 1::2]], -1)
    return halves * cos + _turned(halves) * sin


def _products_and_experts() -> dict[str, tuple]:
    a, b, scale = _int8(128, 512), _int8(512, 512), torch.rand(512)
    x, weights = _x(256, 512), _x(8, 512, 512)
    ends = torch.arange(32, 257, 32)
    tokens, experts = _x(512, 512), torch.randint(0, 8, (512, 2))
    probs = torch.rand(512, 2)
    order = torch.argsort(experts.flatten(), stable=True)
    places = torch.argsort(order).to(torch.int32)
    rows = tokens[order // 2]
    quantised = _x(512, 1024)
    flags = torch.rand(512)
    cache, slots, keys = _x(64, 16, 8, 64), torch.randperm(1024).to(torch.int32), _x(1024, 8, 64)
    table, lengths = torch.randperm(64).reshape(4, 16).to(torch.int32), torch.full((4,), 256, dtype=torch.int32)
    target = _x(1024, 8, 64)
    first, second = _x(64, 8, 128), _x(8, 128, 64)
    index, updates = torch.randperm(512)[:64].reshape(64, 1), _x(64, 1024)

    def plain_dynamic_quant() -> tuple:
        scale = quantised.abs().amax(-1, keepdim=True) / 127
        return (quantised / scale).round().to(torch.int8), scale.squeeze(-1)

    def plain_routing() -> tuple:
        order = torch.argsort(experts.flatten(), stable=True)
        counts = torch.bincount(experts.flatten(), minlength=8)
        return tokens[order // 2], torch.empty_like(order).scatter_(0, order, torch.arange(1024)), counts

    def plain_permute() -> tuple:
        order = torch.argsort(experts.flatten(), stable=True)
        return tokens[order // 2], torch.empty_like(order).scatter_(0, order, torch.arange(1024))

    def plain_combined() -> torch.Tensor:
        return (rows[places.long()].reshape(512, 2, -1) * probs.unsqueeze(-1)).sum(1)

    def plain_groups() -> torch.Tensor:
        return torch.cat([x[i * 32 : (i + 1) * 32] @ weights[i] for i in range(8)])

    def plain_gather() -> torch.Tensor:
        return target.copy_(cache[table.long().flatten()].reshape(1024, 8, 64))

    return {
        "npu_grouped_matmul": (
            lambda: npu.npu_grouped_matmul([x], [weights], group_list=ends, split_item=3, group_type=0)[0],
            plain_groups,
        ),
        "npu_quant_matmul": (
            lambda: npu.npu_quant_matmul(a, b, scale, output_dtype=5),
            lambda: ((a.double() @ b.double()).float() * scale).half(),
        ),
        "npu_dynamic_quant": (lambda: npu.npu_dynamic_quant(quantised), plain_dynamic_quant),
        "npu_quantize": (
            lambda: npu.npu_quantize(quantised, flags[:1], None, 1, -1),
            lambda: (quantised / flags[:1]).round().clamp(-128, 127).to(torch.int8),
        ),
        "npu_moe_token_permute": (lambda: npu.npu_moe_token_permute(tokens, experts), plain_permute),
        "npu_moe_token_unpermute": (lambda: npu.npu_moe_token_unpermute(rows, places, probs), plain_combined),
        "npu_moe_init_routing_v2": (
            lambda: npu.npu_moe_init_routing_v2(
                tokens, experts.to(torch.int32), expert_num=8, active_num=1024, expert_tokens_num_type=1,
                expert_tokens_num_flag=True, active_expert_range=[0, 8],
            ),
            plain_routing,
        ),
        "npu_moe_finalize_routing": (
            lambda: npu.npu_moe_finalize_routing(rows, None, None, None, probs, places, None, 2),
            plain_combined,
        ),
        "npu_moe_gating_top_k_softmax": (
            lambda: npu.npu_moe_gating_top_k_softmax(quantised, None, 8),
            lambda: torch.topk(torch.softmax(quantised, -1), 8, -1),
        ),
        "npu_scatter_pa_kv_cache": (
            lambda: npu.npu_scatter_pa_kv_cache(keys, keys, cache, cache, slots, cache_mode="Norm"),
            lambda: [cache.view(1024, 8, 64).index_copy_(0, slots.long(), keys) for _ in range(2)],
        ),
        "npu_gather_pa_kv_cache": (
            lambda: npu.npu_gather_pa_kv_cache(cache, cache, table, lengths, target, target),
            lambda: [plain_gather() for _ in range(2)],
        ),
        "npu_transpose_batchmatmul": (
            lambda: npu.npu_transpose_batchmatmul(first, second, perm_x1=[1, 0, 2], perm_y=[1, 0, 2]),
            lambda: torch.bmm(first.transpose(0, 1), second).transpose(0, 1),
        ),
        "npu_scatter_nd_update_": (
            lambda: npu.npu_scatter_nd_update_(quantised, index, updates),
            lambda: quantised.index_put_((index[:, 0],), updates),
        ),
    }  # fmt: skip


def _caches_and_quantisation() -> dict[str, tuple]:
    logs, parts = [_x(2048) for _ in range(4)], [_x(2048, 128) for _ in range(4)]
    weight, shifts = torch.randint(-8, 8, (512, 512), dtype=torch.int32), torch.arange(0, 32, 4, dtype=torch.int32)
    a, b, gain, scale = _x(512, 1024).half(), _x(512, 1024).half(), _x(1024).half(), torch.rand(1024) + 0.5
    kv, gamma, cos, sin = _x(8, 1, 64, 576), _x(512), _x(8, 1, 64, 64), _x(8, 1, 64, 64)
    places, turned, plain = torch.arange(64).repeat(8, 1), torch.zeros(8, 1, 128, 64), torch.zeros(8, 1, 128, 512)
    query, key, weights = _x(1, 256, 8, 64), _x(1, 256, 1, 64), torch.rand(1, 256, 8)
    later = torch.ones(256, 256).triu(1).bool()
    x = _x(512, 1024)

    def plain_update() -> torch.Tensor:
        return (torch.stack(parts) * torch.softmax(torch.stack(logs), 0).unsqueeze(-1)).sum(0)

    def plain_pack() -> torch.Tensor:
        return ((weight & 15).reshape(512, 64, 8) << shifts).sum(-1).to(torch.int32)

    def plain_norm_quant() -> tuple:
        total = a.float() + b.float()
        y = F.rms_norm(total, (1024,), gain.float(), 1e-6)
        return (y / scale).round().clamp(-128, 127).to(torch.int8), total.half()

    def plain_cache() -> tuple:
        norm = F.rms_norm(kv[..., :512], (512,), gamma, 1e-5)
        rope = kv[..., 512:]
        rope = torch.cat([rope[..., ::2], rope[..., 1::2]], -1)
        rope = rope * cos + _turned(rope) * sin
        index = places.unsqueeze(1).unsqueeze(-1)
        return turned.scatter_(2, index.expand_as(rope), rope), plain.scatter_(2, index.expand_as(norm), norm)

    def plain_indexer() -> Any:
        dots = torch.relu(query[0].transpose(0, 1) @ key[0, :, 0].t()) * weights[0].t().unsqueeze(-1)
        return torch.topk(dots.sum(0).masked_fill(later, -math.inf), 64)

    def plain_mx() -> tuple:
        blocks = x.reshape(512, 32, 32)
        exponent = torch.floor(torch.log2(blocks.abs().amax(-1))) - 8
        y = (blocks / torch.exp2(exponent).unsqueeze(-1)).clamp(-448, 448).to(torch.float8_e4m3fn)
        return y.reshape(512, 1024), (exponent + 127).to(torch.uint8)

    return {
        "npu_attention_update": (lambda: npu.npu_attention_update(logs, parts, 0), plain_update),
        "npu_convert_weight_to_int4pack": (lambda: npu.npu_convert_weight_to_int4pack(weight), plain_pack),
        "npu_add_rms_norm_quant": (lambda: npu.npu_add_rms_norm_quant(a, b, gain, scale, None), plain_norm_quant),
        "npu_kv_rmsnorm_rope_cache": (
            lambda: npu.npu_kv_rmsnorm_rope_cache(kv, gamma, cos, sin, places, turned, plain),
            plain_cache,
        ),
        "npu_lightning_indexer": (
            lambda: npu.npu_lightning_indexer(query, key, weights, sparse_count=64),
            plain_indexer,
        ),
        "npu_dynamic_mx_quant": (lambda: npu.npu_dynamic_mx_quant(x, dst_type=292), plain_mx),
    }


def _more_norms_losses_and_steps() -> dict[str, tuple]:
    x, y, gain, shift, wide = _x(512, 1024), _x(512, 1024), _x(1024), _x(1024), _x(512, 2048)
    maps, weight, bias = _x(4, 64, 32, 32), _x(64), _x(64)
    scores, target = _x(512, 2048, grad=True), torch.randint(0, 2048, (512,))
    rows, first, second = _x(256, 512), _x(512, 2048), _x(2048, 512)
    eight, scale = _int8(512, 512), _x(512)
    grad, (var, m, v), (p, a, b) = (
        _x(512, 512),
        [_x(512, 512).abs() for _ in range(3)],
        [_x(512, 512).abs() for _ in range(3)],
    )
    query, caches, table = _x(8, 1, 512), [_x(64, 16, 512) for _ in range(2)], torch.randperm(64).reshape(8, 8).int()
    logits, count, share = _x(32, 4096), torch.full((32,), 50, dtype=torch.int32), torch.full((32,), 0.9)

    def plain_step() -> torch.Tensor:
        a.mul_(0.9).add_(grad, alpha=0.1)
        b.mul_(0.99).addcmul_(grad, grad, value=0.01)
        return p.mul_(1 - 1e-5).addcdiv_(a, (b / 0.02).sqrt_().add_(1e-6), value=-1e-2)

    def plain_pages() -> torch.Tensor:
        k, v = (x[table.long()].reshape(8, 128, 8, 64).transpose(1, 2) for x in caches)
        return F.scaled_dot_product_attention(query.reshape(8, 8, 1, 64), k, v, scale=0.125).reshape(8, 1, 512)

    def plain_sampling() -> torch.Tensor:
        found, order = logits.sort(-1)
        found = found.masked_fill(found < found.gather(1, (4096 - count.long()).unsqueeze(1)), -math.inf)
        dropped = found.softmax(-1).cumsum(-1) <= 1 - share.unsqueeze(1)
        dropped[:, -1] = False
        return torch.empty_like(logits).scatter_(1, order, found.masked_fill(dropped, -math.inf))

    def plain_gated_quant() -> tuple:
        left, right = wide.chunk(2, -1)
        made = F.silu(right) * left
        scale = made.abs().amax(-1, keepdim=True) / 127
        return (made / scale).round().to(torch.int8), scale

    return {
        "npu_gemma_rms_norm": (
            lambda: npu.npu_gemma_rms_norm(x, gain)[0],
            lambda: F.rms_norm(x, (1024,), 1 + gain, 1e-6),
        ),
        "npu_add_layer_norm": (
            lambda: npu.npu_add_layer_norm(x, y, gain, shift, 1e-5, True),
            lambda: F.layer_norm(x + y, (1024,), gain, shift),
        ),
        "npu_deep_norm": (
            lambda: npu.npu_deep_norm(x, y, shift, gain, 0.3),
            lambda: F.layer_norm(0.3 * x + y, (1024,), gain, shift),
        ),
        "npu_group_norm_silu": (
            lambda: npu.npu_group_norm_silu(maps, weight, bias, 8)[0],
            lambda: F.silu(F.group_norm(maps, 8, weight, bias)),
        ),
        "npu_fast_gelu": (lambda: npu.npu_fast_gelu(x), lambda: x / (1 + torch.exp(-1.702 * x))),
        "npu_geglu": (
            lambda: npu.npu_geglu(wide)[0],
            lambda: wide[:, :1024] * F.gelu(wide[:, 1024:], approximate="tanh"),
        ),
        "npu_swiglu_quant": (lambda: npu.npu_swiglu_quant(wide, quant_mode=1), plain_gated_quant),
        "npu_cross_entropy_loss, with its gradient": (
            _with_gradient(lambda: npu.npu_cross_entropy_loss(scores, target)[0], scores),
            _with_gradient(lambda: F.nll_loss(F.log_softmax(scores, -1), target), scores),
        ),
        "npu_ffn": (lambda: npu.npu_ffn(rows, first, second, "relu"), lambda: torch.relu(rows @ first) @ second),
        "npu_weight_quant_batchmatmul": (
            lambda: npu.npu_weight_quant_batchmatmul(rows, eight, scale),
            lambda: rows @ (eight.float() * scale),
        ),
        "npu_apply_adam_w": (
            lambda: npu.npu_apply_adam_w.out(
                0.9, 0.99, 1e-3, 0.01, 0.9, 0.99, 1e-6, grad, None, False, False, var=var, m=m, v=v
            ),
            plain_step,
        ),
        "npu_top_k_top_p": (lambda: npu.npu_top_k_top_p(logits, p=share, k=count), plain_sampling),
        "npu_fused_infer_attention_score, pages": (
            lambda: npu.npu_fused_infer_attention_score(
                query,
                *caches,
                num_heads=8,
                scale=0.125,
                block_table=table,
                block_size=16,
                actual_seq_lengths_kv=[128] * 8,
            )[0],
            plain_pages,
        ),
    }


def cases() -> dict[str, tuple]:
    """The composite and its plain formulation, by name."""
    torch.manual_seed(0)
    return {
        **_attention(),
        **_norms_and_gates(),
        **_products_and_experts(),
        **_caches_and_quantisation(),
        **_more_norms_losses_and_steps(),
    }


def measured(composite: Callable[[], Any], plain: Callable[[], Any], rounds: int = 15) -> tuple[float, float]:
    """Medians of processor time in milliseconds, taken in turn."""
    found: tuple[list[float], list[float]] = [], []
    for call in (composite, plain):
        call()
    start = time.process_time()
    plain()
    times = max(1, int(0.02 / max(time.process_time() - start, 1e-5)))
    for _ in range(rounds):
        for call, kept in zip((composite, plain), found, strict=True):
            start = time.process_time()
            for _ in range(times):
                call()
            kept.append((time.process_time() - start) / times * 1e3)
    return statistics.median(found[0]), statistics.median(found[1])


def main(names: list[str]) -> int:
    """Print a line for each case; 1 if one is above the limit."""
    torch.set_num_threads(1)
    above = 0
    for name, (composite, plain) in cases().items():
        if names and not any(each in name for each in names):
            continue
        ours, others = measured(composite, plain)
        above += ours > LIMIT * others
        print(f"{ours / others:6.2f}  {ours:8.3f} ms  {others:8.3f} ms  {name}", flush=True)
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
