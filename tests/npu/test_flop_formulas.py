"""Operations of torch_npu's products and attentions, counted by formulas and by ranges of a profile."""

import json
import pathlib
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu.torch_npu import profiler
from mindtorch_v2.npu.torch_npu.profiler import _flops_registry as registry
from mindtorch_v2.npu.torch_npu.profiler._flops_hook import FlopsHookManager, _targets


def _count(name: str, *arguments: Any, **named: Any) -> Any:
    _targets()  # loads the formulas
    formula = registry.get_flop_func(name)
    assert formula is not None
    return formula(*arguments, **named)


def _meta(*sizes: int) -> torch.Tensor:
    return torch.empty(sizes, device="meta")


@pytest.mark.parametrize(
    ("name", "arguments", "count"),
    [
        ("mm", ([2, 3], [3, 5]), 2 * 2 * 3 * 5), ("bmm", ([7, 2, 3], [7, 3, 5]), 7 * 2 * 2 * 3 * 5),
        ("addmm", ([5], [2, 3], [3, 5]), 2 * 2 * 3 * 5), ("linear", ([4, 2, 3], [5, 3]), 8 * 2 * 3 * 5),
        ("matmul", ([3], [3]), 2 * 3), ("matmul", ([3], [4, 3, 5]), 4 * 2 * 3 * 5), ("matmul", ([4, 2, 3], [3]), 8 * 2 * 3),
        ("matmul", ([6, 1, 2, 3], [4, 3, 5]), 24 * 2 * 2 * 3 * 5), ("npu_quant_matmul_gelu", ([4, 2, 3], [3, 5]), 8 * 2 * 3 * 5),
    ],
)  # fmt: skip
def test_products(name: str, arguments: tuple, count: int) -> None:
    assert _count(name, *(_meta(*sizes) for sizes in arguments)) == count


def _triangle(queries: int, keys: int, sparse_mode: int) -> int:
    """Scores that a causal mask leaves, each diagonal element counted half."""
    later = queries if sparse_mode == 2 else keys
    first = 0 if sparse_mode == 2 else keys - queries
    assert later
    full = sum(first + i > j for i in range(queries) for j in range(keys))
    return full + sum(0 <= first + i < keys for i in range(queries)) / 2


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH", "SBH"])
@pytest.mark.parametrize("sparse_mode", [0, 2, 3])
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (8, 4), (4, 8)])
def test_attention(layout: str, sparse_mode: int, queries: int, keys: int) -> None:
    def made(length: int, heads: int) -> torch.Tensor:
        x = _meta(2, heads, length, 5)  # BNSD
        if layout == "BNSD":
            return x
        x = x.transpose(1, 2)
        return {"BSND": lambda: x, "BSH": lambda: x.flatten(2), "SBH": lambda: x.flatten(2).transpose(0, 1)}[layout]()

    scores = queries * keys if sparse_mode == 0 else _triangle(queries, keys, sparse_mode)
    given = made(queries, 4), made(keys, 2), made(keys, 2), 4, layout
    assert _count("npu_fusion_attention", *given, sparse_mode=sparse_mode) == 2 * 2 * 4 * scores * (5 + 5)
    named = {"num_heads": 4, "num_key_value_heads": 2, "input_layout": layout, "sparse_mode": sparse_mode}
    assert _count("npu_fused_infer_attention_score", *given[:3], **named) == 2 * 2 * 4 * scores * (5 + 5)


def test_packed_attention_and_what_is_refused() -> None:
    q, k = _meta(9, 4, 5), _meta(9, 4, 5)
    ends = {"actual_seq_qlen": [2, 9], "actual_seq_kvlen": [3, 9]}
    assert _count("npu_fusion_attention", q, k, k, 4, "TND", **ends) == 2 * 4 * 10 * (2 * 3 + 7 * 6)
    for wrong, text in (
        (lambda: _count("npu_fusion_attention", q, k, k, 4, "TND"), "packed sequences need their ends"),
        (lambda: _count("npu_fusion_attention", q, k, k, 4, "XYZ"), "attention has no layout XYZ"),
        (lambda: _count("npu_fusion_attention", q, k, k, 4, "BSH"), "5 elements are not 4 heads"),
        (
            lambda: _count("npu_fusion_attention", q[None], k[None], k[None], 4, "BNSD", sparse_mode=4),
            "sparse_mode=4 leaves are not known",
        ),
        (lambda: _count("mm", _meta(3), _meta(3, 4)), "a product needs two matrices"),
        (lambda: _count("matmul", _meta(2, 3, 4), _meta(3, 4, 5)), "cannot be broadcast"),
        (lambda: _count("npu_grouped_matmul", [q[0]], [q[0], q[0]], group_list=[1]), "has 1 numbers for 2 weights"),
        (lambda: _count("npu_grouped_matmul", [q[0]], [q[0], q[0]], group_list=[1, 9]), "does not divide the 4 rows"),
        (lambda: _count("npu_grouped_matmul", [q[0]] * 3, [q[0]] * 2), "are no groups"),
    ):
        with pytest.raises(ValueError, match=text):
            wrong()


def test_a_programs_formula_comes_first(caplog: pytest.LogCaptureFixture) -> None:
    try:
        for number in (1, 2):
            registry.register_npu_flop(op_name="mm")(lambda *_, number=number: number)
        assert _count("mm") == 2 and registry.get_npu_flop_targets()["mm"] == "torch:mm"
        assert "there was a formula for mm already" in caplog.text
    finally:
        registry._npu_flop_registry.pop("mm")


def test_a_profile_has_a_range_for_each_call_that_is_counted(tmp_path: pathlib.Path) -> None:
    plain = torch.mm, torch.nn.functional.linear
    x = torch.ones(2, 3)
    config = profiler._ExperimentalConfig(mstx=True)
    with profiler.profile(with_flops=True, experimental_config=config) as prof:
        torch.mm(x, x.t())
        torch.nn.functional.linear(x, x)
        with pytest.raises(RuntimeError):
            torch.mm(x, x)
        registry._default_npu_flop_registry["mm"], kept = (
            (lambda *_: 1 / 0, "torch:mm"),
            (registry._default_npu_flop_registry["mm"]),
        )
        torch.mm(x, x.t())  # a formula that fails is no reason to fail
        registry._default_npu_flop_registry["mm"] = kept
    assert (torch.mm, torch.nn.functional.linear) == plain and not FlopsHookManager.is_installed()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    names = [row["name"] for row in json.loads((tmp_path / "trace.json").read_text("utf-8"))]
    assert names.count("24-mm") == 1 and names.count("24-linear") == 1 and names.count("36-mm") == 1
