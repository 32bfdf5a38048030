"""Numbers that do not fit where they are to go, and shapes that do not fit each other: what PyTorch 2.13 says."""

import pytest

import mindtorch_v2 as torch

OVERFLOW = "value cannot be converted to type {} without overflow"


@pytest.mark.parametrize(
    ("call", "type_name"),
    [
        (lambda: torch.zeros(2, dtype=torch.uint8).fill_(300), "uint8_t"),
        (lambda: torch.zeros(2, dtype=torch.int8).fill_(-300), "int8_t"),
        (lambda: torch.full((2,), 300, dtype=torch.uint8), "uint8_t"),
        (lambda: torch.zeros(2, dtype=torch.half).fill_(1e6), "c10::Half"),
        (lambda: torch.zeros(2).fill_(1e300), "float"),
        (lambda: torch.zeros(2, dtype=torch.int).fill_(float("nan")), "int"),
        (lambda: torch.zeros(2, dtype=torch.int).fill_(1j), "int"),
        (lambda: torch.full_like(torch.zeros(2), 1j), "float"),
        (lambda: torch.zeros(2).masked_fill(torch.ones(2).bool(), 1j), "float"),
        (lambda: torch.zeros(2, dtype=torch.uint8).__setitem__(0, 300), "uint8_t"),
        (lambda: torch.arange(1j), "double"),
        (lambda: int(torch.tensor(1 + 1j)), "int64_t"),
        (lambda: float(torch.tensor([1 + 2j])), "double"),
    ],
)
def test_overflow(call, type_name):
    with pytest.raises(RuntimeError) as refused:
        call()
    assert str(refused.value) == OVERFLOW.format(type_name)


def test_what_fits():
    assert torch.zeros(2, dtype=torch.uint8).fill_(-1).tolist() == [255, 255]
    assert torch.zeros(2, dtype=torch.int).fill_(1.5).tolist() == [1, 1]
    assert torch.zeros(1).fill_(float("inf")).tolist() == [float("inf")]
    assert torch.zeros(1, dtype=torch.half).fill_(65504).tolist() == [65504.0]
    assert torch.zeros(2).fill_(1 + 0j).tolist() == [1.0, 1.0]
    assert torch.zeros(2, dtype=torch.bool).fill_(1j).tolist() == [True, True]
    assert int(torch.tensor(3 + 0j)) == 3 and float(torch.tensor(2 + 0j)) == 2.0


@pytest.mark.parametrize("count", [0, 2])
def test_one_element_is_needed(count):
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        int(torch.zeros(count))


@pytest.mark.parametrize(
    ("items", "found"),
    [
        (([0.5], [0.25]), [0.5, 0.25]),
        (([0.5], 1.0), [0.5, 1.0]),
        ((2.0, [[0.5]]), [2.0, 0.5]),
        ((True, [2]), [1, 2]),
        (([1j], 2.0), [1j, 2.0]),
    ],
)
def test_tensors_of_one_number_in_a_sequence_are_numbers(items, found):
    made = torch.tensor([torch.tensor(item) if isinstance(item, list) else item for item in items])
    assert made.shape == (2,) and made.tolist() == found


def test_where_a_first_row_asks_for_more_a_tensor_is_a_row():
    assert torch.tensor([[1.0, 2.0], torch.ones(2)]).tolist() == [[1, 2], [1, 1]]
    assert torch.tensor([[[1.0, 2.0]], torch.ones(1, 2)]).tolist() == [[[1, 2]], [[1, 1]]]
    with pytest.raises(ValueError, match=r"expected sequence of length 2 at dim 1 \(got 3\)"):
        torch.tensor([[1.0, 2.0], torch.ones(3)])
    with pytest.raises(TypeError, match="not a sequence"):
        torch.tensor([[1.0], torch.tensor(2.0)])


def test_what_is_no_number_of_the_wanted_type_in_a_sequence():
    for shape in ((0,), (2,), (1, 2)):
        with pytest.raises(ValueError, match="only one element tensors"):
            torch.tensor([torch.ones(shape)])
    for shape in ((), (1,)):
        for dtype in (torch.int64, torch.bool, torch.uint8):
            with pytest.raises(TypeError, match="only integer tensors of a single element can be converted"):
                torch.tensor([torch.ones(shape)], dtype=dtype)
            assert torch.tensor([torch.ones(shape, dtype=torch.bool)], dtype=dtype).item() == 1


def test_of_several_sizes_that_do_not_fit_the_last_is_named():
    text = "The size of tensor a (20) must match the size of tensor b (16) at non-singleton dimension 2"
    for function in (torch.add, torch.atan2, torch.polar, torch.eq):
        with pytest.raises(RuntimeError) as refused:
            function(torch.zeros(2, 20), torch.zeros(2, 12, 16))
        assert str(refused.value) == text


def test_broadcast_tensors_leaves_what_fits():
    x, y = torch.zeros(2, 1), torch.zeros(1, 2)
    assert torch.broadcast_tensors(x, torch.ones(2, 1))[0] is x
    assert [t.shape for t in torch.broadcast_tensors(x, y)] == [(2, 2), (2, 2)]
    with pytest.raises(RuntimeError) as refused:
        torch.broadcast_tensors(torch.zeros(2), torch.zeros(3))
    assert (
        str(refused.value)
        == "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    )


def test_abs_of_complex_numbers_does_not_fit_in_their_place():
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors."):
        torch.tensor([1 + 2j]).abs_()


def test_whole_numbers_have_no_tangents():
    out, tangent = torch.func.jvp(lambda x: x.long(), (torch.ones(2),), (torch.ones(2),))
    assert out.tolist() == [1, 1] and tangent.tolist() == [0, 0] and tangent.dtype == torch.int64
    assert torch.func.jacfwd(lambda x: x.int())(torch.ones(2)).tolist() == [[0, 0], [0, 0]]


def test_tangents_are_shown():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.arange(2.0), torch.ones(2))
        assert repr(dual) == "tensor([0., 1.], tangent=tensor([1., 1.]))"
        assert repr(dual[0]) == "tensor(0., tangent=1.0)"


def test_nodes_show_their_name():
    node = (torch.ones(1, requires_grad=True) * 2).grad_fn
    assert repr(node).startswith("<MulBackward0 object at 0x") and type(node).__module__ == "builtins"


def test_cosines_are_taken_of_real_numbers_of_any_two_dtypes():
    ones = torch.ones(2, 3)
    cosine = torch.nn.functional.cosine_similarity
    torch.testing.assert_close(cosine(ones.int(), ones), torch.ones(2))
    assert cosine(ones.double(), ones).dtype == torch.float64
    for pair, name in (((ones.int(), ones.int()), "Int"), ((ones + 0j, ones), "ComplexFloat")):
        with pytest.raises(RuntimeError) as refused:
            cosine(*pair)
        assert str(refused.value) == f"expected common dtype to be floating point, yet common dtype is {name}"


def test_complex_numbers_are_not_looked_up():
    row = torch.arange(3.0)
    with pytest.raises(NotImplementedError, match="\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'"):
        torch.searchsorted(row + 0j, row + 0j)
