"""Names that PyTorch's own test files import, and what they do; each fact is PyTorch's too."""

import math
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.testing import make_test_cls_with_patches, rand_strided
from mindtorch_v2._higher_order_ops.map import map as mapped
from mindtorch_v2._subclasses import CrossRefFakeMode
from mindtorch_v2._subclasses.fake_utils import outputs_alias_inputs
from mindtorch_v2._subclasses.meta_utils import MetaConverter
from mindtorch_v2.autograd.function import _nested_map
from mindtorch_v2.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left
from mindtorch_v2.utils._device import set_device
from mindtorch_v2.utils._ordered_set import OrderedSet


def test_ordered_sets():
    found = OrderedSet([3, 1, 3])
    found.add(2)
    found.update([5, 1])
    assert list(found) == [3, 1, 2, 5]
    found.discard(1)
    assert 1 not in found
    assert list(found | {9}) == [3, 2, 5, 9]
    assert list(found.union([7])) == [3, 2, 5, 7]
    assert list(found.intersection([5, 3])) == [3, 5]
    assert list(found.difference([3])) == [2, 5]
    assert found.issubset([2, 3, 5, 8])
    assert not found.issubset([2])
    assert found == {2, 3, 5}
    assert list(reversed(found)) == [5, 2, 3]
    copy = found.copy()
    copy.clear()
    assert (len(copy), len(found)) == (0, 3)


def test_order_of_dimensions():
    assert torch.empty(2, 3, 5, 7).dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.empty(2, 1, 3).dim_order(ambiguity_check=True)
    laid = torch.empty(2, 2, 1, 2).to(memory_format=torch.channels_last)
    assert laid.dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]) == (0, 2, 3, 1)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        torch.empty(2).dim_order(ambiguity_check="x")


def test_overlap_within_a_tensor():
    assert torch._debug_has_internal_overlap(torch.ones(3, 3)) == 0
    assert torch._debug_has_internal_overlap(torch.ones(1, 3).expand(4, 3)) == 1
    assert torch._debug_has_internal_overlap(torch.randn(10).as_strided([2, 1, 5], [1, 0, 2])) == 0
    assert torch._debug_has_internal_overlap(torch.randn(2, 1, 10)[::2].as_strided((2, 1, 5), (10, 0, 2))) == 2


def test_scaling_of_gradients():
    scale, steps, found = torch.full((1,), 4.0), torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    torch._amp_update_scale_(scale, steps, found, 2.0, 0.25, 2)
    assert (scale.item(), steps.item()) == (4.0, 1)
    torch._amp_update_scale_(scale, steps, found, 2.0, 0.25, 2)
    assert (scale.item(), steps.item()) == (8.0, 0)
    torch._amp_update_scale_(scale, steps, torch.ones(1), 2.0, 0.25, 2)
    assert (scale.item(), steps.item()) == (2.0, 0)
    large = torch.full((1,), 3e38)
    torch._amp_update_scale_(large, torch.ones(1, dtype=torch.int32), found, 2.0, 0.25, 2)
    assert large.item() == torch.tensor(3e38).item()
    gradients = [torch.ones(2), torch.tensor([4.0])]
    torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, torch.tensor([0.5]))
    assert (gradients[0].tolist(), gradients[1].tolist(), found.item()) == ([0.5, 0.5], [2.0], 0.0)
    torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([math.nan])], found, torch.tensor([0.5]))
    assert found.item() == 1.0
    with pytest.raises(RuntimeError, match="inv_scale must be a 1-element tensor"):
        torch._amp_foreach_non_finite_check_and_unscale_([torch.ones(1)], found, torch.ones(2))


def test_functions_of_slices():
    xs = torch.arange(6.0).reshape(3, 2).requires_grad_()
    found = mapped(lambda x, y: (x.sum() * y, x + 0), xs, torch.tensor(2.0))
    assert found[0].tolist() == [2.0, 10.0, 18.0]
    assert torch.equal(found[1], xs)
    found[0].sum().backward()
    assert xs.grad.tolist() == [[2.0, 2.0]] * 3


def test_batch_norms_without_statistics():
    net = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
    assert (net[0].running_mean, net[0].running_var, net[0].track_running_stats) == (None, None, False)
    x = torch.randn(4, 3)
    assert torch.allclose(net.eval()(x).mean(0), torch.zeros(3), atol=1e-6)


def test_tensors_without_memory():
    convert = MetaConverter()
    x = torch.ones(2, 3, requires_grad=True)
    found = convert(x)
    assert (found.device.type, found.is_leaf, found.requires_grad) == ("meta", True, True)
    assert convert(x) is found
    assert not convert(x * 2).is_leaf
    base = torch.ones(2, 3)
    view = convert(base.t()[1:])
    assert (view.shape, view.stride(), view.storage_offset()) == ((2, 2), (1, 3), 1)
    assert convert.successful()


def test_operators_are_held_against_fakes():
    with CrossRefFakeMode():
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).sum().item() == 12.0
        assert torch.ones(2, 3).t().stride() == (1, 3)


def test_shared_memory_of_results():
    x = torch.ones(2)
    assert outputs_alias_inputs([x.view(1, 2)], [x])
    assert not outputs_alias_inputs([x + 1], [x])


def test_nested_maps():
    double = _nested_map(lambda value: isinstance(value, int), lambda value: 2 * value)
    assert double([1, (2, None), {"a": 3}]) == [2, (4, None), {"a": 6}]
    with pytest.raises(ValueError, match="doesn't know how to process"):
        double("text")


def test_device_of_a_function():
    assert set_device("meta")(lambda: torch.ones(2))().device.type == "meta"
    assert torch.ones(2).device.type == "cpu"


def test_strided_random_numbers():
    found = rand_strided((2, 3), (1, 4), torch.float64)
    assert (found.shape, found.stride(), found.dtype) == ((2, 3), (1, 4), torch.float64)


def test_patched_tests():
    class Settings:
        value = 1

    class Base:
        pass

    class Tests(Base):
        def test_it(self):
            return Settings.value

    made = make_test_cls_with_patches(Tests, "New", "_again", (Settings, "value", 2))
    assert made.__name__ == "NewTests"
    assert made().test_it_again() == 2
    assert Settings.value == 1


@pytest.mark.parametrize("make", [causal_upper_left, causal_lower_right])
def test_causal_masks(make):
    bias = make(2, 3)
    assert isinstance(bias, CausalBias)
    shift = 0 if bias.variant == CausalVariant.UPPER_LEFT else 1
    mask = torch.ones(2, 3, dtype=torch.bool).tril(shift)
    assert torch.equal(bias._materialize(), mask)
    q, k, v = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 3, 4), torch.randn(1, 1, 3, 4)
    attend = torch.nn.functional.scaled_dot_product_attention
    assert torch.allclose(attend(q, k, v, attn_mask=bias), attend(q, k, v, attn_mask=mask), atol=1e-6)
    with pytest.raises(ValueError, match="should not be used with"):
        attend(q, k, v, attn_mask=bias, is_causal=True)


def test_functions_are_routines():
    import inspect

    assert inspect.isroutine(torch.add)
    assert inspect.isroutine(torch.fft.fft)

    class Holder:
        function = torch.neg

    assert Holder().function(torch.ones(1)).item() == -1.0
    assert Holder.function is torch.neg


def test_settings_are_bool():
    with pytest.raises(TypeError, match=r"argument 'mode' \(position 1\) must be bool, not int"):
        torch.use_deterministic_algorithms(1)


def test_sizes_by_keyword():
    assert torch.ones(1, dtype=torch.float64).new(size=(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda F, t: F.max_unpool2d(t.rand(1, 1, 2, 2), t.tensor([[[[0, 1], [2, -1]]]]), 2), "invalid max index: -1"),
        (lambda F, t: F.max_unpool1d(t.rand(1, 1, 2), t.tensor([[[0, 30]]]), 2), "invalid max index: 30"),
        (lambda F, t: F.adaptive_avg_pool2d(t.rand(1, 2, 3, 4), ()), "output_size must be 2"),
        (lambda F, t: F.fractional_max_pool2d(t.rand(1, 0, 5, 5), 2, output_size=2), "non-batch dimensions"),
        (lambda F, t: F.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 4), padding="same"), "Expected 3-dimensional input"),
        (lambda F, t: F.huber_loss(t.ones(2), t.ones(2), delta=0.0), "non-positive values for delta"),
        (lambda F, t: F.rrelu(t.ones(2), 0.5, 0.1), "Lower bound should be less than or equal"),
        (lambda F, t: F.multilabel_margin_loss(t.ones(2, 3), t.zeros(2, 2, dtype=t.int64)), "inconsistent target size"),
        (lambda F, t: F.linear_cross_entropy(t.ones(1, 2, 3), t.ones(2, 3), t.zeros(1, 2).long()), "dimensionality 1 or 2, got 3"),
        (lambda F, t: t._chunk_cat([t.ones(0), t.ones(3)], 0, 1), "expects non-empty tensor"),
        (lambda F, t: t._chunk_cat([t.ones(2, 3), t.ones(4)], -1, 3), "expects non-negative dim"),
    ],
)  # fmt: skip
def test_refusals(call, said):
    with pytest.raises(RuntimeError, match=said):
        call(torch.nn.functional, torch)


def test_pools_of_nothing():
    F = torch.nn.functional
    assert F.fractional_max_pool2d(torch.rand(16, 1, 7, 7), 2, output_size=0).shape == (16, 1, 0, 0)
    assert F.fractional_max_pool2d(torch.rand(2, 3, 9, 9), 0, output_size=2).unique().tolist() == [-math.inf]
    assert F.fractional_max_pool2d(torch.rand(0, 3, 9, 9), 2, output_size=2).shape == (0, 3, 2, 2)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_tangents_of_values(dtype):
    from mindtorch_v2.autograd import forward_ad

    a = torch.tensor([[2.0, 0.0], [0.0, -3.0]], dtype=dtype)
    direction = torch.tensor([[1.0, 5.0], [5.0, 2.0]], dtype=dtype)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, direction)
        assert torch.allclose(
            forward_ad.unpack_dual(torch.linalg.eigvalsh(dual)).tangent, torch.tensor([2.0, 1.0]).double()
        )
        assert torch.allclose(
            forward_ad.unpack_dual(torch.linalg.svdvals(dual)).tangent, torch.tensor([-2.0, 1.0]).double()
        )


def test_results_into_given_tensors():
    x = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    out = torch.empty(0)
    assert torch.linalg.pinv(x, out=out) is out
    assert out.tolist() == [[0.5, 0.0], [0.0, 0.25]]
    out = torch.empty(0)
    assert torch.linalg.multi_dot([x, x, x], out=out) is out
    assert out.tolist() == [[8.0, 0.0], [0.0, 64.0]]
    out = torch.empty(0)
    assert torch.nanmean(torch.tensor([[1.0, math.nan], [2.0, 4.0]]), 1, out=out) is out
    assert out.tolist() == [1.0, 3.0]
    ranks = torch.empty(0, dtype=torch.int64)
    assert torch.linalg.matrix_rank(x, atol=3.0, out=ranks) is ranks
    assert ranks.item() == 1


def test_complex_numbers_made_for_tests_are_no_views():
    torch.manual_seed(0)
    found = torch.testing.make_tensor((3, 4), dtype=torch.complex64, device="cpu")
    assert not found._is_view()
    torch.manual_seed(0)
    assert torch.equal(torch.view_as_real(found), torch.empty(3, 4, 2).uniform_(-9, 9))


def test_the_python_dispatcher_changes_nothing():
    from mindtorch_v2._dispatch.python import enable_python_dispatcher, no_python_dispatcher

    with enable_python_dispatcher():
        assert torch.ones(2).sum().item() == 2.0
    with no_python_dispatcher():
        assert torch.ones(2).sum().item() == 2.0


def test_forms_of_tensors_are_compared():
    from mindtorch_v2._prims_common import check_all_strides, check_significant_strides, compare_tensor_meta

    x, turned = torch.zeros(2, 3), torch.zeros(3, 2).t()
    compare_tensor_meta(x, turned)
    assert check_significant_strides(x, turned) == (True, None)
    assert check_significant_strides(x, turned, only_cuda=False) == (False, 0)
    assert check_significant_strides(x[:1], turned[:1], only_cuda=False) == (False, 1)
    assert check_all_strides(x[:1], turned[:1], only_cuda=False) == (False, 0)
    for other, said in ((x[:1], "Shapes"), (x.double(), "Dtypes"), (x.to("meta"), "Devices")):
        with pytest.raises(AssertionError, match=f"{said} .* are not equal"):
            compare_tensor_meta(x, other)
    z = torch.zeros(2, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="Conj mismatch"):
        compare_tensor_meta(z, z.conj())
    with pytest.raises(RuntimeError, match="Neg mismatch"):
        compare_tensor_meta(x, torch._neg_view(x))


def test_functions_run_as_their_references():
    from mindtorch_v2._prims.context import TorchRefsMode

    x = torch.ones(2)
    with TorchRefsMode(strict=True):
        assert (torch.add(x, 1) + x.mul(2)).tolist() == [4, 4]
        with pytest.raises(RuntimeError, match="no _refs support for torch.functional.cartesian_prod"):
            torch.cartesian_prod(x, x)
    with TorchRefsMode():
        assert torch.cartesian_prod(x).tolist() == [1, 1]


def test_operators_of_other_vendors_have_a_schema_and_no_kernel():
    assert str(torch.ops.aten.cudnn_grid_sampler.default._schema) == (
        "aten::cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output"
    )
    with pytest.raises(NotImplementedError, match="Could not run 'aten::cudnn_grid_sampler'"):
        torch.ops.aten.cudnn_grid_sampler(torch.ones(1), torch.ones(1))
    with pytest.raises(AttributeError, match="has no attribute 'nobody_has_this'"):
        torch.ops.aten.nobody_has_this


def test_sign_bits_are_set_by_hand():
    z, x = torch.tensor([1 + 2j]), torch.ones(2)
    torch._C._set_conj(z, True)
    torch._C._set_neg(x, True)
    assert (z.is_conj(), z.tolist(), (x + 0).tolist()) == (True, [1 - 2j], [-1, -1])
    torch._C._set_conj(z, False)
    assert z.tolist() == [1 + 2j]
    with pytest.raises(RuntimeError, match="expects a complex tensor, but got float32"):
        torch._C._set_conj(x, True)


def test_kernels_of_attention_are_no_numbers():
    kernel = torch.nn.attention.SDPBackend
    assert (kernel(1), int(kernel.ERROR), kernel.MATH == 0) == (kernel.FLASH_ATTENTION, -1, False)
    assert pickle.loads(pickle.dumps(kernel.MATH)) is kernel.MATH
    assert list(kernel.__members__) == [str(each).rpartition(".")[2] for each in kernel.__members__.values()]
    with pytest.raises(ValueError, match="7 is no SDPBackend"):
        kernel(7)


@pytest.mark.parametrize(
    ("dtype", "low", "high", "said"),
    [
        (torch.float64, 2, 1, "`low` must be less than `high`, but got 2 >= 1"),
        (torch.bool, 0, 0, "`low` must be less than `high`, but got 0 >= 0"),
        (torch.uint8, 300, 400, r"is \[300, 400\), but torch.uint8 only supports \[0, 256\)"),
    ],
)
def test_intervals_without_numbers(dtype, low, high, said):
    with pytest.raises(ValueError, match=said):
        torch.testing.make_tensor(2, dtype=dtype, device="cpu", low=low, high=high)


def test_wide_and_empty_intervals_of_floats():
    with pytest.warns(FutureWarning, match="low==high"):
        assert torch.testing.make_tensor(2, dtype=torch.float32, device="cpu", low=3, high=3).tolist() == [3, 3]
    wide = torch.testing.make_tensor(100, dtype=torch.float32, device="cpu", low=-math.inf, high=math.inf)
    assert wide.isfinite().all()
    assert wide.abs().max() > 1e38
