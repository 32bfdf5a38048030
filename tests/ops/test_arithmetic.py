"""Arithmetic beside what the derived tests see: promotion, memory order, broadcasting, special values, errors."""

import pytest
from agreement import agree, agree_on_error

_DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
_SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 7.0, -7.0, float("inf"), float("-inf"), float("nan")]


def _grid(torch, dtype):
    values = torch.tensor(_SPECIAL, dtype=dtype)
    return values.reshape(-1, 1), values.reshape(1, -1)


@pytest.mark.parametrize("left", _DTYPES)
@pytest.mark.parametrize("right", _DTYPES)
def test_promotion(left, right):
    def program(torch):
        a = torch.ones(2, dtype=getattr(torch, left))
        b = torch.ones(2, dtype=getattr(torch, right))
        return [a + b, a + b[0], a[0] + b, a[0] + b[0], a * b, a / b]

    agree(program)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5, 1j])
def test_promotion_with_numbers(dtype, number):
    def program(torch):
        a = torch.ones(2, dtype=getattr(torch, dtype))
        results = [a + number, number + a, a[0] * number]
        return (
            results if results[0].dtype == torch.complex32 else [*results, a / number]
        )  # PyTorch divides no complex32

    agree(program)


def test_numbers_under_another_default_dtype():
    def program(torch):
        torch.set_default_dtype(torch.float64)
        try:
            return [torch.ones(2, dtype=torch.int64) + 1.5, torch.ones(2, dtype=torch.int64) / 2]
        finally:
            torch.set_default_dtype(torch.float32)

    agree(program)


@pytest.mark.parametrize(
    "make",
    [
        lambda t: (t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1), 1.0),
        lambda t: (t.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1), t.ones(3)),
        lambda t: (t.arange(24.0).reshape(2, 3, 4)[:, ::2], t.arange(4.0)),
        lambda t: (t.arange(12.0).reshape(3, 4).t(), t.arange(12.0).reshape(4, 3)),
        lambda t: (t.arange(12.0).reshape(4, 3), t.arange(12.0).reshape(3, 4).t()),
        lambda t: (t.arange(12.0).reshape(3, 4).t(), t.arange(12.0).reshape(3, 4).t()),
        lambda t: (t.ones(2, 3, 4, 5).to(memory_format=t.channels_last), t.arange(3.0).reshape(3, 1, 1)),
        lambda t: (t.ones(2, 3, 4, 5).to(memory_format=t.channels_last), t.ones(2, 3, 4, 5)),
        lambda t: (t.arange(3.0).expand(4, 3), 2.0),
        lambda t: (t.arange(3.0).reshape(3, 1).expand(3, 4), t.arange(4.0)),
        lambda t: (t.ones(1, 3).t(), t.ones(3, 1)),
        lambda t: (t.arange(6.0).reshape(6, 1)[::2], t.arange(5.0)),
        lambda t: (t.ones(0, 3), t.ones(3)),
        lambda t: (t.tensor(2.0), t.tensor(3)),
    ],
)
def test_broadcasting_and_memory_order(make):
    def program(torch):
        a, b = make(torch)
        return [a + b, a * b, a - b, b + a if hasattr(b, "dtype") else a]

    agree(program)


@pytest.mark.parametrize("shape", [(3, 7), (70000,), (300, 301), (5, 40000), (2000, 3, 17)])
@pytest.mark.parametrize(
    "dtypes", [("float32", "float32"), ("float32", "int64"), ("bfloat16", "bfloat16"), ("int32", "float16")]
)
def test_sizes_that_cross_chunks_and_threads(shape, dtypes):
    def program(torch):
        n = 1
        for size in shape:
            n *= size
        a = (torch.arange(n) % 97).reshape(shape).to(getattr(torch, dtypes[0]))
        b = (torch.arange(n) % 89).reshape(shape).to(getattr(torch, dtypes[1]))
        row = b.reshape(-1)[: shape[-1]]
        return [a + b, a * 3, a + row, a.transpose(0, -1) * b.transpose(0, -1), a[..., ::2] - b[..., ::2]]

    agree(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["div", "floor_divide", "remainder", "fmod", "pow"])
def test_special_values(dtype, name):
    def program(torch):
        a, b = _grid(torch, getattr(torch, dtype))
        results = [getattr(torch, name)(a, b)]
        if name == "div":
            results += [torch.div(a, b, rounding_mode="floor"), torch.div(a, b, rounding_mode="trunc")]
        return results

    agree(program)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integer_division(dtype):
    def program(torch):
        a = torch.tensor([7, -7, 8, -8, 0], dtype=torch.int64).to(getattr(torch, dtype)).reshape(-1, 1)
        b = torch.tensor([3, -3, 1, -1, 5], dtype=torch.int64).to(getattr(torch, dtype))
        return [a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc"), a // 3, -a % 3, a**2]

    agree(program)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integer_division_by_zero_raises(name):
    agree_on_error(lambda torch: getattr(torch, name)(torch.tensor([1, 2]), torch.tensor([1, 0])))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, -2, 1.7, -3])
def test_pow_and_its_gradient_at_zero(exponent):
    def program(torch):
        x = torch.tensor([0.0, 1.0, 2.0, 0.5], requires_grad=True)
        y = x**exponent
        y.backward(torch.ones_like(y))
        return [y, x.grad]

    agree(program)


def test_pow_of_tensors_and_its_gradients_at_zero():
    def program(torch):
        x = torch.tensor([0.0, 0.0, 0.0, 2.0, -2.0, 3.0], requires_grad=True)
        e = torch.tensor([0.0, 2.0, 1.0, 3.0, 2.0, 0.0], requires_grad=True)
        torch.pow(x, e).backward(torch.ones(6))
        base = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
        (0**base).backward(torch.ones(3))
        return [x.grad, e.grad, base.grad]

    agree(program)


def test_integer_pow():
    def program(torch):
        a = torch.tensor([-2, -1, 0, 1, 2, 5])
        return [a**3, a ** torch.tensor([2, 3, 0, -1, 1, 2]), 2 ** torch.tensor([0, 1, 5]), a**2.0]

    agree(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.ones(3) + t.ones(4),
        lambda t: t.ones(2, 3) * t.ones(2, 4),
        lambda t: t.ones(2, dtype=t.int64).add_(1.5),
        lambda t: t.ones(2, dtype=t.int64).mul_(t.ones(2)),
        lambda t: t.add(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.int64)),
        lambda t: t.ones(3).add_(t.ones(2, 3)),
        lambda t: t.ones(2, dtype=t.bool) - t.ones(2, dtype=t.bool),
        lambda t: t.ones(2) - t.ones(2, dtype=t.bool),
        lambda t: -t.ones(2, dtype=t.bool),
        lambda t: t.add(t.ones(2, dtype=t.int64), 1, alpha=1.5),
        lambda t: t.add(t.ones(2), t.ones(2), alpha=True),
        lambda t: t.tensor([1, 2]) ** -1,
        lambda t: t.div(t.ones(2), 2, rounding_mode="up"),
        lambda t: t.sign(t.ones(2, dtype=t.complex64)),
    ],
)
def test_errors(program):
    agree_on_error(program)


def test_in_place_forms_work_on_views_and_aliases():
    def program(torch):
        a = torch.arange(12.0).reshape(3, 4)
        a.t().mul_(2)
        a[:, 1].add_(10)
        a[::2].sub_(a[::2])
        b = torch.arange(6.0)
        b += b
        b[1:] *= b[:-1].clone()
        c = torch.ones(2, dtype=torch.float16)
        c += torch.ones(2, dtype=torch.float64) * 0.1
        return [a, b, c]

    agree(program)


def test_out_argument_is_resized_and_cast():
    def program(torch):
        out = torch.empty(0)
        torch.add(torch.ones(2, 3), 1, out=out)
        wide = torch.empty(2, dtype=torch.float64)
        torch.mul(torch.ones(2), torch.arange(2), out=wide)
        strided = torch.zeros(4, 2).t()
        torch.add(torch.ones(2, 4), 1, out=strided)
        return [out, wide, strided]

    agree(program)


def test_complex_arithmetic():
    def program(torch):
        a = torch.tensor([1 + 2j, -0.5 + 0.25j, 3j])
        b = torch.tensor([2 - 1j, 1 + 1j, 0.5 + 0j])
        return [a + b, a * b, a / b, a**2, a**b, a * 2.0, a.abs(), torch.sgn(a), a.reciprocal(), a == b]

    agree(program, factor=3)


def test_second_derivatives():
    def program(torch):
        x = torch.tensor([0.3, 1.2, 2.0], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([1.3, 0.2, 1.0], dtype=torch.float64, requires_grad=True)
        total = (x * y + x / y + x**y + (x - 2 * y) ** 3 + torch.addcdiv(x, y, x, value=0.5)).sum()
        first = torch.autograd.grad(total, (x, y), create_graph=True)
        return torch.autograd.grad((first[0] * first[1]).sum(), (x, y))

    agree(program)
