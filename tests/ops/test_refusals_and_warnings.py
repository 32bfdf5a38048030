"""Refusals and warnings of PyTorch, and products that values of other shapes would not tell of."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    ("equation", "text"),
    [
        (". ..", "found '.' for operand 0 that is not part of any ellipsis"),
        ("... ...", "found '.' for operand 0 for which an ellipsis was already found"),
        ("a->... .", "found '.' for output but an ellipsis (...) was already found"),
        ("a->..", "found '.' for output that is not part of any ellipsis (...)"),
        ("1", "invalid subscript given at index 0 in the equation string, subscripts must be in [a-zA-Z]"),
        ("a->1", "invalid subscript given at index 3 in the equation string"),
        (" a -> 1", "invalid subscript given at index 6 in the equation string"),
        ("a->aa", "output subscript a appears more than once in the output"),
    ],
)
def test_equations_of_einsum(equation, text):
    with pytest.raises(RuntimeError) as raised:
        torch.einsum(equation, torch.ones(2))
    assert str(raised.value).startswith("einsum(): ") and text in str(raised.value)


def test_places_in_equations_count_over_all_operands():
    with pytest.raises(RuntimeError, match="invalid subscript given at index 3 "):
        torch.einsum("a,b1", torch.ones(2), torch.ones(2))


def test_ellipses_that_do_not_broadcast():
    text = r"operands do not broadcast with remapped shapes \[original->remapped\]: \[2\]->\[1, 2\] \[2, 3\]->\[2, 3\]"
    with pytest.raises(RuntimeError, match=text):
        torch.einsum("...,...", torch.ones(2), torch.ones(2, 3))
    assert torch.einsum("...a,...a->...", torch.ones(4, 1, 3), torch.ones(5, 3)).tolist() == [[3.0] * 5] * 4
    assert torch.einsum(" i j , j  -> i ", torch.ones(2, 3), torch.ones(3)).tolist() == [3, 3]


def test_pivots_are_int32():
    with pytest.raises(RuntimeError, match=r"LU_pivots is expected to be a contiguous tensor of torch.int32 dtype"):
        torch.lu_unpack(torch.eye(3), torch.tensor([1, 2, 3]))
    assert (
        torch.lu_unpack(torch.eye(3), torch.tensor([1, 2, 3]), unpack_pivots=False).U.tolist() == torch.eye(3).tolist()
    )
    assert torch.lu_unpack(torch.eye(2), torch.tensor([2, 2], dtype=torch.int32)).P.tolist() == [[0, 1], [1, 0]]


def test_orders_of_norms_are_real():
    for x in (torch.ones(3), torch.ones(0), torch.ones(2, dtype=torch.complex64)):
        with pytest.raises(RuntimeError, match="Expected a non-complex scalar as the order of norm"):
            torch.linalg.vector_norm(x, 1 + 2j)


def test_triangular_solve_transposes_without_conjugating():
    A = torch.tensor([[2.0, 1j], [0, 4.0]], dtype=torch.complex128)
    b = torch.tensor([[2.0], [4.0]], dtype=torch.complex128)
    # 2 x = 2 and ix + 4y = 4
    assert torch.triangular_solve(b, A, transpose=True).solution.tolist() == [[1], [1 - 0.25j]]
    assert torch.triangular_solve(b, A).solution.tolist() == [[1 - 0.5j], [1]]


def test_bernoulli_into_any_dtype_and_size():
    p = torch.tensor([0.0, 1.0, 1.0])
    out = torch.full((7,), 5, dtype=torch.int32)
    assert torch.bernoulli(p, out=out) is out and out.tolist() == [0, 1, 1]
    torch.manual_seed(3)
    expected = torch.bernoulli(torch.full((20,), 0.5)).tolist()
    torch.manual_seed(3)
    assert torch.bernoulli(torch.full((20,), 0.5), out=torch.empty(0)).tolist() == expected
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.bernoulli(p.clone().requires_grad_(), out=torch.empty(3))


def test_frequencies_into_a_tensor():
    out = torch.empty(1, dtype=torch.float64)
    with pytest.warns(UserWarning, match="The out tensor will be resized to a tensor of shape"):
        assert torch.fft.fftfreq(n=4, d=0.5, out=out) is out
    assert out.tolist() == [0, 0.5, -1, -0.5]
    assert torch.fft.rfftfreq(5, 2.0, out=torch.empty(0)).tolist() == pytest.approx([0, 0.1, 0.2])
    with pytest.raises(RuntimeError, match="rfftfreq requires a floating point or complex dtype, but got Long"):
        torch.fft.rfftfreq(5, out=torch.empty(3, dtype=torch.int64))


def test_arange_tells_of_another_size():
    text = r"out tensor of shape \[2\] is 2 which does not match the computed number of elements 3"
    with pytest.warns(UserWarning, match=text):
        assert torch.arange(3, out=torch.empty(2)).tolist() == [0, 1, 2]
    assert torch.arange(3, out=torch.empty(3, 1)).tolist() == [[0], [1], [2]]
    assert torch.arange(1, 3, out=torch.empty(0)).tolist() == [1, 2]


def test_signals_that_are_filled_up_with_zeros():
    x = torch.arange(8.0)
    window = torch.ones(4)
    spectrum = torch.stft(x, 4, 2, window=window, center=False, return_complex=True)
    with pytest.warns(UserWarning, match="The length of signal is shorter than the length parameter"):
        back = torch.istft(spectrum, 4, 2, window=window, center=False, length=10)
    assert back.tolist() == pytest.approx([*range(8), 0, 0], abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_products_of_matrices_that_are_the_same_for_all(dtype):
    a = torch.arange(15 * 20).remainder(3).reshape(1, 15, 20).to(dtype)
    b = torch.arange(20 * 12).remainder(4).reshape(1, 20, 12).to(dtype)
    expected = (a[0].float() @ b[0].float()).to(dtype)
    for left in (a.expand(16, 15, 20), a[:, :, :1].expand(16, 15, 20)):
        right = b.expand(16, 20, 12)
        product = torch.bmm(left, right)
        one = (left[0].float() @ right[0].float()).to(dtype)
        assert product.shape == (16, 15, 12) and all(torch.equal(each, one) for each in product)
    assert torch.equal(
        torch.baddbmm(torch.ones(16, 15, 12, dtype=dtype), a.expand(16, 15, 20), b.expand(16, 20, 12), beta=0)[7],
        expected,
    )


@pytest.mark.parametrize(("shape", "batch"), [((0, 1, 3), 1), ((2, 0, 3), 0), ((2, 1, 0), 1)])
def test_ctc_loss_of_nothing(shape, batch):
    targets = torch.zeros(batch, 0, dtype=torch.long)
    with pytest.raises(RuntimeError, match="^log_probs tensor must not be empty"):
        torch.nn.functional.ctc_loss(torch.zeros(shape), targets, (0,) * batch, (0,) * batch)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_an_extremum_of_nothing_is_refused_before_a_repeated_dimension(name):
    with pytest.raises(IndexError, match=rf"{name}\(\): Expected reduction dim 0 to have non-zero size"):
        getattr(torch, name)(torch.ones(0, 3), (0, 0))
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        getattr(torch, name)(torch.ones(0, 3), (1, 1))
    assert getattr(torch, name)(torch.ones(0, 3), -1).shape == (0,)
