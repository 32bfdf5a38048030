"""Compiled programs whose parameters are tensors of a class that wraps others, as quantized weights are."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._functorch.aot_autograd import aot_function
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode


class Scaled(torch.Tensor):
    """Whole numbers, and a factor for each row."""

    @staticmethod
    def __new__(cls, numbers, factors, note):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=factors.dtype, device=numbers.device)

    def __init__(self, numbers, factors, note):
        self.numbers, self.factors, self.note = numbers, factors, note

    def __tensor_flatten__(self):
        return ["numbers", "factors"], [self.note]

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["numbers"], inner["factors"], *context)

    def whole(self):
        return self.numbers.to(self.factors.dtype) * self.factors[:, None]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            x, weight, bias = args
            return x @ weight.whole().t() + bias
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].numbers, args[0].factors, args[0].note)
        plain = [each.whole() if isinstance(each, Scaled) else each for each in args]
        return func(*plain, **(kwargs or {}))


def _scaled(weight):
    factors = weight.abs().amax(1) / 127
    return Scaled((weight / factors[:, None]).round().to(torch.int8), factors, {"bits": 8})


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    for layer in (made[0], made[2]):
        layer.weight = torch.nn.Parameter(_scaled(layer.weight.detach()), requires_grad=False)
    return made


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_module_of_them(model, backend):
    x = torch.randn(3, 8, requires_grad=True)
    expected = model(x)
    found = torch.compile(model, backend=backend, fullgraph=True)(x)
    assert torch.allclose(found, expected)
    (gradient,) = torch.autograd.grad(found.sum(), x)
    assert torch.allclose(gradient, torch.autograd.grad(expected.sum(), x)[0])
    hidden = (x @ model[0].weight.whole().t() + model[0].bias).relu()
    assert torch.allclose(found, hidden @ model[2].weight.whole().t() + model[2].bias)


def test_the_graph_has_what_they_are_made_of(model):
    graphs = []

    def compiler(module, inputs):
        graphs.append([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
        assert all(type(each) is FakeTensor for each in inputs)
        return module.forward

    weight, x = model[0].weight, torch.randn(3, 8)
    lowered = aot_function(lambda x, w, b: torch.nn.functional.linear(x, w, b), fw_compiler=compiler)
    with torch.no_grad():
        assert torch.allclose(lowered(x, weight, model[0].bias), model[0](x))
        assert "aten.mul.Tensor" in graphs[0] and "aten.linear.default" not in graphs[0]
        other = _scaled(torch.randn(16, 8))  # of the same form: the same graph
        assert torch.allclose(lowered(x, other, model[0].bias), x @ other.whole().t() + model[0].bias)
        assert len(graphs) == 1
        other.note = {"bits": 4}
        lowered(x, other, model[0].bias)
    assert len(graphs) == 2


def test_another_weight_is_seen(model):
    """The graph is for the weights that it was captured with."""
    compiled, x = torch.compile(model, backend="eager"), torch.randn(3, 8)
    with torch.no_grad():
        compiled(x)
        model[0].weight = torch.nn.Parameter(_scaled(torch.ones(16, 8)), requires_grad=False)
        assert torch.allclose(compiled(x), model(x))


def test_one_that_requires_grad_runs_as_it_is():
    calls = []
    lowered = aot_function(lambda x, w, b: torch.nn.functional.linear(x, w, b), lambda module, _: calls.append(module))
    weight = _scaled(torch.randn(4, 8)).requires_grad_()
    with pytest.warns(UserWarning, match="requires grad"):
        found = lowered(torch.ones(2, 8), weight, torch.zeros(4))
    assert torch.allclose(found, torch.ones(2, 8) @ weight.whole().t()) and not calls


def test_fake_ones(model):
    mode = FakeTensorMode()
    fake = mode.from_tensor(model[0].weight)
    assert type(fake) is Scaled and fake.note == {"bits": 8} and fake.shape == (16, 8)
    assert isinstance(fake.numbers, FakeTensor) and fake.numbers.dtype is torch.int8
