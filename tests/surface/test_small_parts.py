"""Small parts of the torch namespace: what the machine is, memory that shows when it is read, denormal numbers."""

import math
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import collect_env, deterministic


def test_the_machine_is_described():
    info = collect_env.get_env_info()
    assert info.is_cuda_available == "False" and "numpy==" in info.pip_packages
    text = collect_env.pretty_str(info)
    assert text.startswith(f"PyTorch version: {torch.__version__} (mindtorch_v2)\n")
    assert collect_env.run(["no-such-program-here"])[0] == 127
    assert "CPU capability usage" in torch.__config__.show()
    assert f"at::get_num_threads() : {torch.get_num_threads()}" in torch.__config__.parallel_info()


def test_the_machine_is_described_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-m", "torch.utils.collect_env"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Collecting environment information...\nPyTorch version: ")


@pytest.fixture
def deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True


def test_new_memory_is_filled(deterministic_algorithms):
    # The values are PyTorch 2.13's.
    assert torch.empty(3).isnan().all() and torch.empty_strided((2, 2), (1, 2), dtype=torch.float64).isnan().all()
    assert torch.ones(3).new_empty(2).isnan().all() and torch.empty_like(torch.ones(2)).isnan().all()
    number = torch.empty((), dtype=torch.complex64).item()
    assert math.isnan(number.real) and number.imag == 0
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        assert torch.empty(2, dtype=dtype).tolist() == [torch.iinfo(dtype).max] * 2
    assert torch.empty(2, dtype=torch.bool).tolist() == [True, True]
    deterministic.fill_uninitialized_memory = False
    assert not deterministic.fill_uninitialized_memory
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        deterministic.fill_uninitialized_memory = 1


def test_denormal_numbers():
    smallest = torch.full((100,), 1e-310, dtype=torch.float64)
    try:
        if not torch.set_flush_denormal(True):
            pytest.skip("this processor has no such mode")
        assert (smallest * 1.0).sum() == 0
    finally:
        torch.set_flush_denormal(False)
    assert (smallest * 1.0 != 0).all()


def test_dense_tensors_are_dense_already():
    x = torch.ones(2)
    assert x.to_dense() is x and x.dequantize() is x
    assert x.to_dense(torch.float64).dtype == torch.float64 and x.half().dequantize().dtype == torch.float32


@pytest.mark.parametrize(
    ("equation", "shapes", "strides"),
    [  # PyTorch 2.13's
        ("ij,kj->ki", [(2, 3), (2, 3)], (2, 1)),
        ("bij,bjk->kbi", [(2, 3, 4), (2, 4, 5)], (3, 15, 1)),
        ("abc,cd->dab", [(2, 3, 4), (4, 5)], (6, 3, 1)),
        ("ij,jk->ik", [(2, 3), (3, 4)], (4, 1)),
    ],
)
def test_results_of_einsum_lie_as_those_of_pytorch(equation, shapes, strides):
    assert torch.einsum(equation, *(torch.ones(shape) for shape in shapes)).stride() == strides
