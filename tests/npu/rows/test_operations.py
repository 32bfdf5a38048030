"""Floating point operations of rows, as `torch.utils.flop_counter` counts them, beside those of plain products."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import composite, rows_of
from mindtorch_v2._operators.table.facts import flops_of
from mindtorch_v2.npu.torch_npu.utils.flops_count import FlopsCounter
from mindtorch_v2.utils.flop_counter import FlopCounterMode

npu: Any = torch.ops.npu


def _counted(call: Callable[[], Any]) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def _x(*sizes: int, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.ones(sizes).to(dtype)


_PLACES: dict[str, tuple[int, ...]] = {
    "BSH": (0, 2, 1, 3),
    "SBH": (2, 0, 1, 3),
    "BSND": (0, 2, 1, 3),
    "BNSD": (0, 1, 2, 3),
}


def _laid(batch: int, heads: int, tokens: int, width: int, layout: str) -> torch.Tensor:
    x = _x(batch, heads, tokens, width).permute(_PLACES[layout])
    return x.flatten(2) if layout in ("BSH", "SBH") else x


@pytest.mark.parametrize("layout", _PLACES)
def test_attention_counts_both_products(layout: str) -> None:
    q, k, v = (_laid(2, heads, tokens, 8, layout) for heads, tokens in ((4, 5), (2, 7), (2, 7)))
    forward = 2 * 2 * 4 * 5 * 7 * (8 + 8)
    assert _counted(lambda: npu.npu_fusion_attention(q, k, v, 4, layout)) == forward
    assert _counted(lambda: npu.npu_fusion_attention_v2(q, k, v, 4, layout)) == forward
    assert _counted(lambda: npu.npu_fusion_attention_v3(q, k, v, 4, layout)) == forward
    if layout != "SBH":
        options: dict[str, Any] = {"input_layout": layout, "num_key_value_heads": 2}
        for call in (npu.npu_fused_infer_attention_score, npu.npu_prompt_flash_attention):
            assert _counted(lambda call=call: call(q, k, v, num_heads=4, **options)) == forward
        second = npu.npu_fused_infer_attention_score_v2
        assert _counted(lambda: second(q, k, v, num_query_heads=4, **options)) == forward


def test_the_gradient_counts_five_products() -> None:
    q, k, v = (_x(2, 2, tokens, width).requires_grad_() for tokens, width in ((5, 8), (7, 8), (7, 4)))

    def both() -> None:
        npu.npu_fusion_attention(q, k, v, 2, "BNSD")[0].sum().backward()

    assert _counted(both) == 2 * 2 * 2 * 5 * 7 * ((8 + 4) + (3 * 8 + 2 * 4))


def test_packed_sequences_count_their_own_pairs() -> None:
    q, k = _x(7, 2, 8), _x(9, 2, 8)
    ends = {"actual_seq_qlen": [3, 7], "actual_seq_kvlen": [4, 9]}
    expected = 2 * 2 * (3 * 4 + 4 * 5) * (8 + 8)
    assert _counted(lambda: npu.npu_fusion_attention(q, k, k, 2, "TND", **ends)) == expected
    names = {"actual_seq_lengths": [3, 7], "actual_seq_lengths_kv": [4, 9]}
    infer = npu.npu_fused_infer_attention_score
    assert _counted(lambda: infer(q, k, k, num_heads=2, input_layout="TND", **names)) == expected


def test_pages_count_the_tokens_that_are_there() -> None:
    q, cache = _x(2, 1, 8), _x(4, 16, 8)
    pages = {"block_table": torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), "block_size": 16}
    expected = 2 * 2 * (20 + 3) * (4 + 4)
    infer = npu.npu_fused_infer_attention_score
    assert _counted(lambda: infer(q, cache, cache, num_heads=2, actual_seq_lengths_kv=[20, 3], **pages)) == expected
    single = npu.npu_incre_flash_attention
    assert _counted(lambda: single(q, cache, cache, num_heads=2, actual_seq_lengths=[20, 3], **pages)) == expected
    padded = _x(2, 6, 8)
    assert _counted(lambda: single(q, padded, padded, num_heads=2, actual_seq_lengths=[6, 4])) == 2 * 2 * 10 * 8
    lengths = {"actual_seq_lengths": [1], "actual_seq_lengths_kv": [5]}
    assert _counted(lambda: infer(q, padded, padded, num_heads=2, **lengths)) == 2 * 2 * 10 * 8


def test_a_turned_part_is_wider() -> None:
    q, k, turned = _x(2, 2, 5, 8), _x(2, 2, 7, 8), _x(2, 2, 5, 4)
    options = {"query_rope": turned, "key_rope": _x(2, 2, 7, 4)}
    expected = 2 * 2 * 2 * 5 * 7 * (12 + 8)
    assert _counted(lambda: npu.npu_fusion_attention_v2(q, k, k, 2, "BNSD", **options)) == expected
    infer = npu.npu_fused_infer_attention_score
    assert _counted(lambda: infer(q, k, k, num_heads=2, input_layout="BNSD", **options)) == expected


_INT8 = torch.int8
_PRODUCTS: dict[str, tuple[Callable[[], Any], int]] = {
    "lists": (lambda: npu.npu_grouped_matmul([_x(3, 4), _x(2, 6)], [_x(4, 5), _x(6, 5)], group_type=-1), 2 * (60 + 60)),
    "ends as a list": (
        lambda: npu.npu_grouped_matmul([_x(5, 4)], [_x(2, 4, 6)], group_list=[2, 5], group_type=0, split_item=2),
        2 * 5 * 4 * 6,
    ),
    "runs of rows": (
        lambda: npu.npu_grouped_matmul([_x(5, 4)], [_x(2, 4, 6)], group_list=torch.tensor([2, 5]), group_type=0, split_item=2),
        2 * 5 * 4 * 6,
    ),
    "added": (
        lambda: npu.npu_grouped_matmul_add_(_x(2, 4, 6), _x(5, 4), _x(5, 6), torch.tensor([2, 5])),
        2 * 5 * 4 * 6,
    ),
    "8 bits": (lambda: npu.npu_quant_matmul(_x(5, 8, dtype=_INT8), _x(8, 4, dtype=_INT8), _x(4), output_dtype=5), 2 * 5 * 8 * 4),
    "4 bits": (
        lambda: npu.npu_weight_quant_batchmatmul(_x(4, 8), _x(8, 2, dtype=torch.int32), _x(16)),
        2 * 4 * 8 * 16,
    ),
    "gated, 8 bits": (
        lambda: npu.npu_grouped_matmul_swiglu_quant(
            _x(5, 8, dtype=_INT8), _x(2, 8, 12, dtype=_INT8), torch.tensor([2, 5]), _x(2, 12), _x(5)
        ),
        2 * 5 * 8 * 12,
    ),
    "gated, in blocks": (
        lambda: npu.npu_grouped_matmul_swiglu_quant(
            _x(5, 32, dtype=_INT8), _x(2, 2, 2, 16, 32, dtype=_INT8), torch.tensor([2, 5]), _x(2, 64), _x(5)
        ),
        2 * 5 * 32 * 64,
    ),
    "added, 8 bits": (
        lambda: npu.npu_add_quant_matmul_(_x(4, 6), _x(4, 5, dtype=_INT8), _x(5, 6, dtype=_INT8), _x(6)),
        2 * 4 * 5 * 6,
    ),
    "feed forward": (lambda: npu.npu_ffn(_x(3, 4), _x(4, 8), _x(8, 6), "relu"), 2 * 3 * (4 * 8 + 8 * 6)),
    "feed forward with gates": (lambda: npu.npu_ffn(_x(3, 4).half(), _x(4, 16).half(), _x(8, 6).half(), "swiglu"), 2 * 3 * (4 * 16 + 8 * 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", _PRODUCTS)
def test_products(name: str) -> None:
    call, expected = _PRODUCTS[name]
    assert _counted(call) == expected


def test_products_with_communication_by_their_formulas() -> None:
    """Without a group of processes, as rows state them."""
    rows = rows_of("npu")
    x, w = _x(3, 4), _x(4, 5)
    for name, args, expected in (
        ("npu_mm_all_reduce_base", (x, w, "group"), 2 * 3 * 4 * 5),
        ("npu_mm_reduce_scatter_base", (x, w, "group", 4), 2 * 3 * 4 * 5),
        ("npu_all_gather_base_mm", (x, w, "group", 4), 4 * 2 * 3 * 4 * 5),
    ):
        row = rows[name]
        assert flops_of(row.handle, row.facts, args, {}) == expected
    assert flops_of(rows["npu_swiglu"].handle, rows["npu_swiglu"].facts, (x,), {}) is None


def test_counters_and_profiles_have_them() -> None:
    q = _x(1, 2, 4, 8)
    counter = FlopsCounter()
    counter.start()
    npu.npu_fusion_attention(q, q, q, 2, "BNSD")
    assert counter.get_flops() == [2 * 2 * 16 * 16] * 2
    counter.stop()
    with torch.profiler.profile(with_flops=True) as prof:
        npu.npu_fusion_attention(q, q, q, 2, "BNSD")
    assert [e.flops for e in prof.events() if e.name == "npu::npu_fusion_attention"] == [2 * 2 * 16 * 16]


def test_a_formula_reads_arguments_that_there_are() -> None:
    with pytest.raises(ValueError, match="counted: flops= reads 'nothing', which is no argument"):
        composite("npu::counted(Tensor x) -> Tensor", "x.", flops=lambda nothing: nothing)(lambda x: x)
    with pytest.raises(TypeError, match="flops=3 is no function of Python"):
        composite("npu::counted_again(Tensor x) -> Tensor", "x.", flops=3)(lambda x: x)  # type: ignore[arg-type]
