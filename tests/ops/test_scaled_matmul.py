"""`_int_mm` and `_scaled_mm`: what they refuse, and products whose values follow from small whole numbers."""

import pytest

import mindtorch_v2 as torch


def ones(*shape):
    return torch.ones(*shape).to(torch.float8_e4m3fn)


ONE = torch.tensor(1.0)


def test_products_of_bytes_do_not_overflow():
    a, b = torch.full((2, 40), -128, dtype=torch.int8), torch.full((40, 3), 127, dtype=torch.int8)
    got = torch._int_mm(a, b)
    assert got.dtype == torch.int32
    assert got.tolist() == [[-128 * 127 * 40] * 3] * 2
    assert torch._int_mm(torch.full((1, 2), 255, dtype=torch.uint8), b[:2]).tolist() == [[255 * 127 * 2] * 3]


def test_float8_with_one_scale_each():
    got = torch._scaled_mm(ones(16, 32), ones(16, 32).t(), scale_a=ONE, scale_b=ONE * 2)
    assert got.dtype == torch.float8_e4m3fn
    assert got.float().unique().tolist() == [64.0]
    biased = torch._scaled_mm(ones(3, 5), ones(4, 5).t(), ONE, ONE * 2, bias=torch.ones(4), out_dtype=torch.bfloat16)
    assert biased.dtype == torch.bfloat16
    assert biased.float().tolist() == [[11.0] * 4] * 3


def test_float8_with_a_scale_for_each_row_and_column():
    rows, columns = torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0, 0.5, 4.0]])
    got = torch._scaled_mm(ones(2, 8), ones(3, 8).t(), rows, columns, out_dtype=torch.float32)
    assert got.tolist() == [[8.0, 4.0, 32.0], [16.0, 8.0, 64.0]]


@pytest.mark.parametrize(
    ("kind", "text", "call"),
    [
        (
            RuntimeError,
            r"self.size\(1\) needs to match mat2.size\(0\) but got 3 and 4",
            lambda: torch._int_mm(torch.ones(2, 3, dtype=torch.int8), torch.ones(4, 4, dtype=torch.int8)),
        ),
        (
            RuntimeError,
            "Expected self dtype to be int8 or uint8 but got float",
            lambda: torch._int_mm(torch.ones(2, 3), torch.ones(3, 4, dtype=torch.int8)),
        ),
        (RuntimeError, "cannot be multiplied", lambda: torch._scaled_mm(ones(2, 3), ones(4, 4), ONE, ONE)),
        (
            ValueError,
            "Invalid scaling configuration",
            lambda: torch._scaled_mm(ones(2, 3), ones(3, 4), ONE.double(), ONE.double()),
        ),
        (ValueError, "Got mat_a.dtype", lambda: torch._scaled_mm(torch.ones(2, 3), ones(3, 4), ONE, ONE)),
    ],
)
def test_errors(kind, text, call):
    with pytest.raises(kind, match=text):
        call()
