"""The fused ACLNN operators beside the compositions that are their meaning, in each dtype: the emulator computes them on its own."""

from collections.abc import Callable
from typing import Any

import pytest
from samples import Inputs, flat

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.aclnn import operator
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.npu._calls import CALLS, placed

torch.npu.init()
npu = torch.ops.npu
npu.npu_rms_norm

from mindtorch_v2._backends.npu.fused.kernels import SYMBOLS  # noqa: E402  (which come with the rows)

_TOLERANCE = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


def _x(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(0))


_Q, _K, _V, _MASK = _x(2, 5, 8), _x(2, 6, 8), _x(2, 6, 8), _x(5, 6) > 0


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
        return placed(args, device, to), {key: placed(value, device, to) for key, value in kwargs.items()}

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


def test_single_queries_have_no_lengths() -> None:
    torch.manual_seed(0)
    q, k = torch.randn(2, 2, 1, 16).half().npu(), torch.randn(2, 2, 6, 16).half().npu()
    call = torch.ops.npu.npu_fused_infer_attention_score
    wanted = call(q, k, k, num_heads=2, input_layout="BNSD")[0]
    for lengths in ([100], [0, 7]):
        made = call(q, k, k, num_heads=2, input_layout="BNSD", actual_seq_lengths=lengths)[0]
        assert torch.equal(made.cpu(), wanted.cpu())


@pytest.mark.parametrize(("first", "second"), [(torch.float16, torch.float32), (torch.float32, torch.bfloat16)])
def test_a_norm_of_two_dtypes_is_of_float32(first: torch.dtype, second: torch.dtype) -> None:
    x, y, gain, shift = (
        torch.randn(2, 5, 16).to(first),
        torch.randn(2, 5, 16).to(second),
        torch.rand(16),
        torch.rand(16),
    )
    expected = npu.npu_add_layer_norm(x, y, gain, shift, 1e-5, True)
    assert expected[0].dtype == expected[3].dtype == torch.float32
    found = npu.npu_add_layer_norm(x.npu(), y.npu(), gain.npu(), shift.npu(), 1e-5, True)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other)


def test_an_offset_within_the_scale_moves_results_of_eight_bits() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-9, 9, sizes, generator=generator, dtype=torch.int8) for sizes in ((3, 16), (16, 4)))
    packed = torch.ops.npu.npu_trans_quant_param(torch.full((4,), 0.125), torch.tensor([3.0, -8.0, 60.0, -100.0]))
    here, there = (
        torch.ops.npu.npu_quant_matmul(a.to(d), b.to(d), packed.to(d), output_dtype=torch.int8).cpu()
        for d in ("cpu", "npu")
    )
    expected = ((a.double() @ b.double()) * 0.125 + torch.tensor([3, -8, 60, -100])).round().clamp(-128, 127)
    assert here.tolist() == there.tolist() == expected.tolist()
