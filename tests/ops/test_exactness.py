"""Corners in which operators once differed from PyTorch 2.13; expected values are PyTorch's or closed forms."""

import numpy
import pytest

import mindtorch_v2 as torch

F = torch.nn.functional


def test_a_bool_is_no_dimension():
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert torch.var(x, True).item() == pytest.approx(2.9166667)
    assert [y.item() for y in torch.std_mean(x, False)] == pytest.approx([1.4790199, 2.75])
    for call in (
        lambda: x.sum(True),
        lambda: torch.softmax(x, True),
        lambda: torch.zeros(True),
        lambda: x.select(0, True),
    ):
        with pytest.raises(TypeError, match="bool"):
            call()


def test_an_output_that_is_the_input_is_not_resized_under_it():
    x = torch.arange(10.0)
    with pytest.raises(
        RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"
    ):
        torch.kthvalue(x, 5, out=(x, torch.tensor(0)))
    assert x.tolist() == list(range(10))


@pytest.mark.parametrize("value", [2.0, -2.0])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_prelu_of_a_number(value, shape):
    x, weight = torch.tensor(value, requires_grad=True), torch.full(shape, 0.25, requires_grad=True)
    y = F.prelu(x, weight)
    assert y.shape == ()
    y.backward()
    assert x.grad.item() == (1.0 if value > 0 else 0.25)
    assert weight.grad.reshape(-1).tolist() == [0.0 if value > 0 else value]


@pytest.mark.parametrize("sizes", [(5,), (1,), (1, 5), (6, 1), (3, 5), (2, 3, 5)])
def test_gradient_of_a_linear_layers_bias_of_any_sizes(sizes):
    x, weight, bias = torch.ones(2, 3, 4), torch.ones(5, 4), torch.ones(sizes, requires_grad=True)
    F.linear(x, weight, bias).square().sum().backward()
    assert bias.grad.shape == bias.shape
    assert bias.grad.unique().tolist() == [10.0 * 30 / bias.numel()]


def test_dropout_scales_doubles_as_doubles():
    kept = F.dropout(torch.ones(64, dtype=torch.float64), 0.3)
    assert set(kept.tolist()) == {0.0, 1 / 0.7}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_uniform_numbers_stay_below_the_end(dtype):
    torch.manual_seed(1)
    x = torch.rand(200000, dtype=dtype)
    assert ((x == 1).sum().item(), (x == 0).sum().item()) == ((0, 402) if dtype == torch.bfloat16 else (0, 54))


def test_arrays_without_elements_keep_their_strides():
    array = numpy.zeros((0, 2))
    assert torch.from_numpy(array).stride() == tuple(s // 8 for s in array.strides)


def test_resizing_to_the_same_sizes_keeps_the_strides():
    x = torch.arange(24.0).reshape(4, 6).t()
    assert x.resize_(6, 4).stride() == (1, 6)
    assert x.resize_as_(torch.ones(6, 4), memory_format=torch.contiguous_format).stride() == (4, 1)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


def test_softmax_rows_without_anything_have_no_gradient():
    x = torch.tensor([[0.0, 1.0], [-float("inf"), -float("inf")]], requires_grad=True)
    torch._safe_softmax(x, 1)[:, 0].sum().backward()
    assert x.grad[1].tolist() == [0.0, 0.0]
    assert x.grad[0, 0].item() == pytest.approx(0.19661193)


def test_dirichlet_slope_has_its_closed_form():
    """With b = 1 the distribution function is x^a, whose slope over density is x log(x) / a."""
    a = torch.tensor([0.3, 1.0, 2.5, 7.0], dtype=torch.float64)
    x = torch.tensor([0.05, 0.4, 0.9, 0.999], dtype=torch.float64)
    expected = -(x * x.log() / a) / (1 - x)
    assert torch.allclose(torch._dirichlet_grad(x, a, a + 1), expected, rtol=1e-12)


def test_dirichlet_slope_is_near_pytorchs_approximation():
    x, a, total = (torch.tensor([v], dtype=torch.float64) for v in (0.3, 2.0, 5.0))
    assert torch._dirichlet_grad(x, a, total).item() == pytest.approx(0.1993, rel=5e-3)


def test_weight_norms_of_half_precision_are_float():
    for dtype in (torch.float16, torch.bfloat16):
        v = torch.arange(12.0).reshape(3, 4).to(dtype)
        w, norms = torch._weight_norm_interface(v, torch.ones(3, 1, dtype=dtype), 0)
        assert w.dtype == dtype and norms.dtype == torch.float32
        assert norms.reshape(-1).tolist() == pytest.approx([14**0.5, 126**0.5, 366**0.5])


def test_weight_norm_differentiates_twice():
    v = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    g = torch.rand(3, 1, dtype=torch.float64).add(0.5).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda v, g: torch._weight_norm_interface(v, g, 0)[0], (v, g))


def test_renorm_in_place_has_the_gradient_of_renorm():
    grads = []
    for inplace in (True, False):
        x = torch.arange(12.0).reshape(3, 4).requires_grad_()
        y = x.clone().renorm_(2, 0, 5.0) if inplace else x.renorm(2, 0, 5.0)
        y.sum().backward()
        grads.append(x.grad)
    assert torch.equal(*grads)
    assert grads[0][1].tolist() == pytest.approx([0.1343, 0.0566, -0.0212, -0.0990], abs=1e-4)


def test_batch_norm_of_nothing():
    with pytest.raises(RuntimeError, match=r"must have at least one element, but got input_sizes = \[0, 3, 4\]"):
        torch.native_batch_norm(torch.ones(0, 3, 4), torch.ones(3), torch.ones(3), None, None, True, 0.1, 1e-5)
    assert F.batch_norm(torch.ones(0, 3, 4), None, None, torch.ones(3), torch.ones(3), training=True).shape == (0, 3, 4)


def test_grouped_products_take_aligned_rows():
    offsets = torch.tensor([2, 4], dtype=torch.int32)
    with pytest.raises(RuntimeError, match="strides should be multiple of 16 bytes"):
        torch._grouped_mm(torch.ones(4, 7), torch.ones(2, 7, 16), offsets)
    with pytest.raises(RuntimeError, match=r"Invalid strides/sizes, got \[0, 0\] for strides and \[4, 8\] for sizes"):
        torch._grouped_mm(torch.ones(1, 1).expand(4, 8), torch.ones(2, 8, 16), offsets)
    wide = torch._grouped_mm(torch.ones(4, 8), torch.ones(2, 15, 8).transpose(1, 2), offsets)
    assert wide.stride() == (16, 1) and wide.unique().tolist() == [8.0]


def test_whole_number_products_take_fractional_factors():
    m, v = torch.ones(2, 2, dtype=torch.int64), torch.ones(2, dtype=torch.int64)
    assert torch.addmm(m, m, m, beta=0.6).tolist() == [[2, 2], [2, 2]]
    assert torch.addmv(v, m, v, alpha=2.6).tolist() == [5, 5]


def test_out_forms_that_were_missing():
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    out = torch.empty(0)
    assert torch.diag(x, out=out) is out and out.tolist() == [1.0, 5.0]
    assert torch.softmax(torch.zeros(1, 2), 1, out=torch.empty(0)).tolist() == [[0.5, 0.5]]
    assert torch.linspace(0, 1, 3, out=torch.empty(0)).tolist() == [0.0, 0.5, 1.0]
    assert torch.diff(x, out=torch.empty(0)).tolist() == [[1.0], [2.0]]
    assert torch.quantile(x, 0.5, out=torch.empty(())).item() == 2.5
    assert torch.permute_copy(x, (1, 0), out=torch.empty(0)).tolist() == [[1.0, 3.0], [2.0, 5.0]]


def test_differences_of_order_zero_are_the_input():
    x = torch.ones(2, 2)
    assert torch.diff(x, 0, 0, torch.ones(1, 2)).shape == (2, 2)


def test_householder_product_has_the_slopes_of_what_it_computes():
    for dtype in (torch.float64, torch.complex128):
        torch.manual_seed(0)
        a, tau = torch.randn(4, 3, dtype=dtype).requires_grad_(), torch.randn(2, dtype=dtype).requires_grad_()
        assert torch.autograd.gradcheck(torch.linalg.householder_product, (a, tau))


def test_cholesky_solve_differentiates_by_the_whole_factor():
    factor = torch.tensor([[2.0, 0.0], [1.0, 3.0]], requires_grad=True)
    torch.cholesky_solve(torch.ones(2, 1), factor).sum().backward()
    assert factor.grad.ravel().tolist() == pytest.approx([-0.2222, -0.0741, -0.0556, -0.0185], abs=1e-4)


def test_mantissa_and_exponent():
    x = torch.tensor([0.0, 1.0, -3.0, 1e-40, float("inf"), 0.5, -1e38], requires_grad=True)
    mantissa, exponent = torch.frexp(x)
    expected = [numpy.frexp(numpy.float32(v)) for v in x.tolist()]
    assert mantissa.tolist() == [float(m) for m, _ in expected]
    assert exponent.tolist() == [0, 1, 2, -132, 0, 0, 127] and exponent.dtype == torch.int32
    mantissa[1:3].sum().backward()
    assert x.grad[1:3].tolist() == [0.5, 0.25]
    with pytest.raises(RuntimeError, match="only supports floating-point dtypes"):
        torch.frexp(torch.arange(3))


def test_slopes_of_samples():
    x = torch.arange(12.0).reshape(3, 4) ** 2
    by_rows, by_columns = torch.gradient(x)
    assert by_rows[0].tolist() == [16.0, 24.0, 32.0, 40.0] and by_columns[1].tolist() == [9.0, 10.0, 12.0, 13.0]
    assert torch.gradient(x, edge_order=2, dim=1)[0][0].tolist() == [0.0, 2.0, 4.0, 6.0]
    at = torch.tensor([0.0, 1.0, 3.0, 4.0])
    assert torch.gradient(x, spacing=(at,), dim=1)[0][0].tolist() == pytest.approx([1.0, 7 / 6, 23 / 6, 5.0])
    with pytest.raises(RuntimeError, match="at least edge_order"):
        torch.gradient(x[:1])
