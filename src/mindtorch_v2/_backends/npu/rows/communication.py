"""Matrix products fused with communication between the processes of a group, which is given by its name."""

from __future__ import annotations

from typing import Any

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import groups
from . import operations
from .checks import composite, no_gradient, require, require_absent, require_choice, wide
from .quantization import dtype_named, scale_of

_SIZES = (2, 4, 8, 16, 32)
_RESULTS = ("float16", "bfloat16", "float32")


def _group(operator, hcom, world_size=None):
    group = groups.find(operator, "hcom", hcom)
    require(
        world_size is None or world_size == group.size,
        operator,
        f"world_size must be the size of the group, {group.size}, but it is {world_size}",
    )
    return group


def _matrices(operator, x, weight) -> None:
    require(
        x.dim() == 2 and weight.dim() == 2,
        operator,
        f"both operands must have 2 dimensions, but they have {x.dim()} and {weight.dim()}",
    )
    require(
        x.shape[1] == weight.shape[0],
        operator,
        f"the columns of the first operand, {x.shape[1]}, must be as many as the rows of the second, {weight.shape[0]}",
    )


def _sum_of(operator, reduce_op) -> None:
    require_choice(operator, "reduce_op", reduce_op, ("sum",))


def _scaled(x, weight, bias, x_scale, weight_scale, dtype):
    """A product of 8-bit numbers by rows' and columns' scales, or a plain one."""
    if weight_scale is None:
        y = aten.matmul(x, weight)
        return y if bias is None else y + bias.to(y.dtype)
    y = aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"]))  # sums of int32, exactly
    if bias is not None and bias.dtype == DTYPES["int32"]:
        y, bias = y + bias, None
    y = y.to(DTYPES["float32"]) * scale_of(weight_scale)
    if x_scale is not None:
        y = y * wide(x_scale).reshape(-1, 1)
    return (y if bias is None else y + wide(bias)).to(dtype)


def _result(operator, x, weight_scale, output_dtype):
    """The result's dtype: that of the operands, or, of 8-bit ones, the one asked for."""
    if weight_scale is None:
        return x.dtype
    if weight_scale.dtype == DTYPES["int64"]:
        return DTYPES["float16"]
    return DTYPES[dtype_named(operator, output_dtype, _RESULTS, "bfloat16")]


def _gathered(group, x):
    """The rows of all processes, one after the other."""
    whole = aten.empty([group.size * x.shape[0], *x.shape[1:]], dtype=x.dtype, device=x.device)
    group.allgather_into(whole, aten.contiguous(x)).wait()
    return whole


def _exchanged(group, rows, sent, received):
    """Rows cut by `sent` and given to the processes; theirs, as many as `received` says."""
    landing = aten.empty([sum(received), *rows.shape[1:]], dtype=rows.dtype, device=rows.device)
    group.alltoall_single(landing, aten.contiguous(rows), list(received), list(sent)).wait()
    return landing


@composite(
    "npu::npu_mm_all_reduce_base(Tensor x1, Tensor x2, str hcom, *, str reduce_op='sum', Tensor? bias=None, Tensor? "
    "antiquant_scale=None, Tensor? antiquant_offset=None, Tensor? x3=None, Tensor? dequant_scale=None, Tensor? "
    "pertoken_scale=None, Tensor? comm_quant_scale_1=None, Tensor? comm_quant_scale_2=None, int "
    "antiquant_group_size=0, int comm_turn=0, int[]? group_sizes=None, int? y_dtype=None, int? x1_dtype=None, int? "
    "x2_dtype=None, int? dequant_scale_dtype=None, int? pertoken_scale_dtype=None, int comm_quant_mode=0, str? "
    "comm_mode=None) -> Tensor",
    "The sum over the processes of x1 @ x2 (+ bias + x3); x2 may be of 8 bits with a scale (and offset) a column.",
    explicit=True,
    flops=operations.of_factors,
    grad=no_gradient("npu_mm_all_reduce_base", "x1", "x2"),
)
def npu_mm_all_reduce_base(
    x1: Any, x2: Any, hcom: str, *, reduce_op: str = "sum", bias: Any = None, antiquant_scale: Any = None,
    antiquant_offset: Any = None, x3: Any = None, dequant_scale: Any = None, pertoken_scale: Any = None,
    comm_quant_scale_1: Any = None, comm_quant_scale_2: Any = None, antiquant_group_size: int = 0, comm_turn: int = 0,
    group_sizes: Any = None, y_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None,
    dequant_scale_dtype: Any = None, pertoken_scale_dtype: Any = None, comm_quant_mode: int = 0,
    comm_mode: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_mm_all_reduce_base"
    require_absent(
        operator, comm_quant_scale_1=comm_quant_scale_1, comm_quant_scale_2=comm_quant_scale_2,
        group_sizes=group_sizes, y_dtype=y_dtype, x1_dtype=x1_dtype, x2_dtype=x2_dtype,
        dequant_scale_dtype=dequant_scale_dtype, pertoken_scale_dtype=pertoken_scale_dtype,
    )  # fmt: skip
    _sum_of(operator, reduce_op)
    require_choice(operator, "antiquant_group_size", antiquant_group_size, (0,))
    require_choice(operator, "comm_quant_mode", comm_quant_mode, (0,))
    require(x2.dim() == 2, operator, f"x2 must have 2 dimensions, but it has {x2.dim()}")
    require(
        x1.shape[-1] == x2.shape[0],
        operator,
        f"the last dimension of x1, {x1.shape[-1]}, must be the first of x2, {x2.shape[0]}",
    )
    whole = x2.dtype.is_floating_point
    require(
        whole or (antiquant_scale is not None) != (dequant_scale is not None),
        operator,
        "an x2 of 8 bits takes antiquant_scale, where x1 is of floating point, or dequant_scale, where it is of 8 bits too",
    )
    group = _group(operator, hcom)
    if antiquant_scale is not None:
        weight = wide(x2) if antiquant_offset is None else wide(x2) + wide(antiquant_offset)
        y = aten.matmul(wide(x1), weight * wide(antiquant_scale)).to(x1.dtype)
    elif dequant_scale is not None:
        dtype = DTYPES["bfloat16" if dequant_scale.dtype == DTYPES["bfloat16"] else "float16"]
        rows = x1.reshape(-1, x1.shape[-1])
        whole_bias = bias if bias is not None and bias.dtype == DTYPES["int32"] else None
        y = _scaled(rows, x2, whole_bias, pertoken_scale, dequant_scale, dtype).reshape(*x1.shape[:-1], x2.shape[1])
    else:
        y = aten.matmul(x1, x2)
    if bias is not None and (dequant_scale is None or bias.dtype != DTYPES["int32"]):
        y = y + bias.to(y.dtype)
    y = aten.contiguous(y if x3 is None else y + x3)  # each process' own terms: all of them are summed
    group.allreduce(y, group.SUM).wait()
    return y


@composite(
    "npu::npu_mm_reduce_scatter_base(Tensor input, Tensor x2, str hcom, int world_size, *, str reduce_op='sum', "
    "Tensor? bias=None, Tensor? x1_scale=None, Tensor? x2_scale=None, int comm_turn=0, ScalarType? "
    "output_dtype=None, str? comm_mode=None) -> Tensor",
    "The sum over the processes of input @ x2 (+ bias), of which each process gets its part of the rows.",
    explicit=True,
    flops=operations.of_own_rows,
    grad=no_gradient("npu_mm_reduce_scatter_base", "input", "x2"),
)
def npu_mm_reduce_scatter_base(
    input: Any, x2: Any, hcom: str, world_size: int, *, reduce_op: str = "sum", bias: Any = None, x1_scale: Any = None,
    x2_scale: Any = None, comm_turn: int = 0, output_dtype: Any = None, comm_mode: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_mm_reduce_scatter_base"
    _sum_of(operator, reduce_op)
    require_choice(operator, "world_size", world_size, _SIZES)
    _matrices(operator, input, x2)
    group = _group(operator, hcom, world_size)
    require(
        input.shape[0] % world_size == 0,
        operator,
        f"world_size must divide the {input.shape[0]} rows, but it is {world_size}",
    )
    y = _scaled(input, x2, bias, x1_scale, x2_scale, _result(operator, input, x2_scale, output_dtype))
    part = aten.empty([y.shape[0] // world_size, y.shape[1]], dtype=y.dtype, device=y.device)
    group.reduce_scatter_from(part, aten.contiguous(y), group.SUM).wait()
    return part


@composite(
    "npu::npu_all_gather_base_mm(Tensor input, Tensor x2, str hcom, int world_size, *, Tensor? bias=None, Tensor? "
    "x1_scale=None, Tensor? x2_scale=None, int gather_index=0, bool gather_output=True, int comm_turn=0, ScalarType? "
    "output_dtype=None, str? comm_mode=None) -> (Tensor, Tensor)",
    "The rows of all processes times x2 (+ bias), and, if asked for, those rows.",
    explicit=True,
    flops=operations.of_all_rows,
    grad=no_gradient("npu_all_gather_base_mm", "input", "x2"),
)
def npu_all_gather_base_mm(
    input: Any, x2: Any, hcom: str, world_size: int, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    gather_index: int = 0, gather_output: bool = True, comm_turn: int = 0, output_dtype: Any = None,
    comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_all_gather_base_mm"
    require_choice(operator, "world_size", world_size, _SIZES)
    require_choice(operator, "gather_index", gather_index, (0,))
    _matrices(operator, input, x2)
    group = _group(operator, hcom, world_size)
    rows = _gathered(group, input)
    scale = None if x1_scale is None else _gathered(group, x1_scale)
    y = _scaled(rows, x2, bias, scale, x2_scale, _result(operator, input, x2_scale, output_dtype))
    return y, rows if gather_output else aten.empty([0], dtype=input.dtype, device=input.device)


@composite(
    "npu::npu_all_gather_quant_mm(Tensor input, Tensor x2, str hcom, int world_size, *, Tensor? bias=None, Tensor? "
    "x1_scale=None, Tensor? x2_scale=None, Tensor? quant_scale=None, int block_size=0, int gather_index=0, bool "
    "gather_output=True, int comm_turn=0, int[]? group_sizes=None, bool amax_output=False, int? y_dtype=None, int? "
    "x1_dtype=None, int? x2_dtype=None, int? x1_scale_dtype=None, int? x2_scale_dtype=None, str? comm_mode=None) -> "
    "(Tensor, Tensor, Tensor)",
    "npu_all_gather_base_mm of 8-bit numbers with scales; the largest element is not made here and its tensor is "
    "empty.",
    explicit=True,
    grad=no_gradient("npu_all_gather_quant_mm", "input", "x2"),
)
def npu_all_gather_quant_mm(
    input: Any, x2: Any, hcom: str, world_size: int, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    quant_scale: Any = None, block_size: int = 0, gather_index: int = 0, gather_output: bool = True,
    comm_turn: int = 0, group_sizes: Any = None, amax_output: bool = False, y_dtype: Any = None, x1_dtype: Any = None,
    x2_dtype: Any = None, x1_scale_dtype: Any = None, x2_scale_dtype: Any = None, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_all_gather_quant_mm"
    require_absent(
        operator, quant_scale=quant_scale, group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype,
        x1_scale_dtype=x1_scale_dtype, x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip
    require_choice(operator, "world_size", world_size, _SIZES)
    require_choice(operator, "gather_index", gather_index, (0,))
    require(
        not amax_output and block_size == 0, operator, "amax_output and block_size are not supported; leave them out"
    )
    require(x2_scale is not None, operator, "x2_scale is needed")
    _matrices(operator, input, x2)
    group = _group(operator, hcom, world_size)
    rows = _gathered(group, input)
    scale = None if x1_scale is None else _gathered(group, x1_scale) if x1_scale.numel() > 1 else x1_scale
    y = _scaled(rows, x2, bias, scale, x2_scale, _result(operator, input, x2_scale, y_dtype))
    nothing = aten.empty([0], dtype=DTYPES["float32"], device=input.device)
    return y, rows if gather_output else aten.empty([0], dtype=input.dtype, device=input.device), nothing


@composite(
    "npu::npu_quant_mm_reduce_scatter(Tensor input, Tensor x2, str hcom, int world_size, *, str reduce_op='sum', "
    "Tensor? bias=None, Tensor? x1_scale=None, Tensor? x2_scale=None, Tensor? quant_scale=None, int block_size=0, "
    "int comm_turn=0, int[]? group_sizes=None, bool amax_output=False, int? y_dtype=None, int? x1_dtype=None, int? "
    "x2_dtype=None, int? x1_scale_dtype=None, int? x2_scale_dtype=None, str? comm_mode=None) -> (Tensor, Tensor)",
    "npu_mm_reduce_scatter_base of 8-bit numbers with scales; the largest element is not made here and its tensor is "
    "empty.",
    explicit=True,
    grad=no_gradient("npu_quant_mm_reduce_scatter", "input", "x2"),
)
def npu_quant_mm_reduce_scatter(
    input: Any, x2: Any, hcom: str, world_size: int, *, reduce_op: str = "sum", bias: Any = None, x1_scale: Any = None,
    x2_scale: Any = None, quant_scale: Any = None, block_size: int = 0, comm_turn: int = 0, group_sizes: Any = None,
    amax_output: bool = False, y_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None,
    x1_scale_dtype: Any = None, x2_scale_dtype: Any = None, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_quant_mm_reduce_scatter"
    require_absent(
        operator, quant_scale=quant_scale, group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype,
        x1_scale_dtype=x1_scale_dtype, x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip
    _sum_of(operator, reduce_op)
    require_choice(operator, "world_size", world_size, _SIZES)
    require(
        not amax_output and block_size == 0, operator, "amax_output and block_size are not supported; leave them out"
    )
    require(x2_scale is not None, operator, "x2_scale is needed")
    _matrices(operator, input, x2)
    group = _group(operator, hcom, world_size)
    require(
        input.shape[0] % world_size == 0,
        operator,
        f"world_size must divide the {input.shape[0]} rows, but it is {world_size}",
    )
    y = _scaled(input, x2, bias, x1_scale, x2_scale, _result(operator, input, x2_scale, y_dtype))
    part = aten.empty([y.shape[0] // world_size, y.shape[1]], dtype=y.dtype, device=y.device)
    group.reduce_scatter_from(part, aten.contiguous(y), group.SUM).wait()
    return part, aten.empty([0], dtype=DTYPES["float32"], device=input.device)


def _by_expert(counts, ranks):
    """Where rows that lie by rank, then expert, are in the order expert, then rank: their numbers, and rows an expert."""
    experts = len(counts) // ranks
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    order, sizes = [], []
    for expert in range(experts):
        places = [rank * experts + expert for rank in range(ranks)]
        order += [row for place in places for row in range(starts[place], starts[place + 1])]
        sizes.append(sum(counts[place] for place in places))
    return order, sizes


def _expert_exchange(operator, hcom, ep_world_size, send_counts, recv_counts, x, weight) -> tuple:
    """The group, and how many rows go to each of its processes and come from it."""
    group, experts, rows = _group(operator, hcom), weight.shape[0], x.shape[0]
    require(
        ep_world_size == group.size,
        operator,
        f"ep_world_size must be the size of the group, {group.size}, but it is {ep_world_size}",
    )
    wanted = ep_world_size * experts
    require(
        len(send_counts) == len(recv_counts) == wanted,
        operator,
        f"send_counts and recv_counts must have a number for each expert of each process, {wanted}, but they have "
        f"{len(send_counts)} and {len(recv_counts)}",
    )
    total = sum(send_counts)
    require(total == rows, operator, f"the counts of rows sum to {total}, but there are {rows}")
    sent, received = (
        [sum(counts[rank * experts : (rank + 1) * experts]) for rank in range(ep_world_size)]
        for counts in (send_counts, recv_counts)
    )
    return group, sent, received


def _products(rows, weights, sizes, transposed):
    """Runs of rows, each by its expert's matrix."""
    parts, start = [], 0
    for size, weight in zip(sizes, weights, strict=True):
        parts.append(aten.matmul(rows[start : start + size], weight.transpose(0, 1) if transposed else weight))
        start += size
    return aten.cat(parts, 0)


def _beside(operator, mm_x, mm_weight, transposed, like):
    """The plain product that is done meanwhile; empty where none is asked for."""
    require((mm_x is None) == (mm_weight is None), operator, "mm_x and mm_weight belong together")
    if mm_x is None:
        return aten.empty([0], dtype=like.dtype, device=like.device)
    return aten.matmul(mm_x, mm_weight.transpose(0, 1) if transposed else mm_weight)


def _taken(x, order):
    return aten.index_select(x, 0, _C.tensor(order, dtype=DTYPES["int64"], device=x.device))


def _put_back(y, order):
    """The rows that `_taken` gave, where they were before."""
    back = [0] * len(order)
    for place, row in enumerate(order):
        back[row] = place
    return _taken(y, back)


@composite(
    "npu::npu_alltoallv_gmm(Tensor gmm_x, Tensor gmm_weight, str hcom, int ep_world_size, int[] send_counts, int[] "
    "recv_counts, *, Tensor? send_counts_tensor=None, Tensor? recv_counts_tensor=None, Tensor? mm_x=None, Tensor? "
    "mm_weight=None, bool trans_gmm_weight=False, bool trans_mm_weight=False, bool permute_out_flag=False, str? "
    "comm_mode=None) -> (Tensor, Tensor, Tensor)",
    "Rows to the processes of their experts, and there, by expert, times their matrices; a plain product; and, if "
    "asked for, the rows by expert.",
    explicit=True,
    grad=no_gradient("npu_alltoallv_gmm", "gmm_x", "gmm_weight"),
)
def npu_alltoallv_gmm(
    gmm_x: Any, gmm_weight: Any, hcom: str, ep_world_size: int, send_counts: Any, recv_counts: Any, *,
    send_counts_tensor: Any = None, recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None,
    trans_gmm_weight: bool = False, trans_mm_weight: bool = False, permute_out_flag: bool = False,
    comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_alltoallv_gmm"
    require_absent(operator, send_counts_tensor=send_counts_tensor, recv_counts_tensor=recv_counts_tensor)
    group, sent, received = _expert_exchange(operator, hcom, ep_world_size, send_counts, recv_counts, gmm_x, gmm_weight)
    rows = _exchanged(group, gmm_x, sent, received)
    order, sizes = _by_expert(list(recv_counts), ep_world_size)
    rows = _taken(rows, order)
    y = _products(rows, gmm_weight, sizes, trans_gmm_weight)
    nothing = aten.empty([0], dtype=gmm_x.dtype, device=gmm_x.device)
    return y, _beside(operator, mm_x, mm_weight, trans_mm_weight, gmm_x), rows if permute_out_flag else nothing


@composite(
    "npu::npu_gmm_alltoallv(Tensor gmm_x, Tensor gmm_weight, str hcom, int ep_world_size, int[] send_counts, int[] "
    "recv_counts, *, Tensor? send_counts_tensor=None, Tensor? recv_counts_tensor=None, Tensor? mm_x=None, Tensor? "
    "mm_weight=None, bool trans_gmm_weight=False, bool trans_mm_weight=False, str? comm_mode=None) -> (Tensor, "
    "Tensor)",
    "Rows by expert times their experts' matrices, and back to the processes that they came from; and a plain product.",
    explicit=True,
    grad=no_gradient("npu_gmm_alltoallv", "gmm_x", "gmm_weight"),
)
def npu_gmm_alltoallv(
    gmm_x: Any, gmm_weight: Any, hcom: str, ep_world_size: int, send_counts: Any, recv_counts: Any, *,
    send_counts_tensor: Any = None, recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None,
    trans_gmm_weight: bool = False, trans_mm_weight: bool = False, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_gmm_alltoallv"
    require_absent(operator, send_counts_tensor=send_counts_tensor, recv_counts_tensor=recv_counts_tensor)
    group, sent, received = _expert_exchange(operator, hcom, ep_world_size, send_counts, recv_counts, gmm_x, gmm_weight)
    order, sizes = _by_expert(list(send_counts), ep_world_size)
    y = _products(gmm_x, gmm_weight, sizes, trans_gmm_weight)
    return _exchanged(group, _put_back(y, order), sent, received), _beside(
        operator, mm_x, mm_weight, trans_mm_weight, gmm_x
    )
