"""Calls that PyTorch accepts and that were refused here once. Values are those of PyTorch 2.13."""

import copy
import io
import pickle

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional

_DTYPES = [torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.int64, torch.uint8, torch.bool]


# ---- equal ----


@pytest.mark.parametrize("dtype", _DTYPES)
def test_equal_compares_values_whatever_the_dtypes(dtype):
    ones, mixed = torch.tensor([1.0, 1.0]), torch.tensor([1.0, 0.0])
    assert torch.equal(mixed, mixed.to(dtype))
    assert torch.equal(mixed.to(dtype), mixed)
    assert not torch.equal(ones.to(dtype), mixed)


def test_equal_in_the_common_dtype():
    assert torch.equal(torch.tensor([2**24 + 1]), torch.tensor([2.0**24]))
    assert not torch.equal(torch.tensor([1.5]), torch.tensor([1]))
    assert not torch.equal(torch.ones(2), torch.ones(3, dtype=torch.int64))
    assert torch.equal(torch.tensor([]), torch.tensor([], dtype=torch.int64))
    matrix = torch.arange(6.0).reshape(2, 3).t()
    assert torch.equal(matrix, matrix.long().contiguous())
    assert torch.equal(matrix.expand(2, 3, 2), matrix.double().expand(2, 3, 2))


def test_equal_where_there_is_no_common_dtype():
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        torch.equal(torch.ones(2, dtype=torch.float8_e4m3fn), torch.ones(2))


# ---- random numbers ----


def test_uniform_complex_numbers():
    x = torch.empty(3, dtype=torch.cdouble).uniform_(-2, 3)
    torch.testing.assert_close(
        x, torch.tensor([2.8503 + 1.5391j, 0.2969 + 2.6037j, 1.2251 + 1.9557j], dtype=torch.cdouble), atol=6e-5, rtol=0
    )


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_uniform_half_precision_complex_numbers():
    x = torch.empty(2, 2, dtype=torch.chalf).t().uniform_(3, 3.5)
    assert x.tolist() == [
        [3.248046875 + 3.384765625j, 3.154296875 + 3.31640625j],
        [3.044921875 + 3.06640625j, 3.244140625 + 3.447265625j],
    ]


def test_uniform_complex_numbers_in_a_view():
    x = torch.zeros(4, 4, dtype=torch.cfloat)
    x[::2, 1::2].uniform_()
    expected = [[0.4963 + 0.7682j, 0.0885 + 0.1320j], [0.3074 + 0.6341j, 0.4901 + 0.8964j]]
    torch.testing.assert_close(x[::2, 1::2], torch.tensor(expected), atol=6e-5, rtol=0)
    assert x[1::2].abs().sum() + x[:, ::2].abs().sum() == 0


@pytest.mark.parametrize(
    ("dtype", "start", "end", "message"),
    [
        (torch.float16, -7e4, 0, "from is out of bounds for c10::Half"),
        (torch.float16, 0, 65505, "to is out of bounds for c10::Half"),
        (torch.chalf, 0, 7e4, "to is out of bounds for c10::Half"),
        (torch.float32, float("nan"), 1, "from is out of bounds for float"),
        (torch.float64, 0, float("inf"), "to is out of bounds for double"),
        (torch.complex64, -3e38, 3e38, "expects to-from <= std::numeric_limits<Float>::max"),
        (torch.bfloat16, -3e38, 3e38, "expects to-from <= std::numeric_limits<BFloat16>::max"),
        (torch.complex64, 3, 2, "expects to return a .from, to. range, but found from=3 > to=2"),
    ],
)
def test_bounds_of_uniform_numbers(dtype, start, end, message):
    with pytest.raises(RuntimeError, match=message):
        torch.empty(1, dtype=dtype).uniform_(start, end)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.empty(3, dtype=torch.int64).uniform_(),
        lambda: torch.empty(3, dtype=torch.cfloat).bernoulli_(),
        lambda: torch.bernoulli(torch.ones(2, dtype=torch.int64)),
        lambda: torch.ones(2).bernoulli_(torch.ones(2, dtype=torch.cfloat)),
    ],
)
def test_random_numbers_that_there_are_none_of(draw):
    with pytest.raises(NotImplementedError, match="not implemented for '(Long|ComplexFloat)'"):
        draw()


_DRAWN = {
    "NormalBackward1": lambda x: torch.normal(x, 1.0),
    "NormalBackward2": lambda x: torch.normal(0.0, x),
    "NormalBackward3": lambda x: torch.normal(x, x),
    "BernoulliBackward0": torch.bernoulli,
    "BernoulliBackward1": lambda x: x.bernoulli_(torch.ones(2)),
    "BernoulliBackward2": lambda x: x.bernoulli_(0.5),
    "RandomBackward0": lambda x: x.random_(1, 3),
    "RandomBackward1": lambda x: x.random_(3),
    "RandomBackward2": lambda x: x.random_(),
    "PoissonBackward0": torch.poisson,
}


@pytest.mark.parametrize("name", _DRAWN)
def test_what_was_drawn_has_a_history(name):
    x = torch.full((2,), 0.5, requires_grad=True)
    y = _DRAWN[name](x * 1)
    assert y.grad_fn.name() == name
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_gradients_of_means_and_deviations_have_their_shapes():
    mean, std = torch.ones(2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    torch.normal(mean, std).sum().backward()
    assert (mean.grad.tolist(), std.grad.shape) == ([0.0, 0.0], (3, 2))
    assert torch.normal(mean.to("meta"), std.to("meta")).shape == (3, 2)


@pytest.mark.parametrize(
    ("name", "draw"),
    [("binomial", lambda x: torch.binomial(x, x)), ("bernoulli", lambda x: torch.bernoulli(x, 0.5))],
)
def test_drawing_that_has_no_derivative(name, draw):
    y = draw(torch.full((2,), 0.5, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        y.sum().backward()


# ---- storages ----


def test_iterating_bytes():
    storage = torch.ones(1).untyped_storage()
    assert list(storage) == [0, 0, 128, 63]
    assert list(reversed(storage)) == [63, 128, 0, 0]
    assert 63 in storage
    assert 64 not in storage


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_typed_storages_as_memory():
    assert torch.empty(0).set_(torch.ones(3)._typed_storage()).tolist() == [1.0, 1.0, 1.0]
    assert torch.empty(0).set_(torch.arange(4.0).storage(), 1, (2,), (1,)).tolist() == [1.0, 2.0]
    with pytest.raises(
        RuntimeError, match="Expected a Storage of type float or an UntypedStorage, but got type Double for argument 1"
    ):
        torch.empty(0).set_(torch.DoubleStorage([1, 2, 3]))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.chalf])
def test_each_element_of_a_small_dtype(dtype):
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).to(dtype)
    assert values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert values.t().tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert values[1, 0].item() == 3.0
    assert torch.tensor([1 + 2j, 3 - 1j]).to(torch.chalf).tolist() == [1 + 2j, 3 - 1j]


# ---- real and imaginary parts ----


def test_writing_numbers_to_parts():
    x = torch.ones(2)
    x.real = 3
    assert x.tolist() == [3.0, 3.0]
    z = torch.ones(2, dtype=torch.cfloat)
    z.real = 3
    z.imag = torch.ones(2)
    assert z.tolist() == [3 + 1j, 3 + 1j]
    z.real, z.imag = torch.tensor([1, 2]), 2.5
    assert z.tolist() == [1 + 2.5j, 2 + 2.5j]
    z.real = True
    assert z.tolist() == [1 + 2.5j, 1 + 2.5j]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("s", TypeError, "can't assign a str to a torch.FloatTensor"),
        ([1.0, 2.0], TypeError, "can't assign a list to a torch.FloatTensor"),
        (1j, RuntimeError, "value cannot be converted to type float without overflow"),
    ],
)
def test_what_is_no_part(value, error, message):
    z = torch.ones(2, dtype=torch.cfloat)
    with pytest.raises(error, match=message):
        z.real = value


def test_parts_have_a_history():
    w = torch.ones(2, requires_grad=True)
    z = torch.zeros(2, dtype=torch.cfloat)
    z.real = w * 2
    z.abs().sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


# ---- pickles ----

_FUNCTIONS = {
    "tanh": torch.tanh,
    "linear": F.linear,
    "conv2d": F.conv2d,
    "inv": torch.linalg.inv,
    "fft": torch.fft.fft,
    "erf": torch.special.erf,
    "a method": torch.Tensor.tanh,
}


@pytest.mark.parametrize("function", _FUNCTIONS.values(), ids=_FUNCTIONS)
def test_functions_are_pickled_by_name(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    file = io.BytesIO()
    torch.save({"activation": function}, file)
    file.seek(0)
    assert torch.load(file, weights_only=False)["activation"] is function


def test_a_pickled_function_is_found_where_pytorch_has_it():
    file = io.BytesIO()
    torch.save([torch.tanh, torch.linalg.inv], file)
    assert b"_VariableFunctionsClass" in file.getvalue()
    assert b"linalg_inv" in file.getvalue()


def test_a_bound_method_is_pickled():
    assert pickle.loads(pickle.dumps(torch.zeros(1).cos))().item() == 1.0
