"""Casts between all dtypes, copies between memory orders, fills."""

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch

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
_FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]


@pytest.mark.parametrize("source", _DTYPES)
@pytest.mark.parametrize("target", _DTYPES)
def test_every_pair(source, target):
    def program(torch):
        values = torch.tensor([0.0, 1.0, 2.75, 3.5, 100.25, 0.49]).to(getattr(torch, source))
        many = (torch.arange(1000) % 100).to(getattr(torch, source))
        to = getattr(torch, target)
        return [values.to(to), many.to(to), many[::3].to(to), many.reshape(10, 100).t().to(to)]

    agree(program)


@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "int32", "int64", "bool"])
def test_negative_floats_to_integers(target):
    agree(lambda torch: torch.tensor([-1.0, -1.9, -100.5, 0.0, -0.3]).to(getattr(torch, target)))


def test_integers_wrap():
    def program(torch):
        a = torch.tensor([300, -1, 70000, 2**40 + 5])
        return [a.to(d) for d in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.float32, torch.float16)]

    agree(program)


@pytest.mark.parametrize("name", _FLOAT8)
def test_float8_rounds_as_pytorch(name):
    def program(torch):
        dtype = getattr(torch, name)
        x = torch.tensor(
            [
                0.0,
                -0.0,
                1.0,
                -1.0,
                0.3,
                448.0,
                449.0,
                464.0,
                465.0,
                480.0,
                240.0,
                248.0,
                57344.0,
                61440.0,
                1e6,
                1e-3,
                2e-3,
                1e-5,
                7e-6,
                1e-9,
                0.0625,
                0.017,
                3.3,
                float("nan"),
            ]
        )
        return [
            x.to(dtype).view(torch.uint8),
            x.to(dtype).to(torch.float32),
            (torch.arange(256) - 0).to(torch.uint8).view(dtype).to(torch.float32),
        ]

    agree(program)


def test_methods():
    def program(torch):
        x = torch.tensor([1.5, -2.5, 0.0])
        names = ["bfloat16", "bool", "cdouble", "cfloat", "char", "double", "float", "half", "int", "long", "short"]
        return [getattr(x, name)() for name in names] + [x.type_as(torch.ones(1, dtype=torch.int32)), x.cpu()]

    agree(program)


def test_nothing_to_do_gives_the_tensor_itself():
    def program(torch):
        x = torch.ones(2, 3)
        same = [
            x.to(torch.float32),
            x.to("cpu"),
            x.float(),
            x.contiguous(),
            x.to(x),
            x.to(device="cpu", dtype=torch.float32),
            x.type_as(x),
            x.cpu(),
        ]
        other = [x.to(torch.float32, copy=True), x.t().contiguous(), x.double(), x.clone()]
        return [all(y is x for y in same), any(y is x for y in other)]

    agree(program)


def test_arguments_of_to():
    def program(torch):
        x = torch.ones(2, 3, 4, 5)
        return [
            x.to(torch.float16),
            x.to("cpu", torch.float64),
            x.to(torch.device("cpu"), dtype=torch.int64),
            x.to(torch.ones(1, dtype=torch.int32)),
            x.to(dtype=torch.bool),
            x.to(memory_format=torch.channels_last),
            x.to(torch.float64, memory_format=torch.channels_last),
            x.to(torch.float64, False, True),
        ]

    agree(program)


def test_memory_order():
    def program(torch):
        x = torch.arange(120.0).reshape(2, 3, 4, 5)
        last = x.contiguous(memory_format=torch.channels_last)
        return [
            last,
            last.clone(),
            last.double(),
            last.clone(memory_format=torch.contiguous_format),
            last.contiguous(),
            x.permute(3, 1, 0, 2).clone(),
            x.permute(3, 1, 0, 2).contiguous(),
            x[:, ::2].clone(),
            x[0, 0, 0].expand(3, 5).clone(),
        ]

    agree(program)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 5), (64, 64), (33, 100), (1000, 3), (3, 1000), (7, 40, 33)])
def test_transposed_copies(dtype, shape):
    def program(torch):
        n = 1
        for size in shape:
            n *= size
        x = (torch.arange(n) % 251).to(getattr(torch, dtype)).reshape(shape)
        out = torch.zeros(shape[::-1], dtype=x.dtype)
        out.copy_(x.permute(*reversed(range(len(shape)))))
        return [
            x.transpose(0, -1).contiguous(),
            x.transpose(0, 1).contiguous(),
            out,
            x.t().clone().t() if len(shape) == 2 else x,
        ]

    agree(program)


def test_copy_broadcasts_and_casts():
    def program(torch):
        a = torch.zeros(2, 3)
        a.copy_(torch.tensor([1, 2, 3]))
        b = torch.zeros(4, dtype=torch.int64)
        b[::2].copy_(torch.tensor([1.7, -2.7]))
        return [a, b]

    agree(program)


def test_copy_is_differentiable():
    def program(torch):
        source = torch.ones(3, requires_grad=True)
        target = torch.zeros(2, 3)
        target.copy_(source)
        target.mul_(2).sum().backward()
        half = torch.ones(3, requires_grad=True)
        half.half().float().sum().backward()
        return [source.grad, half.grad]

    agree(program)


def test_fills():
    def program(torch):
        a = torch.zeros(3, 4)
        a.fill_(2.5)
        a[:, 1].fill_(7)
        a[1].zero_()
        b = torch.zeros(3, dtype=torch.int64).fill_(2.9)
        c = torch.zeros(2, dtype=torch.complex64).fill_(1 + 2j)
        d = torch.ones(5).fill_(torch.tensor(3))
        return [a, b, c, d, torch.fill(d, 1), torch.zeros(2, dtype=torch.bool).fill_(3)]

    agree(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.zeros(3).copy_(t.ones(2)),
        lambda t: t.zeros(3).copy_(t.ones(2, 3)),
        lambda t: t.ones(2).fill_(t.ones(2)),
        lambda t: t.ones(2, device="meta").to("cpu"),
        lambda t: t.ones(2).contiguous(memory_format=t.channels_last),
    ],
)
def test_errors(program):
    agree_on_error(program)


@pytest.mark.parametrize(
    "to", [torch.float32, torch.bfloat16, torch.float64, torch.uint8, torch.bool, torch.complex128]
)
@pytest.mark.parametrize("of", [torch.float32, torch.float16, torch.int64, torch.bool, torch.complex64])
def test_one_element_for_many(of, to):
    if of.is_complex and not to.is_complex:
        pytest.skip("loses the imaginary part, with a warning")
    x = torch.tensor([[3], [0], [1]]).to(of)
    for sizes in ((3, 40), (3, 1), (3, 5)):
        wide = x.expand(*sizes)
        found = torch.empty(sizes, dtype=to).copy_(wide)
        assert found.tolist() == [[row] * sizes[1] for row in x.to(to)[:, 0].tolist()]
    every = torch.empty(7, 6, dtype=to)[:, ::2].copy_(x[0, 0])
    assert every.tolist() == [[x.to(to)[0, 0].item()] * 3] * 7


@pytest.mark.parametrize("name", [*_FLOAT8, "float8_e8m0fnu"])
def test_float8_is_compared_and_multiplied(name):
    def program(torch):
        dtype = getattr(torch, name)
        x = torch.tensor([1.0, 2.0, -3.0, float("nan"), 0.0, -0.0, 448.0, 1e-3, float("inf")]).to(dtype)
        y = torch.tensor([1.0, 4.0, 2.0, 0.5, -0.0, 1.0, 2.0, 0.3, 1.0]).to(dtype)
        some = [x == y, x != y, x == x, x != x, x == 1.0, x != 2, torch.eq(x, y.clone()), x.isnan()]
        more = [x * y, torch.mul(x, x), x.clone().mul_(y), torch.mul(x[::2], y[::2], out=torch.empty(5, dtype=dtype))]
        return [*some, *(each.float() for each in more)]

    agree(program)


@pytest.mark.parametrize("name", _FLOAT8)
def test_float8_without_its_sign(name):
    def program(torch):
        x = torch.tensor([1.0, -2.0, float("nan"), 0.0, -0.0, -448.0, 1e-3, -1e-9]).to(getattr(torch, name))
        return [x.abs().float(), x.clone().abs_().float()]

    agree(program)


def test_float8_with_infinities():
    def program(torch):
        x = torch.tensor([1.0, float("inf"), -float("inf"), float("nan"), 57344.0]).to(torch.float8_e5m2)
        return [x.isinf(), x.isfinite()]

    agree(program)
