"""Mixture of experts over the processes of a group: tokens to the processes of their experts, and back.

A process holds `moe_expert_num / ep_world_size` experts, those of its rank. The rows that it gets lie by expert, then by the
process that they came from, then in that process' order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from .. import groups
from .checks import composite, no_gradient, require, require_absent, require_choice, wide
from .communication import _exchanged
from .norm import normalized
from .quantization import quantized_by_row

npu = namespace("npu")
_INT32, _INT64, _FLOAT32 = DTYPES["int32"], DTYPES["int64"], DTYPES["float32"]
_ASSIST = 128  # numbers a row of assist_info_for_combine


class _Layout(NamedTuple):
    """The experts of a call and where they are."""

    operator: str
    group: Any
    ranks: int
    experts: int

    @property
    def local(self) -> int:
        return self.experts // self.ranks

    @staticmethod
    def of(
        operator: str,
        group_ep: str,
        ep_world_size: int,
        ep_rank_id: int,
        moe_expert_num: int,
        tp_world_size: int,
        shared_expert_rank_num: int,
    ) -> _Layout:
        group = groups.find(operator, "group_ep", group_ep)
        require(
            (ep_world_size, ep_rank_id) == (group.size, group.rank),
            operator,
            f"ep_world_size and ep_rank_id must be those of the group, {group.size} and {group.rank}, but they are "
            f"{ep_world_size} and {ep_rank_id}",
        )
        require_choice(operator, "tp_world_size", tp_world_size, (0, 1))
        require_choice(operator, "shared_expert_rank_num", shared_expert_rank_num, (0,))
        require(
            0 < moe_expert_num <= 1024 and moe_expert_num % ep_world_size == 0,
            operator,
            f"moe_expert_num must be at most 1024 and a multiple of the {ep_world_size} processes, but it is {moe_expert_num}",
        )
        return _Layout(operator, group, ep_world_size, moe_expert_num)


def _sent(layout, expert_ids, x_active_mask) -> tuple:
    """The (token, choice) pairs that go to experts, in the order of these, and how many go to each."""
    ids = expert_ids.to(_INT64)
    goes = ids < layout.experts
    if x_active_mask is not None:
        mask = x_active_mask.to(DTYPES["bool"])
        goes = goes & (mask.unsqueeze(-1) if mask.dim() == 1 else mask)
    chosen = aten.where(goes, ids, layout.experts).flatten()
    count = int(goes.sum())
    order = aten.argsort(chosen, dim=0, stable=True)[:count]
    sizes = aten.bincount(aten.index_select(chosen, 0, order), minlength=layout.experts)
    return order, sizes


def _spans(counts, ranks) -> list[int]:
    """Rows a process, from rows an expert of each process."""
    return [int(n) for n in counts.reshape(ranks, -1).sum([1]).tolist()]


def _turned(counts, first, second) -> list[int]:
    """Numbers of rows that lie by `first`, then `second` (runs of these sizes), in the order `second`, then `first`."""
    sizes = counts.reshape(first, second).tolist()
    starts: list[list[int]] = []
    start = 0
    for row in sizes:
        starts.append([])
        for size in row:
            starts[-1].append(start)
            start += size
    return [starts[i][j] + k for j in range(second) for i in range(first) for k in range(sizes[i][j])]


def _index(numbers, device):
    return _C.tensor(numbers, dtype=_INT64, device=device)


def _held(x, rows):
    """x with rows of zeros behind it, as many as the kernel makes room for."""
    padding = [0, 0] * (x.dim() - 1) + [0, rows - x.shape[0]]
    return aten.constant_pad_nd(x, padding, 0)


def _dispatch(layout, x, expert_ids, scales, mask, expert_scales, quant_mode, global_bs, token_nums_type) -> tuple:
    operator = layout.operator
    require_choice(operator, "quant_mode", quant_mode, (0, 2))
    require_choice(operator, "expert_token_nums_type", token_nums_type, (0, 1))
    require(x.dim() == 2, operator, f"x must have 2 dimensions, but it has {x.dim()}")
    require(
        expert_ids.dim() == 2 and expert_ids.shape[0] == x.shape[0],
        operator,
        f"expert_ids must have a row for each of the {x.shape[0]} tokens, but its sizes are {list(expert_ids.shape)}",
    )
    choices = expert_ids.shape[1]
    order, sizes = _sent(layout, expert_ids, mask)
    token = order // choices
    arriving = aten.empty_like(sizes)
    even = [layout.local] * layout.ranks
    layout.group.alltoall_single(arriving, sizes, even, even).wait()
    sent, received = _spans(sizes, layout.ranks), _spans(arriving, layout.ranks)
    by_expert = _index(_turned(arriving, layout.ranks, layout.local), x.device)

    def moved(rows: Any) -> Any:
        return aten.index_select(_exchanged(layout.group, rows, sent, received), 0, by_expert)

    rows, row_scales = aten.index_select(x, 0, token), None
    if quant_mode == 2:
        smooth = None
        if scales is not None:
            smooth = aten.index_select(scales, 0, aten.index_select(expert_ids.flatten().to(_INT64), 0, order))
        rows, row_scales = quantized_by_row(operator, wide(rows) if smooth is None else wide(rows) * smooth)
    room = (global_bs or x.shape[0] * layout.ranks) * min(layout.local, choices)
    counts = arriving.reshape(layout.ranks, layout.local).transpose(0, 1)
    tokens = counts.sum([1])
    nothing = aten.empty([0], dtype=_FLOAT32, device=x.device)
    weights = nothing
    if expert_scales is not None:
        weights = _held(moved(aten.index_select(expert_scales.flatten().to(_FLOAT32), 0, order)), room)
    origin = aten.stack([aten.full_like(token, layout.group.rank), token, order % choices], 1).to(_INT32)
    origin = aten.constant_pad_nd(moved(origin), [0, _ASSIST - 3, 0, room - sum(received)], 0)
    return (
        _held(moved(rows), room),
        nothing if row_scales is None else _held(moved(row_scales), room),
        origin.flatten(),
        aten.cumsum(tokens, 0) if token_nums_type == 0 else tokens,
        aten.cumsum(aten.contiguous(counts).flatten(), 0).to(_INT32),
        aten.zeros([1], dtype=_INT32, device=x.device),
        weights,
    )


def _combine(layout, expand_x, expert_ids, ep_send_counts, expert_scales, mask, shared) -> Any:
    """Rows back to their processes, and each token's sum of them, weighted."""
    operator = layout.operator
    ends = ep_send_counts[: layout.experts].to(_INT64)
    require(
        ends.numel() == layout.experts,
        operator,
        f"ep_send_counts must have {layout.experts} numbers, but it has {ends.numel()}",
    )
    counts = aten.cat([ends[:1], ends[1:] - ends[:-1]])  # by expert, then process
    by_rank = aten.contiguous(counts.reshape(layout.local, layout.ranks).transpose(0, 1)).flatten()
    rows = aten.index_select(expand_x, 0, _index(_turned(counts, layout.local, layout.ranks), expand_x.device))
    order, sizes = _sent(layout, expert_ids, mask)
    back = _exchanged(layout.group, rows, _spans(by_rank, layout.ranks), _spans(sizes, layout.ranks))
    weights = aten.index_select(expert_scales.flatten().to(_FLOAT32), 0, order)
    total = aten.zeros([expert_ids.shape[0], expand_x.shape[1]], dtype=wide(back).dtype, device=expand_x.device)
    total = aten.index_add(total, 0, order // expert_ids.shape[1], wide(back) * weights.unsqueeze(-1))
    return total if shared is None else total + wide(shared).reshape(total.shape)


def _special(layout, total, expert_ids, expert_scales, mask, ori_x, kinds, constants) -> Any:
    """The sum with the experts beyond those of processes: of nothing, of copies of the token, and of constants."""
    zero, copy, const = kinds
    if not copy and not const:
        return total
    require(ori_x is not None, layout.operator, "copy_expert_num and const_expert_num take ori_x")
    ids, weights = expert_ids.to(_INT64), wide(expert_scales)
    if mask is not None:
        active = mask.to(DTYPES["bool"])
        weights = aten.where(active.unsqueeze(-1) if active.dim() == 1 else active, weights, 0)
    first = layout.experts + zero
    copied = (ids >= first) & (ids < first + copy)
    total = total + wide(ori_x) * aten.where(copied, weights, 0).sum([1], True)
    for number in range(const):
        chosen = aten.where(ids == first + copy + number, weights, 0).sum([1], True)
        alpha_1, alpha_2, v = (wide(each[number]) for each in constants)
        total = total + (alpha_1 * wide(ori_x) + alpha_2 * v) * chosen
    return total


@composite(
    "npu::npu_moe_distribute_dispatch(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int ep_rank_id, "
    "int moe_expert_num, *, Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None, str "
    'group_tp="", int tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int '
    "shared_expert_rank_num=0, int quant_mode=0, int global_bs=0, int expert_token_nums_type=1) -> (Tensor, Tensor, "
    "Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Tokens, rounded to int8 or not, to the processes of their experts: rows by expert, their scales, the number of "
    "each choice within its expert, rows an expert, the ends of these by process, and the weights.",
    explicit=True,
    grad=no_gradient("npu_moe_distribute_dispatch", "x"),
)
def npu_moe_distribute_dispatch(
    x: Any, expert_ids: Any, group_ep: str, ep_world_size: int, ep_rank_id: int, moe_expert_num: int, *,
    scales: Any = None, x_active_mask: Any = None, expert_scales: Any = None, group_tp: str = "",
    tp_world_size: int = 0, tp_rank_id: int = 0, expert_shard_type: int = 0, shared_expert_num: int = 1,
    shared_expert_rank_num: int = 0, quant_mode: int = 0, global_bs: int = 0, expert_token_nums_type: int = 1,
) -> tuple:  # fmt: skip
    operator = "npu_moe_distribute_dispatch"
    layout = _Layout.of(
        operator, group_ep, ep_world_size, ep_rank_id, moe_expert_num, tp_world_size, shared_expert_rank_num
    )
    rows, row_scales, _, tokens, ends, of_tp, weights = _dispatch(
        layout, x, expert_ids, scales, x_active_mask, expert_scales, quant_mode, global_bs, expert_token_nums_type
    )
    order, sizes = _sent(layout, expert_ids, x_active_mask)
    starts = aten.repeat_interleave(aten.cumsum(sizes, 0) - sizes, sizes)
    within = aten.arange(order.numel(), device=x.device) - starts
    places = aten.zeros([expert_ids.numel()], dtype=_INT64, device=x.device).scatter_(0, order, within)
    return rows, row_scales, places.to(_INT32), tokens, ends, of_tp, weights


@composite(
    "npu::npu_moe_distribute_combine(Tensor expand_x, Tensor expert_ids, Tensor expand_idx, Tensor ep_send_counts, "
    "Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, Tensor? "
    "tp_send_counts=None, Tensor? x_active_mask=None, Tensor? activation_scale=None, Tensor? weight_scale=None, "
    'Tensor? group_list=None, Tensor? expand_scales=None, Tensor? shared_expert_x=None, str group_tp="", int '
    "tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int "
    "shared_expert_rank_num=0, int global_bs=0, int out_dtype=0, int comm_quant_mode=0, int group_list_type=0) -> "
    "Tensor",
    "The rows of npu_moe_distribute_dispatch back to their processes, and each token's sum of them, weighted by "
    "expert_scales, plus shared_expert_x.",
    explicit=True,
    grad=no_gradient("npu_moe_distribute_combine", "expand_x", "expert_scales"),
)
def npu_moe_distribute_combine(
    expand_x: Any, expert_ids: Any, expand_idx: Any, ep_send_counts: Any, expert_scales: Any, group_ep: str,
    ep_world_size: int, ep_rank_id: int, moe_expert_num: int, *, tp_send_counts: Any = None,
    x_active_mask: Any = None, activation_scale: Any = None, weight_scale: Any = None, group_list: Any = None,
    expand_scales: Any = None, shared_expert_x: Any = None, group_tp: str = "", tp_world_size: int = 0,
    tp_rank_id: int = 0, expert_shard_type: int = 0, shared_expert_num: int = 1, shared_expert_rank_num: int = 0,
    global_bs: int = 0, out_dtype: int = 0, comm_quant_mode: int = 0, group_list_type: int = 0,
) -> Any:  # fmt: skip
    operator = "npu_moe_distribute_combine"
    require_absent(operator, activation_scale=activation_scale, weight_scale=weight_scale, group_list=group_list)
    require_choice(operator, "comm_quant_mode", comm_quant_mode, (0,))
    layout = _Layout.of(
        operator, group_ep, ep_world_size, ep_rank_id, moe_expert_num, tp_world_size, shared_expert_rank_num
    )
    total = _combine(layout, expand_x, expert_ids, ep_send_counts, expert_scales, x_active_mask, shared_expert_x)
    return total.to(expand_x.dtype)


@composite(
    "npu::npu_moe_distribute_dispatch_v2(Tensor x, Tensor expert_ids, str group_ep, int ep_world_size, int "
    "ep_rank_id, int moe_expert_num, *, Tensor? scales=None, Tensor? x_active_mask=None, Tensor? expert_scales=None, "
    'Tensor? elastic_info=None, Tensor? performance_info=None, str group_tp="", int tp_world_size=0, int '
    "tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int shared_expert_rank_num=0, int quant_mode=0, "
    'int global_bs=0, int expert_token_nums_type=1, str comm_alg="", int zero_expert_num=0, int copy_expert_num=0, '
    "int const_expert_num=0, int? y_dtype=None, int? x_dtype=None, int? scales_dtype=None) -> (Tensor, Tensor, "
    "Tensor, Tensor, Tensor, Tensor, Tensor)",
    "npu_moe_distribute_dispatch that says of each row which process, token and choice it is; experts beyond "
    "moe_expert_num get nothing.",
    explicit=True,
    grad=no_gradient("npu_moe_distribute_dispatch_v2", "x"),
)
def npu_moe_distribute_dispatch_v2(
    x: Any, expert_ids: Any, group_ep: str, ep_world_size: int, ep_rank_id: int, moe_expert_num: int, *,
    scales: Any = None, x_active_mask: Any = None, expert_scales: Any = None, elastic_info: Any = None,
    performance_info: Any = None, group_tp: str = "", tp_world_size: int = 0, tp_rank_id: int = 0,
    expert_shard_type: int = 0, shared_expert_num: int = 1, shared_expert_rank_num: int = 0, quant_mode: int = 0,
    global_bs: int = 0, expert_token_nums_type: int = 1, comm_alg: str = "", zero_expert_num: int = 0,
    copy_expert_num: int = 0, const_expert_num: int = 0, y_dtype: Any = None, x_dtype: Any = None,
    scales_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_moe_distribute_dispatch_v2"
    require_absent(
        operator, elastic_info=elastic_info, performance_info=performance_info, y_dtype=y_dtype,
        x_dtype=x_dtype, scales_dtype=scales_dtype,
    )  # fmt: skip
    layout = _Layout.of(
        operator, group_ep, ep_world_size, ep_rank_id, moe_expert_num, tp_world_size, shared_expert_rank_num
    )
    return _dispatch(
        layout, x, expert_ids, scales, x_active_mask, expert_scales, quant_mode, global_bs, expert_token_nums_type
    )


@composite(
    "npu::npu_moe_distribute_combine_v2(Tensor expand_x, Tensor expert_ids, Tensor assist_info_for_combine, Tensor "
    "ep_send_counts, Tensor expert_scales, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, "
    "Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? expand_scales=None, Tensor? "
    "shared_expert_x=None, Tensor? elastic_info=None, Tensor? ori_x=None, Tensor? const_expert_alpha_1=None, Tensor? "
    'const_expert_alpha_2=None, Tensor? const_expert_v=None, Tensor? performance_info=None, str group_tp="", int '
    "tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int "
    'shared_expert_rank_num=0, int global_bs=0, int comm_quant_mode=0, str comm_alg="", int zero_expert_num=0, int '
    "copy_expert_num=0, int const_expert_num=0) -> Tensor",
    "npu_moe_distribute_combine, plus what experts beyond moe_expert_num give: zeros, copies of ori_x, or constants "
    "beside it.",
    explicit=True,
    grad=no_gradient("npu_moe_distribute_combine_v2", "expand_x", "expert_scales"),
)
def npu_moe_distribute_combine_v2(
    expand_x: Any, expert_ids: Any, assist_info_for_combine: Any, ep_send_counts: Any, expert_scales: Any,
    group_ep: str, ep_world_size: int, ep_rank_id: int, moe_expert_num: int, *, tp_send_counts: Any = None,
    x_active_mask: Any = None, expand_scales: Any = None, shared_expert_x: Any = None, elastic_info: Any = None,
    ori_x: Any = None, const_expert_alpha_1: Any = None, const_expert_alpha_2: Any = None, const_expert_v: Any = None,
    performance_info: Any = None, group_tp: str = "", tp_world_size: int = 0, tp_rank_id: int = 0,
    expert_shard_type: int = 0, shared_expert_num: int = 1, shared_expert_rank_num: int = 0, global_bs: int = 0,
    comm_quant_mode: int = 0, comm_alg: str = "", zero_expert_num: int = 0, copy_expert_num: int = 0,
    const_expert_num: int = 0,
) -> Any:  # fmt: skip
    operator = "npu_moe_distribute_combine_v2"
    require_absent(operator, elastic_info=elastic_info, performance_info=performance_info)
    require_choice(operator, "comm_quant_mode", comm_quant_mode, (0,))
    layout = _Layout.of(
        operator, group_ep, ep_world_size, ep_rank_id, moe_expert_num, tp_world_size, shared_expert_rank_num
    )
    total = _combine(layout, expand_x, expert_ids, ep_send_counts, expert_scales, x_active_mask, shared_expert_x)
    constants = (const_expert_alpha_1, const_expert_alpha_2, const_expert_v)
    kinds = (zero_expert_num, copy_expert_num, const_expert_num)
    total = _special(layout, total, expert_ids, expert_scales, x_active_mask, ori_x, kinds, constants)
    return total.to(expand_x.dtype)


@composite(
    "npu::npu_moe_distribute_combine_add_rms_norm(Tensor expand_x, Tensor expert_ids, Tensor expand_idx, Tensor ep_send_counts, "
    "Tensor expert_scales, Tensor residual_x, Tensor gamma, str group_ep, int ep_world_size, int ep_rank_id, int moe_expert_num, *, "
    "Tensor? tp_send_counts=None, Tensor? x_active_mask=None, Tensor? activation_scale=None, Tensor? weight_scale=None, Tensor? "
    "group_list=None, Tensor? expand_scales=None, Tensor? shared_expert_x=None, Tensor? elastic_info=None, Tensor? ori_x=None, "
    'Tensor? const_expert_alpha_1=None, Tensor? const_expert_alpha_2=None, Tensor? const_expert_v=None, str group_tp="", int '
    "tp_world_size=0, int tp_rank_id=0, int expert_shard_type=0, int shared_expert_num=1, int shared_expert_rank_num=0, int "
    'global_bs=0, int out_dtype=0, int comm_quant_mode=0, int group_list_type=0, str comm_alg="", float norm_eps=1e-06, int '
    "zero_expert_num=0, int copy_expert_num=0, int const_expert_num=0) -> (Tensor, Tensor, Tensor)",
    "npu_moe_distribute_combine_v2 plus residual_x (tokens, 1, columns), and npu_rms_norm of it: the norm, the reciprocal root, the "
    "sum.",
    explicit=True,
    grad=no_gradient("npu_moe_distribute_combine_add_rms_norm", "expand_x", "expert_scales", "residual_x", "gamma"),
)
def npu_moe_distribute_combine_add_rms_norm(
    expand_x: Any, expert_ids: Any, expand_idx: Any, ep_send_counts: Any, expert_scales: Any, residual_x: Any,
    gamma: Any, group_ep: str, ep_world_size: int, ep_rank_id: int, moe_expert_num: int, *, tp_send_counts: Any = None,
    x_active_mask: Any = None, activation_scale: Any = None, weight_scale: Any = None, group_list: Any = None,
    expand_scales: Any = None, shared_expert_x: Any = None, elastic_info: Any = None, ori_x: Any = None,
    const_expert_alpha_1: Any = None, const_expert_alpha_2: Any = None, const_expert_v: Any = None,
    group_tp: str = "", tp_world_size: int = 0, tp_rank_id: int = 0, expert_shard_type: int = 0,
    shared_expert_num: int = 1, shared_expert_rank_num: int = 0, global_bs: int = 0, out_dtype: int = 0,
    comm_quant_mode: int = 0, group_list_type: int = 0, comm_alg: str = "", norm_eps: float = 1e-06,
    zero_expert_num: int = 0, copy_expert_num: int = 0, const_expert_num: int = 0,
) -> tuple:  # fmt: skip
    operator = "npu_moe_distribute_combine_add_rms_norm"
    require_absent(
        operator, activation_scale=activation_scale, weight_scale=weight_scale, group_list=group_list,
        elastic_info=elastic_info,
    )  # fmt: skip
    require_choice(operator, "comm_quant_mode", comm_quant_mode, (0,))
    layout = _Layout.of(
        operator, group_ep, ep_world_size, ep_rank_id, moe_expert_num, tp_world_size, shared_expert_rank_num
    )
    total = _combine(layout, expand_x, expert_ids, ep_send_counts, expert_scales, x_active_mask, shared_expert_x)
    constants = (const_expert_alpha_1, const_expert_alpha_2, const_expert_v)
    kinds = (zero_expert_num, copy_expert_num, const_expert_num)
    total = _special(layout, total, expert_ids, expert_scales, x_active_mask, ori_x, kinds, constants)
    total = total.reshape(residual_x.shape) + wide(residual_x)
    y, rstd = normalized(operator, total, gamma, norm_eps)
    return y.to(residual_x.dtype), rstd, total.to(residual_x.dtype)
