"""Internal operators called directly with arguments that do not belong together: an exception, and the process lives.

Where PyTorch refuses the call, class and text were recorded from PyTorch 2.13. Where it reads beyond its arguments, loops for
hours or dies, the text is ours.
"""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch

aten = torch.ops.aten
ones = torch.ones
ROOT = Path(__file__).parents[2]


def _index(*shape):
    return torch.zeros(*shape, dtype=torch.int64)


_CONV = ([2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
_SGD = {
    "weight_decay": 0.0,
    "lr": 0.1,
    "dampening": 0.0,
    "nesterov": False,
    "maximize": False,
    "is_first_step": True,
}
_LU = (ones(3, 3), torch.zeros(3, dtype=torch.int32))  # without one pivot that is a row
_ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-8, "maximize": False}
_CTC = (ones(5, 1, 3), _index(1, 1), [5], [1])

AS_PYTORCH = [
    (lambda: aten._cdist_backward(ones(3, 5), ones(3, 4), ones(5, 4).double(), 2.0, ones(3, 5)), RuntimeError, "expected scalar type Float but found Double"),
    (lambda: aten._cdist_backward(ones(3), ones(4), ones(5, 4), 2.0, ones(3, 4)), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got -2)"),
    (lambda: aten._pdist_backward(ones(6), ones(4), 2.0, ones(6)), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)"),
    (lambda: aten._pdist_backward(ones(6).double(), ones(4, 3), 2.0, ones(6)), RuntimeError, "expected scalar type Float but found Double"),
    (lambda: aten._prelu_kernel_backward(ones(3, 4), ones(3, 5), ones(3, 4)), RuntimeError, "The size of tensor a (5) must match the size of tensor b (4) at non-singleton dimension 1"),
    (lambda: aten.log_sigmoid_backward(ones(3, 4), ones(3, 4), ones(3, 3)), RuntimeError, "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1"),
    (lambda: aten.native_dropout_backward(ones(3), ones(3, 4).bool(), 1.0), RuntimeError, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"),
    (lambda: aten._embedding_bag_per_sample_weights_backward(ones(2, 3), ones(4, 3), _index(5), _index(2), _index(5), 1), RuntimeError, "embedding_bag_backward: per_sample_weights only supported for mode='sum'"),
    (lambda: aten._embedding_bag_dense_backward(ones(2), _index(5), _index(5), _index(2), _index(2), 4, False, 0, None), IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)"),
    (lambda: aten._embedding_bag_dense_backward(ones(2, 3), _index(5), _index(5), _index(2), _index(2), -4, False, 0, None), RuntimeError, "zeros: Dimension size must be non-negative."),
    (lambda: aten._embedding_bag(ones(4), _index(5), _index(2)), RuntimeError, "weight has to be a 2D Tensor, but got Tensor of dimension 1"),
    (lambda: aten._embedding_bag(ones(4, 3), _index(5), _index(2), False, 7, False), RuntimeError, "`mode` must be sum, mean, or max."),
    (lambda: aten.embedding_dense_backward(ones(5, 3), _index(4), 4, -1, False), RuntimeError, "shape '[4, 3]' is invalid for input of size 15"),
    (lambda: aten.embedding_dense_backward(ones(5, 3), _index(5), -4, -1, False), RuntimeError, "zeros: Dimension size must be non-negative."),
    (lambda: aten.embedding_renorm_(ones(5), _index(5), 1.0, 2.0), RuntimeError, "Expected 2-dimensional tensor, but got 1-dimensional tensor for argument #1 'self' (while checking arguments for embedding_renorm_)"),
    (lambda: aten.convolution_backward(ones(1, 2, 3, 3), ones(1, 2, 4, 4), ones(2, 2, 3, 3), *_CONV), RuntimeError, "Expected a tensor of dimension 4 and tensor.size[2] == 2 but got: dimension 4 and tensor.size[2] = 3"),
    (lambda: aten.convolution_backward(ones(1, 2, 2), ones(1, 2, 4, 4), ones(2, 2, 3, 3), *_CONV), RuntimeError, "Expected input and grad_output to have the same number of dimensions, but got: 4 and 3"),
    (lambda: aten.convolution_backward(ones(1, 2, 2, 2), ones(1, 2, 4, 4), ones(2, 2), *_CONV), RuntimeError, "weight should have at least three dimensions"),
    (lambda: aten.convolution_backward(ones(1, 2, 2, 2).double(), ones(1, 2, 4, 4), ones(2, 2, 3, 3), *_CONV), RuntimeError, "expected scalar type Float but found Double"),
    (lambda: aten.convolution_backward(ones(1, 2, 2, 2), ones(1, 2, 4, 4), ones(2, 2, 3, 3), *_CONV[:-1], [True, True]), RuntimeError, "Tried to convert a List with 2 elements to a fixed-size array of size 3"),
    (lambda: aten.grid_sampler_2d_backward(ones(1, 1, 2), ones(1, 1, 3, 3), ones(1, 2, 2, 2), 0, 0, False, [True, True]), RuntimeError, "TensorAccessor expected 4 dims but tensor has 3"),
    (lambda: aten._adaptive_avg_pool2d_backward(ones(1, 2, 2), ones(1, 3, 4, 4)), RuntimeError, "adaptive_avg_pool2d_backward_out_cpu_template: Expected dimensions 4 for `grad_output` but got dimensions 3"),
    (lambda: aten._adaptive_avg_pool2d_backward(ones(1, 3, 0, 2), ones(1, 3, 4, 4)), RuntimeError, "adaptive_avg_pool2d_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes [1, 3, 0, 2] with dimension 2 being empty"),
    (lambda: aten.unfold_backward(ones(2, 3), [4], 0, 3, 0), ValueError, "step is 0 but must be > 0"),
    (lambda: aten._reshape_alias(ones(3), [3], []), RuntimeError, "dimensionality of sizes (1) must match dimensionality of strides (0)"),
    (lambda: aten._fused_sgd_([ones(3)], [], [], momentum=0.0, **_SGD), RuntimeError, "Expected grads.size() == n_tensors to be true, but got false."),
    (lambda: aten._fused_sgd_([ones(3)], [ones(3)], [], momentum=0.5, **_SGD), RuntimeError, "Expected momentum_buffer_list.size() == n_tensors to be true, but got false."),
    (lambda: aten._fused_sgd_.tensor_lr([ones(3)], [ones(3)], [], momentum=0.0, **{**_SGD, "lr": ones(2)}), RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
    (lambda: aten._fused_adam_([ones(3)], [ones(3)], [], [], [], [ones(1)], amsgrad=False, **_ADAM), RuntimeError, "Expected exp_avgs.size() == n_tensors to be true, but got false."),
    (lambda: aten._fused_adam_([ones(3)], [ones(3)], [ones(3)], [ones(3)], [], [], amsgrad=False, **_ADAM), RuntimeError, "Expected state_steps.size() == n_tensors to be true, but got false."),
    (lambda: aten._fused_adam_([ones(3)], [ones(3)], [ones(3)], [ones(3)], [], [ones(1)], amsgrad=True, **_ADAM), RuntimeError, "Expected max_exp_avg_sqs.size() == n_tensors to be true, but got false."),
    (lambda: torch.nn.functional.conv2d(ones(1, 1, 4, 4), ones(1, 1, 0, 3)), RuntimeError, "kernel size should be greater than zero, but got kernel_height: 0 kernel_width: 3"),
    (lambda: torch.nn.functional.conv2d(ones(1, 1, 4, 4), ones(1, 1, 2, 2), padding=2**62), RuntimeError, "Given padding=4611686018427387904 at dimension 0 , expected padding to be at most 4611686018427387903"),
    (lambda: torch.nn.functional.max_pool2d(ones(1, 1, 4, 4), 2, stride=2**62), RuntimeError, "value cannot be converted to type int without overflow"),
    (lambda: torch.nn.functional.pixel_shuffle(ones(1, 4, 2, 2), 2**40), ValueError, "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=1099511627776"),
    (lambda: ones(1).expand(2**62, 2**62), RuntimeError, "numel: integer multiplication overflow"),
    (lambda: torch.zeros(2**62, 2**62, 0), RuntimeError, "Storage size calculation overflowed with sizes=[4611686018427387904, 4611686018427387904, 0]"),
    (lambda: torch.triu_indices(2**31, 2**31), RuntimeError, "Storage size calculation overflowed with sizes=[2, 2305843010287435776]"),
    (lambda: torch.bincount(_index(3) + (2**63 - 1)), RuntimeError, "maximum value of input overflowed, it should be < 9223372036854775807 but got 9223372036854775807"),
    (lambda: aten.neg(None), RuntimeError, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"),
    (lambda: aten.mm(ones(3, 3), None), RuntimeError, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #1 'mat2'"),
    (lambda: aten.select_backward(None, [2, 3], 0, 0), RuntimeError, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'grad_output'"),
    (lambda: aten.bernoulli_.float(None), RuntimeError, "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #0 'self'"),
    (lambda: aten.select_backward(ones(3), [], 0, 0), IndexError, "select() cannot be applied to a 0-dim tensor."),
    (lambda: torch.linalg.lu_solve(*_LU, ones(3, 2)), RuntimeError, "Pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?"),
    (lambda: torch.linalg.lu_solve(_LU[0], _LU[1] + 2**30, ones(3, 2)), RuntimeError, "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of lu_factor?"),
    (lambda: torch.linalg.lu_solve(_LU[0], _LU[1][:2], ones(3, 2)), RuntimeError, "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix"),
    (lambda: torch.linalg.lu_solve(_LU[0], _LU[1].long(), ones(3, 2)), RuntimeError, "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"),
    (lambda: torch.linalg.lu_solve(_LU[0], _LU[1].expand(2, 3), ones(3, 2)), RuntimeError, "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape [2, 3] instead"),
    (lambda: torch.linalg.ldl_solve(*_LU, ones(3, 2)), RuntimeError, "Pivots given to ldl_solve must all satisfy |pivot| >= 1. Did you properly pass the result of ldl_factor?"),
    (lambda: torch.linalg.ldl_solve(_LU[0], _LU[1] - 2**30, ones(3, 2)), RuntimeError, "Pivots given to ldl_solve must all satisfy |pivot| <= LD.size(-2). Did you properly pass the result of ldl_factor?"),
    (lambda: torch.take_along_dim(torch.zeros(3, 0), _index(3, 1), 1), RuntimeError, "ZeroDivisionError"),
    (lambda: torch.take_along_dim(ones(3, 4), _index(2, 1), 1), RuntimeError, "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"),
    (lambda: ones(3, dtype=torch.bool) // True, NotImplementedError, "\"div_floor_cpu\" not implemented for 'Bool'"),
    (lambda: ones(3, dtype=torch.bool) % ones(3, dtype=torch.bool), NotImplementedError, "\"remainder_cpu\" not implemented for 'Bool'"),
    (lambda: torch.fmod(ones(3, dtype=torch.bool), True), NotImplementedError, "\"fmod_cpu\" not implemented for 'Bool'"),
    (lambda: ones(3) + 2**64, OverflowError, "int too big to convert"),
    (lambda: torch.full((2,), 2**64), OverflowError, "int too big to convert"),
    (lambda: torch.arange(2**64), OverflowError, "int too big to convert"),
    (lambda: ones(3).sum(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda: ones(3).narrow(0, 2**64, 1), ValueError, "Overflow when unpacking long long"),
    (lambda: ones(3).view(2**64), TypeError, "Overflow when unpacking long long"),
    (lambda: torch.empty(2**64), TypeError, "Overflow when unpacking long long"),
]  # fmt: skip

OURS = [
    lambda: aten._cdist_backward(ones(3, 4), ones(3, 4), ones(5, 4), 2.0, ones(3, 5)),
    lambda: aten._pdist_backward(ones(6), ones(4, 3), 2.0, ones(2)),
    lambda: aten.linear_backward(ones(3, 4), ones(3, 6), ones(5, 4), [True] * 3),
    lambda: aten.matmul_backward(ones(3, 4), ones(3, 5), ones(5, 3), [True, True]),
    lambda: aten.native_dropout_backward(ones(3, 1), ones(3, 4), 1.0),
    lambda: aten._masked_scale(ones(3), ones(3), 1.0),
    lambda: aten._embedding_bag_per_sample_weights_backward(ones(2, 3), ones(4, 3), _index(5), _index(2), _index(4), 0),
    lambda: aten._embedding_bag_dense_backward(
        ones(2, 3), _index(5), _index(4), _index(2), _index(2), 4, False, 0, None
    ),
    lambda: aten.grid_sampler_2d_backward(
        ones(1, 1, 2, 2), ones(1, 1, 3, 3), ones(1, 2, 3, 2), 0, 0, False, [True, True]
    ),
    lambda: aten.grid_sampler_2d(ones(1, 1, 3, 3), ones(1, 2, 2, 2), 7, 0, False),
    lambda: aten._adaptive_avg_pool3d_backward(ones(1, 3, 2, 2, 2), ones(1, 2, 4, 4, 4)),
    lambda: aten.max_pool2d_with_indices_backward(ones(2, 2, 2), ones(1, 1, 4, 4), 2, 2, 0, 1, False, _index(2, 2, 2)),
    lambda: aten._reshape_alias(ones(3), [-1], [1]),
    lambda: aten._reshape_alias(ones(3), [4], [1]),
    lambda: aten._reshape_alias(ones(3), [3], [-1]),
    lambda: aten._fused_sgd_([ones(3)], [ones(4)], [], momentum=0.0, **_SGD),
    lambda: torch.tril_indices(2**40, 2**40),
    lambda: torch.linalg.vander(ones(3), N=2**40),
    lambda: torch.mvlgamma(9 * ones(3), 2**40),
    lambda: torch.tensor_split(ones(5), 2**40),
    lambda: torch.combinations(ones(5), 2**20, with_replacement=True),
    lambda: ones(0).chunk(2**62),
    lambda: aten._standard_gamma_grad(ones(3), ones(2)),
    lambda: aten.bernoulli.p(None, 0.5),
    lambda: aten._ldl_solve(None, None, None, False),
    lambda: aten._ldl_solve(ones(3, 3), _LU[1] + 1, ones(4, 2), False),
    lambda: aten._ldl_solve(ones(3, 3), _LU[1] + 1, ones(2, 3, 2), False),
    lambda: aten._ldl_solve(ones(3, 3), _LU[1] + 1, ones(3, 2).double(), False),
    lambda: aten._ldl_solve(ones(3), _LU[1] + 1, ones(3, 2), False),
    lambda: torch.linalg.ldl_solve(ones(3, 3), torch.tensor([1, 2, -3]), ones(3, 2)),
    lambda: aten._lu_solve(ones(3, 3), _LU[1][:1] + 1, ones(3, 2), True, False),
    lambda: aten._lu_solve(ones(3, 3), _LU[1] + 1, ones(3, 2).double(), True, False),
    lambda: aten._ormqr(ones(3, 2), ones(3), ones(3, 2), True, False),
    lambda: aten._ormqr(ones(3, 2), ones(2), ones(2, 3, 2), True, False),
    lambda: aten._ormqr(ones(3, 2), ones(2), ones(4, 2), True, False),
    lambda: aten._ctc_loss_backward(ones(1), *_CTC, ones(1), ones(1, 5, 1), 0, False),
    lambda: aten._ctc_loss_backward(ones(2), *_CTC, ones(1), ones(1, 5, 3), 0, False),
    lambda: aten._ctc_loss_backward(ones(1), *_CTC, ones(1).double(), ones(1, 5, 3), 0, False),
    lambda: aten._ctc_loss(ones(5, 1, 3), _index(7), [5], [2**63 - 1], 0, False),
    lambda: aten._ctc_loss(ones(5, 3, 3), _index(1), [5] * 3, [2**63 - 1, 2**63 - 1, 3], 0, False),
]


@pytest.mark.parametrize(("call", "error", "text"), AS_PYTORCH)
def test_raises_as_pytorch_does(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert text in str(raised.value)


@pytest.mark.parametrize("call", OURS)
def test_raises(call):
    with pytest.raises((RuntimeError, ValueError)):
        call()


class _NoTruth:
    def __bool__(self):
        raise KeyError("truth")


@pytest.mark.parametrize("value", [1, "x", torch.ones(2), torch.tensor(True), _NoTruth()])
def test_flags_are_bools(value):
    """Once: what its truth raised was set, and the call returned a result all the same."""
    calls = {
        "ones(): argument 'requires_grad'": lambda: torch.ones(2, requires_grad=value),
        "tensor(): argument 'requires_grad'": lambda: torch.tensor([1.0], requires_grad=value),
        "numpy(): argument 'force'": lambda: torch.ones(2).numpy(force=value),
        "_to_dlpack(): argument 'copy'": lambda: torch.ones(2).__dlpack__(copy=value),
        "asarray(): argument 'copy'": lambda: torch.asarray([1.0], copy=value),
    }
    for text, call in calls.items():
        with pytest.raises(TypeError, match=re.escape(f"{text} must be bool, not {type(value).__name__}")):
            call()
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        torch.ones(2).requires_grad = value


def test_functions_of_the_registry_want_operators_and_classes():
    for call in (torch._C._erase_operator, torch._C._has_shape_rule, torch._C._set_tensor_type):
        with pytest.raises(TypeError, match="expect"):
            call(None)


def test_kernels_in_python_get_devices_whatever_was_given():
    row = aten._to_copy
    sparse = torch.eye(2).to_sparse()
    assert row(sparse, dtype=torch.float64, device="cpu").dtype == torch.float64


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_distances_of_no_rows(p):
    assert torch.cdist(ones(2, 0, 4), ones(2, 5, 4), p).shape == (2, 0, 5)
    assert torch.cdist(ones(2, 5, 4), ones(2, 0, 4), p).shape == (2, 5, 0)
    assert torch.cdist(ones(0, 5, 4), ones(0, 5, 4), p).shape == (0, 5, 5)
    assert torch.cdist(ones(2, 5, 0), ones(2, 5, 0), p).sum() == 0


def test_what_pytorch_accepts_is_computed():
    table = torch.arange(12.0).reshape(3, 4)
    assert torch.take_along_dim(table, _index(3, 1) + 9, 1).tolist() == [[1.0], [5.0], [9.0]]
    assert torch.take_along_dim(table, _index(3, 1) - 1, 1).tolist() == [[3.0], [7.0], [11.0]]
    attention = torch.nn.functional.scaled_dot_product_attention
    assert attention(ones(1, 1, 2, 0), ones(1, 1, 3, 0), ones(1, 1, 3, 4)).tolist() == [[[[1.0] * 4] * 2]]
    assert attention(ones(1, 1, 2, 0), ones(1, 1, 3, 0), ones(1, 1, 3, 0)).shape == (1, 1, 2, 0)
    assert torch.binomial(5 * ones(2), torch.full((2,), float("nan"))).isnan().all()
    assert torch.binomial(torch.full((2,), float("nan")), 0.5 * ones(2)).isnan().all()
    assert torch.triu_indices(3, 3, 2**62).shape == (2, 0)
    assert torch.tril_indices(2, 3, 1).tolist() == [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]]
    assert torch.triu_indices(4, 3, -1).tolist() == [[0, 0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 2, 0, 1, 2, 1, 2, 2]]
    _, info = torch.linalg.cholesky_ex(torch.full((3, 3), float("nan")))
    assert info.item() == 1
    assert ones(1).expand(2**62, 1).shape == (2**62, 1)


@pytest.mark.parametrize("label", [3, -1, 2**61, -(2**61)])
def test_a_label_that_is_no_class(label):
    with pytest.raises(IndexError, match=f"Target {label} is out of bounds"):
        torch.nn.functional.ctc_loss(ones(5, 1, 3), torch.tensor([[label]]), torch.tensor([5]), torch.tensor([1]))
    beyond = torch.tensor([[1, label]])  # which the length leaves out
    assert torch.nn.functional.ctc_loss(ones(5, 1, 3), beyond, torch.tensor([5]), torch.tensor([1])).isfinite()


def test_cholesky_of_nan_raises():
    with pytest.raises(torch.linalg.LinAlgError, match="the leading minor of order 1 is not positive-definite"):
        torch.linalg.cholesky(torch.full((3, 3), float("nan")))


def test_a_call_that_fails_at_its_second_output_does_not_free_the_first():
    values, positions = ones(3), ones(3, dtype=torch.bool)
    before = sys.getrefcount(values)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int"):
        torch.sort(ones(3), out=(values, positions))
    assert sys.getrefcount(values) == before


@pytest.mark.parametrize("form, rank", [("channels_last", 4), ("channels_last_3d", 5)])
def test_resizing_to_a_format_of_another_rank(form, rank):
    """Once: strides that nobody had written."""
    x = torch.zeros(1)
    with pytest.raises(RuntimeError, match=f"required rank {rank} tensor to use {form} format"):
        x.resize_as_(torch.zeros(4), memory_format=getattr(torch, form))
    with pytest.raises(RuntimeError, match=f"required rank {rank} tensor to use {form} format"):
        x.resize_(4, memory_format=getattr(torch, form))
    assert x.shape == (1,) and x.stride() == (1,)


def test_some_calls_of_every_operator_leave_the_process_whole():
    """`tools/fuzz_ops.py` on all rows, a few seeded calls each; the tool makes as many as one wants."""
    command = [sys.executable, str(ROOT / "tools/fuzz_ops.py"), "--calls", "2", "--seed", "5", "--seconds", "30"]
    path = os.pathsep.join([str(Path(torch.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_grouped_products_without_offsets_are_refused_on_meta_too():
    with pytest.raises(RuntimeError, match="Have to provide offsets if there is a 2d matrix"):
        torch._grouped_mm(torch.ones(4, 8, device="meta"), torch.ones(2, 8, 8, device="meta"))


@pytest.mark.parametrize("name", ["laguerre_polynomial_l", "legendre_polynomial_p", "hermite_polynomial_h"])
@pytest.mark.parametrize("degree", [1e30, float("inf"), float("nan"), -1.0])
def test_a_degree_that_is_no_integer_of_64_bits(name, degree):
    """Once: a recurrence over 9e15 terms."""
    polynomial = getattr(torch.special, name)
    assert polynomial(torch.tensor(0.25), torch.tensor(degree)) == 0


def test_numbers_are_copied_into_tensors():
    x = torch.zeros(2)
    assert x.copy_(0.5) is x and x.tolist() == [0.5, 0.5]
    assert x.copy_(src=3, non_blocking=True).tolist() == [3.0, 3.0]
    assert x.copy_(True).tolist() == [1.0, 1.0]
    assert torch.zeros(2, dtype=torch.int64).copy_(2.7).tolist() == [2, 2]
    assert torch.zeros(1, dtype=torch.complex64).copy_(1j).tolist() == [1j]
    with pytest.raises(TypeError, match=r"copy_\(\): argument 'src' \(position 1\) must be Tensor, not str"):
        x.copy_("1")
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        torch.zeros(2, requires_grad=True).copy_(1)


def test_slopes_beside_values_that_are_not_finite():
    inf, nan = math.inf, math.nan
    x = torch.tensor([2, -2, inf, inf, -inf, -inf, inf, 3, -inf, 2, nan, nan, 3, inf, nan])
    wanted = [-4.0, inf, inf, -inf, -inf, inf, inf, -inf, -0.5, nan, nan, nan, nan, nan, nan]  # PyTorch 2.13's
    assert torch.equal(torch.gradient(x)[0].nan_to_num(7.5), torch.tensor(wanted).nan_to_num(7.5))
    (slopes,) = torch.gradient(torch.tensor([0.0, 1.0, 4.0, 9.0]), spacing=0.5, edge_order=2)
    assert slopes.tolist() == [0.0, 4.0, 8.0, 12.0]


@pytest.mark.parametrize(
    "fill",
    [
        "normal_()",
        "uniform_()",
        "bernoulli_()",
        "bernoulli_(torch.full((3,), 0.5))",
        "random_()",
        "random_(5)",
        "random_(2, 5)",
    ]
    + ["exponential_()", "geometric_(0.5)", "cauchy_()", "log_normal_()"],
)
def test_random_numbers_are_not_written_into_one_place_several_times(fill):
    x = torch.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        eval(f"x.{fill}")
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("copy", "refused"),
    [
        ("z[1:].copy_(z[:-1])", True),
        ("z[:-1].copy_(z[1:])", True),
        ("z.view(3, 3).copy_(z.view(3, 3).t())", True),  # read element by element it would be no transpose
        ("z.__setitem__(slice(1, None), z[:-1])", True),
        ("z[:3].copy_(z[3:6])", False),
        ("z[::2].copy_(z[:5])", False),  # PyTorch looks at dense views only, too
        ("z[:4:2].copy_(z[1:5:2])", False),
        ("z[:].copy_(z)", False),
        ("z[:3].copy_(z[:3].view(torch.int32))", False),
    ],
)
def test_copies_within_one_memory(copy, refused):
    z = torch.arange(9.0)
    if refused:
        with pytest.raises(
            RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single"
        ):
            eval(copy)
        assert z.tolist() == list(range(9))
    else:
        eval(copy)
