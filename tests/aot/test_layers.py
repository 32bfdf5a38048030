"""Layers of compiled graphs give eager's numbers, and see when a weight was written or is another one."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C, nn
from mindtorch_v2._core.torch_dispatch import whole_calls
from mindtorch_v2._lowered.fusion import fuse
from mindtorch_v2._lowered.layers import with_layers
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

F = nn.functional

pytestmark = pytest.mark.skipif(not _C._layer_steps(), reason="a build without oneDNN has no layers")


def numbers(*shape, seed=0, dtype=None):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return made if dtype is None else made.to(dtype)


WIDE = torch.backends.cpu.get_cpu_capability() == "AVX512"
MOST = 1e-6 if WIDE else 2e-6  # without AVX-512 eager products add in another order than layers


def near(found, expected, most=MOST):
    """Whether results differ by `most` of the largest number at most."""
    assert found.shape == expected.shape and found.dtype is expected.dtype and found.stride() == expected.stride()
    assert (found.double() - expected.double()).abs().max() <= most * expected.double().abs().max()


def layered(function, *args, most=MOST):
    """The texts of the layers of a function whose graph with layers gives its results, and the module."""
    with torch.no_grad():
        with whole_calls():
            module = make_fx(torch.func.functionalize(function), tracing_mode="fake")(*args)
        made = with_layers(module)
        run = fuse(made.module).module
        expected = function(*args)
        for _ in range(2):  # the second call finds the packed weight
            near(run(*args), expected, most)
    return [kernel.text.partition(": ")[2] for kernel in made.kernels], run


X, W, B, R = numbers(48, 40), numbers(24, 40, seed=1), numbers(24, seed=2), numbers(48, 24, seed=3)
IMAGE, FILTERS, FILTER_BIAS = numbers(2, 8, 11, 9), numbers(16, 8, 3, 3, seed=1), numbers(16, seed=2)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w, b, r: F.linear(x, w, b), "linear"),
        (lambda x, w, b, r: F.linear(x, w).relu(), "linear, relu"),
        (lambda x, w, b, r: F.silu(F.linear(x, w, b)) * r, "linear, silu, mul"),
        (lambda x, w, b, r: F.gelu(F.linear(x, w, b)), "linear, gelu"),
        (lambda x, w, b, r: F.gelu(F.linear(x, w, b), approximate="tanh"), "linear, gelu_tanh"),
        (lambda x, w, b, r: F.linear(x, w, b).sigmoid() + r, "linear, sigmoid, add"),
        (lambda x, w, b, r: (r + F.linear(x, w, b)).tanh(), "linear, add, tanh"),
        (lambda x, w, b, r: F.linear(x, w, b).clamp(-0.5, 1), "linear, clamp"),
        (lambda x, w, b, r: F.hardtanh(F.linear(x, w, b), -0.5, 2.0), "linear, clamp"),
        (lambda x, w, b, r: F.hardswish(F.linear(x, w, b)), "linear, hardswish"),
        (lambda x, w, b, r: torch.addmm(b, x, w.t().contiguous()), None),
        (lambda x, w, b, r: torch.addmm(b, x, w.t()).relu(), "linear, relu"),
    ],
)
def test_products(function, expected):
    texts, _ = layered(function, X, W, B, R)
    assert texts == ([expected] if expected else [])


def test_products_of_batches_and_of_other_strides():
    layered(lambda x, w, b: F.linear(x, w, b).relu(), numbers(3, 16, 40), W, B)
    layered(lambda x, w, b: F.linear(x, w, b).relu(), numbers(40, 48).t(), W, B)
    layered(lambda x, w, r: F.linear(x, w) + r, X, numbers(40, 24).t(), numbers(24, 48).t())


def test_few_rows_and_other_dtypes_are_left_to_their_operators():
    assert layered(lambda x, w, b: F.linear(x, w, b), numbers(8, 40), W, B)[0] == []
    assert layered(lambda x, w: F.linear(x, w), X.double(), W.double())[0] == []
    assert layered(lambda x, w: F.linear(x, w.exp()), X, W)[0] == []  # no parameter
    assert layered(lambda x, w: F.linear(x, w).relu() + F.linear(x, w), X, W)[0] == ["linear, relu", "linear, add"]


def test_what_somebody_else_reads_is_not_taken_in():
    def both(x, w):
        y = F.linear(x, w)
        return y.relu() * y.sum()

    assert layered(both, X, W)[0] == ["linear"]


def test_bfloat16():
    x, w, b = (each.to(torch.bfloat16) for each in (X, W, B))
    names = ["linear, gelu"] if WIDE else []  # oneDNN has no such layer
    assert layered(lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b, most=2e-2)[0] == names


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
def test_convolutions(groups, stride, padding, dilation):
    filters = numbers(16, 8 // groups, 3, 3, seed=1)

    def function(x, w, b):
        return F.conv2d(x, w, b, stride, padding, dilation, groups).relu()

    assert layered(function, IMAGE, filters, FILTER_BIAS)[0] == ["convolution, relu"]
    layered(function, IMAGE.to(memory_format=torch.channels_last), filters, FILTER_BIAS)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_is_folded_in(bias, affine):
    norm = nn.BatchNorm2d(16, affine=affine, eps=1e-3).eval()
    norm.running_mean.copy_(numbers(16, seed=4))
    norm.running_var.copy_(numbers(16, seed=5).abs() + 0.3)
    if affine:
        with torch.no_grad():
            norm.weight.copy_(numbers(16, seed=6))
            norm.bias.copy_(numbers(16, seed=7))
    first, second = nn.Conv2d(8, 16, 3, padding=1, bias=bias), nn.Conv2d(8, 16, 1, bias=bias)
    parameters = [*first.parameters(), *second.parameters(), *norm.parameters(), *norm.buffers()]

    def function(x, *parameters):
        return F.relu(norm(first(x)) + second(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.norm = first, second, norm

        def forward(self, x):
            return F.relu(norm(first(x)) + second(x))

    model = Model()
    assert parameters
    names = [*dict(model.named_parameters()), *dict(model.named_buffers())]

    def call(x, *values):
        return torch.func.functional_call(model, dict(zip(names, values)), (x,))

    values = [*(p.detach() for p in model.parameters()), *model.buffers()]
    texts, _ = layered(call, IMAGE, *values)
    assert texts == ["convolution, batch norm", "convolution, add, relu"]


def test_order_of_channels_is_kept_within_and_restored_outside():
    def function(x, w, b):
        y = F.max_pool2d(F.conv2d(x, w, b, padding=1).relu(), 2)
        y = torch.cat([y, y * 2], 1)
        return F.adaptive_avg_pool2d(y, 1).flatten(1), y.view(2, 32, 20), y

    with torch.no_grad():
        module = make_fx(torch.func.functionalize(function), tracing_mode="fake")(IMAGE, FILTERS, FILTER_BIAS)
        run = fuse(with_layers(module).module).module
        for found, expected in zip(run(IMAGE, FILTERS, FILTER_BIAS), function(IMAGE, FILTERS, FILTER_BIAS)):
            near(found, expected)


def test_a_written_weight_is_packed_again():
    weight = W.clone()
    _, run = layered(lambda x, w: F.linear(x, w).relu(), X, weight)
    with torch.no_grad():
        weight.mul_(2)
        near(run(X, weight), F.linear(X, weight).relu())
        weight.data[3] = 0  # a write that autograd does not see
        near(run(X, weight), F.linear(X, weight).relu())
        other = W * -1
        near(run(X, other), F.linear(X, other).relu())
        for k in range(4):  # memory that is given back and used again has the same address
            fresh = W * k
            near(run(X, fresh), F.linear(X, fresh).relu()) if k else run(X, fresh)
            del fresh


def test_memory_that_numpy_may_write_is_packed_at_each_call():
    pytest.importorskip("numpy")
    weight = W.clone()
    view = weight.numpy()
    _, run = layered(lambda x, w: F.linear(x, w), X, weight)
    view[:] = 1
    with torch.no_grad():
        near(run(X, weight), F.linear(X, weight))
    mine = W.clone()
    mine.numpy()[0] = 5  # the array is gone, the tensor was written by it all the same
    del view
    _, run = layered(lambda x, w: F.linear(x, w), X, mine)
    again = mine.numpy()
    again[:] = 2
    with torch.no_grad():
        near(run(X, mine), F.linear(X, mine))


def test_models_by_torch_compile():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10)).eval()
    compiled, x = torch.compile(model), numbers(40, 3, 8, 8)
    with torch.no_grad():
        for _ in range(24):
            near(compiled(x), model(x))
        model[4].weight.zero_()
        near(compiled(x), model(x))
        model[1].running_mean.add_(1)
        near(compiled(x), model(x))
        x2 = numbers(3, 3, 8, 8)
        near(compiled(x2), model(x2))
    model.train()
    compiled(x).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_bad_calls():
    layer = _C._Layer(None, True, False, None, False, ())
    with pytest.raises(TypeError, match="takes 2 tensors, got 1"):
        layer(X)
    with pytest.raises(RuntimeError, match=r"input of sizes \[48, 40\] does not fit its weight of sizes \[40, 24\]"):
        layer(X, W.t())
    with pytest.raises(RuntimeError, match="a layer is of float32 or bfloat16, got float64"):
        layer(X.double(), W.double())
    with pytest.raises(NotImplementedError, match="no step that is called 'sin'"):
        _C._Layer(None, True, False, None, False, (("sin", 0.0, 0.0),))
    with pytest.raises(RuntimeError, match="only a convolution has a norm"):
        _C._Layer(None, True, False, (1e-5, False), False, ())
