"""Wrong calls of torch_npu's operators: the error names the operator, what came and what is allowed."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_BYTES = {"dtype": torch.int8}


def _ones(*sizes: int, dtype: Any = torch.float16) -> torch.Tensor:
    return torch.ones(*sizes, dtype=dtype)


_Q = _ones(2, 8, 64)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: npu.npu_fusion_attention(_Q, _Q, _Q, 0, "BSH"), "head_num must be 1 or more, but it is 0"),
        (lambda: npu.npu_fusion_attention(_Q, _Q, _Q, 4, "BHS"), "input_layout must be one of 'BSH', .* it is 'BHS'"),
        (
            lambda: npu.npu_fusion_attention(_Q, _Q, _Q, 4, "BSH", keep_prob=2.0),
            "keep_prob must be above 0 and at most 1, but it is 2.0",
        ),
        (
            lambda: npu.npu_rms_norm(_ones(2, 8), _ones(8, dtype=torch.int32)),
            "gamma must be one of .*, but it is int32",
        ),
        (
            lambda: npu.npu_rotary_mul(_ones(1, 2, 4, 64), _ones(1, 1, 4, 32), _ones(1, 1, 4, 32)),
            r"r1 must have the sizes of input, \[1, 2, 4, 64\], or 1 in their places, but it has \[1, 1, 4, 32\]",
        ),
        (
            lambda: npu.npu_moe_token_unpermute(_ones(8, 4), _ones(5, dtype=torch.int32)),
            r"sorted_indices must be .* sizes are \[5\] and \[8, 4\]",
        ),
        (
            lambda: npu.npu_dequant_swiglu_quant(_ones(4, 7, dtype=torch.int32)),
            r"the last size of x must be even, but x has \[4, 7\]",
        ),
    ],
)
def test_an_argument_that_is_not_allowed_is_named(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(RuntimeError, match=rf"^npu_\w+\(\): {sentence}"):
        call()


@pytest.mark.parametrize(
    ("call", "operator", "came"),
    [
        (
            lambda: npu.npu_grouped_matmul(
                [_ones(4, 8)], [_ones(2, 16, 8)], group_list=[2, 4], split_item=2, group_type=0
            ),
            "npu_grouped_matmul",
            "x [(float16 [4, 8])], weight [(float16 [2, 16, 8])], group_list [2, 4], split_item 2, group_type 0",
        ),
        (
            lambda: npu.npu_quant_matmul(
                _ones(4, 32, **_BYTES), _ones(32, 16, **_BYTES), _ones(7), output_dtype=torch.float16
            ),
            "npu_quant_matmul",
            "x1 (int8 [4, 32]), x2 (int8 [32, 16]), scale (float16 [7])",
        ),
        (
            lambda: npu.npu_convert_weight_to_int4pack(_ones(8, 7, dtype=torch.int32)),
            "npu_convert_weight_to_int4pack",
            "weight (int32 [8, 7])",
        ),
    ],
)
def test_what_an_operator_within_refuses_is_told_of_the_callers_arguments(
    call: Callable[[], Any], operator: str, came: str
) -> None:
    with pytest.raises(RuntimeError) as error:
        call()
    text = str(error.value)
    assert text.startswith(f"{operator}(): ") and f"\nIts arguments are {came}" in text
    assert text.count("Its arguments are") == 1 and error.value.__cause__ is not None


def test_other_errors_keep_their_class() -> None:
    with pytest.raises(NotImplementedError, match=r"^npu_fusion_attention\(\): padding_mask is not supported"):
        npu.npu_fusion_attention(_Q, _Q, _Q, 4, "BSH", padding_mask=_Q)
