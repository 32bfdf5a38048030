"""The fused ACLNN operators beside the compositions that are their meaning, in each dtype: the emulator computes them on its own."""

from collections.abc import Callable
from typing import Any

import pytest
from samples import Inputs, flat

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.aclnn import operator
from mindtorch_v2._operators.table import rows_of

torch.npu.init()
npu = torch.ops.npu
npu.npu_rms_norm

from mindtorch_v2._backends.npu.fused.kernels import SYMBOLS  # noqa: E402  (which come with the rows)

_TOLERANCE = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


def _x(*sizes: int, seed: int = 0, dtype: Any = None) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype or torch.float32)


def _whole(*sizes: int, high: int, dtype: Any = torch.int32) -> torch.Tensor:
    return torch.randint(high, sizes, generator=torch.Generator().manual_seed(1)).to(dtype)


def _placed(value: Any, device: str, dtype: torch.dtype) -> Any:
    """An argument on a device in the dtype of a case: float32 stands for it, float64 for what is float32 beside any."""
    if isinstance(value, torch.Tensor):
        to = {torch.float32: dtype, torch.float64: torch.float32}.get(value.dtype, value.dtype)
        return value.to(device, to)
    if isinstance(value, list):
        return [_placed(each, device, dtype) for each in value]
    return value


def _causal(size: int = 2048) -> torch.Tensor:
    return torch.ones(size, size).triu(1).to(torch.bool)


def _statistics(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Statistics and result that a forward pass leaves for its gradient, computed on the CPU in float32."""
    out, top, total, *_ = npu.npu_fusion_attention(*args, **kwargs)
    return {"softmax_max": top.double(), "softmax_sum": total.double(), "attention_in": out}


_Q, _K, _V, _DY = (_x(2, tokens, 8, seed=seed) for seed, tokens in enumerate((5, 6, 6, 5)))
_PQ, _PK, _PV, _PDY = (_x(tokens, 4, 8, seed=seed) for seed, tokens in enumerate((7, 9, 9, 7)))
_ENDS = {"actual_seq_qlen": [3, 7], "actual_seq_kvlen": [4, 9]}
_MASK = _whole(5, 6, high=2, dtype=torch.bool)
_EXPERTS = _whole(6, 2, high=4)
_SORTED = torch.argsort(_EXPERTS.flatten().long(), stable=True)
_PLACES = torch.argsort(_SORTED).to(torch.int32)


_PAGES = {"block_table": torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), "block_size": 16}
_PK_CACHE, _PV_CACHE = (_x(4, 16, 8, seed=seed) for seed in (5, 6))
_INT8 = {"dtype": torch.int8}
_GROUPS = torch.tensor([2, 5])

# Further calls than the rows' samples, by row: arguments, and keywords.
CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "npu::npu_add_rms_norm_dynamic_quant": [
        ([_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2)], {"smooth_scale1": _x(8, seed=3), "smooth_scale2": _x(8, seed=4)}),
        (
            [_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2)],
            {"beta": _x(8, seed=3), "smooth_scale2": _x(8, seed=4), "output_mask": [True, True]},
        ),
    ],
    "npu::npu_add_rms_norm_quant": [
        ([_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2), _x(8, seed=3).abs() + 0.5, None], {}),
        (
            [_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2), _x(8, seed=3).abs() + 0.5, _x(8).round(), _x(8, seed=4)],
            {"scales2": _x(8, seed=5).abs() + 0.5, "div_mode": False},
        ),
    ],
    "npu::npu_clipped_swiglu": [([_x(5, 8)], {"group_index": torch.tensor([1, 2]), "limit": 0.5})],
    "npu::npu_dynamic_quant": [([_x(6, 8)], {"smooth_scales": _x(2, 8), "group_index": torch.tensor([2, 6])})],
    "npu::npu_fusion_attention": [
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "scale": 0.5}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "pre_tockens": 2, "next_tockens": 1}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 2}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 3}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 4, "pre_tockens": 3, "next_tockens": 0}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "sparse_mode": 1}),
        (
            [_Q, _K, _V, 2, "BSH"],
            {"keep_prob": 0.5, "dropout_mask": _whole(16, high=256, dtype=torch.uint8), "atten_mask": _MASK},
        ),
        (
            [_Q.reshape(2, 5, 2, 4), _K.reshape(2, 6, 2, 4)[:, :, :1], _V.reshape(2, 6, 2, 4)[:, :, :1], 2, "BSND"],
            {"pse": _x(1, 2, 5, 6)},
        ),
        ([_PQ, _PK, _PV, 4, "TND"], {**_ENDS, "atten_mask": _causal(), "sparse_mode": 3, "scale": 0.4}),
        ([_PQ, _PK[:, :2], _PV[:, :2], 4, "TND"], {**_ENDS, "atten_mask": _causal(), "sparse_mode": 2}),
    ],
    "npu::npu_fusion_attention_grad": [
        ([_Q, _K, _V, _DY, 2, "BSH"], {**_statistics(_Q, _K, _V, 2, "BSH", scale=0.5), "scale_value": 0.5}),
        (
            [_Q, _K, _V, _DY, 2, "BSH"],
            {**_statistics(_Q, _K, _V, 2, "BSH", _x(1, 2, 1, 6), atten_mask=_MASK), "pse": _x(1, 2, 1, 6)}
            | {"atten_mask": _MASK},
        ),
        (
            [_PQ, _PK[:, :2], _PV[:, :2], _PDY, 4, "TND"],
            {
                **_statistics(_PQ, _PK[:, :2], _PV[:, :2], 4, "TND", **_ENDS, atten_mask=_causal(), sparse_mode=3),
                **_ENDS,
                "atten_mask": _causal(),
                "sparse_mode": 3,
            },
        ),
    ],
    "npu::npu_fused_infer_attention_score": [
        ([_Q, _K, _V], {"num_heads": 2, "scale": 0.5, "atten_mask": _MASK, "softmax_lse_flag": True}),
        ([_Q, _K, _V], {"num_heads": 2, "actual_seq_lengths": [5, 3], "actual_seq_lengths_kv": [6, 2]}),
        (
            [_Q[:, :1], _PK_CACHE, _PV_CACHE],
            {**_PAGES, "num_heads": 2, "actual_seq_lengths_kv": [20, 3], "softmax_lse_flag": True},
        ),
        (
            [_PQ, _PK[:, :2], _PV[:, :2]],
            {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "TND", "actual_seq_lengths": [3, 7]}
            | {"actual_seq_lengths_kv": [4, 9], "atten_mask": _causal(), "sparse_mode": 3, "softmax_lse_flag": True},
        ),
        (
            [_x(2, 2, 3, 8), _x(2, 1, 5, 8), _x(2, 1, 5, 8, seed=1)],
            {"num_heads": 2, "num_key_value_heads": 1, "input_layout": "BNSD", "pse_shift": _x(1, 2, 3, 5)}
            | {"query_rope": _x(2, 2, 3, 4), "key_rope": _x(2, 1, 5, 4)},
        ),
    ],
    "npu::npu_fused_infer_attention_score_v2": [
        ([_Q, _K, _V], {"num_query_heads": 2, "softmax_scale": 0.5, "return_softmax_lse": True}),
        (
            [_x(2, 3, 2, 8), _x(2, 5, 2, 8), _x(2, 5, 2, 8, seed=1)],
            {"num_query_heads": 2, "input_layout": "BSND", "query_rope": _x(2, 3, 2, 4), "key_rope": _x(2, 5, 2, 4)},
        ),
    ],
    "npu::npu_grouped_matmul": [
        ([[_x(3, 8), _x(5, 8)], [_x(8, 4), _x(8, 6)]], {"bias": [_x(4), _x(6)], "group_type": -1}),
        ([[_x(7, 8)], [_x(2, 8, 4)]], {"group_list": _GROUPS, "group_type": 0, "split_item": 2}),
        (
            [[_x(7, 8)], [_x(2, 8, 4)]],
            {"bias": [_x(2, 4)], "group_list": _GROUPS, "group_type": 0, "split_item": 3, "group_list_type": 1},
        ),
        ([[_x(8, 7)], [_x(7, 4)]], {"group_list": torch.tensor([2, 7]), "group_type": 2, "split_item": 3}),
        (
            [[_whole(7, 8, high=9, **_INT8)], [_whole(2, 8, 4, high=9, **_INT8)]],
            {"scale": [_x(2, 4).double()], "per_token_scale": [_x(7).double()], "group_list": _GROUPS, "group_type": 0}
            | {"split_item": 2, "output_dtype": 15},
        ),
    ],
    "npu::npu_quant_matmul": [
        ([_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), _x(4).abs().double()], {"output_dtype": 5}),
        (
            [_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), _x(4).abs().double()],
            {"pertoken_scale": _x(5).double(), "bias": _whole(4, high=9), "output_dtype": 15},
        ),
        (
            [_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), (_x(4).abs() / 9).double()],
            {"offset": _x(4).double()},
        ),
    ],
    "npu::npu_incre_flash_attention": [
        ([_Q[:, :1], _K, _V], {"num_heads": 2, "scale_value": 0.5, "actual_seq_lengths": [6, 4]}),
        ([_Q[:, :1], _PK_CACHE, _PV_CACHE], {**_PAGES, "num_heads": 2, "actual_seq_lengths": [20, 3]}),
    ],
    "npu::npu_prompt_flash_attention": [
        ([_Q, _K, _V], {"num_heads": 2, "scale_value": 0.5, "next_tokens": 2147483647, "atten_mask": _MASK}),
    ],
    "npu::npu_moe_compute_expert_tokens": [([_whole(9, high=5).sort()[0], 5], {})],
    "npu::npu_moe_finalize_routing": [
        ([_x(12, 8), _x(6, 8, seed=1), None, _x(4, 8, seed=2), _x(6, 2, seed=3), _PLACES, _EXPERTS], {}),
        ([_x(12, 8), None, None, None, _x(6, 2, seed=3), _PLACES, None], {"drop_pad_mode": 2}),
    ],
    "npu::npu_moe_gating_top_k": [
        ([_x(5, 8), 3], {"bias": _x(8, seed=1), "norm_type": 1, "routed_scaling_factor": 2.5}),
        ([_x(5, 8), 2], {"k_group": 1, "group_count": 2, "out_flag": True}),
    ],
    "npu::npu_moe_gating_top_k_softmax": [([_x(5, 8), torch.tensor([True, False, False, True, False]), 2], {})],
    "npu::npu_moe_init_routing": [
        ([_x(6, 8), torch.arange(12, dtype=torch.int32).reshape(2, 6).T.contiguous(), _EXPERTS, 5], {})
    ],
    "npu::npu_moe_token_permute": [([_x(6, 8), _EXPERTS], {}), ([_x(6, 8), _EXPERTS, 7], {})],
    "npu::npu_moe_token_permute_grad": [([_x(6, 8), _x(7, 8), _EXPERTS, _PLACES], {})],
    "npu::npu_moe_token_unpermute": [([_x(12, 8), _PLACES, _x(6, 2)], {}), ([_x(12, 8), _PLACES], {})],
    "npu::npu_moe_token_unpermute_grad": [([_x(12, 8), _x(6, 8), _PLACES, _x(6, 2)], {})],
    "npu::npu_quantize": [
        ([_x(3, 8), _x(8, seed=1).abs() + 0.1, _x(8).round(), 1, -1], {}),
        ([_x(3, 8) * 9, _x(1, seed=1).abs() + 0.1, None, 13, 0], {}),
        ([_x(3, 8), _x(8, seed=1).abs() + 9, None, 1, -1, False], {}),
    ],
    "npu::npu_ring_attention_update": [
        (
            [_x(5, 2, 8), *[_x(2, 2, 5, 1, seed=s).abs().expand(2, 2, 5, 8).double() for s in (1, 2)]]
            + [_x(5, 2, 8, seed=3), *[_x(2, 2, 5, 1, seed=s).abs().expand(2, 2, 5, 8).double() for s in (4, 5)]],
            {},
        ),
        (
            [_x(7, 4, 8), *[_x(7, 4, 1, seed=s).abs().expand(7, 4, 8).double() for s in (1, 2)]]
            + [_x(7, 4, 8, seed=3), *[_x(7, 4, 1, seed=s).abs().expand(7, 4, 8).double() for s in (4, 5)]],
            {"input_layout": "TND"},
        ),
    ],
    "npu::npu_scaled_masked_softmax_backward": [
        ([_x(2, 2, 32, 32), _x(2, 2, 32, 32), _whole(2, 1, 32, 32, high=2, dtype=torch.bool), 0.5, False], {}),
        ([_x(2, 2, 32, 32), _x(2, 2, 32, 32), _whole(2, 1, 32, 32, high=2, dtype=torch.bool), 0.5, True], {}),
    ],
}


def _row(name: str) -> Any:
    space, _, rest = name.partition("::")
    return rows_of(space)[rest]


def _of_sample(name: str, index: int) -> Callable[[str, str], tuple[list[Any], dict[str, Any]]]:
    def make(device: str, dtype: str) -> tuple[list[Any], dict[str, Any]]:
        inputs = Inputs(torch, _row(name), index, dtype, device=device)
        return inputs.args, inputs.kwargs

    return make


def _of_call(name: str, index: int) -> Callable[[str, str], tuple[list[Any], dict[str, Any]]]:
    def make(device: str, dtype: str) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = CALLS[name][index]
        to = getattr(torch, dtype)
        return _placed(args, device, to), {key: _placed(value, device, to) for key, value in kwargs.items()}

    return make


_CASES = [
    pytest.param(name, make(name, index), id=f"{name}-{kind}-{index}")
    for name in sorted(SYMBOLS)
    for kind, make, count in (
        ("sample", _of_sample, len(_row(name).samples)),
        ("call", _of_call, len(CALLS.get(name, ()))),
    )
    for index in range(count)
]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the fused operators, in the order in which they are called."""
    names: list[str] = []
    for symbol in {each for listed in SYMBOLS.values() for each in listed.split(", ")}:
        op = operator(symbol)

        def run(*arguments: Any, _run: Any = op.run, _name: str = symbol) -> None:
            names.append(_name)
            _run(*arguments)

        monkeypatch.setattr(op, "run", run)
    return names


_REACHED: dict[str, set[str]] = {}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("name", "make"), _CASES)
def test_the_operator_does_what_the_composition_does(name: str, make: Any, dtype: str, called: list[str]) -> None:
    row = _row(name)
    with torch.no_grad():
        args, kwargs = make("cpu", dtype)
        expected = [r for r in flat(row.handle(*args, **kwargs)) if isinstance(r, torch.Tensor)]
        expected += [a for a in args if isinstance(a, torch.Tensor)] if "!" in row.schema else []
        args, kwargs = make("npu", dtype)
        results = [r for r in flat(row.handle(*args, **kwargs)) if isinstance(r, torch.Tensor)]
        results += [a for a in args if isinstance(a, torch.Tensor)] if "!" in row.schema else []
    if not called:
        pytest.skip("the composition computes this dtype")
    _REACHED.setdefault(name, set()).update(called)
    assert set(called) <= set(SYMBOLS[name].split(", "))
    for ours, theirs in zip(results, expected, strict=True):
        assert ours.device.type == "npu"
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        tolerance = _TOLERANCE[dtype]
        torch.testing.assert_close(ours.cpu(), theirs, rtol=2 * tolerance, atol=tolerance, equal_nan=True)


def test_every_operator_is_reached() -> None:
    """Each symbol that a row may call was called above."""
    if not _REACHED:
        pytest.skip("the tests above have not run in this process")
    stated = {name: set(listed.split(", ")) for name, listed in SYMBOLS.items()}
    assert {
        name: stated[name] - _REACHED.get(name, set()) for name in stated if stated[name] - _REACHED.get(name, set())
    } == {}


def test_float64_is_computed_by_the_composition(called: list[str]) -> None:
    x = torch.ones(2, 4, dtype=torch.float64, device="npu")
    assert npu.npu_rms_norm(x, torch.ones(4, dtype=torch.float64, device="npu"))[0].dtype == torch.float64
    assert called == []


def test_a_gradient_through_an_implicit_row_is_the_compositions(called: list[str]) -> None:
    x = _x(3, 8).to("npu").requires_grad_()
    npu.npu_geglu(x)[0].sum().backward()
    assert called == [] and x.grad is not None
    with torch.no_grad():
        npu.npu_geglu(x)
    assert called == ["aclnnGeGluV3"]


def test_an_operator_that_is_missing_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from mindtorch_v2._backends.npu import state
    from mindtorch_v2._backends.npu.fused.kernels import present

    monkeypatch.setattr(present, "known", {})
    libraries = state.get().runtime.libraries
    found = libraries.operator
    monkeypatch.setattr(libraries, "operator", lambda name: None if "SwiGlu" in name else found(name))
    monkeypatch.setattr(operator("aclnnSwiGlu"), "bound", False)
    x = _x(3, 8)
    with pytest.warns(UserWarning, match="npu::npu_swiglu: this CANN has no aclnnSwiGlu; a composition"):
        first = npu.npu_swiglu(x.to("npu"))
    torch.testing.assert_close(npu.npu_swiglu(x.to("npu")).cpu(), first.cpu())
    torch.testing.assert_close(first.cpu(), npu.npu_swiglu(x))


_ALL_GOOD = ([_Q, _K, _V, None, None, None, None, None, 0.5, 1.0, 9, 9, 2, "BSH", 0, 0], [5, 6, 6])


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (1, _K[..., :6], "the last size of key is 6, allowed: multiples of the heads' width, 4"),
        (2, _V[:, :5], "key and value must have the batch of query and one length"),
        (5, _x(1), "paddingMask is given, and must be left out"),
        (6, _MASK[:3], r"attenMask has the shape \[3, 6\], allowed: \(queries, keys\), or"),
        (6, _x(5, 6), "attenMask is of float, allowed: bool, uint8, int8"),
        (9, 1.5, "keepProb is 1.5, allowed: above 0, up to 1"),
        (12, 3, "the last size of query is 8, allowed: multiples of the heads, 3"),
        (13, "NBSD", "inputLayout is 'NBSD', allowed: BSH, SBH, BSND, BNSD, TND"),
        (13, "TND", "inputLayout is 'TND', allowed: BSH, SBH, BSND, BNSD; FlashAttentionVarLenScore takes TND"),
        (15, 9, "sparseMode is 9, allowed: 0 to 6"),
    ],
)
def test_fused_attention_refuses_in_a_sentence(place: int, value: Any, sentence: str) -> None:
    arguments = [x.to("npu") if isinstance(x, torch.Tensor) else x for x in _ALL_GOOD[0]]
    results = [torch.empty(2, 2, 5, 8, device="npu") for _ in range(2)]
    results += [torch.empty(0, device="npu"), torch.empty(2, 5, 8, device="npu")]
    operator("aclnnFlashAttentionScore").run(*arguments, *results)
    arguments[place] = value.to("npu") if isinstance(value, torch.Tensor) else value
    with pytest.raises(torch.npu.NPUError, match=f"aclnnFlashAttentionScore: {sentence}"):
        operator("aclnnFlashAttentionScore").run(*arguments, *results)
