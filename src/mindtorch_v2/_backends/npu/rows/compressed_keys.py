"""Keys and values of native sparse attention's first branch: blocks of tokens, each summed with weights to one."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import HALF_AND_FLOAT, composite, require, require_dtype, wide
from .numbers import numbers_of

npu = namespace("npu")


def _places(operator: str, input: Any, weight: Any, size: int, stride: int, ends: Any) -> Any:
    """(blocks, size): the tokens of each whole block, of which none reaches over the end of its sequence."""
    require_dtype(operator, "input", input, HALF_AND_FLOAT)
    require(
        input.dim() == 3 and list(weight.shape) == [size, input.shape[1]],
        operator,
        f"input must be (tokens, heads, width) and weight ({size}, heads), but their sizes are {list(input.shape)} and "
        f"{list(weight.shape)}",
    )
    require(
        size > 0 and 0 < stride,
        operator,
        f"compress_block_size and compress_stride must be positive, not {size}, {stride}",
    )
    stops = [input.shape[0]] if ends is None else numbers_of(ends, [input.shape[0]])
    require(
        stops == sorted(stops) and (not stops or 0 <= stops[0] and stops[-1] <= input.shape[0]),
        operator,
        f"actual_seq_len must be the ends of sequences, up to {input.shape[0]}, but it is {stops}",
    )
    starts = [
        aten.arange(first, last - size + 1, stride, device=input.device)
        for first, last in zip([0, *stops], stops, strict=False)
        if last - first >= size
    ]
    if not starts:
        return aten.zeros([0, size], dtype=DTYPES["int64"], device=input.device)
    return aten.cat(starts).unsqueeze(-1) + aten.arange(size, device=input.device)


@composite(
    "npu::npu_nsa_compress(Tensor input, Tensor weight, int compress_block_size, int compress_stride, *, int[]? "
    "actual_seq_len=None) -> Tensor",
    "Blocks of tokens, one at each compress_stride of their sequence, summed with a weight for each place and head.",
    explicit=True,
    grad={
        ("input", "weight"): lambda grad, input, weight, compress_block_size, compress_stride, actual_seq_len: (
            npu.npu_nsa_compress_grad(
                grad, input, weight, compress_block_size, compress_stride, actual_seq_len=actual_seq_len
            )
        )
    },
    samples=[S(T(7, 2, 3), T(3, 2), 3, 2), S(T(12, 2, 3), T(3, 2), 3, 2, actual_seq_len=[2, 8, 12])],
)
def npu_nsa_compress(
    input: Any, weight: Any, compress_block_size: int, compress_stride: int, *, actual_seq_len: Any = None,
) -> Any:  # fmt: skip
    places = _places("npu_nsa_compress", input, weight, compress_block_size, compress_stride, actual_seq_len)
    return (wide(input[places]) * wide(weight).unsqueeze(-1)).sum([1]).to(input.dtype)


@composite(
    "npu::npu_nsa_compress_grad(Tensor grad, Tensor input, Tensor weight, int compress_block_size, int compress_stride, *, int[]? "
    "actual_seq_len=None) -> (Tensor, Tensor)",
    "Gradients of npu_nsa_compress by the tokens and by the weights.",
    samples=[S(T(3, 2, 3), T(7, 2, 3), T(3, 2), 3, 2)],
)
def npu_nsa_compress_grad(
    grad: Any, input: Any, weight: Any, compress_block_size: int, compress_stride: int, *, actual_seq_len: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_nsa_compress_grad"
    places = _places(operator, input, weight, compress_block_size, compress_stride, actual_seq_len)
    require(
        grad.shape[0] == places.shape[0],
        operator,
        f"grad must have a row for each of the {places.shape[0]} blocks, but it has {grad.shape[0]}",
    )
    g = wide(grad).unsqueeze(1)
    nothing = aten.zeros(input.shape, dtype=g.dtype, device=input.device)
    by_input = aten.index_put(nothing, [places], g * wide(weight).unsqueeze(-1), True)
    by_weight = (g * wide(input[places])).sum([0, 3])
    return by_input.to(input.dtype), by_weight.to(weight.dtype)
