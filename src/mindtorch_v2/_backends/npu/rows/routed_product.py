"""The last step of a mixture of experts at once: the experts' products, weighted, and summed into the tokens they belong to."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from . import operations
from .checks import composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .quantization import scale_of
from .quantized_product import _by_rows, _groups, _scaled_product, _where

_FLOAT32 = DTYPES["float32"]


@composite(
    "npu::npu_grouped_matmul_finalize_routing(Tensor x, Tensor w, Tensor group_list, *, Tensor? scale=None, Tensor? bias=None, "
    "Tensor? offset=None, Tensor? pertoken_scale=None, Tensor? shared_input=None, Tensor? logit=None, Tensor? row_index=None, "
    "ScalarType? dtype=None, float? shared_input_weight=1.0, int? shared_input_offset=0, int? output_bs=0, int? "
    "group_list_type=1, int[]? tuning_config=None, int? x_dtype=None, int? w_dtype=None, int? scale_dtype=None, int? "
    "pertoken_scale_dtype=None) -> Tensor",
    "Runs of 8-bit rows by their groups' matrices and both scales, times `logit`, added to the row of the result that row_index "
    "says; shared_input times its weight is added from row shared_input_offset on. Weights of 4 bits take `bias` as "
    "npu_grouped_matmul_swiglu_quant does.",
    explicit=True,
    flops=operations.of_routed_groups,
    grad=no_gradient("npu_grouped_matmul_finalize_routing", "scale", "pertoken_scale"),
)
def npu_grouped_matmul_finalize_routing(
    x: Any, w: Any, group_list: Any, *, scale: Any = None, bias: Any = None, offset: Any = None,
    pertoken_scale: Any = None, shared_input: Any = None, logit: Any = None, row_index: Any = None, dtype: Any = None,
    shared_input_weight: Any = 1.0, shared_input_offset: Any = 0, output_bs: Any = 0, group_list_type: Any = 1,
    tuning_config: Any = None, x_dtype: Any = None, w_dtype: Any = None, scale_dtype: Any = None,
    pertoken_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_grouped_matmul_finalize_routing"
    require_absent(
        operator, offset=offset, x_dtype=x_dtype, w_dtype=w_dtype, scale_dtype=scale_dtype,
        pertoken_scale_dtype=pertoken_scale_dtype,
    )  # fmt: skip
    require_choice(operator, "dtype", dtype, (None, _FLOAT32))
    require_dtype(operator, "x", x, ("int8",))
    require_dtype(operator, "w", w, ("int8", "int32"))
    for name, given in (("scale", scale), ("pertoken_scale", pertoken_scale), ("row_index", row_index)):
        require(given is not None, operator, f"{name} is needed")
    packed = w.dtype == DTYPES["int32"]
    require(
        packed == (bias is not None), operator, "bias, a row for each group, belongs to weights of packed int4 (int32)"
    )
    groups, alive = _groups(
        operator, x, [_by_rows(operator, w)], group_list, 1 if group_list_type is None else group_list_type
    )
    columns = groups[0][0].shape[-1]
    rows = output_bs or (x.shape[0] if shared_input is None else shared_input.shape[0])
    made = aten.zeros([rows, columns], dtype=_FLOAT32, device=x.device)
    if shared_input is not None:
        first = shared_input_offset or 0
        require(
            first + shared_input.shape[0] <= rows,
            operator,
            f"shared_input ends at row {first + shared_input.shape[0]}, but output_bs is {rows}",
        )
        weight = 1.0 if shared_input_weight is None else shared_input_weight
        aten.copy_(made[first : first + shared_input.shape[0]], wide(shared_input) * weight)
    for matrix, run in groups:
        if run.first == run.last:
            continue
        own = scale_of(run.of(scale))
        own = own.squeeze(0) if own.dim() > 1 and own.shape[0] == 1 else own
        y = _scaled_product(operator, x[run.rows], matrix, own, None if bias is None else run.of(bias))
        y = y * wide(pertoken_scale).reshape(-1, 1)[run.rows]
        y = y if logit is None else y * wide(logit)[run.rows].unsqueeze(-1)
        y = _where(None if alive is None else alive[run.rows], y)
        made.index_add_(0, row_index[run.rows].to(DTYPES["int64"]), y)
    return made
