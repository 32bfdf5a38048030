"""Reductions over layouts, dimension lists, element types, NaN, empty tensors, and their errors."""

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch

_VALUES = ["sum", "mean", "amax", "amin", "prod", "nansum", "count_nonzero", "logsumexp", "std", "var", "any", "all"]
_DTYPES = ["float32", "float64", "bfloat16", "float16", "int32", "uint8", "bool", "complex64"]


def _numbers(torch, *shape, dtype="float32", scale=3.0):
    n = 1
    for size in shape:
        n *= size
    # Exact in every type, and without ties in float.
    x = ((torch.arange(n, dtype=torch.float64) * 7919) % 1009 - 504) / 512 * scale
    return x.reshape(shape).to(getattr(torch, dtype))


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced", "expanded", "channels_last"])
@pytest.mark.parametrize("dim", [0, 1, -1, (0, 2), (1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("name", ["sum", "amax", "std", "logsumexp", "any"])
def test_layouts(name, dim, layout):
    def program(torch):
        x = _numbers(torch, 3, 5, 4, 6)
        if layout == "transposed":
            x = x.permute(2, 0, 3, 1)
        elif layout == "sliced":
            x = x[:, ::2, 1:, ::3]
        elif layout == "expanded":
            x = x[:, :1].expand(3, 4, 4, 6)
        elif layout == "channels_last":
            x = x.contiguous(memory_format=torch.channels_last)
        function = getattr(torch, name)
        return [function(x, dim), function(x, dim=dim, keepdim=True)]

    agree(program, layout=layout in ("contiguous", "sliced"), factor=2)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("name", _VALUES)
def test_element_types(name, dtype):
    if (name, dtype) == ("logsumexp", "complex64"):
        pytest.skip("not implemented for complex numbers")

    def program(torch):
        x = _numbers(torch, 4, 70, dtype=dtype)
        return [getattr(torch, name)(x, 1), getattr(torch, name)(x, 0)]

    agree(program, factor=2)


@pytest.mark.parametrize("shape", [(1000003,), (3, 100000), (4096, 33), (70000, 3), (2, 3000, 40)])
@pytest.mark.parametrize("name", ["sum", "mean", "std", "amax", "prod"])
def test_many_elements(name, shape):
    def program(torch):
        x = _numbers(torch, *shape, scale=1.0)
        if name == "prod":  # in double: the roundings of a long product add up in every order
            x = 1 + x.double() / 4096
        results = [getattr(torch, name)(x, d) for d in range(len(shape))]
        return [*results, getattr(torch, name)(x.reshape(-1), 0)]

    agree(program, factor=20)


@pytest.mark.parametrize(
    "name", ["amax", "amin", "max", "min", "argmax", "argmin", "aminmax", "nansum", "sum", "median", "nanmedian"]
)
@pytest.mark.parametrize("width", [5, 100])
def test_nan(name, width):
    def program(torch):
        x = _numbers(torch, 6, width)
        x[1, 3] = x[2, 0] = x[2, 4] = float("nan")
        x[4, 1], x[5, 2] = float("inf"), float("-inf")
        function = getattr(torch, name)
        return [
            list(function(x, dim=1)) if name in ("max", "min", "median", "nanmedian", "aminmax") else function(x, dim=1)
        ]

    agree(program)


@pytest.mark.parametrize("name", ["max", "min", "median", "mode", "cummax", "cummin"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "uint8"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_values_and_positions(name, dtype, dim):
    def program(torch):
        x = (torch.arange(120).reshape(4, 5, 6) * 37 % 121).to(getattr(torch, dtype))
        return list(getattr(torch, name)(x, dim))

    agree(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch, x: x.amax(),
        lambda torch, x: x.amax(0),
        lambda torch, x: x.max(),
        lambda torch, x: x.argmax(),
        lambda torch, x: x.argmax(0),
        lambda torch, x: x.max(0),
        lambda torch, x: x.aminmax(),
        lambda torch, x: x.median(0),
        lambda torch, x: x.mode(0),
        lambda torch, x: x.kthvalue(1, 0),
        lambda torch, x: x.sum(2),
        lambda torch, x: x.sum((0, 0)),
        lambda torch, x: x.long().mean(),
        lambda torch, x: x.long().var(),
        lambda torch, x: torch.linalg.vector_norm(x, float("inf")),
        lambda torch, x: torch.linalg.vector_norm(x, -1),
        lambda torch, x: torch.linalg.vector_norm(x.long()),
        lambda torch, x: x.bool().argmax(),
        lambda torch, x: x.cfloat().max(0),
        lambda torch, x: torch.trace(torch.zeros(2, 2, 2)),
        lambda torch, x: torch.bincount(torch.tensor([1, -1])),
        lambda torch, x: torch.bincount(torch.ones(2, 2).long()),
        lambda torch, x: torch.histc(torch.ones(3), bins=0),
    ],
)
def test_errors(call):
    agree_on_error(lambda torch: call(torch, torch.zeros(0, 3)))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@pytest.mark.parametrize(
    "name", ["sum", "mean", "prod", "any", "all", "nansum", "count_nonzero", "var", "std", "logsumexp"]
)
def test_nothing_to_reduce(name):
    def program(torch):
        x = torch.zeros(0, 3)
        return [getattr(torch, name)(x, 0), getattr(torch, name)(x, 1)]

    agree(program)


@pytest.mark.parametrize(
    "name",
    [
        "prod",
        "amax",
        "std",
        "logsumexp",
        "max",
        "median",
        "cumprod",
        "logcumsumexp",
        "cummax",
        "norm",
        "var_mean",
        "aminmax",
        "nansum",
    ],
)
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_with_ties_and_zeros(name, zeros):
    def program(torch):
        x = _numbers(torch, 3, 5, dtype="float64")
        for i in range(zeros):
            x[1, i] = 0
        x[2, 1] = x[2, 3]
        x.requires_grad_()
        y = x.norm(2, 1) if name == "norm" else getattr(torch, name)(x, dim=1)
        y = [y] if isinstance(y, torch.Tensor) else [item for item in y if item.is_floating_point()]
        total = sum((item * torch.arange(1, item.numel() + 1).reshape(item.shape)).sum() for item in y)
        (first,) = torch.autograd.grad(total, x, create_graph=True)
        if name in ("median", "max", "amax", "aminmax", "cummax", "nansum"):
            return [first]
        (second,) = torch.autograd.grad((first * first).sum(), x)
        return [first, second]

    agree(program, layout=False, factor=1000)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, interpolation):
    def program(torch):
        x = _numbers(torch, 4, 7, 3)
        x[1, 2, 0] = float("nan")
        q = torch.tensor([0.0, 0.3, 1.0])
        function = getattr(torch, name)
        return [
            function(x, q, dim=1, interpolation=interpolation),
            function(x, 0.4, dim=0, keepdim=True, interpolation=interpolation),
            function(x, 0.7, interpolation=interpolation),
        ]

    agree(program, layout=False)


def test_norms():
    def program(torch):
        x = _numbers(torch, 4, 9)
        orders = [0, 0.5, 1, 1.5, 2, 3, float("inf"), float("-inf"), -1]
        vectors = [torch.linalg.vector_norm(x, p, 1) for p in orders]
        return [
            *vectors,
            x.norm(),
            x.norm(1, 0),
            torch.dist(x, x * 2, 3),
            torch.linalg.vector_norm(x.to(torch.complex64) * 1j),
        ]

    agree(program, factor=5)


def test_statistics():
    def program(torch):
        x, counts = _numbers(torch, 3, 8), torch.tensor([1, 2, 1, 3, 1, 1, 2, 1])
        return [
            torch.cov(x),
            torch.cov(x, correction=0, fweights=counts),
            torch.corrcoef(x),
            torch.diff(x, 2),
            torch.trapezoid(x),
            torch.trapezoid(x, counts.float().cumsum(0)),
            torch.cumulative_trapezoid(x, dx=0.5),
            torch.histc(x, 5),
            torch.histc(x, 4, -1, 1),
            torch.bincount(counts, minlength=6),
            torch.bincount(counts, x[0]),
            torch.nanmean(x, 1),
        ]

    agree(program, layout=False, factor=10)


def test_a_reduced_input_may_be_written_before_backward():
    def program(torch):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = y.sum() + y.mean()
        y.add_(1)
        z.backward()
        return [x.grad]

    agree(program)


@pytest.mark.parametrize("dim", [1, -1])
def test_hashes_of_nothing_along_a_dimension(dim):
    with pytest.raises(IndexError, match=f"hash_tensor: Expected reduction dim {dim} to have non-zero size"):
        torch.hash_tensor(torch.zeros(2, 0), dim)
    assert torch.hash_tensor(torch.zeros(2, 0), 0).shape == (0,)
