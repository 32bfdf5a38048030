"""The experts that a router takes, whose weights sum to 1 over all of them or over those taken."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide
from .experts import _best

_INT32 = DTYPES["int32"]


@composite(
    "npu::npu_moe_gating_top_k_softmax_v2(Tensor x, *, int k=1, Tensor? finished=None, int? renorm=0, bool? output_softmax=False) "
    "-> (Tensor, Tensor, Tensor)",
    "The k likeliest experts of each row: weights from the softmax of all (renorm 0) or of those taken (1), numbers, and with renorm 0 "
    "and output_softmax all probabilities, else nothing.",
    explicit=True,
    grad=no_gradient("npu_moe_gating_top_k_softmax_v2", "x"),
    samples=[
        S(T(5, 8, grad=False), k=2, output_softmax=True),
        S(T(5, 8, grad=False), k=3, finished=T(5, dtype="bool", low=0, high=1), renorm=1),
    ],
)
def npu_moe_gating_top_k_softmax_v2(
    x: Any, *, k: int = 1, finished: Any = None, renorm: Any = 0, output_softmax: Any = False,
) -> tuple:  # fmt: skip
    operator = "npu_moe_gating_top_k_softmax_v2"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require_choice(operator, "renorm", renorm, (0, 1, None))
    experts = x.shape[-1]
    require(0 < k <= experts, operator, f"k must be from 1 to the {experts} experts, but it is {k}")
    p = None if renorm else aten.softmax(wide(x), -1)
    scores = x if p is None else p
    chosen = _best(scores, k)
    weights = aten.gather(wide(scores), -1, chosen)
    if p is None:
        weights = aten.softmax(weights, -1)
    if finished is not None:
        chosen = aten.where(finished.reshape([*x.shape[:-1], 1]), experts, chosen)
    if p is None or not output_softmax:
        p = aten.empty([0], dtype=wide(x).dtype, device=x.device)
    return weights.to(x.dtype), chosen.to(_INT32), p
