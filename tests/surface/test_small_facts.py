"""Numbers, words and documentation that programs read: enumerations, sizes as text, traces, properties, facts of rows."""

import json
import math

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import facts
from mindtorch_v2.autograd import _profiler_table
from mindtorch_v2.autograd.profiler_util import FunctionEvent
from mindtorch_v2.nn import functional as F


def test_numbers_of_scaling_types_are_pytorchs() -> None:
    assert {each.name: each.value for each in F.ScalingType} == {
        "TensorWise": 0,
        "RowWise": 1,
        "BlockWise1x16": 2,
        "BlockWise1x32": 3,
        "BlockWise1x128": 4,
        "BlockWise128x128": 5,
    }
    assert {each.name: each.value for each in F.SwizzleType} == {"NO_SWIZZLE": 0, "SWIZZLE_32_4_4": 1}


@pytest.mark.parametrize(
    ("size", "text"),
    [(1 << 30, "1.00 GB"), (-(1 << 20), "-1.00 MB"), (1 << 10, "1.00 KB"), (1023, "1023 B"), (3 << 19, "1.50 MB")],
)
def test_sizes_as_text(size, text) -> None:
    assert _profiler_table.format_memory(size) == text


def test_the_head_of_a_trace(tmp_path) -> None:
    with torch.autograd.profiler.profile() as run:
        torch.ones(2).add(1)
    run.export_chrome_trace(str(tmp_path / "trace"))
    trace = json.loads((tmp_path / "trace").read_text())
    assert (trace["schemaVersion"], trace["displayTimeUnit"], trace["record_shapes"]) == (1, "ms", 0)


@pytest.mark.parametrize("name", ["real", "imag", "T", "H", "mT", "mH", "shape", "grad", "data", "device", "dtype"])
def test_properties_of_tensors_say_what_they_are(name) -> None:
    assert getattr(torch.Tensor, name).__doc__


@pytest.mark.parametrize("words", [{"batching": "sideways"}, {"autocast": "sideways"}])
def test_a_word_that_no_row_knows(words) -> None:
    (word,) = words
    with pytest.raises(ValueError, match=f"twice.Tensor self. -> Tensor: {word}='sideways' is none of"):
        facts._resolved("twice(Tensor self) -> Tensor", words)


def test_incomplete_gamma_functions_of_integers_are_not_rounded() -> None:
    one, two = torch.tensor([1]), torch.tensor([2])
    assert math.isclose(torch.igammac(one, two).item(), math.exp(-2), rel_tol=1e-6)
    assert math.isclose(torch.igamma(one, two).item(), 1 - math.exp(-2), rel_tol=1e-6)


def test_time_first_convolution_is_the_usual_one_turned() -> None:
    for steps, pad in ((1, 1), (6, 1), (6, 0), (5, 2)):
        x, w, b = torch.randn(steps, 2, 3), torch.randn(3, 3, 4), torch.randn(4)
        usual = F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), b, padding=pad).permute(2, 0, 1)
        assert torch.equal(torch.conv_tbc(x, w, b, pad), usual)


def test_a_layer_norm_whose_weights_are_not_mapped() -> None:
    x, w, b = torch.randn(5, 3, 4), torch.randn(4), torch.randn(4)
    looped = torch.stack([F.layer_norm(each, (4,), w, b) for each in x])
    assert torch.allclose(torch.vmap(lambda each: F.layer_norm(each, (4,), w, b))(x), looped, atol=1e-6)
    assert torch.allclose(torch.vmap(lambda each: F.layer_norm(each, (4,), w))(x), looped - b, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Using non-full backward hooks:FutureWarning")
def test_the_old_backward_hook_hangs_on_the_first_result() -> None:
    class Two(torch.nn.Module):
        def forward(self, x):
            return [x * 2, x.exp()]

    seen = []
    module = Two()
    module.register_backward_hook(lambda *given: seen.append(len(given[1])))
    x = torch.ones(2, requires_grad=True)
    module(x)[1].sum().backward()
    assert seen == []
    module(x)[0].sum().backward()
    assert len(seen) == 1


def test_the_steps_of_a_fused_optimizer_are_float32() -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for fused, dtype in ((True, torch.float32), (False, torch.float64)):
            parameter = torch.nn.Parameter(torch.ones(2))
            optimizer = torch.optim.Adam([parameter], fused=fused)
            parameter.sum().backward()
            optimizer.step()
            assert optimizer.state[parameter]["step"].dtype == dtype
    finally:
        torch.set_default_dtype(before)


def test_times_as_text() -> None:
    assert _profiler_table.format_time(999_999.5) == "1000.000ms"
    assert _profiler_table.format_time(1_000_000.0) == "1.000s"
    assert _profiler_table.format_time(999.0) == "999.000us"
    assert _profiler_table.format_time(2_000_000.0, "s") == "2.000s"


def test_operations_are_shown_on_request() -> None:
    events = [FunctionEvent(1, "aten::mm", 7, 0.0, 10.0, flops=2_000_000)]
    assert "FLOPs" not in _profiler_table.build_table(events)
    assert "MFLOPs" in _profiler_table.build_table(events, with_flops=True)


def test_numbers_of_transforms_are_pytorchs() -> None:
    names = torch._C._functorch
    assert {each.name: each.value for each in names.TransformType} == {
        "Torch": 0,
        "Vmap": 1,
        "Grad": 2,
        "Jvp": 3,
        "Functionalize": 4,
    }
    assert {each.name: each.value for each in names.RandomnessType} == {"Error": 0, "Same": 1, "Different": 2}


def test_functions_by_the_class_that_pickles_name() -> None:
    names = torch._C._VariableFunctions
    assert names.add is torch.add and names.einsum is torch.einsum
    assert names._sparse_mm_reduce_impl.__name__ == "_sparse_mm_reduce_impl"
    with pytest.raises((AttributeError, NotImplementedError), match="fbgemm_pack_gemm_matrix_fp16"):
        names.fbgemm_pack_gemm_matrix_fp16()


def test_dtypes_of_factors_of_meta_tensors() -> None:
    found = torch.linalg.ldl_factor_ex(torch.eye(3, device="meta"))
    assert [each.dtype for each in found] == [torch.float32, torch.int32, torch.int32]


def test_numbers_of_causal_masks_are_pytorchs() -> None:
    from mindtorch_v2.nn.attention.bias import CausalVariant

    assert {each.name: each.value for each in CausalVariant} == {"UPPER_LEFT": 1, "LOWER_RIGHT": 2}


def test_a_new_tensor_of_a_tensor_has_its_dtype() -> None:
    x = torch.ones(1)
    assert (
        x.new(torch.tensor([3.0])).tolist() == [3.0]
        and x.new(2, 3).shape == (2, 3)
        and x.new([1, 2]).tolist() == [1.0, 2.0]
    )
    with pytest.raises(TypeError, match="expected"):
        x.new(torch.ones(1, dtype=torch.float64))


def test_values_of_eigenvectors_of_meta_tensors() -> None:
    values, vectors = torch.linalg.eigh(torch.empty(2, 3, 3, device="meta"))
    assert (values.shape, vectors.shape) == ((2, 3), (2, 3, 3))
    assert torch.linalg.eigvalsh(torch.empty(2, 3, 3, device="meta")).shape == (2, 3)


def test_batch_norm_of_nothing_keeps_weight_and_bias_in_the_graph() -> None:
    weight, bias = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    made = F.batch_norm(torch.ones(0, 3), None, None, weight, bias, True)
    made.sum().backward()
    assert made.shape == (0, 3) and weight.grad.tolist() == [0.0] * 3 == bias.grad.tolist()


def test_the_processor_is_described_as_pytorch_does() -> None:
    told = torch.cpu.get_capabilities()
    numbers = {"num_sockets", "num_physical_cores", "num_logical_cores", "l1d_cache_size", "l2_cache_size"}
    assert all(type(told[name]) is int and told[name] >= 0 for name in numbers)
    assert 1 <= told["num_sockets"] <= told["num_physical_cores"] <= told["num_logical_cores"]
    assert isinstance(told["cpu_name"], str)
    features = set(told) - numbers - {"cpu_name", "architecture"}
    assert {type(told[name]) for name in features} <= {bool}
    if told["architecture"] == "x86_64":
        assert len(features) == 47  # PyTorch 2.13's
        assert told["avx2"] == torch.cpu._is_avx2_supported()
        assert told["sse2"]  # of every processor of this kind
