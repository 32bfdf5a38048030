"""Operators without a kernel for the NPU: refused, or run on the CPU where that is asked for. Values are those of the CPU."""

import os
import subprocess
import sys
import warnings

import pytest

import mindtorch_v2 as torch


@pytest.fixture
def fallback():
    torch.npu.set_cpu_fallback(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.npu.set_cpu_fallback(False)


def test_without_being_asked_nothing_goes_to_the_cpu() -> None:
    assert torch.npu.get_cpu_fallback() is False
    with pytest.raises(NotImplementedError, match=r"'aten::linalg_inv_ex'.*torch.npu.set_cpu_fallback\(True\)"):
        torch.linalg.inv(torch.eye(2, device="npu"))


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_errors_name_what_the_program_called() -> None:
    x = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8).to("npu")
    told = r"^Could not run 'quantized::add' with .* 'NPU' backend.*torch.npu.set_cpu_fallback\(True\).*x\.cpu\(\)"
    with pytest.raises(NotImplementedError, match=told):
        torch.ops.quantized.add(x, x, 0.1, 0)
    with pytest.raises(NotImplementedError, match=r"NPU: tensors of torch\.float8_e4m3fnuz are not supported"):
        torch.ones(2).to(torch.float8_e4m3fnuz).to("npu").float()


def test_values_and_gradients(fallback) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    on = x.to("npu").requires_grad_()
    here = x.clone().requires_grad_()
    for tensor in (on, here):
        torch.lgamma(tensor + 1).square().sum().backward()
    assert on.grad.device.type == "npu" and on.grad.tolist() == here.grad.tolist()
    assert torch.fft.fft(on.detach()).cpu().tolist() == torch.fft.fft(x).tolist()


def test_results_that_are_given_and_written_arguments(fallback) -> None:
    out = torch.empty(0, device="npu")
    assert torch.linalg.inv(torch.eye(2, device="npu") * 4, out=out) is out and out.tolist() == [
        [0.25, 0.0],
        [0.0, 0.25],
    ]
    with torch.library._scoped_library("fallback_test", "DEF") as library:
        library.define("twice_(Tensor(a!) x, Tensor[] rest) -> Tensor(a!)")
        library.impl("twice_", lambda x, rest: x.mul_(2).add_(sum(rest)), "CPU")
        y = torch.ones(3, device="npu")
        view = y[1:]
        assert torch.ops.fallback_test.twice_(view, [view, view]) is view
        assert y.tolist() == [1.0, 6.0, 6.0]  # the list holds the very tensor that is written, as on the CPU


def test_each_operator_is_named_once() -> None:
    torch.npu.set_cpu_fallback(True)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            torch.linalg.inv(torch.eye(2, device="npu"))
        said = [str(each.message) for each in told]
        assert sum("aten::linalg_inv_ex has no kernel for the NPU and runs on the CPU" in text for text in said) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.linalg.inv(torch.eye(2, device="npu"))
    finally:
        torch.npu.set_cpu_fallback(False)
    assert not torch.npu.get_cpu_fallback()
    with pytest.raises(TypeError, match="expected True or False, got int"):
        torch.npu.set_cpu_fallback(1)


@pytest.mark.parametrize(
    ("value", "told"), [("1", "True"), ("0", "False"), ("", "False"), ("yes", "is 'yes'; it is 1")]
)
def test_the_environment_decides(value, told) -> None:
    program = "import mindtorch_v2 as torch; torch.ones(1, device='npu'); print(torch.npu.get_cpu_fallback())"
    environment = {**os.environ, "MINDTORCH_NPU_CPU_FALLBACK": value}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert told in done.stdout + done.stderr


def test_more_dimensions_than_the_device_takes() -> None:
    with pytest.raises(RuntimeError, match=r"at most 8 dimensions, got 9 \(shape \[1, 1"):
        torch.ones([1] * 9, device="npu")
    assert torch.ones([1] * 8, device="npu").dim() == 8


@pytest.mark.parametrize(
    ("program", "settings", "refused"),
    [
        ("import torch, torch_npu", {}, False),
        ("import torch", {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}, True),
        ("import torch, torch_npu", {"TORCH_NPU_FALLBACK_CPU_DISABLE": "1"}, True),
        ("import torch, torch_npu", {"MINDTORCH_NPU_CPU_FALLBACK": "0"}, True),
    ],
)
def test_programs_for_torch_npu_count_on_it(program: str, settings: dict[str, str], refused: bool) -> None:
    lines = f"{program}\nprint(torch.linalg.inv(torch.eye(2, device='npu') * 2).tolist())"
    ran = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-c", lines],
        env={**os.environ, "MINDTORCH_AS_TORCH_NPU": "1", **settings},
        capture_output=True,
        text=True,
    )
    if refused:
        assert ran.returncode and "'aten::linalg_inv_ex'" in ran.stderr
    else:
        assert ran.stdout == "[[0.5, 0.0], [0.0, 0.5]]\n"
        told = "aten::linalg_inv_ex has no kernel for the NPU and runs on the CPU, since programs for torch_npu count on that"
        assert ran.stderr.count(told) == 1
