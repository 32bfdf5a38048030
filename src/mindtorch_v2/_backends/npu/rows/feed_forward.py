"""Two linear layers with an activation between them, of one network or of experts, plain or of few bits."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from . import operations
from .checks import composite, no_gradient, require, require_absent, require_choice, wide
from .quantization import scale_of

_HALF = DTYPES["float16"]


def _gated(by) -> Any:
    def activate(x: Any) -> Any:
        first, second = aten.chunk(x, 2, -1)
        return by(first) * second

    return activate


_ACTIVATIONS: dict[str, Any] = {
    "relu": aten.relu,
    "gelu": aten.gelu,
    "fastgelu": lambda x: x * aten.sigmoid(x * 1.702),
    "silu": aten.silu,
    "geglu": _gated(aten.gelu),
    "swiglu": _gated(aten.silu),
    "reglu": _gated(aten.relu),
}


class _Layer:
    """One of the two layers: its weights, and what makes numbers of few bits plain ones."""

    def __init__(self, weight: Any, bias: Any, dequant: Any, antiquant_scale: Any, antiquant_offset: Any) -> None:
        self._parameters = (weight, bias, dequant, antiquant_scale, antiquant_offset)

    def __call__(self, x: Any, expert: int | None) -> Any:
        """x through the layer in the wide type; `expert` names its parameters where there are several."""
        weight: Any
        weight, bias, dequant, scale, offset = (
            each if each is None or expert is None else each[expert] for each in self._parameters
        )
        if dequant is not None:
            y = aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"]))  # exact, as sums of int32 are
            y = y if bias is None else y + bias
            return y.to(DTYPES["float32"]) * scale_of(dequant)
        if scale is not None:  # in the dtype of the scales, as the weights then lie
            weight = weight.to(scale.dtype) if offset is None else weight.to(scale.dtype) + offset.to(scale.dtype)
            weight = weight * scale
        y = aten.matmul(wide(x), wide(weight))
        return y if bias is None else y + wide(bias)


def _runs(operator, rows, experts, counts, ends) -> list[tuple[int, int, int | None]]:
    """First and last row of each expert, and its number; one run of all rows without experts."""
    require(counts is None or ends is None, operator, "expert_tokens and expert_tokens_index exclude each other")
    if counts is None and ends is None:
        return [(0, rows, None)]
    if ends is None:
        ends, total = [], 0
        for count in counts:
            total += count
            ends.append(total)
    require(
        len(ends) == experts and all(a <= b for a, b in zip([0, *ends], ends, strict=False)) and ends[-1] == rows,
        operator,
        f"the {experts} experts' tokens must sum to the {rows} rows of x, but they end at {list(ends)}",
    )
    return [(first, last, i) for i, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True))]


@composite(
    "npu::npu_ffn(Tensor x, Tensor weight1, Tensor weight2, str activation, *, int[]? expert_tokens=None, int[]? "
    "expert_tokens_index=None, Tensor? bias1=None, Tensor? bias2=None, Tensor? scale=None, Tensor? offset=None, Tensor? "
    "deq_scale1=None, Tensor? deq_scale2=None, Tensor? antiquant_scale1=None, Tensor? antiquant_scale2=None, Tensor? "
    "antiquant_offset1=None, Tensor? antiquant_offset2=None, int? inner_precise=None, ScalarType? output_dtype=None) -> "
    "Tensor",
    "activation(x @ weight1 + bias1) @ weight2 + bias2, with the weights of its expert for each row; int8 rows and weights "
    "take scales between and behind, int8 weights alone scales before.",
    explicit=True,
    flops=operations.of_feed_forward,
    grad=no_gradient("npu_ffn", "x", "weight1", "weight2"),
    samples=[
        S(T(5, 8), T(8, 12), T(12, 8), "relu", bias1=T(12), bias2=T(8)),
        S(T(5, 8), T(2, 8, 12), T(2, 6, 8), "swiglu", expert_tokens=[2, 3]),
    ],
)
def npu_ffn(
    x: Any, weight1: Any, weight2: Any, activation: str, *, expert_tokens: Any = None, expert_tokens_index: Any = None,
    bias1: Any = None, bias2: Any = None, scale: Any = None, offset: Any = None, deq_scale1: Any = None,
    deq_scale2: Any = None, antiquant_scale1: Any = None, antiquant_scale2: Any = None, antiquant_offset1: Any = None,
    antiquant_offset2: Any = None, inner_precise: Any = None, output_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_ffn"
    require_choice(operator, "activation", activation, tuple(_ACTIVATIONS))
    quantised = not x.dtype.is_floating_point
    if quantised:
        for name, given in (("scale", scale), ("deq_scale1", deq_scale1), ("deq_scale2", deq_scale2)):
            require(given is not None, operator, f"{name} is needed where x is of {x.dtype}")
    else:
        require_absent(operator, scale=scale, offset=offset, deq_scale1=deq_scale1, deq_scale2=deq_scale2)
    dtype = output_dtype or (_HALF if quantised else x.dtype)
    first = _Layer(weight1, bias1, deq_scale1, antiquant_scale1, antiquant_offset1)
    second = _Layer(weight2, bias2, deq_scale2, antiquant_scale2, antiquant_offset2)
    rows = x.reshape(-1, x.shape[-1])
    experts = weight1.shape[0] if weight1.dim() == 3 else 1
    parts = []
    for start, end, expert in _runs(operator, rows.shape[0], experts, expert_tokens, expert_tokens_index):
        hidden = first(rows[start:end], expert)
        if quantised:  # between the layers numbers are of 16 bits
            hidden = _ACTIVATIONS[activation](wide(hidden.to(_HALF))).to(_HALF)
            factor = scale if expert is None or scale.dim() < 2 else scale[expert]
            hidden = hidden * factor.to(_HALF)
            hidden = hidden if offset is None else hidden + offset.to(_HALF)
            hidden = aten.clamp(aten.round(wide(hidden)), -128, 127)
        else:
            hidden = _ACTIVATIONS[activation](hidden)
        parts.append(second(hidden, expert).to(dtype))
    return aten.cat(parts, 0).reshape(*x.shape[:-1], -1)
