"""`make_fx`, fake tensors and `verify` together: models, training steps, decompositions, graphs that lie."""

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._decomp import get_decompositions
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.experimental.proxy_tensor import (
    decompose,
    disable_proxy_modes_tracing,
    get_isolated_graphmodule,
    make_fx,
)

if reference.is_reference():
    pytest.skip("verify is ours", allow_module_level=True)

from mindtorch_v2.graph import GraphError, verify

MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3)), (2, 4)),
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)),
        (2, 3, 8, 8),
    ),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu"), (2, 5, 8)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", MODELS)
def test_models_are_captured(name: str, mode: str) -> None:
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model, x = make().eval(), torch.randn(*shape)
    module = make_fx(lambda x: model(x), tracing_mode=mode, _allow_non_fake_inputs=True)(x)
    with torch.no_grad():
        verify(module, (x,))
        other = torch.randn(*shape)
        assert torch.equal(module(other), model(other))


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", MODELS)
def test_backward_is_captured(name: str, mode: str) -> None:
    torch.manual_seed(0)
    make, shape = MODELS[name]
    model, x = make(), torch.randn(*shape)
    names = [name for name, _ in model.named_parameters()]
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}

    def loss_and_gradients(x, weights, buffers):
        weights = [weight.detach().requires_grad_() for weight in weights]
        state = {**dict(zip(names, weights)), **{name: each.clone() for name, each in buffers.items()}}
        loss = (torch.func.functional_call(model, state, (x,)) ** 2).mean()
        return loss, torch.autograd.grad(loss, weights)

    weights = [parameter.detach() for parameter in model.parameters()]
    module = make_fx(loss_and_gradients, tracing_mode=mode)(x, weights, buffers)
    verify(module, (x, weights, buffers))
    assert "_tensor_constant" not in module.code
    other = torch.randn(*shape)
    loss, gradients = module(other, weights, buffers)
    expected_loss, expected = loss_and_gradients(other, weights, buffers)
    assert torch.allclose(loss, expected_loss)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(gradients, expected))


def test_a_training_step_is_captured() -> None:
    def step(w, x):
        w = w.detach().requires_grad_()
        (torch.tanh(x @ w).sum()).backward()
        return w.detach() - 0.1 * w.grad

    w, x = torch.ones(3, 2), torch.randn(4, 3)
    module = make_fx(step)(w, x)
    assert "_tensor_constant" not in module.code
    y = torch.randn(4, 3)
    assert torch.allclose(module(w, y), step(w, y))


def test_operators_without_gradients_of_some_results() -> None:
    """The engine's zeros for results that nobody used are seen too."""

    def f(x):
        x = x.detach().requires_grad_()
        low, _ = torch.aminmax(x)
        return torch.autograd.grad(low * low, x)[0]

    x = torch.tensor([3.0, 1.0])
    with FakeTensorMode() as mode:
        assert f(mode.from_tensor(x)).shape == (2,)
    module = make_fx(f)(x)
    y = torch.tensor([-2.0, 5.0])
    assert torch.equal(module(y), f(y))


def test_decompositions_compute_the_same() -> None:
    ops = torch.ops.aten
    table = get_decompositions(
        [ops.silu, ops.linear, ops.addmm, ops._softmax, ops._log_softmax, ops.native_layer_norm, ops.relu]
    )
    assert ops.relu.default not in table
    weight, bias = torch.randn(5, 3), torch.randn(5)

    def f(x):
        y = nn.functional.layer_norm(nn.functional.linear(x, weight, bias), (5,), bias, bias)
        return nn.functional.silu(torch.softmax(y, -1)) + torch.log_softmax(y, -1) + torch.addmm(bias, x, weight.t())

    x = torch.randn(2, 3)
    module = make_fx(f, decomposition_table=table)(x)
    targets = {str(node.target) for node in module.graph.nodes}
    assert not targets & {str(op) for op in table}
    assert torch.allclose(module(x), f(x), atol=1e-5)


def test_decompositions_within_a_block() -> None:
    def f(x):
        with decompose({torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}):
            y = nn.functional.silu(x)
        return nn.functional.silu(y)

    names = [
        str(node.target)
        for node in make_fx(f)(torch.ones(2)).graph.find_nodes(op="call_function", target=torch.ops.aten.silu.default)
    ]
    assert len(names) == 1


def test_recording_can_be_paused() -> None:
    def f(x):
        with disable_proxy_modes_tracing():
            torch.cos(x)
        inner = get_isolated_graphmodule(torch.sin, (x,), {})
        assert "sin" in inner.code
        return torch.exp(x)

    assert [n.name for n in make_fx(f)(torch.ones(2)).graph.nodes] == ["x_1", "exp", "output"]


def test_calls_above_autograd_are_recorded_as_they_are_made() -> None:
    def f(x):
        y = nn.functional.conv2d(x, torch.ones(1, 1, 2, 2))
        with torch.no_grad():
            y = y.flatten(1)
        return y.add_(torch.vmap(torch.sum)(y)[:, None])

    module = make_fx(f, pre_dispatch=True)(torch.ones(2, 1, 3, 3))
    targets = [getattr(n.target, "__name__", "") for n in module.graph.nodes if n.op == "call_function"]
    assert targets == [
        "ones.default", "conv2d.default", "_set_grad_enabled", "flatten.using_ints", "_set_grad_enabled",
        "sum.dim_IntList", "unsqueeze.default", "add_.Tensor",
    ]  # fmt: skip
    x = torch.randn(2, 1, 3, 3)
    assert torch.equal(module(x), f(x))


def test_errors_leave_no_mode_behind() -> None:
    def f(x):
        raise ValueError("mine")

    for mode in ("real", "fake"):
        with pytest.raises(ValueError, match="mine"):
            make_fx(f, tracing_mode=mode)(torch.ones(2))
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert type(torch.ones(2)) is torch.Tensor


def test_fake_tensors_may_be_larger_than_memory() -> None:
    with FakeTensorMode():
        x = torch.empty(10**5, 10**5)
        y = (x + x)[::2].t()
        del x
    assert y.shape == (10**5, 5 * 10**4)


# ---- verify ----


def _module():
    return make_fx(lambda x: torch.sin(x.t()) * 2, tracing_mode="fake")(torch.ones(2, 3))


def test_verify_accepts() -> None:
    module = _module()
    assert verify(module, (torch.ones(2, 3),), functional=True) is module
    assert verify(module.graph) is module.graph
    with pytest.raises(TypeError, match="expected an fx.Graph"):
        verify(3)


def test_verify_finds_a_use_before_the_definition() -> None:
    module = _module()
    x, t, sin, *_ = module.graph.nodes
    t.prepend(sin)
    with pytest.raises(GraphError, match="node 'sin' uses 't', which is not defined before it"):
        verify(module)


def test_verify_finds_a_second_definition() -> None:
    module = _module()
    list(module.graph.nodes)[2].name = "t"
    with pytest.raises(GraphError, match="'t' is defined twice"):
        verify(module)


def test_verify_finds_a_second_output() -> None:
    module = _module()
    module.graph.output(next(iter(module.graph.nodes)))
    with pytest.raises(GraphError, match="this one has 2"):
        verify(module)


def test_verify_finds_writes() -> None:
    module = make_fx(lambda x: x.clone().mul_(x))(torch.ones(2))
    verify(module)
    with pytest.raises(GraphError, match=r"node 'mul_': aten.mul_.Tensor writes to 'clone'"):
        verify(module, functional=True)


def test_verify_allows_copies_to_inputs_at_the_end() -> None:
    def at_the_end(x):
        y = x * x
        x.copy_(y)

    def before(x):
        x.copy_(x * x)
        return torch.sin(x)

    verify(make_fx(at_the_end)(torch.ones(2)), functional=True)
    with pytest.raises(GraphError, match="copy_"):
        verify(make_fx(before)(torch.ones(2)), functional=True)


def test_verify_finds_meta_that_lies() -> None:
    module, x = _module(), torch.ones(2, 3)
    node = list(module.graph.nodes)[2]
    node.meta["val"] = torch.ones(3, 2, dtype=torch.float64)
    with pytest.raises(GraphError, match=r"'sin' .*says dtype torch.float64, the run gave torch.float32"):
        verify(module, (x,))


def test_verify_finds_a_fake_kernel_that_lies() -> None:
    lib = torch.library.Library("verify_tests", "FRAGMENT")
    lib.define("wrong(Tensor x) -> Tensor")
    lib.impl("wrong", lambda x: x.t().contiguous(), "CPU")
    torch.library.register_fake("verify_tests::wrong", lambda x: torch.empty_like(x), lib=lib)
    module = make_fx(lambda x: torch.ops.verify_tests.wrong(x), tracing_mode="fake")(torch.ones(2, 3))
    with pytest.raises(GraphError, match=r"verify_tests.wrong.default.*says shape \(2, 3\), the run gave \(3, 2\)"):
        verify(module, (torch.ones(2, 3),))
    lib._destroy()
