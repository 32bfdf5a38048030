"""Kernels that work in blocks, at lengths around the ends of the blocks, against NumPy and against one another."""

import itertools

import numpy
import pytest

import mindtorch_v2 as torch

_LENGTHS = (1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 127, 130, 511, 513)
_RNG = numpy.random.default_rng(0)


def _floats(*shape):
    return torch.tensor(_RNG.normal(size=shape).astype(numpy.float32))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("length", _LENGTHS)
def test_16_bit_floats_are_computed_in_float_and_rounded_once(length, dtype):
    x, y = _floats(length).to(dtype), (_floats(length).abs() + 0.5).to(dtype)
    x[0] = float("nan")
    wide_x, wide_y = x.float(), y.float()
    for values, wide in (
        (x * y, wide_x * wide_y),
        (x / y, wide_x / wide_y),
        (y.sqrt(), wide_y.sqrt()),
        (y.exp(), wide_y.exp()),
        (x * 0.3, wide_x * 0.3),
        (torch.addcmul(x, x, y, value=0.3), torch.addcmul(wide_x, wide_x, wide_y, value=0.3)),
        (x.clamp(-0.5, 0.5), wide_x.clamp(-0.5, 0.5)),
    ):
        torch.testing.assert_close(values, wide.to(dtype), rtol=0, atol=0, equal_nan=True)
    assert (x < y).tolist() == (wide_x < wide_y).tolist()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_numbers_beside_16_bit_floats_are_rounded_first(dtype):
    """As PyTorch does, but for products and quotients: `x + 0.3` adds the 16-bit number next to 0.3."""
    x = _floats(300).to(dtype)
    number = torch.tensor(0.3).to(dtype)
    wide, third = x.float(), number.float()
    for values, expected in (
        (x + 0.3, wide + third),
        (x - 0.3, wide - third),
        (0.3 - x, third - wide),
        (x + torch.tensor(0.3), wide + third),
        (torch.add(x, x, alpha=0.3), wide + third * wide),
        (torch.fmod(x, 0.3), torch.fmod(wide, third)),
        (torch.remainder(x, 0.3), torch.remainder(wide, third)),
        (x * 0.3, wide * 0.3),
        (x / 0.3, wide / 0.3),
    ):
        assert torch.equal(values, expected.to(dtype))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_permuted_copies(order):
    for shape in ((3, 5, 7), (2, 40, 33), (4, 3, 64), (1, 9, 1)):
        x = _floats(*shape)
        assert (x.permute(order).contiguous().numpy() == x.numpy().transpose(order)).all()
        assert (x.permute(order)[..., ::2].contiguous().numpy() == x.numpy().transpose(order)[..., ::2]).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_positions_given_for_whole_rows(dtype):
    x = (_floats(20, 70) * 10).to(dtype)
    rows = torch.tensor(_RNG.integers(0, 20, 50))
    index = rows[:, None].expand(50, 70)
    picked = x.gather(0, index)
    assert torch.equal(picked, x[rows])
    assert torch.equal(picked, x.gather(0, index.contiguous()))
    summed = torch.zeros_like(x).scatter_add(0, index, picked)
    assert torch.equal(summed, torch.zeros_like(x).scatter_add(0, index.contiguous(), picked))
    assert torch.equal(summed, torch.zeros_like(x).index_add(0, rows, picked))
    assert x.gather(0, torch.zeros(0, 1, dtype=torch.int64).expand(0, 70)).shape == (0, 70)
    with pytest.raises(RuntimeError, match="index 20 is out of bounds for dimension 0 with size 20"):
        x.gather(0, torch.tensor([[20]]).expand(1, 70))


def test_extrema_keep_the_last_of_equals_and_nan():
    x = (_floats(150, 67) * 2).round()
    x[100, 3] = float("nan")
    for dim in (0, 1):
        values, indices = x.cummax(dim)
        assert torch.equal(x.gather(dim, indices).nan_to_num(), values.nan_to_num())
        turned = x.t().contiguous().cummax(1 - dim)
        assert torch.equal(turned[1].t(), indices)
    assert x.cummax(0)[0][100:, 3].isnan().all()


def test_consecutive_runs():
    x = torch.tensor([1, 1, 2, 2, 2, 1, 3, 3])
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 1, 3]
    assert inverse.tolist() == [0, 0, 1, 1, 1, 2, 3, 3]
    assert counts.tolist() == [2, 3, 1, 2]
    assert torch.tensor([]).unique_consecutive(return_counts=True)[1].tolist() == []
    assert torch.tensor([float("nan")] * 2).unique_consecutive().shape == (2,)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 100, 102, 128, 257, 512, 1024])
def test_transforms_of_many_rows(n):
    for rows in (1, 3, 17):
        x = _RNG.normal(size=(rows, n))
        for given, axis in ((torch.tensor(x), 1), (torch.tensor(x.T.copy()), 0)):
            numpy.testing.assert_allclose(
                torch.fft.rfft(given, dim=axis).numpy(), numpy.fft.rfft(given.numpy(), axis=axis), atol=1e-10
            )
            numpy.testing.assert_allclose(
                torch.fft.ifft(given, dim=axis).resolve_conj().numpy(),
                numpy.fft.ifft(given.numpy(), axis=axis),
                atol=1e-10,
            )
            there_and_back = torch.fft.irfft(torch.fft.rfft(given, dim=axis), n=n, dim=axis)
            numpy.testing.assert_allclose(there_and_back.numpy(), given.numpy(), atol=1e-10)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_of_more_positions_than_a_stretch(mode):
    """Position by position gives the same as all at once, and so do the gradients."""
    image = _floats(2, 3, 9, 11)
    grid = (_floats(2, 3, 70, 2) * 0.8).requires_grad_()
    whole = torch.nn.functional.grid_sample(image.requires_grad_(), grid, mode=mode, align_corners=False)
    parts = [
        torch.nn.functional.grid_sample(image, grid[:, :, j : j + 1], mode=mode, align_corners=False) for j in range(70)
    ]
    assert torch.equal(whole, torch.cat(parts, 3))
    upstream = torch.ones_like(whole)
    by_whole = torch.autograd.grad(whole, (image, grid), upstream)
    by_parts = torch.autograd.grad(torch.cat(parts, 3), (image, grid), upstream)
    torch.testing.assert_close(by_whole, by_parts, rtol=1e-4, atol=1e-4)


def test_quantiles_and_trigamma():
    """Known values: erf(0.4769...) = 1/2, the normal quantile of 0.975, psi'(1) = pi^2 / 6, psi'(1/2) = pi^2 / 2."""
    double = torch.float64
    y = torch.tensor([0.5, -0.5, 1e-300, 0.999999, 1.0, 1.5], dtype=double)
    expected = [0.4769362762044699, -0.4769362762044699, 8.862269254527581e-301, 3.458910737275499, float("inf")]
    assert torch.erfinv(y).tolist()[:5] == pytest.approx(expected, rel=2e-15, abs=0)
    assert torch.erfinv(y)[5].isnan()
    p = torch.tensor([0.5, 0.975, 0.025, 1e-10], dtype=double)
    quantiles = [0.0, 1.959963984540054, -1.959963984540054, -6.361340902404056]
    assert torch.special.ndtri(p).tolist() == pytest.approx(quantiles, rel=2e-15, abs=0)
    x = torch.tensor([1.0, 0.5, 20.0], dtype=double)
    assert torch.polygamma(1, x).tolist() == pytest.approx(
        [numpy.pi**2 / 6, numpy.pi**2 / 2, 0.05127082293520301], rel=1e-14
    )


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 64, 100])
def test_searches_side_by_side(length, rows, right):
    keys = numpy.sort(_RNG.integers(0, 40, (rows, length)), 1).astype(numpy.float32)
    values = _RNG.integers(-2, 43, (rows, 29)).astype(numpy.float32)
    values[:, -1] = numpy.nan
    order = numpy.stack([_RNG.permutation(length) for _ in range(rows)])
    shuffled = numpy.empty_like(keys)
    numpy.put_along_axis(shuffled, order, keys, 1)
    side = "right" if right else "left"
    expected = numpy.stack([numpy.searchsorted(k, v, side) for k, v in zip(keys, values)])
    found = torch.searchsorted(torch.tensor(keys), torch.tensor(values), right=right)
    numpy.testing.assert_array_equal(found, expected)
    found = torch.searchsorted(
        torch.tensor(shuffled), torch.tensor(values), right=right, sorter=torch.tensor(order), out_int32=True
    )
    numpy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("numbers", [(-4, 5), (-(2**63), 2**63), (0, 2**40), (-3, -2), (0, 2)])
@pytest.mark.parametrize("length", [2, 30, 300, 2000])
def test_integers_are_sorted_by_their_distance_from_the_least(length, numbers):
    x = _RNG.integers(*numbers, (2, length))
    for descending in (False, True):
        values, places = torch.sort(torch.tensor(x), stable=True, descending=descending)
        # ~x turns the order and, unlike -x, never overflows.
        expected = numpy.argsort(~x if descending else x, axis=1, kind="stable")
        numpy.testing.assert_array_equal(places, expected)
        numpy.testing.assert_array_equal(values, numpy.take_along_axis(x, expected, 1))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("rows", [3, 700, 5000])
def test_short_rows(rows, dtype):
    x = _RNG.integers(0, 2, (3, rows)).astype(dtype)
    ours = torch.tensor(x)
    numpy.testing.assert_array_equal(ours.t().contiguous(), x.T)
    numpy.testing.assert_array_equal(ours.repeat_interleave(2, 1), numpy.repeat(x, 2, 1))
    numpy.testing.assert_array_equal(torch.stack([*ours], -1), x.T)
    numpy.testing.assert_array_equal(torch.cat([ours.t().contiguous()[:, :2], ours.t()], 1), numpy.r_[x[:2], x].T)
    across = numpy.ascontiguousarray(x.T)
    for other in (x[:, :1].T, across[:, :1], across[:1, 1:2]):
        expected = across | other if dtype == "bool" else across + other
        numpy.testing.assert_array_equal(torch.tensor(across) + torch.tensor(other), expected)
    by_threes = torch.tensor(x.reshape(-1, 1, 3)) + torch.tensor(x[:, :2].reshape(2, 3))
    expected = x.reshape(-1, 1, 3), x[:, :2].reshape(2, 3)
    numpy.testing.assert_array_equal(by_threes, expected[0] | expected[1] if dtype == "bool" else sum(expected))


@pytest.mark.parametrize("length", range(1, 20))
def test_reductions_of_short_rows(length):
    x = _RNG.integers(1, 4, (5, length)).astype(numpy.float32)
    ours = torch.tensor(x)
    numpy.testing.assert_array_equal(ours.sum(1), x.sum(1))
    numpy.testing.assert_array_equal(ours.prod(1), x.prod(1))
    numpy.testing.assert_array_equal(ours.amax(1), x.max(1))
    numpy.testing.assert_array_equal((ours > 1).all(1), (x > 1).all(1))
    numpy.testing.assert_array_equal((ours > 1).sum(1), (x > 1).sum(1))


@pytest.mark.parametrize("n", [3, 200])
def test_few_elements_of_a_transpose(n):
    x = numpy.arange(n * 300.0).reshape(300, n).T
    ours = torch.tensor(numpy.arange(n * 300.0)).reshape(300, n).t()
    numpy.testing.assert_array_equal(ours.index_select(0, torch.tensor([2, 0])), x[[2, 0]])
    numpy.testing.assert_array_equal(ours.index_select(1, torch.tensor([2, 299])), x[:, [2, 299]])
    places = [5, -1, 301]
    numpy.testing.assert_array_equal(ours.take(torch.tensor(places)), x.take(places))
    expected = numpy.ascontiguousarray(x)
    expected.put(places, [1, 2, 3])
    values = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    numpy.testing.assert_array_equal(ours.put(torch.tensor(places), values), expected)
    ours.put_(torch.tensor(places), values)
    numpy.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("n", [1, 3, 17, 70])
def test_distances_of_pairs(n):
    x = _RNG.normal(size=(n, 5))
    for p in (1, 2):
        expected = [(numpy.abs(x[i] - x[j]) ** p).sum() ** (1 / p) for i in range(n) for j in range(i + 1, n)]
        numpy.testing.assert_allclose(torch.pdist(torch.tensor(x), p), expected, 1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_integer_products_of_every_layout(dtype):
    a, b = _RNG.integers(0, 9, (2, 5, 7)).astype(dtype), _RNG.integers(0, 9, (2, 7, 9)).astype(dtype)
    x, y = torch.tensor(a), torch.tensor(b)
    for left in (x, x.mT.contiguous().mT):
        for right in (y, y.mT.contiguous().mT):
            numpy.testing.assert_array_equal(left @ right, a @ b)
            numpy.testing.assert_array_equal(left[0, 2] @ right[0], a[0, 2] @ b[0])


def test_einsum_of_the_same_equation_and_other_sizes():
    for sizes in ((2, 3, 4), (2, 1, 4), (1, 3, 1), (2, 3, 4)):
        n, m, k = sizes
        a, b = _RNG.normal(size=(n, m, k)), _RNG.normal(size=(n, 5, k))
        expected = numpy.einsum("bij,bkj->bik", a, b)
        found = torch.einsum("bij,bkj->bik", torch.tensor(a), torch.tensor(b))
        numpy.testing.assert_allclose(found, expected, 1e-12, 1e-15)
    for _ in range(2):  # an error is no plan
        with pytest.raises(RuntimeError, match="does not broadcast"):
            torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(4, 2))
