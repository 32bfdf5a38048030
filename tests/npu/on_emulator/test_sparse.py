"""Sparse tensors whose parts are on the device: what PyTorch answers on the CPU, but for the device that is named.

The programs and the answers are those of tests/sparse. Left out is what needs complex numbers or an operator without a kernel for
NPUs, and expm1, whose last digit shows.
"""

import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import sparse_on_devices

_NOT_THERE = r"expm1|bag_|complex|cfloat|\dj\b|x\.type\(\)|FloatTensor|d\.copy_\(x\)"


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Any]]:
    """Every program's outcome where tensors are made on the device."""
    yield sparse_on_devices.outcomes("npu", _NOT_THERE)


@pytest.mark.parametrize("name", sparse_on_devices.cases(_NOT_THERE))
def test_case(found: dict[str, Any], name: str) -> None:
    expected = sparse_on_devices.RECORDED[name]
    assert sparse_on_devices.same(found[name], expected, "npu"), f"{found[name]}\nexpected {expected}"


def test_parts_and_copies_are_where_the_tensor_is() -> None:
    x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3), device="npu")
    assert x.device == torch.device("npu:0")
    assert x._indices().device == x._values().device == x.to_sparse_csr().col_indices().device == x.device
    assert "device='npu:0'" in repr(x)
    assert x.cpu().device.type == "cpu"
    assert torch.equal(x.cpu().npu().to_dense().cpu(), x.cpu().to_dense())


def test_the_meta_device_has_their_form() -> None:
    made = torch.sparse_coo_tensor([[0]], [1.0], (2,)).npu().to("meta")
    assert made.is_meta and made.is_sparse and made.shape == (2,)
