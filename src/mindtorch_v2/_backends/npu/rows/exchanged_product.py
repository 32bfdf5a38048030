"""Matrix products before or behind which every process gives each other one a part: an all-to-all of rows or columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from . import microscaled_product
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .communication import _by_expert, _exchanged, _expert_exchange, _group, _matrices, _put_back, _taken
from .quantization import dtype_named, quantized_by_row

_SIZES = (2, 4, 8, 16)
_RESULTS = ("float16", "bfloat16", "float32")
_EIGHT_BITS = ("int8", "float8_e5m2", "float8_e4m3fn")
_FLOAT32 = DTYPES["float32"]
# How numbers are quantised, as ACLNN counts it.
_BY_TENSOR, _BY_COLUMN, _BY_ROW, _BY_BLOCK, _BY_ROW_HERE = 1, 2, 3, 6, 7


def _rows_to_columns(group, x) -> Any:
    """(rows, columns) cut by rows, a part for each process; what came side by side: (rows / size, size * columns)."""
    rows = x.shape[0] // group.size
    landing = _exchanged(group, x, [rows] * group.size, [rows] * group.size)
    return aten.flatten(aten.unflatten(landing, 0, [group.size, rows]).transpose(0, 1), 1)


def _columns_to_rows(group, y) -> Any:
    """(rows, columns) cut by columns, a part for each process; what came one below the other."""
    parts = aten.flatten(aten.unflatten(y, 1, [group.size, y.shape[1] // group.size]).transpose(0, 1), 0, 1)
    return _exchanged(group, parts, [y.shape[0]] * group.size, [y.shape[0]] * group.size)


def _axes(operator, given, known) -> None:
    require(
        given is None or list(given) in ([], known),
        operator,
        f"all2all_axes must be left out or {known}, but it is {given}",
    )


def _world(operator, hcom, world_size) -> Any:
    require_choice(operator, "world_size", world_size, _SIZES)
    return _group(operator, hcom, world_size)


def _divided(operator, what, size, world_size) -> None:
    require(size % world_size == 0, operator, f"world_size must divide the {size} {what}, but it is {world_size}")


def _plus(y, bias) -> Any:
    return y if bias is None else y + bias.to(y.dtype)


@composite(
    "npu::npu_all_to_all_matmul(Tensor x1, Tensor x2, str hcom, int world_size, Tensor? bias=None, int[]? all2all_axes=None, "
    "bool all2all_out_flag=True, str? comm_mode=None) -> (Tensor, Tensor)",
    "Rows given to the processes, what came side by side, times x2 (+ bias); and, if asked for, those rows.",
    explicit=True,
    grad=no_gradient("npu_all_to_all_matmul", "x1", "x2"),
)
def npu_all_to_all_matmul(
    x1: Any, x2: Any, hcom: str, world_size: int, bias: Any = None, all2all_axes: Any = None,
    all2all_out_flag: bool = True, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_all_to_all_matmul"
    _axes(operator, all2all_axes, [-2, -1])
    require_dtype(operator, "x1", x1, HALF_AND_FLOAT)
    group = _world(operator, hcom, world_size)
    _divided(operator, "rows of x1", x1.shape[0], world_size)
    rows = _rows_to_columns(group, x1)
    _matrices(operator, rows, x2)
    nothing = aten.empty([0], dtype=x1.dtype, device=x1.device)
    return _plus(aten.matmul(rows, x2), bias), rows if all2all_out_flag else nothing


@composite(
    "npu::npu_matmul_all_to_all(Tensor x1, Tensor x2, str hcom, int world_size, Tensor? bias=None, int[]? all2all_axes=None, "
    "str? comm_mode=None) -> Tensor",
    "x1 @ x2 (+ bias), whose columns are given to the processes; what came one below the other.",
    explicit=True,
    grad=no_gradient("npu_matmul_all_to_all", "x1", "x2"),
)
def npu_matmul_all_to_all(
    x1: Any, x2: Any, hcom: str, world_size: int, bias: Any = None, all2all_axes: Any = None, comm_mode: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_matmul_all_to_all"
    _axes(operator, all2all_axes, [-1, -2])
    require_dtype(operator, "x1", x1, HALF_AND_FLOAT)
    _matrices(operator, x1, x2)
    group = _world(operator, hcom, world_size)
    _divided(operator, "columns of x2", x2.shape[1], world_size)
    return _columns_to_rows(group, _plus(aten.matmul(x1, x2), bias))


def _eight_bit_product(x, weight, by_row, by_column, bias, dtype) -> Any:
    """The exact product of 8-bit numbers times both scales, plus a bias, in float32 until the end."""
    y = aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"])).to(_FLOAT32) * wide(by_column).reshape(1, -1)
    y = y * wide(by_row).reshape(-1, 1)
    return (y if bias is None else y + wide(bias)).to(dtype)


def _quantised(operator, common_scale, x1_offset, x2_offset, common, sizes, codes) -> None:
    require_absent(operator, common_scale=common_scale, x1_offset=x1_offset, x2_offset=x2_offset, **codes)
    require_choice(operator, "common_quant_mode", common, (None, 0))
    require(sizes is None or not any(sizes), operator, f"group_sizes must be left out or 0, but it is {sizes}")


@composite(
    "npu::npu_all_to_all_quant_matmul(Tensor x1, Tensor x2, str hcom, int world_size, *, bool all2all_out_flag=True, Tensor? "
    "bias=None, Tensor? x1_scale=None, Tensor? x2_scale=None, Tensor? common_scale=None, Tensor? x1_offset=None, Tensor? "
    "x2_offset=None, int? x1_quant_mode=None, int? x2_quant_mode=None, int? common_quant_mode=None, int[]? group_sizes=None, "
    "int[]? all2all_axes=None, int? comm_quant_dtype=None, int? x1_quant_dtype=None, int? x1_dtype=None, int? x2_dtype=None, "
    "int? x1_scale_dtype=None, int? x2_scale_dtype=None, int? output_scale_dtype=None, int? comm_scale_dtype=None, int? "
    "y_dtype=None, str? comm_mode=None) -> (Tensor, Tensor)",
    "npu_all_to_all_matmul whose rows are rounded to 8 bits behind the exchange, each by its largest, times 8-bit columns with "
    "a scale each.",
    explicit=True,
    grad=no_gradient("npu_all_to_all_quant_matmul", "x1", "x2"),
)
def npu_all_to_all_quant_matmul(
    x1: Any, x2: Any, hcom: str, world_size: int, *, all2all_out_flag: bool = True, bias: Any = None,
    x1_scale: Any = None, x2_scale: Any = None, common_scale: Any = None, x1_offset: Any = None, x2_offset: Any = None,
    x1_quant_mode: Any = None, x2_quant_mode: Any = None, common_quant_mode: Any = None, group_sizes: Any = None,
    all2all_axes: Any = None, comm_quant_dtype: Any = None, x1_quant_dtype: Any = None, x1_dtype: Any = None,
    x2_dtype: Any = None, x1_scale_dtype: Any = None, x2_scale_dtype: Any = None, output_scale_dtype: Any = None,
    comm_scale_dtype: Any = None, y_dtype: Any = None, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_all_to_all_quant_matmul"
    _axes(operator, all2all_axes, [-2, -1])
    _quantised(operator, common_scale, x1_offset, x2_offset, common_quant_mode, group_sizes, {
        "x1_dtype": x1_dtype, "x2_dtype": x2_dtype, "x1_scale_dtype": x1_scale_dtype, "x2_scale_dtype": x2_scale_dtype,
        "output_scale_dtype": output_scale_dtype, "comm_scale_dtype": comm_scale_dtype,
    })  # fmt: skip
    require_choice(operator, "comm_quant_dtype", comm_quant_dtype, (None, -1))
    require_choice(operator, "x1_quant_mode", x1_quant_mode, (None, _BY_ROW_HERE))
    require_choice(operator, "x2_quant_mode", x2_quant_mode, (None, _BY_COLUMN))
    require_dtype(operator, "x1", x1, HALF_AND_FLOAT)
    require(x2_scale is not None, operator, "x2_scale is needed, one for each column of x2")
    group = _world(operator, hcom, world_size)
    _divided(operator, "rows of x1", x1.shape[0], world_size)
    rows = _rows_to_columns(group, x1)
    _matrices(operator, rows, x2)
    require(
        x1_quant_dtype is not None or x2.dtype != DTYPES["int8"],
        operator,
        "x1_quant_dtype is needed beside an x2 of int8; without it rows are rounded to float8_e4m3fn",
    )
    kind = 24 if x1_quant_dtype is None else x1_quant_dtype
    rounded, scale = quantized_by_row(operator, rows, x1_scale, kind)
    dtype = DTYPES[dtype_named(operator, y_dtype, _RESULTS, "float32")]
    nothing = aten.empty([0], dtype=x1.dtype, device=x1.device)
    return _eight_bit_product(rounded, x2, scale, x2_scale, bias, dtype), rows if all2all_out_flag else nothing


@composite(
    "npu::npu_quant_matmul_all_to_all(Tensor x1, Tensor x2, str hcom, int world_size, Tensor? bias=None, Tensor? x1_scale=None, "
    "Tensor? x2_scale=None, Tensor? common_scale=None, Tensor? x1_offset=None, Tensor? x2_offset=None, int? x1_quant_mode=None, "
    "int? x2_quant_mode=None, int? common_quant_mode=None, int[]? group_sizes=None, int[]? all2all_axes=None, int? "
    "comm_quant_dtype=None, int? x1_dtype=None, int? x2_dtype=None, int? x1_scale_dtype=None, int? x2_scale_dtype=None, int? "
    "output_scale_dtype=None, int? comm_scale_dtype=None, int? y_dtype=None, str? comm_mode=None) -> Tensor",
    "npu_matmul_all_to_all of 8-bit numbers with a scale for each row and each column.",
    explicit=True,
    grad=no_gradient("npu_quant_matmul_all_to_all", "x1", "x2"),
)
def npu_quant_matmul_all_to_all(
    x1: Any, x2: Any, hcom: str, world_size: int, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    common_scale: Any = None, x1_offset: Any = None, x2_offset: Any = None, x1_quant_mode: Any = None,
    x2_quant_mode: Any = None, common_quant_mode: Any = None, group_sizes: Any = None, all2all_axes: Any = None,
    comm_quant_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None, x1_scale_dtype: Any = None,
    x2_scale_dtype: Any = None, output_scale_dtype: Any = None, comm_scale_dtype: Any = None, y_dtype: Any = None,
    comm_mode: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_quant_matmul_all_to_all"
    _axes(operator, all2all_axes, [-1, -2])
    _quantised(operator, common_scale, x1_offset, x2_offset, common_quant_mode, group_sizes, {
        "x1_dtype": x1_dtype, "x2_dtype": x2_dtype, "x1_scale_dtype": x1_scale_dtype, "x2_scale_dtype": x2_scale_dtype,
        "output_scale_dtype": output_scale_dtype, "comm_scale_dtype": comm_scale_dtype,
    })  # fmt: skip
    require_choice(operator, "comm_quant_dtype", comm_quant_dtype, (None, -1))
    require_choice(operator, "x1_quant_mode", x1_quant_mode, (None, _BY_ROW))
    require_choice(operator, "x2_quant_mode", x2_quant_mode, (None, _BY_COLUMN))
    require(x1_scale is not None and x2_scale is not None, operator, "x1_scale and x2_scale are needed")
    _matrices(operator, x1, x2)
    group = _world(operator, hcom, world_size)
    _divided(operator, "columns of x2", x2.shape[1], world_size)
    dtype = DTYPES[dtype_named(operator, y_dtype, _RESULTS, "float32")]
    return _columns_to_rows(group, _eight_bit_product(x1, x2, x1_scale, x2_scale, bias, dtype))


class _Kind(NamedTuple):
    """How the numbers of both products are quantised, and what callers say their dtypes are."""

    mode: int
    x: Any
    weight: Any


def _expert_product(operator, name, x, weight, x_scale, weight_scale, kind, dtype) -> Any:
    """x @ weight of 8-bit numbers with one scale each, or of such in blocks with exponents."""
    if kind.mode == _BY_BLOCK:
        rows = microscaled_product.left(operator, f"{name}_x", x, kind.x, x_scale)
        columns = microscaled_product.right(operator, f"{name}_weight", weight, kind.weight, weight_scale)
        return aten.matmul(rows, columns).to(dtype)
    for what, tensor, code in ((f"{name}_x", x, kind.x), (f"{name}_weight", weight, kind.weight)):
        require_dtype(operator, what, tensor, _EIGHT_BITS)
        require(
            code is None or dtype_named(operator, code, _EIGHT_BITS) == str(tensor.dtype).rpartition(".")[2],
            operator,
            f"{what}_dtype is {code}, but {what} is {tensor.dtype}",
        )
    y = aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"])).to(_FLOAT32)
    return (y * (wide(x_scale).reshape([]) * wide(weight_scale).reshape([]))).to(dtype)


def _expert_products(operator, rows, weight, scales, weight_scale, sizes, kind, dtype) -> Any:
    parts, start = [], 0
    for expert, size in enumerate(sizes):
        of = slice(start, start + size)
        own = (scales[of], weight_scale[expert]) if kind.mode == _BY_BLOCK else (scales, weight_scale)
        parts.append(_expert_product(operator, "gmm", rows[of], weight[expert], *own, kind, dtype))
        start += size
    return aten.cat(parts, 0)


def _kind(operator, pairs, x_codes, weight_codes) -> _Kind:
    """How both products are quantised: 1 by tensor, 6 in blocks; what is said of the dtypes of one holds for both."""
    known = [mode for mode in pairs if mode is not None]
    require(
        len(set(known)) == 1 and known[0] in (_BY_TENSOR, _BY_BLOCK),
        operator,
        f"the quant_modes must be all 1 (a scale a tensor) or all 6 (blocks of 32 with exponents), but they are {known}",
    )
    require(
        len({*x_codes} - {None}) < 2 and len({*weight_codes} - {None}) < 2,
        operator,
        "both products take numbers of one dtype",
    )
    return _Kind(known[0], *(next((c for c in codes if c is not None), None) for codes in (x_codes, weight_codes)))


def _quantised_beside(operator, mm_x, mm_weight, mm_x_scale, mm_weight_scale, kind, mm_y_dtype, like) -> Any:
    """The product that is done meanwhile; empty where none is asked for."""
    require((mm_x is None) == (mm_weight is None), operator, "mm_x and mm_weight belong together")
    if mm_x is None:
        return aten.empty([0], dtype=like.dtype, device=like.device)
    require(
        mm_x_scale is not None and mm_weight_scale is not None, operator, "mm_x_scale and mm_weight_scale are needed"
    )
    dtype = DTYPES[dtype_named(operator, mm_y_dtype, _RESULTS, str(like.dtype).rpartition(".")[2])]
    return _expert_product(operator, "mm", mm_x, mm_weight, mm_x_scale, mm_weight_scale, kind, dtype)


@composite(
    "npu::npu_alltoallv_quant_gmm(Tensor gmm_x, Tensor gmm_weight, Tensor gmm_x_scale, Tensor gmm_weight_scale, str hcom, "
    "int ep_world_size, int[] send_counts, int[] recv_counts, int gmm_y_dtype, *, Tensor? send_counts_tensor=None, "
    "Tensor? recv_counts_tensor=None, Tensor? mm_x=None, Tensor? mm_weight=None, Tensor? mm_x_scale=None, Tensor? "
    "mm_weight_scale=None, int? gmm_x_quant_mode=None, int? gmm_weight_quant_mode=None, int? mm_x_quant_mode=None, int? "
    "mm_weight_quant_mode=None, bool permute_out_flag=False, int[]? group_size=None, int? gmm_x_dtype=None, int? "
    "gmm_weight_dtype=None, int? gmm_x_scale_dtype=None, int? gmm_weight_scale_dtype=None, int? mm_x_dtype=None, int? "
    "mm_weight_dtype=None, int? mm_x_scale_dtype=None, int? mm_weight_scale_dtype=None, int? mm_y_dtype=None, str? "
    "comm_mode=None) -> (Tensor, Tensor, Tensor)",
    "npu_alltoallv_gmm of 8-bit numbers with a scale a tensor (quant_mode 1), or in blocks with exponents (6), which travel with "
    "their rows.",
    explicit=True,
    grad=no_gradient("npu_alltoallv_quant_gmm", "gmm_x", "gmm_weight"),
)
def npu_alltoallv_quant_gmm(
    gmm_x: Any, gmm_weight: Any, gmm_x_scale: Any, gmm_weight_scale: Any, hcom: str, ep_world_size: int,
    send_counts: Any, recv_counts: Any, gmm_y_dtype: int, *, send_counts_tensor: Any = None,
    recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None, mm_x_scale: Any = None,
    mm_weight_scale: Any = None, gmm_x_quant_mode: Any = None, gmm_weight_quant_mode: Any = None,
    mm_x_quant_mode: Any = None, mm_weight_quant_mode: Any = None, permute_out_flag: bool = False,
    group_size: Any = None, gmm_x_dtype: Any = None, gmm_weight_dtype: Any = None, gmm_x_scale_dtype: Any = None,
    gmm_weight_scale_dtype: Any = None, mm_x_dtype: Any = None, mm_weight_dtype: Any = None,
    mm_x_scale_dtype: Any = None, mm_weight_scale_dtype: Any = None, mm_y_dtype: Any = None, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_alltoallv_quant_gmm"
    require_absent(operator, send_counts_tensor=send_counts_tensor, recv_counts_tensor=recv_counts_tensor)
    pairs = (gmm_x_quant_mode, gmm_weight_quant_mode, mm_x_quant_mode, mm_weight_quant_mode)
    kind = _kind(operator, pairs, (gmm_x_dtype, mm_x_dtype), (gmm_weight_dtype, mm_weight_dtype))
    dtype = DTYPES[dtype_named(operator, gmm_y_dtype, _RESULTS)]
    group, sent, received = _expert_exchange(operator, hcom, ep_world_size, send_counts, recv_counts, gmm_x, gmm_weight)
    order, sizes = _by_expert(list(recv_counts), ep_world_size)
    rows = _taken(_exchanged_bytes(group, gmm_x, sent, received), order)
    scales = gmm_x_scale
    if kind.mode == _BY_BLOCK:
        scales = _taken(_exchanged_bytes(group, gmm_x_scale, sent, received), order)
    y = _expert_products(operator, rows, gmm_weight, scales, gmm_weight_scale, sizes, kind, dtype)
    beside = _quantised_beside(operator, mm_x, mm_weight, mm_x_scale, mm_weight_scale, kind, mm_y_dtype, y)
    nothing = aten.empty([0], dtype=gmm_x.dtype, device=gmm_x.device)
    return y, beside, rows if permute_out_flag else nothing


def _exchanged_bytes(group, x, sent, received) -> Any:
    """`_exchanged` of numbers of one byte, whatever they mean."""
    return _exchanged(group, aten.contiguous(x).view(DTYPES["uint8"]), sent, received).view(x.dtype)


@composite(
    "npu::npu_quant_gmm_alltoallv(Tensor gmm_x, Tensor gmm_weight, Tensor gmm_x_scale, Tensor gmm_weight_scale, str hcom, "
    "int ep_world_size, int[] send_counts, int[] recv_counts, int gmm_y_dtype, *, Tensor? send_counts_tensor=None, "
    "Tensor? recv_counts_tensor=None, Tensor? mm_x=None, Tensor? mm_weight=None, Tensor? mm_x_scale=None, Tensor? "
    "mm_weight_scale=None, Tensor? comm_quant_scale=None, int? gmm_x_quant_mode=None, int? gmm_weight_quant_mode=None, "
    "int? mm_x_quant_mode=None, int? mm_weight_quant_mode=None, int? comm_quant_mode=None, int[]? group_size=None, int? "
    "gmm_x_dtype=None, int? gmm_weight_dtype=None, int? gmm_x_scale_dtype=None, int? gmm_weight_scale_dtype=None, int? "
    "mm_x_dtype=None, int? mm_weight_dtype=None, int? mm_x_scale_dtype=None, int? mm_weight_scale_dtype=None, int? "
    "comm_quant_dtype=None, int? mm_y_dtype=None, str? comm_mode=None) -> (Tensor, Tensor)",
    "npu_gmm_alltoallv of 8-bit numbers with a scale a tensor (quant_mode 1), or in blocks with exponents (6).",
    explicit=True,
    grad=no_gradient("npu_quant_gmm_alltoallv", "gmm_x", "gmm_weight"),
)
def npu_quant_gmm_alltoallv(
    gmm_x: Any, gmm_weight: Any, gmm_x_scale: Any, gmm_weight_scale: Any, hcom: str, ep_world_size: int,
    send_counts: Any, recv_counts: Any, gmm_y_dtype: int, *, send_counts_tensor: Any = None,
    recv_counts_tensor: Any = None, mm_x: Any = None, mm_weight: Any = None, mm_x_scale: Any = None,
    mm_weight_scale: Any = None, comm_quant_scale: Any = None, gmm_x_quant_mode: Any = None,
    gmm_weight_quant_mode: Any = None, mm_x_quant_mode: Any = None, mm_weight_quant_mode: Any = None,
    comm_quant_mode: Any = None, group_size: Any = None, gmm_x_dtype: Any = None, gmm_weight_dtype: Any = None,
    gmm_x_scale_dtype: Any = None, gmm_weight_scale_dtype: Any = None, mm_x_dtype: Any = None,
    mm_weight_dtype: Any = None, mm_x_scale_dtype: Any = None, mm_weight_scale_dtype: Any = None,
    comm_quant_dtype: Any = None, mm_y_dtype: Any = None, comm_mode: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_quant_gmm_alltoallv"
    require_absent(
        operator, send_counts_tensor=send_counts_tensor, recv_counts_tensor=recv_counts_tensor,
        comm_quant_scale=comm_quant_scale,
    )  # fmt: skip
    require_choice(operator, "comm_quant_mode", comm_quant_mode, (None, 0))
    pairs = (gmm_x_quant_mode, gmm_weight_quant_mode, mm_x_quant_mode, mm_weight_quant_mode)
    kind = _kind(operator, pairs, (gmm_x_dtype, mm_x_dtype), (gmm_weight_dtype, mm_weight_dtype))
    dtype = DTYPES[dtype_named(operator, gmm_y_dtype, _RESULTS)]
    group, sent, received = _expert_exchange(operator, hcom, ep_world_size, send_counts, recv_counts, gmm_x, gmm_weight)
    order, sizes = _by_expert(list(send_counts), ep_world_size)
    y = _expert_products(operator, gmm_x, gmm_weight, gmm_x_scale, gmm_weight_scale, sizes, kind, dtype)
    beside = _quantised_beside(operator, mm_x, mm_weight, mm_x_scale, mm_weight_scale, kind, mm_y_dtype, y)
    return _exchanged(group, _put_back(y, order), sent, received), beside
