"""Bool tensors whose bytes are neither 0 nor 1, as views of uint8, NumPy arrays and files may hold: any but 0 is true.

Each call must give what it gives for the same truth in proper bytes.
"""

import numpy
import pytest

import mindtorch_v2 as torch

# 128 twice: counted by adding bytes, two of them are none.
BYTES = torch.tensor([128, 0, 128, 3, 255, 1], dtype=torch.uint8)
F = torch.nn.functional

CALLS = {
    "nonzero": lambda b, x: b.nonzero(),
    "nonzero_static": lambda b, x: b.nonzero_static(size=7),
    "argwhere": lambda b, x: torch.argwhere(b),
    "nonzero as tuple": lambda b, x: b.view(2, 3).nonzero(as_tuple=True),
    "mask": lambda b, x: x[b],
    "mask of two dimensions": lambda b, x: x.view(2, 3)[b.view(2, 3)],
    "put by mask": lambda b, x: x.index_put((b,), torch.tensor(5.0)),
    "masked_select": lambda b, x: x.masked_select(b),
    "masked_select, broadcast": lambda b, x: x[:, None].masked_select(b),
    "masked_scatter": lambda b, x: x.masked_scatter(b, 10 + x),
    "masked_fill": lambda b, x: x.masked_fill(b, 9),
    "where": lambda b, x: [torch.where(b, x.to(d), (1 - x).to(d)) for d in (torch.float32, torch.int64, torch.int8)],
    "where of complex": lambda b, x: torch.where(b, x.to(torch.complex128), torch.tensor(1j)),
    "sum": lambda b, x: [b.sum(), b.view(2, 3).sum(1), b.view(2, 3).sum(0), b.expand(9, 6).sum()],
    "mean": lambda b, x: b.mean(dtype=torch.float32),
    "prod": lambda b, x: b[2:].prod(),
    "any and all": lambda b, x: [b.any(), b.all(), b[2:].all(), b.view(2, 3).any(1), b.view(2, 3).all(0)],
    "count_nonzero": lambda b, x: b.count_nonzero(),
    "max": lambda b, x: [b.max(), *b.max(0), *b.min(0), b.amax(0), b.amin(0)],
    "cumsum": lambda b, x: [b.cumsum(0), b.cumprod(0), *b.cummax(0), *b.cummin(0)],
    "casts": lambda b, x: [
        b.to(d)
        for d in (
            torch.uint8,
            torch.int8,
            torch.int32,
            torch.int64,
            torch.float16,
            torch.bfloat16,
            torch.float32,
            torch.float64,
            torch.complex64,
            torch.float8_e5m2,
        )
    ],
    "arithmetic": lambda b, x: [x + b, b + b, b * b, 2 * b, b + 1],
    "bitwise": lambda b, x: [b & b, b | b, b ^ b, ~b, b & 1],
    "logical": lambda b, x: [torch.logical_not(b), torch.logical_and(b, b), torch.logical_xor(b, b.flip(0))],
    "comparison": lambda b, x: [b == b.flip(0), b == True, b != 1, b < b.flip(0), b >= 0.5],  # noqa: E712  (the operator is what is tested)
    "equal": lambda b, x: torch.equal(b, BYTES != 0),
    "isclose": lambda b, x: torch.isclose(b, BYTES != 0),
    "unique": lambda b, x: [b.unique(), b.unique_consecutive(), *b.unique(return_inverse=True, return_counts=True)],
    "unique along a dimension": lambda b, x: b.view(3, 2).unique(dim=0),
    "sort": lambda b, x: [*b.sort(stable=True), *b.sort(descending=True, stable=True), torch.argsort(b, stable=True)],
    "adding at indices": lambda b, x: [
        torch.zeros(2, dtype=torch.bool).index_put((torch.tensor([0, 0]),), b[:2], accumulate=True),
        torch.zeros(6, dtype=torch.bool).scatter_add(0, torch.arange(6), b),
        torch.zeros(6, dtype=torch.bool).index_add(0, torch.arange(6), b),
        b.put(torch.tensor([1]), torch.tensor([True]), True),
    ],
    "diff": lambda b, x: b.diff(),
    "joined and moved": lambda b, x: [torch.cat([b, b]).sum(), b.repeat(2).sum(), b.flip(0).sum(), b.roll(1).sum()],
    "item": lambda b, x: [b[0].item(), bool(b[2]), b.tolist(), int(b[3]), float(b[4])],
    "index": lambda b, x: x[b[0]],
    "attention": lambda b, x: F.scaled_dot_product_attention(
        x.view(1, 2, 3), x.view(1, 2, 3).repeat(1, 2, 1)[:, :3], torch.arange(9.0).view(1, 3, 3), b.view(1, 2, 3)
    ),
    "repr": lambda b, x: repr(b),
}


def _plain(result):
    if isinstance(result, (list, tuple)):
        return [_plain(item) for item in result]
    if isinstance(result, torch.Tensor):
        return str(result.dtype), tuple(result.shape), result.to(torch.complex128).tolist()
    return result


@pytest.mark.parametrize("name", CALLS)
def test_any_byte_but_zero_is_true(name):
    x = torch.arange(6.0)
    assert _plain(CALLS[name](BYTES.view(torch.bool), x)) == _plain(CALLS[name](BYTES != 0, x))


def test_arrays_of_other_libraries():
    shared = torch.from_numpy(numpy.full(300, 128, dtype=numpy.uint8).view(numpy.bool_))
    assert shared.nonzero().flatten().tolist() == list(range(300))
    assert shared.sum() == 300


@pytest.mark.parametrize("shape", [(5,), (4, 4), (5, 5, 5), (64, 64)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.float32])
def test_sums_and_products_as_truths(shape, dtype):
    """Truths are reduced as numbers, however wide those are that they are reduced in."""
    for value in (0, 1):
        x = torch.full(shape, value, dtype=dtype)
        for dim in range(len(shape)):
            expected = [bool(value)] * (x.numel() // shape[dim])
            assert x.sum(dim, dtype=torch.bool).flatten().tolist() == expected
            assert x.prod(dim, dtype=torch.bool).flatten().tolist() == expected
            assert x.any(dim).flatten().tolist() == expected
            assert x.all(dim).flatten().tolist() == expected
        assert x.sum(dtype=torch.bool).item() is bool(value)
