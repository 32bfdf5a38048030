"""The gradient of block-sparse attention beside what autograd makes of the attention itself, in float64."""

from typing import Any

import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu


def _case(layout: str) -> tuple[list[torch.Tensor], torch.Tensor, dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)

    def x(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, generator=generator, dtype=torch.float64).requires_grad_()

    options: dict[str, Any] = {"q_input_layout": layout, "kv_input_layout": layout, "num_key_value_heads": 2}
    options["scale_value"] = 0.3
    if layout == "TND":
        options.update(actual_seq_lengths=[150, 7], actual_seq_lengths_kv=[300, 130])
        tensors = [x(157, 4, 6), x(430, 2, 6), x(430, 2, 6)]
        blocks = (2, 4, 3, 3)
    else:
        tensors = [x(2, 4, 10, 6), x(2, 2, 140, 6), x(2, 2, 140, 6)]
        blocks = (2, 4, 1, 2)
    mask = torch.randint(0, 2, blocks, generator=generator).to(torch.int8)
    mask[..., 0] = 1  # no row sees nothing
    return tensors, mask, options


@pytest.mark.parametrize("layout", ["TND", "BNSD"])
def test_it_is_what_autograd_makes_of_the_attention(layout: str) -> None:
    tensors, mask, options = _case(layout)
    out, lse = npu.npu_block_sparse_attention(*tensors, mask, [64, 128], **options, softmax_lse_flag=1)
    grad = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    expected = torch.autograd.grad(out, tensors, grad)
    lengths = [options.get("actual_seq_lengths"), options.get("actual_seq_lengths_kv")]
    made = npu.npu_block_sparse_attention_backward(
        grad, *(x.detach() for x in (*tensors, out, lse)), mask, [64, 128], *lengths, layout, layout, 2, 0.3
    )
    for ours, theirs in zip(made, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


def test_statistics_of_other_sizes_are_refused() -> None:
    tensors, mask, _ = _case("BNSD")
    with pytest.raises(RuntimeError, match=r"softmax_lse must be \[2, 4, 10, 1\].* its sizes are \[2, 4, 10\]"):
        npu.npu_block_sparse_attention_backward(
            tensors[0], *tensors, tensors[0], torch.ones(2, 4, 10), mask, [64, 128], None, None, "BNSD", "BNSD", 2, 0.3
        )
