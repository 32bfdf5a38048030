"""Fused programs give what the operators give one by one, in as few kernels as are expected."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._lowered.fusion import fuse
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

F = torch.nn.functional


def fused(function, *args, exact=True):
    """(kernels, operators beside them) of a function, whose fused graph gives its results."""
    with torch.no_grad():
        made = fuse(make_fx(torch.func.functionalize(function), tracing_mode="fake")(*args))
        expected, found = function(*args), made.module(*args)
    pairs = list(zip(*(each if isinstance(each, (tuple, list)) else [each] for each in (expected, found)), strict=True))
    for one, other in pairs:
        assert one.shape == other.shape and one.stride() == other.stride() and one.dtype is other.dtype
        if exact:
            assert torch.equal(one, other)
        else:
            assert torch.allclose(one.float(), other.float(), rtol=2e-2, atol=2e-2)
    return len(made.kernels), made.left


def numbers(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y, ROW, COLUMN = numbers(64, 100), numbers(64, 100, seed=1), numbers(100, seed=2), numbers(64, 1, seed=3)
W = numbers(100, 100, seed=4)


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (lambda x, y: ((x * 2 + y).sigmoid() * x - y).tanh() + 1, (X, Y), (1, 0)),
        (lambda x, r, c: (x * r + c).relu() * 2, (X, ROW, COLUMN), (1, 0)),
        (lambda x, y: (x.t() * 2 + y.t()).exp(), (X, Y), (1, 0)),
        (lambda x, y: (x.t() + y.t().contiguous()) * 2, (X, Y), (1, 1)),
        (lambda x, y: torch.where(x > y, x, y - 1).mul(3), (X, Y), (1, 0)),
        (lambda x, y: (x.bool() & (y > 0)).float() + 1, (X, Y), (1, 0)),
        (lambda x: x.double().exp().float() * 2, (X,), (1, 0)),
        (lambda x: x.to(torch.int64) // 3 + 1, (X * 10,), (1, 0)),
        (lambda x, y: (x + y, (x + y) * 2, x - y), (X, Y), (1, 0)),
        (lambda x: (x[1:, ::2] + x[:-1, 1::2]) * 2, (X,), (1, 0)),
        (lambda x, y: (x @ y.t() * 2 + 1).relu() @ x, (X, Y), (1, 2)),
        (lambda x: x.add(1), (X,), (0, 1)),
        (lambda x, y: x.expand(5, 64, 100) + y * 2, (X, Y), (0, 2)),
    ],
)
def test_element_wise_chains(function, args, expected):
    assert fused(function, *args) == expected


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (lambda x, r: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * r, (X, ROW), (1, 0)),
        (lambda x, y: torch.softmax(x * 0.125 + y, -1), (X, Y), (1, 0)),
        (lambda x, y: torch.log_softmax(x - y, -1).neg(), (X, Y), (1, 0)),
        (lambda x, y, r: F.layer_norm(F.gelu(x) + y, (100,), r, r), (X, Y, ROW), (1, 0)),
        (lambda x, r: F.rms_norm(x + 1, (100,), r) * 2, (X, ROW), (1, 0)),
        (lambda x: x - x.amax(-1, keepdim=True), (X,), (1, 0)),
        (lambda x: (x - x.mean(-1).unsqueeze(-1)).abs(), (X,), (1, 0)),
        (lambda x: x / x.sum(-1, keepdim=True).expand(64, 100), (X,), (1, 0)),
        (lambda x: ((x * x).sum(-1), (x * x).amin(-1, keepdim=True)), (X,), (1, 0)),
        (lambda x: (x * 2).sum(), (X,), (1, 0)),
        (lambda x: (x * 2).sum(0) + 1, (X,), (0, 3)),  # along columns
        (lambda x: torch.softmax(x * 2, 0), (X,), (0, 2)),
        (lambda x: (x.view(8, 8, 100) * 2).sum((1, 2)), (X,), (1, 0)),
        (lambda x, y: F.softmax(x, -1) * F.log_softmax(y, -1), (X, Y), (1, 0)),
    ],
)
def test_rows(function, args, expected):
    assert fused(function, *args) == expected


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_numbers_stay_wide_within_a_program(dtype):
    x, y, r = X.to(dtype), Y.to(dtype), ROW.to(dtype)
    assert fused(lambda x, y: (x * y + 1).tanh() * 2, x, y, exact=False) == (1, 0)
    assert fused(lambda x, y: torch.softmax(x * 0.125 + y, -1), x, y, exact=False) == (1, 0)
    assert fused(lambda x, r: F.layer_norm(x + 1, (100,), r, r), x, r, exact=False) == (1, 0)
    # One operator more than one rounding: the program is nearer to the exact result.
    chain = make_fx(torch.func.functionalize(lambda x, y: ((x + y) - y) * 3), tracing_mode="fake")(x, y)
    exact = ((x.double() + y.double()) - y.double()) * 3
    eager, one = chain(x, y), fuse(chain).module(x, y)
    assert (one - exact).abs().max() <= (eager - exact).abs().max()


@pytest.mark.parametrize("shape", [(3,), (5, 1), (1, 7), (2, 3, 257), (3, 1000, 7), (1, 1, 1), (0, 4), (2, 1025)])
def test_shapes(shape):
    x, y = numbers(*shape), numbers(*shape[-1:], seed=1)
    fused(lambda x, y: ((x + y) * x).exp() - y, x, y)
    fused(lambda x, y: (x - y) / (1 + (x - y).abs().sum(-1, keepdim=True)), x, y)


@pytest.mark.parametrize("threads", [1, 2])
def test_large_tensors_on_threads(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, y, r = numbers(700, 900), numbers(700, 1), numbers(900)
        fused(lambda x, y, r: (x * r + y).tanh() * 2, x, y, r)
        fused(lambda x, y, r: torch.softmax(x * r + y, -1), x, y, r)
        fused(lambda x, y, r: (x.t() * 2 + y.t()).relu(), x, y, r)
    finally:
        torch.set_num_threads(before)


def test_a_group_is_no_cycle():
    """x + 1 and its use behind a product must not run at once."""

    def function(x, w):
        a = x + 1
        b = (a @ w).relu()
        return a * 2 + b, b - a

    assert fused(function, X, W)[1] == 1


def test_what_writes_arguments_stays_behind_its_readers():
    def function(x, y):
        a = x * 2 + y
        x.copy_(y)
        return a.exp()

    module = make_fx(torch.func.functionalize(function), tracing_mode="fake")(X.clone(), Y)
    x, same = X.clone(), X.clone()
    with torch.no_grad():
        found, expected = fuse(module).module(x, Y), function(same, Y)
    assert torch.equal(found, expected) and torch.equal(x, same)


def test_programs_say_what_they_do():
    module = make_fx(lambda x, y: torch.softmax(x * 2 + y, -1), tracing_mode="fake")(X, Y)
    (kernel,) = fuse(module).kernels
    assert kernel.text.splitlines() == [
        "fused_0(x_1, y_1) over 64x100, rows of the last 1:",
        "    mul = aten.mul.Tensor(x_1, 2)",
        "    add = aten.add.Tensor(mul, y_1)",
        "    _softmax = rows aten._softmax.default(add)",
        "    return _softmax",
    ]


def test_programs_refuse_what_they_are_not_for():
    module = make_fx(lambda x, y: (x * 2 + y).exp(), tracing_mode="fake")(X, Y)
    (kernel,) = fuse(module).kernels
    with pytest.raises(TypeError, match="takes 2 tensors, got 1"):
        kernel(X)
    with pytest.raises(TypeError, match="argument 1 of a fused program must be a Tensor, not int"):
        kernel(X, 3)
    with pytest.raises(RuntimeError, match="must be of dtype float32 on the CPU, got float64"):
        kernel(X, Y.double())
    with pytest.raises(RuntimeError, match=r"has the sizes \[64, 99\], which do not fit \[64, 100\]"):
        kernel(X, Y[:, :99])
    with pytest.raises(RuntimeError, match="no permutation"):
        _C._FusedLoops((2,), (1,), 0, 1, ((torch.float32, 0),), (), (), ())
    with pytest.raises(RuntimeError, match="reads a value that is not there yet"):
        _C._FusedLoops((2,), (0,), 0, 0, ((torch.float32, 0),) * 2, (), ((None, (0, 1)),), ((0, (2,), (1,)),))
