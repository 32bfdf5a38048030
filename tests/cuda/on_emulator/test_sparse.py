"""Sparse tensors whose parts are on the GPU: what PyTorch answers on the CPU, but for the device that is named.

The programs and the answers are those of tests/sparse. Left out are expm1, whose last digit shows, and classes of tensors of the CPU.
"""

import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import sparse_on_devices

_NOT_THERE = r"expm1|FloatTensor"


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, Any]]:
    """Every program's outcome where tensors are made on the device."""
    yield sparse_on_devices.outcomes("cuda", _NOT_THERE)


@pytest.mark.parametrize("name", sparse_on_devices.cases(_NOT_THERE))
def test_case(found: dict[str, Any], name: str) -> None:
    expected = sparse_on_devices.RECORDED[name]
    assert sparse_on_devices.same(found[name], expected, "cuda", 1e-5), f"{found[name]}\nexpected {expected}"


def test_parts_are_where_the_tensor_is() -> None:
    x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3), device="cuda")
    assert x.device == torch.device("cuda:0") and x.is_cuda
    assert x._indices().device == x._values().device == x.to_sparse_csr().col_indices().device == x.device
    assert torch.equal(x.cpu().cuda().to_dense().cpu(), x.cpu().to_dense())


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.complex64]
)
def test_products(dtype: Any) -> None:
    """Whole numbers: exact in every type, however many rows and columns there are."""
    torch.manual_seed(0)
    dense = torch.randint(-2, 3, (70, 40)) * (torch.rand(70, 40) < 0.2)
    other = torch.randint(-2, 3, (40, 65))
    expected = dense @ other
    found = torch.sparse.mm(dense.to(dtype).cuda().to_sparse_csr(), other.to(dtype).cuda())
    assert found.dtype == dtype and torch.equal(found.cpu(), expected.to(dtype))


def test_an_embedding_s_sparse_gradient_trains() -> None:
    layer = torch.nn.Embedding(5, 3, sparse=True, device="cuda")
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.tensor([1, 3, 1], device="cuda")).sum().backward()
    assert layer.weight.grad.is_sparse and layer.weight.grad.is_cuda
    optimizer.step()
    changed = (before - layer.weight.detach()).cpu()
    torch.testing.assert_close(changed, torch.tensor([[0.0], [2], [0], [1], [0]]).expand(5, 3), rtol=1e-6, atol=1e-6)
