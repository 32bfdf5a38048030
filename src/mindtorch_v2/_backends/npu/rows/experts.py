"""Mixture of experts: which expert takes a token, tokens in the order of their experts, and back."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from . import runs
from .checks import composite, no_gradient, require, require_absent, require_choice, wide
from .numbers import has_numbers
from .quantization import quantized, quantized_by_row

npu = namespace("npu")
_INT32, _INT64 = DTYPES["int32"], DTYPES["int64"]
_LATE = 1 << 31  # behind every expert


def _inverse(order):
    """The place of each number in a permutation."""
    places = aten.empty_like(order)
    return places.scatter_(0, order, aten.arange(order.numel(), dtype=order.dtype, device=order.device))


def _sorted(indices):
    """The stable order of flattened expert numbers."""
    return aten.argsort(indices.flatten().to(_INT64), stable=True, dim=0)


@composite(
    "npu::npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) "
    "-> (Tensor, Tensor)",
    "Tokens in the order of their experts, and where each (token, choice) went.",
    explicit=True,
    grad={
        "tokens": lambda grad, tokens, indices, padded_mode, result1: npu.npu_moe_token_permute_grad(
            tokens, grad, indices, result1, padded_mode
        )
    },
    nondiff=(1,),
)
def npu_moe_token_permute(tokens: Any, indices: Any, num_out_tokens: Any = None, padded_mode: bool = False) -> tuple:
    operator = "npu_moe_token_permute"
    require(not padded_mode, operator, "padded_mode must be False")
    choices = 1 if indices.dim() == 1 else indices.shape[1]
    require(
        indices.shape[0] == tokens.shape[0],
        operator,
        f"indices must have a row for each of the {tokens.shape[0]} tokens, but it has {indices.shape[0]}",
    )
    order = _sorted(indices)
    count = order.numel() if not num_out_tokens else num_out_tokens
    if count < 0:
        count += order.numel()
    return aten.index_select(tokens, 0, (order // choices)[:count]), _inverse(order).to(_INT32)


@composite(
    "npu::npu_moe_token_permute_grad(Tensor tokens, Tensor grad_permuted_tokens, Tensor indices, Tensor sorted_indices, "
    "bool padded_mode=False) -> Tensor",
    "Gradient of npu_moe_token_permute: the sum over a token's choices.",
)
def npu_moe_token_permute_grad(
    tokens: Any, grad_permuted_tokens: Any, indices: Any, sorted_indices: Any, padded_mode: bool = False,
) -> Any:  # fmt: skip
    choices = 1 if indices.dim() == 1 else indices.shape[1]
    rows = _rows_or_zero(wide(grad_permuted_tokens), sorted_indices)
    return rows.reshape(tokens.shape[0], choices, -1).sum([1]).reshape(tokens.shape).to(tokens.dtype)


def _rows_or_zero(rows, where):
    """The rows of these numbers; zeros for numbers beyond the last."""
    count = rows.shape[0]
    places = where.to(_INT64)
    if count == 0:
        return aten.zeros([places.numel(), *rows.shape[1:]], dtype=rows.dtype, device=rows.device)
    if count >= places.numel():  # there is a row for each
        return aten.index_select(rows, 0, places)
    kept = aten.index_select(rows, 0, places.clamp(max=count - 1))
    return aten.where((places < count).reshape(-1, *[1] * (rows.dim() - 1)), kept, 0)


def _unpermute_check(operator, padded_mode, restore_shape) -> None:
    require(not padded_mode, operator, "padded_mode must be False")
    require_absent(operator, restore_shape=restore_shape)


@composite(
    "npu::npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, "
    "bool padded_mode=False, int[]? restore_shape=None) -> Tensor",
    "Tokens in their old order: the sum of what their experts made of them, weighted by `probs`.",
    explicit=True,
    grad={
        ("permuted_tokens", "probs"): lambda grad, permuted_tokens, sorted_indices, probs, padded_mode, restore_shape: (
            npu.npu_moe_token_unpermute_grad(permuted_tokens, grad, sorted_indices, probs, padded_mode, restore_shape)
            if probs is not None
            else (
                npu.npu_moe_token_unpermute_grad(permuted_tokens, grad, sorted_indices, None, padded_mode)[0],
                None,
            )
        )
    },
)
def npu_moe_token_unpermute(
    permuted_tokens: Any, sorted_indices: Any, probs: Any = None, padded_mode: bool = False,
    restore_shape: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_moe_token_unpermute"
    _unpermute_check(operator, padded_mode, restore_shape)
    require(
        sorted_indices.dim() == 1 and permuted_tokens.shape[0] <= sorted_indices.shape[0],
        operator,
        "sorted_indices must be a row of as many numbers as permuted_tokens has rows, or more, but their sizes are "
        f"{list(sorted_indices.shape)} and {list(permuted_tokens.shape)}",
    )
    choices = 1 if probs is None else probs.shape[1]
    rows = _rows_or_zero(permuted_tokens, sorted_indices)
    if probs is None:
        return rows
    rows = wide(rows).reshape(-1, choices, rows.shape[-1]) * wide(probs).unsqueeze(-1)
    return rows.sum([1]).to(permuted_tokens.dtype)


@composite(
    "npu::npu_moe_token_unpermute_grad(Tensor permuted_tokens, Tensor grad_unpermuted_tokens, Tensor sorted_indices, "
    "Tensor? probs=None, bool padded_mode=False, int[]? restore_shape=None) -> (Tensor, Tensor)",
    "Gradients of npu_moe_token_unpermute by the rows and by the weights.",
)
def npu_moe_token_unpermute_grad(
    permuted_tokens: Any, grad_unpermuted_tokens: Any, sorted_indices: Any, probs: Any = None,
    padded_mode: bool = False, restore_shape: Any = None,
) -> tuple:  # fmt: skip
    _unpermute_check("npu_moe_token_unpermute_grad", padded_mode, restore_shape)
    g = wide(grad_unpermuted_tokens)
    places = sorted_indices.to(_INT64)
    count = permuted_tokens.shape[0]
    if probs is None:
        spread, dprobs = g, aten.empty([0], dtype=g.dtype, device=g.device)
    else:
        rows = wide(_rows_or_zero(permuted_tokens, sorted_indices)).reshape(*probs.shape, -1)
        dprobs = (rows * g.unsqueeze(1)).sum([-1]).to(probs.dtype)
        spread = (g.unsqueeze(1) * wide(probs).unsqueeze(-1)).reshape(-1, g.shape[-1])
    longest = aten.zeros([max(count, places.numel()), g.shape[-1]], dtype=g.dtype, device=g.device)
    return aten.index_copy(longest, 0, places, spread)[:count].to(permuted_tokens.dtype), dprobs


# ---- gating ----


@composite(
    "npu::npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)",
    "The k likeliest experts of each row: probabilities, numbers, and where each would go by columns.",
    explicit=True,
    grad=no_gradient("npu_moe_gating_top_k_softmax", "x"),
    samples=[S(T(5, 8, grad=False), None, 2)],
)
def npu_moe_gating_top_k_softmax(x: Any, finished: Any = None, k: int = 1) -> tuple:
    operator = "npu_moe_gating_top_k_softmax"
    experts = x.shape[-1]
    require(0 < k <= min(experts, 1024), operator, f"k must be from 1 to {min(experts, 1024)}, but it is {k}")
    y, chosen = aten.topk(aten.softmax(wide(x), -1), k, -1, True, True)
    if finished is not None:
        chosen = aten.where(finished.unsqueeze(-1), experts, chosen)
    rows = x.shape[0]
    count = chosen.numel() // k
    row_idx = aten.arange(count, device=x.device).unsqueeze(-1) + aten.arange(k, device=x.device) * count
    return y.to(x.dtype), chosen.to(_INT32), row_idx.reshape(chosen.shape if x.dim() > 2 else [rows, k]).to(_INT32)


def _best(score: Any, k: int) -> Any:
    """The places of the k largest of each row, best first; of equal ones the first."""
    if score.device.type == "cpu":  # where nothing is equal, a choice of k is enough
        values, chosen = aten.topk(score, min(k + 1, score.shape[-1]), -1)
        if (values[..., :-1] > values[..., 1:]).all():
            return chosen[..., :k]
    return aten.argsort(score, dim=-1, descending=True, stable=True)[..., :k]


def _gate_gradient(grad, renorm, norm_type, out_flag, routed_scaling_factor, eps, chosen, p) -> Any:
    require(out_flag, "npu_moe_gating_top_k", "its gradient is computed from the probabilities: out_flag must be True")
    return npu.npu_moe_gating_top_k_backward(
        p, grad, chosen, renorm=renorm, norm_type=norm_type, routed_scaling_factor=routed_scaling_factor, eps=eps
    )


@composite(
    "npu::npu_moe_gating_top_k(Tensor x, int k, *, Tensor? bias=None, Tensor? input_ids=None, Tensor? tid2eid=None, "
    "int k_group=1, int group_count=1, int group_select_mode=0, int renorm=0, int norm_type=0, bool out_flag=False, "
    "float routed_scaling_factor=1.0, float eps=1e-20) -> (Tensor, Tensor, Tensor)",
    "The k best experts of the k_group best groups: weights, numbers, and all probabilities where they are asked for.",
    explicit=True,
    grad={
        "x": lambda grads, renorm, norm_type, out_flag, routed_scaling_factor, eps, result1, result2: _gate_gradient(
            grads[0], renorm, norm_type, out_flag, routed_scaling_factor, eps, result1, result2
        )
    },
    nondiff=(1, 2),
    samples=[S(T(5, 8), 2, k_group=2, group_count=4, group_select_mode=1, norm_type=1, out_flag=True)],
)
def npu_moe_gating_top_k(
    x: Any, k: int, *, bias: Any = None, input_ids: Any = None, tid2eid: Any = None, k_group: int = 1,
    group_count: int = 1, group_select_mode: int = 0, renorm: int = 0, norm_type: int = 0, out_flag: bool = False,
    routed_scaling_factor: float = 1.0, eps: float = 1e-20,
) -> tuple:  # fmt: skip
    operator = "npu_moe_gating_top_k"
    require_absent(operator, input_ids=input_ids, tid2eid=tid2eid)
    require_choice(operator, "renorm", renorm, (0,))
    require_choice(operator, "norm_type", norm_type, (0, 1))
    require_choice(operator, "group_select_mode", group_select_mode, (0, 1))
    experts = x.shape[-1]
    require(experts % group_count == 0, operator, f"group_count must divide {experts}, but it is {group_count}")
    require(
        0 < k_group <= group_count and 0 < k <= experts // group_count * k_group,
        operator,
        f"k must be at most the {experts // group_count * k_group} experts of {k_group} groups, but it is {k}",
    )
    p = aten.softmax(wide(x), -1) if norm_type == 0 else aten.sigmoid(wide(x))
    score = p if bias is None else p + wide(bias)
    if group_count > 1:
        grouped = score.reshape(-1, group_count, experts // group_count)
        if group_select_mode == 0:
            of_group = grouped.amax([-1])
        else:
            of_group = aten.topk(grouped, min(2, grouped.shape[-1]), -1)[0].sum([-1])
        best = aten.topk(of_group, k_group, -1)[1]
        kept = aten.zeros_like(of_group, dtype=DTYPES["bool"]).scatter_(1, best, True)
        score = aten.masked_fill(grouped, ~kept.unsqueeze(-1), float("-inf")).reshape(score.shape)
    chosen = _best(score, k)
    y = aten.gather(p, -1, chosen)
    if norm_type == 1:
        y = y / (y.sum([-1], True) + eps)
    everything = p if out_flag else aten.empty([0], dtype=p.dtype, device=p.device)
    return (y * routed_scaling_factor).to(x.dtype), chosen.to(_INT32), everything


# ---- routing ----


@composite(
    "npu::npu_moe_init_routing(Tensor x, Tensor row_idx, Tensor expert_idx, int active_num) -> (Tensor, Tensor, Tensor)",
    "Rows in the order of their experts, the place of each, and the experts' numbers in that order.",
    explicit=True,
    grad=no_gradient("npu_moe_init_routing", "x"),
)
def npu_moe_init_routing(x: Any, row_idx: Any, expert_idx: Any, active_num: int) -> tuple:
    order = _sorted(expert_idx)
    rows, k = expert_idx.shape
    source = aten.index_select(row_idx.flatten().to(_INT64), 0, order)  # numbers by columns: choice * rows + row
    count = min(active_num, rows) * k
    expanded = aten.index_select(x, 0, (source % rows)[:count])
    places = aten.empty_like(source).scatter_(0, source, aten.arange(source.numel(), device=x.device))
    return expanded, places.to(_INT32), aten.index_select(expert_idx.flatten(), 0, order).to(_INT32)


@composite(
    "npu::npu_moe_compute_expert_tokens(Tensor sorted_expert_for_source_row, int num_expert) -> Tensor",
    "The number of the row behind each expert's last in a sorted list.",
    explicit=True,
)
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: Any, num_expert: int) -> Any:
    experts = aten.arange(
        num_expert, dtype=sorted_expert_for_source_row.dtype, device=sorted_expert_for_source_row.device
    )
    return aten.searchsorted(sorted_expert_for_source_row, experts, right=True).to(_INT32)


def _counted(numbers, groups):
    """How many of some numbers are each of 0 to groups - 1."""
    if not has_numbers(numbers):
        return aten.empty([groups], dtype=_INT64, device=numbers.device)
    return aten.bincount(numbers, minlength=groups)


def _with_capacity(operator, flat, order, experts, capacity) -> tuple:
    """The rows that their experts have room for, their slots, and of each row its slot, -1 without one."""
    require(capacity > 0, operator, f"drop_pad_mode 1 takes a positive expert_capacity, but it is {capacity}")
    by_expert = aten.index_select(flat, 0, order)
    sizes = _counted(by_expert, experts)
    within = aten.arange(order.numel(), device=flat.device) - aten.index_select(
        aten.cumsum(sizes, 0) - sizes, 0, by_expert
    )
    kept = aten.nonzero(within < capacity).flatten() if has_numbers(within) else within
    rows = aten.index_select(order, 0, kept)
    slots = aten.index_select(by_expert, 0, kept) * capacity + aten.index_select(within, 0, kept)
    places = aten.full([flat.numel()], -1, dtype=_INT64, device=flat.device)
    return rows, slots, places.scatter_(0, rows, slots)


def _padded(values, slots, count):
    """Values at their slots among `count`, zeros elsewhere."""
    made = aten.zeros([count, *values.shape[1:]], dtype=values.dtype, device=values.device)
    return aten.index_copy(made, 0, slots, values)


@composite(
    "npu::npu_moe_init_routing_v2(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, "
    "int active_num=-1, int expert_capacity=-1, int expert_num=-1, int drop_pad_mode=0, int expert_tokens_num_type=0, "
    "bool expert_tokens_num_flag=False, int quant_mode=-1, int[2] active_expert_range=[], int row_idx_type=0, "
    "int? x_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)",
    "Rows in the order of their experts, the place of each, the experts' counts, and scales where rows are quantised.",
    explicit=True,
    grad=no_gradient("npu_moe_init_routing_v2", "x"),
)
def npu_moe_init_routing_v2(
    x: Any, expert_idx: Any, *, scale: Any = None, offset: Any = None, active_num: int = -1,
    expert_capacity: int = -1, expert_num: int = -1, drop_pad_mode: int = 0, expert_tokens_num_type: int = 0,
    expert_tokens_num_flag: bool = False, quant_mode: int = -1, active_expert_range: Any = (), row_idx_type: int = 0,
    x_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_moe_init_routing_v2"
    require_absent(operator, x_dtype=x_dtype)
    require_choice(operator, "drop_pad_mode", drop_pad_mode, (0, 1))
    require_choice(operator, "quant_mode", quant_mode, (-1, 0, 1))
    require_choice(operator, "row_idx_type", row_idx_type, (0, 1))
    require_choice(operator, "expert_tokens_num_type", expert_tokens_num_type, (0, 1, 2))
    require(expert_num > 0, operator, f"expert_num must be positive, but it is {expert_num}")
    first, last = active_expert_range or (0, expert_num)
    require(
        0 <= first < last <= expert_num,
        operator,
        f"active_expert_range must lie within 0 to {expert_num}, but it is [{first}, {last}]",
    )
    k = expert_idx.shape[1]
    flat = expert_idx.flatten().to(_INT64)
    active = (flat >= first) & (flat < last)
    # Rows of other experts come last: those of later ones by their numbers, then those of earlier ones. Nothing is read on the host.
    order = aten.argsort(aten.where(flat < first, _LATE, flat), dim=0, stable=True)
    counts = (flat.unsqueeze(-1) == aten.arange(first, last, device=x.device)).sum([0])
    filled = goes = None
    if drop_pad_mode == 1:
        rows, filled, places = _with_capacity(operator, flat, order, expert_num, expert_capacity)
    else:
        numbers = aten.arange(flat.numel(), device=x.device)
        within = numbers < active.sum()
        rows = order[: flat.numel() if active_num <= 0 else min(active_num, flat.numel())]
        goes = within[: rows.numel()]
        places = order
        if row_idx_type == 0:
            places = aten.empty_like(order).scatter_(0, order, aten.where(within, numbers, -1))
    token = rows // k
    expanded, scales = aten.index_select(x, 0, token), aten.empty([0], dtype=DTYPES["float32"], device=x.device)
    expert = aten.clamp(aten.index_select(flat, 0, rows) - first, 0, last - first - 1)
    if quant_mode == 1:
        smooth = None
        if scale is not None and rows.numel():
            smooth = aten.index_select(scale, 0, expert if scale.shape[0] > 1 else expert * 0)
        expanded, scales = quantized_by_row(operator, wide(expanded) if smooth is None else wide(expanded) * smooth)
    elif quant_mode == 0:
        empty = expanded.numel() == 0
        expanded = expanded.to(DTYPES["int8"]) if empty else quantized(operator, expanded, scale, offset, False, None)
    elif scale is not None:
        scales = aten.index_select(scale, 0, token)
    if goes is not None:  # behind the rows of these experts are zeros
        expanded = aten.where(goes.unsqueeze(-1), expanded, 0)
        scales = aten.where(goes.reshape(-1, *[1] * (scales.dim() - 1)), scales, 0) if scales.numel() else scales
    if filled is not None:
        expanded = _padded(expanded, filled, expert_num * expert_capacity).reshape(expert_num, expert_capacity, -1)
        scales = scales if scales.numel() == 0 else _padded(scales, filled, expert_num * expert_capacity)
    if drop_pad_mode == 0 and expert_tokens_num_type == 0:
        counts = aten.cumsum(counts, 0)
    elif drop_pad_mode == 0 and expert_tokens_num_type == 2:  # the experts that have rows, with these, then zeros
        chosen = aten.argsort((counts == 0).to(_INT64), dim=0, stable=True)
        pairs = aten.stack([chosen + first, aten.index_select(counts, 0, chosen)], 1)
        pairs = aten.where(pairs[:, 1:] > 0, pairs, 0)
        counts = aten.constant_pad_nd(pairs, [0, 0, 0, expert_num - pairs.shape[0]], 0)
    if not expert_tokens_num_flag:
        counts = aten.empty([0], dtype=_INT64, device=x.device)
    return expanded, places.to(_INT32), counts, scales


@composite(
    "npu::npu_moe_finalize_routing(Tensor expanded_permuted_rows, Tensor? skip1, Tensor? skip2, Tensor? bias, "
    "Tensor? scales, Tensor expanded_src_to_dst_row, Tensor? export_for_source_row, int? drop_pad_mode=0, int? k=1) "
    "-> Tensor",
    "The sum of what a row's experts made of it, weighted, with biases, beside what skipped them.",
    explicit=True,
    grad=no_gradient("npu_moe_finalize_routing", "expanded_permuted_rows", "skip1", "skip2", "bias", "scales"),
)
def npu_moe_finalize_routing(
    expanded_permuted_rows: Any, skip1: Any, skip2: Any, bias: Any, scales: Any, expanded_src_to_dst_row: Any,
    export_for_source_row: Any, drop_pad_mode: Any = 0, k: Any = 1,
) -> Any:  # fmt: skip
    operator = "npu_moe_finalize_routing"
    require_choice(operator, "drop_pad_mode", drop_pad_mode, (0, 1, 2, 3))
    if scales is not None:
        k = scales.shape[1]
    rows = expanded_src_to_dst_row.numel() // k
    places = expanded_src_to_dst_row.to(_INT64)
    places = places.reshape(k, rows).transpose(0, 1) if drop_pad_mode in (0, 1) else places.reshape(rows, k)
    values = wide(expanded_permuted_rows).reshape(-1, expanded_permuted_rows.shape[-1])
    if drop_pad_mode in (1, 3):  # -1 is the place of a row that was dropped
        y = aten.index_select(values, 0, places.flatten().clamp(min=0)).reshape(rows, k, -1)
        y = aten.masked_fill(y, (places < 0).unsqueeze(-1), 0)
    else:
        y = aten.index_select(values, 0, places.flatten()).reshape(rows, k, -1)
    if bias is not None:
        require(export_for_source_row is not None, operator, "bias takes export_for_source_row")
        y = y + aten.index_select(wide(bias), 0, export_for_source_row.flatten().to(_INT64)).reshape(y.shape)
    if scales is not None:
        y = y * wide(scales).unsqueeze(-1)
    y = y.sum([1])
    for skip in (skip1, skip2):
        if skip is not None:
            y = y + wide(skip)
    return y.to(expanded_permuted_rows.dtype)


@composite(
    "npu::npu_moe_re_routing(Tensor tokens, Tensor expert_token_num_per_rank, *, Tensor? per_token_scales=None, "
    "int expert_token_num_type=1, int idx_type=0, int? tokens_dtype=None) -> (Tensor, Tensor, Tensor, Tensor)",
    "Tokens that lie by rank, then expert, brought in the order expert, then rank; scales, numbers, counts.",
    explicit=True,
    grad=no_gradient("npu_moe_re_routing", "tokens"),
)
def npu_moe_re_routing(
    tokens: Any, expert_token_num_per_rank: Any, *, per_token_scales: Any = None, expert_token_num_type: int = 1,
    idx_type: int = 0, tokens_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_moe_re_routing"
    require_absent(operator, tokens_dtype=tokens_dtype)
    require_choice(operator, "expert_token_num_type", expert_token_num_type, (1,))
    require_choice(operator, "idx_type", idx_type, (0,))
    counts, there = expert_token_num_per_rank.flatten(), tokens.shape[0]
    if has_numbers(counts) and not runs.is_recorded(counts):
        total = int(counts.sum())
        require(total == there, operator, f"the counts sum to {total}, but there are {there} tokens")
    run = runs.group_of_rows(counts, 1, there)
    order = aten.argsort(aten.remainder(run, expert_token_num_per_rank.shape[1]), dim=0, stable=True)
    moved = aten.empty([0], dtype=DTYPES["float32"], device=tokens.device)
    if per_token_scales is not None:
        moved = aten.index_select(per_token_scales, 0, order)
    return (
        aten.index_select(tokens, 0, order),
        moved,
        order.to(_INT32),
        expert_token_num_per_rank.sum([0]).to(expert_token_num_per_rank.dtype),
    )
