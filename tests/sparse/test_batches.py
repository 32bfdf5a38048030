"""Compressed tensors with dimensions of a batch, and dense ones: against the same tensor made dense."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch

PLAIN = [torch.sparse_csr, torch.sparse_csc]
BLOCKED = [torch.sparse_bsr, torch.sparse_bsc]
SIZES = [((2, 4, 6), 0), ((2, 3, 4, 6), 0), ((4, 6, 5), 1), ((2, 4, 6, 5), 1), ((4, 6), 0)]


def made(size: tuple[int, ...], dense: int, layout: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """A dense tensor with two cells of two by three filled in each matrix, and the same in a layout."""
    batch = len(size) - dense - 2
    x = torch.zeros(size)
    cells = torch.arange(1.0, 1 + x.numel()).reshape(size)
    rows, columns = slice(0, 2), slice(3, 6)
    x[(slice(None),) * batch + (rows, columns)] = cells[(slice(None),) * batch + (rows, columns)]
    x[(slice(None),) * batch + (slice(2, 4), slice(0, 3))] = 7.0
    blocksize = (2, 3) if layout in BLOCKED else None
    return x, x.to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense)


@pytest.mark.parametrize("size, dense", SIZES)
@pytest.mark.parametrize("layout", PLAIN + BLOCKED)
def test_there_and_back(size: tuple[int, ...], dense: int, layout: Any) -> None:
    x, sparse = made(size, dense, layout)
    assert (sparse.layout, sparse.shape) == (layout, x.shape)
    assert (sparse.sparse_dim(), sparse.dense_dim()) == (2, dense)
    assert sparse._nnz() == (2 if layout in BLOCKED else 12)
    assert torch.equal(sparse.to_dense(), x)
    assert torch.equal(sparse.to_sparse_coo().to_dense(), x)
    assert torch.equal((sparse * 2).to_dense(), x * 2)
    assert torch.equal((sparse + sparse).to_dense(), x + x)
    assert torch.equal(torch.zeros_like(sparse).to_dense(), torch.zeros(size))


@pytest.mark.parametrize("layout", PLAIN + BLOCKED)
def test_parts_keep_their_dtype_and_their_batch(layout: Any) -> None:
    _, sparse = made((2, 3, 4, 6), 0, layout)
    names = (
        ("crow_indices", "col_indices")
        if layout in (torch.sparse_csr, torch.sparse_bsr)
        else ("ccol_indices", "row_indices")
    )
    starts, plain = (getattr(sparse, name)().to(torch.int32) for name in names)
    again = torch.sparse_compressed_tensor(
        starts, plain, sparse.values(), sparse.shape, layout=layout, check_invariants=True
    )
    assert [getattr(again, name)().dtype for name in names] == [torch.int32] * 2
    assert torch.equal(again.to_dense(), sparse.to_dense())
    assert starts.shape[:2] == plain.shape[:2] == (2, 3)
    assert torch.equal(again.select(1, 2).to_dense(), sparse.to_dense().select(1, 2))


@pytest.mark.parametrize("layout", PLAIN + BLOCKED)
def test_transposes(layout: Any) -> None:
    x, sparse = made((2, 3, 4, 6), 0, layout)
    assert torch.equal(sparse.transpose(0, 1).to_dense(), x.transpose(0, 1))
    assert torch.equal(sparse.transpose(2, 3).to_dense(), x.transpose(2, 3))
    with pytest.raises(
        RuntimeError, match=r"of the same type \(Batch, Sparse, Dense\), got 1\(Batch\) and 2\(Sparse\)"
    ):
        sparse.transpose(1, 2)
    with pytest.raises(RuntimeError, match="hybrid sparse compressed tensors with dense dimensions"):
        made((4, 6, 5), 1, layout)[1].transpose(0, 1)


def test_what_a_batch_does_not_have() -> None:
    uneven = torch.stack([torch.eye(2), torch.ones(2, 2)])
    with pytest.raises(RuntimeError, match="Expect the same number of specified elements per batch"):
        uneven.to_sparse_csr()
    _, sparse = made((2, 4, 6), 0, torch.sparse_csr)
    with pytest.raises(RuntimeError, match="selecting sparse dimensions is not supported for batched"):
        sparse.select(1, 0)
    with pytest.raises(RuntimeError, match="SparseCsr to SparseBsr for batched inputs is not supported"):
        sparse.to_sparse_bsr((2, 3))
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        sparse[0, 0, 0] = 1.0
    with pytest.raises(
        RuntimeError, match=r"sum of batch, base, and dense dimensionalities \(=1 \+ 2 \+ 0\) but got 2"
    ):
        torch.sparse_csr_tensor(
            torch.tensor([[0, 1]]), torch.tensor([[0]]), torch.ones(1, 1), (1, 1), check_invariants=True
        )


def test_sampled_products_of_a_batch() -> None:
    x, sparse = made((2, 4, 6), 0, torch.sparse_csr)
    left, right = torch.randn(2, 4, 5), torch.randn(2, 5, 6)
    found = torch.sparse.sampled_addmm(sparse, left, right, beta=0.5)
    assert torch.allclose(found.to_dense(), (x * 0.5 + left @ right) * (x != 0))
