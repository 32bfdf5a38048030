"""Which dtype comes out: promotion between tensors, zero-dimensional tensors and Python numbers."""

import pytest

import mindtorch_v2 as torch

_I8, _U8, _I32, _I64 = torch.int8, torch.uint8, torch.int32, torch.int64
_F16, _BF16, _F32, _F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (torch.bool, torch.bool, torch.bool),
        (torch.bool, _U8, _U8),
        (_U8, _I8, torch.int16),
        (_I8, _I32, _I32),
        (_I32, _I64, _I64),
        (_I64, _F16, _F16),
        (_F16, _BF16, _F32),
        (_BF16, _F32, _F32),
        (_F32, _F64, _F64),
        (_I64, torch.complex64, torch.complex64),
        (_F64, torch.complex64, torch.complex128),
        (_BF16, torch.complex64, torch.complex64),
    ],
)
def test_between_tensors(a: torch.dtype, b: torch.dtype, expected: torch.dtype) -> None:
    assert torch.promote_types(a, b) == torch.promote_types(b, a) == expected
    x, y = torch.ones(2, dtype=a), torch.ones(2, dtype=b)
    assert (x * y).dtype == (y * x).dtype == torch.result_type(x, y) == expected


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        (_U8, 1, _U8),
        (_U8, 1.5, _F32),
        (_I64, True, _I64),
        (torch.bool, 1, _I64),
        (torch.bool, True, torch.bool),
        (_F16, 2, _F16),
        (_BF16, 2.5, _BF16),
        (_F32, 1j, torch.complex64),
        (_F64, 1j, torch.complex128),
        (_I32, 1j, torch.complex64),
    ],
)
def test_with_python_numbers(dtype: torch.dtype, number: object, expected: torch.dtype) -> None:
    assert (torch.ones(2, dtype=dtype) * number).dtype == expected
    assert (number * torch.ones(2, dtype=dtype)).dtype == expected


def test_zero_dimensional_tensors_yield_within_their_kind() -> None:
    vector = torch.ones(2, dtype=_F16)
    assert (vector + torch.tensor(1.0, dtype=_F64)).dtype == _F16
    assert (vector + torch.tensor(1)).dtype == _F16
    assert (torch.ones(2, dtype=_I32) + torch.tensor(1.0)).dtype == _F32
    assert (torch.ones(2, dtype=_I32) + torch.tensor(1, dtype=_I64)).dtype == _I32
    assert (torch.tensor(1, dtype=_I32) + torch.tensor(1, dtype=_I64)).dtype == _I64


def test_division_and_powers() -> None:
    whole = torch.tensor([7, -7])
    assert (whole / 2).tolist() == [3.5, -3.5]
    assert (whole // 2).tolist() == [3, -4]
    assert (whole % 3).tolist() == [1, 2]
    assert torch.fmod(whole, 3).tolist() == [1, -1]
    assert torch.div(whole, 2, rounding_mode="trunc").tolist() == [3, -3]
    assert (whole / whole).dtype == torch.get_default_dtype()
    assert (whole**2).dtype == _I64
    assert (2 ** whole.abs()).tolist() == [128, 128]
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        whole**-1


def test_functions_of_integers_give_floats() -> None:
    whole = torch.tensor([1, 4])
    for function in (torch.sqrt, torch.exp, torch.sin, torch.log, torch.sigmoid):
        assert function(whole).dtype == _F32
    assert torch.abs(whole).dtype == _I64
    assert torch.sum(torch.tensor([True, True])).dtype == _I64
    assert torch.cumsum(torch.tensor([1, 2], dtype=_I8), 0).dtype == _I64
    with pytest.raises(RuntimeError, match=r"mean\(\): could not infer output dtype"):
        torch.mean(whole)


def test_default_dtype() -> None:
    assert torch.tensor(1.0).dtype == _F32
    torch.set_default_dtype(_F64)
    assert torch.tensor(1.0).dtype == torch.zeros(1).dtype == torch.tensor([1]).float().double().dtype == _F64
    assert torch.tensor(1j).dtype == torch.complex128
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int64)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda: torch.ones(2, dtype=_I64).add_(1.5),
            "result type Float can't be cast to the desired output type",
        ),
        (
            lambda: torch.ones(2, dtype=torch.bool).mul_(2),
            "result type Long can't be cast",
        ),
        (
            lambda: torch.ones(2, dtype=torch.bool) - torch.ones(2, dtype=torch.bool),
            "`-` operator, with two bool",
        ),
        (
            lambda: torch.ones(2, dtype=torch.bool).neg(),
            "(?i)negation, the `-` operator, on a bool tensor",
        ),
        (
            lambda: torch.add(torch.ones(2, dtype=_I64), 1, alpha=0.5),
            "alpha must not be a floating point number",
        ),
        (
            lambda: torch.add(torch.ones(2), torch.ones(2), out=torch.ones(2, dtype=_I64)),
            "can't be cast",
        ),
        (
            lambda: torch.ones(2, 2) @ torch.ones(2, 2, dtype=_F64),
            "to have the same dtype",
        ),
    ],
)
def test_what_cannot_be_cast_is_named(act: object, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        act()


def test_conversions() -> None:
    x = torch.tensor([1.9, -1.9, 0.0])
    assert x.int().tolist() == [1, -1, 0]
    assert x.bool().tolist() == [True, True, False]
    assert x.to(torch.int64).dtype == _I64
    assert x.to(x) is x
    assert x.to(torch.float32) is x
    assert x.to(torch.float32, copy=True) is not x
    assert x.type_as(torch.zeros(1, dtype=_F64)).dtype == _F64
    assert torch.tensor(3).item() == 3
    assert isinstance(torch.tensor(True).item(), bool)
    assert float(torch.tensor(2)) == 2.0
    assert int(torch.tensor(2.7)) == 2
    assert [10, 20, 30][torch.tensor(1)] == 20
    assert torch.tensor([300.0]).half().item() == 300
    assert torch.tensor([1e6]).half().item() == float("inf")
    assert torch.tensor([1.00390625]).bfloat16().item() == 1.0  # half way, to even
    assert torch.can_cast(_F32, _F16)
    assert not torch.can_cast(_F32, _I64)


def test_limits() -> None:
    assert torch.finfo(_F32).eps == 2.0**-23
    assert torch.finfo(_BF16).max == 3.3895313892515355e38
    assert torch.finfo(_F16).tiny == 2.0**-14
    assert (torch.iinfo(_I8).min, torch.iinfo(_I64).max) == (-128, 2**63 - 1)
    assert torch.finfo(torch.complex64).bits == 32
