"""nn.Module: registration, state dicts, hooks, modes, conversion, copying."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("temporary", torch.zeros(1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rest(self.first(x)) * self.scale


def test_names_and_counts() -> None:
    net = _Net()
    assert [name for name, _ in net.named_parameters()] == [
        "first.weight",
        "first.bias",
        "rest.1.weight",
    ]
    assert [name for name, _ in net.named_modules()] == [
        "",
        "first",
        "rest",
        "rest.0",
        "rest.1",
    ]
    assert [name for name, _ in net.named_buffers()] == ["scale", "temporary"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert list(net.state_dict()) == [
        "scale",
        "first.weight",
        "first.bias",
        "rest.1.weight",
    ]
    assert sum(parameter.numel() for parameter in net.parameters()) == 24
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_parameter("first.bias") is net.first.bias


def test_repr() -> None:
    assert repr(_Net()) == (
        "_Net(\n"
        "  (first): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (rest): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Linear(in_features=4, out_features=2, bias=False)\n"
        "  )\n"
        ")"
    )


def test_shared_parameters_are_listed_once() -> None:
    net = nn.Module()
    net.a = nn.Linear(2, 2)
    net.b = nn.Linear(2, 2)
    net.b.weight = net.a.weight
    assert len(list(net.parameters())) == 3
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert len(net.state_dict()) == 4


def test_load_state_dict() -> None:
    source, target = _Net(), _Net()
    assert str(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(source.first.weight, target.first.weight)
    state = source.state_dict()
    del state["scale"]
    state["other"] = torch.zeros(1)
    result = target.load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale"]
    assert result.unexpected_keys == ["other"]
    with pytest.raises(
        RuntimeError,
        match=r"(?s)Missing key\(s\) in state_dict: \"scale\".*Unexpected key\(s\)|Unexpected",
    ):
        target.load_state_dict(state)
    state = source.state_dict()
    state["first.bias"] = torch.zeros(5)
    with pytest.raises(
        RuntimeError,
        match=r"size mismatch for first.bias: copying a param with shape torch.Size\(\[5\]\)",
    ):
        target.load_state_dict(state)
    replacement = _Net().state_dict()
    target.load_state_dict(replacement, assign=True)
    assert target.first.weight.data_ptr() == replacement["first.weight"].data_ptr()


def test_attributes() -> None:
    net = nn.Module()
    net.weight = nn.Parameter(torch.ones(1))
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' as parameter 'weight'"):
        net.weight = torch.ones(1)
    net.weight = None
    assert net.weight is None
    assert list(net.parameters()) == []
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'missing'"):
        net.missing
    with pytest.raises(KeyError, match="parameter name can.*t contain"):
        net.register_parameter("a.b", None)
    del net.weight
    assert not hasattr(net, "weight")

    class Early(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early()


def test_forward_hooks() -> None:
    layer = nn.Linear(2, 2)
    seen = []
    handles = [
        layer.register_forward_pre_hook(lambda module, inputs: seen.append("pre") or (inputs[0] * 0,)),
        layer.register_forward_hook(lambda module, inputs, output: seen.append("post") or output + 1),
        layer.register_forward_hook(
            lambda module, inputs, kwargs, output: seen.append(sorted(kwargs)),
            with_kwargs=True,
            prepend=True,
        ),
    ]
    result = layer(torch.ones(1, 2))
    torch.testing.assert_close(result, (layer.bias + 1).unsqueeze(0))
    assert seen == ["pre", [], "post"]
    for handle in handles:
        handle.remove()
    layer(torch.ones(1, 2))
    assert len(seen) == 3


def test_backward_hooks() -> None:
    layer = nn.Linear(2, 1, bias=False)
    seen = {}

    def after(module: nn.Module, grad_input: tuple, grad_output: tuple) -> tuple:
        seen["after"] = grad_input[0].shape, grad_output[0].tolist()
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(after)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    assert seen["after"] == (torch.Size([1, 2]), [[2.0]])
    torch.testing.assert_close(x.grad, layer.weight.detach() * 20)
    assert layer.weight.grad.tolist() == [[2, 2]]


def test_modes_reach_the_children() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert net[1][0].training
    net.eval()
    assert not net[1][0].training
    x = torch.ones(100)
    assert torch.equal(net(x), x)
    net.train()
    assert not torch.equal(net(x), x)
    net.requires_grad_(False)


def test_conversion_keeps_the_parameters() -> None:
    net = _Net()
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight
    assert weight.dtype == net.scale.dtype == torch.float64
    net.to(torch.float32)
    assert weight.dtype == torch.float32
    net.half()
    assert net.scale.dtype == torch.float16
    meta = _Net().to("meta")
    assert meta.first.weight.is_meta
    empty = meta.to_empty(device="cpu")
    assert tuple(empty.first.weight.shape) == (4, 3)
    with torch.device("meta"):
        assert nn.Linear(2, 2).weight.device.type == "meta"


def test_copies_are_independent() -> None:
    net = _Net()
    for copied in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(copied.first.weight, net.first.weight)
        assert copied.first.weight.data_ptr() != net.first.weight.data_ptr()
        assert isinstance(copied.first.weight, nn.Parameter)
        assert copied.first.weight.requires_grad


def test_apply_and_zero_grad() -> None:
    net = _Net()
    visited = []
    net.apply(lambda module: visited.append(type(module).__name__))
    assert visited == ["Linear", "ReLU", "Linear", "Sequential", "_Net"]
    net(torch.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.first.weight.grad.abs().sum() == 0
    net.zero_grad()
    assert net.first.weight.grad is None


def test_containers() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.append(nn.ReLU())
    layers.extend([nn.Tanh()])
    layers.insert(0, nn.Sigmoid())
    assert [type(layer).__name__ for layer in layers] == [
        "Sigmoid",
        "Linear",
        "ReLU",
        "Tanh",
    ]
    assert isinstance(layers[1:3], nn.ModuleList)
    del layers[0]
    assert len(layers) == 3
    named = nn.ModuleDict({"a": nn.ReLU()})
    named["b"] = nn.Tanh()
    assert list(named) == ["a", "b"]
    parameters = nn.ParameterList([torch.zeros(1), nn.Parameter(torch.ones(1))])
    assert [name for name, _ in parameters.named_parameters()] == ["0", "1"]
    table = nn.ParameterDict({"x": nn.Parameter(torch.ones(2))})
    assert "x" in table
    sequence = nn.Sequential(OrderedDict(one=nn.Linear(2, 3), two=nn.ReLU()))
    assert sequence.one is sequence[0]
    assert len(sequence[:1]) == 1
    with pytest.raises(IndexError):
        sequence[5]


def test_state_dict_hooks() -> None:
    net = _Net()
    net.register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.update({f"{prefix}extra": torch.ones(1)})
    )
    assert "extra" in net.state_dict()
    net.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: state.pop(f"{prefix}extra", None))
    net.load_state_dict(net.state_dict())


def test_parametrization_and_clipping() -> None:
    layer = nn.Linear(2, 2)
    layer.weight.grad = torch.full((2, 2), 3.0)
    layer.bias.grad = torch.zeros(2)
    total = nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    assert total.item() == pytest.approx(6)
    assert layer.weight.grad.norm().item() == pytest.approx(1, rel=1e-5)
    nn.utils.clip_grad_value_(layer.parameters(), 0.1)
    assert layer.weight.grad.max().item() == pytest.approx(0.1)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    nn.utils.vector_to_parameters(torch.zeros_like(vector), layer.parameters())
    assert layer.bias.tolist() == [0, 0]

    class Symmetric(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.triu() + x.triu(1).mT

    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.mT)
    assert "parametrizations.weight.original" in layer.state_dict()


def test_lazy_linear() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = nn.LazyLinear(2)
    layer(torch.ones(3, 5))
    assert tuple(layer.weight.shape) == (2, 5)
    assert type(layer) is nn.Linear
