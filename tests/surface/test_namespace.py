"""Functions of the torch namespace that are no operators: what they refuse, and settings that are read back."""

import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch

CHECKS = {
    "_check": RuntimeError,
    "_check_index": IndexError,
    "_check_value": ValueError,
    "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_take_a_bool(name):
    check, error = getattr(torch, name), CHECKS[name]
    check(True)
    with pytest.raises(error, match="Expected cond to be True, but got False"):
        check(False)
    with pytest.raises(error, match="because"):
        check(False, lambda: "because")
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "because")
    for given in (5, None, "yes"):
        with pytest.raises(TypeError, match=rf"cond must be a bool, but got {type(given)}"):
            check(given)
    with pytest.raises(TypeError, match=r"but got a Tensor\. For tensor conditions, use torch\._check_tensor_all\(\)"):
        check(torch.tensor(True))


def test_checks_of_whole_tensors():
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check_tensor_all(torch.tensor([True, False]))
    with pytest.raises(TypeError, match=r"cond tensor must have dtype torch\.bool, but got torch\.int64"):
        torch._check_tensor_all(torch.tensor([1, 1]))
    with pytest.raises(TypeError, match="cond must be a tensor, but got <class 'int'>"):
        torch._check_tensor_all(1)


def test_errors_to_raise_are_exceptions():
    with pytest.raises(KeyError, match="m"):
        torch._check_with(KeyError, False, lambda: "m")
    with pytest.raises(AssertionError, match="must be a subclass of Exception but not Warning, got <class 'int'>"):
        torch._check_with(int, False, None)


@pytest.mark.parametrize(
    "name", ["is_floating_point", "is_complex", "is_conj", "is_neg", "is_inference", "numel", "get_device"]
)
def test_questions_about_a_tensor(name):
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'input' \(position 1\) must be Tensor, not int"):
        getattr(torch, name)(5)


def test_precision_of_products():
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with pytest.warns(UserWarning, match="fast is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("fast")
        assert torch.get_float32_matmul_precision() == "medium"
        with pytest.raises(RuntimeError, match="set_float32_matmul_precision expects a str, but got int"):
            torch.set_float32_matmul_precision(5)
    finally:
        torch.set_float32_matmul_precision(before)


def test_parts_of_utils_need_no_import_of_their_own():
    assert torch.utils._triton.has_triton() is False
    assert callable(torch.utils._mode_utils.no_dispatch)


def test_repeated_warnings():
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled() is True and torch._C._get_warnAlways() is True
    torch._C._set_warnAlways(False)
    assert torch.is_warn_always_enabled() is False
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        torch.set_warn_always(3)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "a positive integer"), (-1, "a positive integer"), ("a", "an int, but got str")]
)
def test_threads_between_operators(count, text):
    with pytest.raises(RuntimeError, match=f"set_num_interop_threads expects {text}"):
        torch.set_num_interop_threads(count)


@pytest.mark.parametrize("kind", ["torch.IntTensor", torch.float32, 5])
def test_default_types_are_floating(kind):
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torch.set_default_tensor_type(kind)
    assert torch.get_default_dtype() is torch.float32


def test_arrays_that_are_not_writable_are_named_each_time_on_request():
    array = np.arange(3)
    array.flags.writeable = False
    torch.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
                torch.from_numpy(array)
    finally:
        torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(array)  # it has been said


def test_the_class_of_tensors_classes():
    meta = torch._C._TensorMeta
    assert type(torch.Tensor) is meta and meta.__module__ == "torch._C"
    assert type(type("Own", (torch.Tensor,), {})) is meta
    with pytest.raises(RuntimeError, match="Cannot subclass _TensorBase directly"):
        meta("Direct", (torch._C._TensorBase,), {})


def test_refusals_by_pytorchs_words():
    assert not hasattr(torch, "unique_dim")
    with pytest.raises(RuntimeError, match="Cannot get CUDA generator without ATen_cuda library"):
        torch.Generator(device="cuda")
    x = torch.ones(2, 3)
    assert x.contiguous(memory_format=torch.preserve_format) is not None
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contiguous operator"):
        x.t().contiguous(memory_format=torch.preserve_format)


def test_composed_attention_may_add_up_in_half_precision_or_not():
    setter, getter = (getattr(torch._C, f"_{verb}_math_sdp_allow_fp16_bf16_reduction") for verb in ("set", "get"))
    assert getter() is False
    torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert getter() is True and torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    for wrong in (1, None):
        with pytest.raises(RuntimeError, match="expects a bool, but got"):
            setter(wrong)
    setter(False)
    assert not torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
