"""`Module`: rules of assignment, hooks, state dicts, conversions; what they say where PyTorch says something."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest
from agreement import same

import mindtorch_v2 as torch
from mindtorch_v2 import nn

# Each takes a framework and does something that raises.
ERRORS = {
    "name not a string": lambda t: t.nn.Linear(1, 1).register_parameter(3, None),
    "name with a dot": lambda t: t.nn.Linear(1, 1).register_parameter("a.b", None),
    "empty name": lambda t: t.nn.Linear(1, 1).register_parameter("", None),
    "name is taken": lambda t: t.nn.Linear(1, 1).register_parameter("forward", None),
    "not a parameter": lambda t: t.nn.Linear(1, 1).register_parameter("z", t.ones(1)),
    "not a leaf": lambda t: t.nn.Linear(1, 1).register_parameter("z", _not_a_leaf(t)),
    "buffer name with a dot": lambda t: t.nn.Linear(1, 1).register_buffer("a.b", None),
    "buffer is taken": lambda t: t.nn.Linear(1, 1).register_buffer("weight", None),
    "not a buffer": lambda t: t.nn.Linear(1, 1).register_buffer("z", 3),
    "module name with a dot": lambda t: t.nn.Linear(1, 1).add_module("a.b", None),
    "module is taken": lambda t: t.nn.Linear(1, 1).add_module("weight", None),
    "not a module": lambda t: t.nn.Linear(1, 1).add_module("z", 3),
    "tensor for parameter": lambda t: setattr(t.nn.Linear(1, 1), "weight", t.ones(1)),
    "int for parameter": lambda t: setattr(t.nn.Linear(1, 1), "weight", 3),
    "int for module": lambda t: setattr(t.nn.Sequential(t.nn.ReLU()), "0", 3),
    "int for buffer": lambda t: setattr(t.nn.BatchNorm1d(1), "running_mean", 3),
    "parameter before init": lambda t: setattr(_uninitialized(t), "p", t.nn.Parameter(t.ones(1))),
    "module before init": lambda t: setattr(_uninitialized(t), "m", t.nn.ReLU()),
    "buffer before init": lambda t: setattr(_uninitialized(t), "b", t.nn.Buffer(t.ones(1))),
    "register before init": lambda t: _uninitialized(t).register_parameter("p", None),
    "no such attribute": lambda t: t.nn.Linear(1, 1).nope,
    "no such attribute to delete": lambda t: delattr(t.nn.Linear(1, 1), "nope"),
    "arguments of Module": lambda t: t.nn.Module(1),
    "keywords of Module": lambda t: t.nn.Module(a=1),
    "no forward": lambda t: t.nn.Module()(1),
    "mode": lambda t: t.nn.ReLU().train(3),
    "submodule": lambda t: t.nn.Sequential(t.nn.ReLU()).get_submodule("0.a"),
    "submodule is a parameter": lambda t: t.nn.Linear(1, 1).get_submodule("weight"),
    "parameter is an int": lambda t: t.nn.Linear(1, 1).get_parameter("in_features"),
    "no parameter": lambda t: t.nn.Linear(1, 1).get_parameter("nope"),
    "buffer is a parameter": lambda t: t.nn.Linear(1, 1).get_buffer("weight"),
    "set without name": lambda t: t.nn.Linear(1, 1).set_submodule("", t.nn.ReLU()),
    "set strictly": lambda t: t.nn.Linear(1, 1).set_submodule("a", t.nn.ReLU(), strict=True),
    "set no module": lambda t: t.nn.Linear(1, 1).set_submodule("a", 3),
    "extra state": lambda t: t.nn.Linear(1, 1).get_extra_state(),
    "to an integer dtype": lambda t: t.nn.Linear(1, 1).to(t.int32),
    "to from meta": lambda t: t.nn.Linear(1, 1, device="meta").to("cpu"),
    "load no mapping": lambda t: t.nn.Linear(1, 1).load_state_dict(3),
    "load": lambda t: t.nn.Linear(2, 2).load_state_dict({"weight": t.ones(3), "bias": 3, "x": 1, "a.b": 2}),
    "load nothing": lambda t: t.nn.Sequential(t.nn.Linear(2, 2)).load_state_dict({}),
    "post hook twice": lambda t: _same_state_dict_hook_twice(t),
    "post hook with a result": lambda t: _state_dict_hook_with_result(t),
    "load hook with a result": lambda t: _load_hook_with_result(t),
    "both backward hooks": lambda t: _both_kinds(t),
    "pre-hook result": lambda t: _bad_pre_hook(t),
    "backward hook result": lambda t: _bad_backward_hook(t, "register_full_backward_hook"),
    "backward pre-hook result": lambda t: _bad_backward_hook(t, "register_full_backward_pre_hook"),
    "Sequential of an int": lambda t: t.nn.Sequential(1),
    "Sequential out of range": lambda t: t.nn.Sequential(t.nn.ReLU())[3],
    "Sequential times a float": lambda t: t.nn.Sequential(t.nn.ReLU()) * 1.5,
    "Sequential times zero": lambda t: t.nn.Sequential(t.nn.ReLU()) * 0,
    "Sequential plus list": lambda t: t.nn.Sequential(t.nn.ReLU()) + [1],
    "ModuleList of nothing": lambda t: t.nn.ModuleList([t.nn.ReLU()]).extend(3),
    "ModuleDict of ints": lambda t: t.nn.ModuleDict({}).update([3]),
    "ModuleDict of triples": lambda t: t.nn.ModuleDict({}).update([(1, 2, 3)]),
    "ParameterList call": lambda t: t.nn.ParameterList()(1),
    "ParameterList of a tensor": lambda t: t.nn.ParameterList().extend(t.ones(1)),
    "ParameterDict with an int": lambda t: t.nn.ParameterDict().__setitem__(3, t.ones(1)),
    "groups": lambda t: t.nn.Conv2d(3, 4, 3, groups=2),
    "padding string": lambda t: t.nn.Conv2d(2, 4, 3, padding="same", stride=2),
    "output size": lambda t: t.nn.ConvTranspose2d(2, 2, 3, stride=2)(t.ones(1, 2, 3, 3), output_size=[3, 3]),
    "batch norm dims": lambda t: t.nn.BatchNorm2d(3)(t.ones(3)),
    "batch norm one value": lambda t: t.nn.BatchNorm1d(3)(t.ones(1, 3)),
    "instance norm dims": lambda t: t.nn.InstanceNorm1d(3)(t.ones(3)),
    "group norm": lambda t: t.nn.GroupNorm(2, 3),
    "padding_idx": lambda t: t.nn.Embedding(3, 4, padding_idx=5),
    "dropout": lambda t: t.nn.Dropout(2),
    "rnn proj_size": lambda t: t.nn.GRU(2, 3, proj_size=1),
    "rnn input": lambda t: t.nn.RNN(2, 3)(t.ones(2)),
    "rnn hidden": lambda t: t.nn.GRU(2, 3)(t.ones(2, 2, 2), t.ones(2, 2, 2)),
    "rnn dtype": lambda t: t.nn.LSTM(2, 3)(t.ones(2, 2, 2, dtype=t.float64)),
    "attention heads": lambda t: t.nn.MultiheadAttention(5, 2),
    "attention dims": lambda t: t.nn.MultiheadAttention(4, 2)(t.ones(1, 1, 4), t.ones(1, 4), t.ones(1, 4)),
    "reduction": lambda t: t.nn.MSELoss(reduction="x")(t.ones(1), t.ones(1)),
    "interpolate": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), 2, mode="bilinear"),
    "interpolate size": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 4), (2, 2)),
    "grid mode": lambda t: t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.zeros(1, 1, 1, 2), mode="x"),
    "fan": lambda t: t.nn.init.xavier_uniform_(t.ones(3)),
    "gain": lambda t: t.nn.init.calculate_gain("x"),
}  # fmt: skip


def _not_a_leaf(t):
    parameter = t.nn.Parameter(t.ones(1), requires_grad=False)
    return parameter.mul_(t.ones(1, requires_grad=True))


def _uninitialized(t):
    class Uninitialized(t.nn.Module):
        def __init__(self):
            pass

    return Uninitialized()


def _same_state_dict_hook_twice(t):
    def hook(*args):
        pass

    module = t.nn.Linear(1, 1)
    module.register_state_dict_post_hook(hook)
    module._register_state_dict_hook(hook)


def _state_dict_hook_with_result(t):
    module = t.nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda *args: 3)
    module.state_dict()


def _load_hook_with_result(t):
    module = t.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda module, keys: keys)
    module.load_state_dict(module.state_dict())


def _both_kinds(t):
    module = t.nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: None)
    module.register_backward_hook(lambda *args: None)


def _bad_pre_hook(t):
    module = t.nn.Linear(1, 1)
    module.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    module(t.ones(1))


def _bad_backward_hook(t, register):
    module = t.nn.Linear(1, 1)
    getattr(module, register)(lambda module, *grads: grads[0] + grads[0])
    module(t.ones(1, 1, requires_grad=True)).sum().backward()


def _raised(framework, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as info:  # the class is compared
            what(framework)
    return type(info.value).__name__, str(info.value).replace("mindtorch_v2.", "torch.")


@pytest.mark.parametrize("what", ERRORS.values(), ids=ERRORS.keys())
def test_errors(what):
    same(lambda framework: _raised(framework, what))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Sequential(nn.ReLU(), nn.Linear(3, 1))
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("passing", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.second(self.first(x))


def test_assignment_moves_a_name():
    module = nn.Module()
    module.x = 3
    module.x = nn.Parameter(torch.ones(1))
    assert "x" not in module.__dict__ and list(module._parameters) == ["x"]
    module.x = None
    assert module.x is None and dict(module.named_parameters()) == {}
    del module.x
    module.x = nn.Buffer(torch.ones(1), persistent=False)
    assert list(module._buffers) == ["x"] and module.state_dict() == {}
    module.x = nn.ReLU()
    assert list(module._modules) == ["x"] and not module._buffers and not module._non_persistent_buffers_set
    assert "x" in dir(module)


def test_state_dict_round_trip():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["kept", "first.weight", "first.bias", "second.1.weight", "second.1.bias"]
    assert state["first.weight"].data_ptr() == net.first.weight.data_ptr()
    assert not state["first.weight"].requires_grad
    assert list(state._metadata) == ["", "first", "second", "second.0", "second.1"]
    result = other.load_state_dict(state)
    assert repr(result) == "<All keys matched successfully>"
    assert other.first.weight.tolist() == net.first.weight.tolist()
    del state["kept"]
    state["more"] = torch.ones(1)
    missing, unexpected = other.load_state_dict(state, strict=False)
    assert (missing, unexpected) == (["kept"], ["more"])


def test_load_by_assignment():
    with torch.device("meta"):
        net = Net()
    assert net.first.weight.is_meta
    state = Net().state_dict()
    net.load_state_dict(state, assign=True)
    assert isinstance(net.first.weight, nn.Parameter) and net.first.weight.requires_grad
    assert net.first.weight.data_ptr() == state["first.weight"].data_ptr()


def test_extra_state():
    class WithExtra(nn.Module):
        value = 1

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    module, other = WithExtra(), WithExtra()
    module.value = 5
    other.load_state_dict(module.state_dict())
    assert other.value == 5 and list(module.state_dict()) == ["_extra_state"]
    with pytest.raises(RuntimeError, match='Missing key.*"_extra_state"'):
        other.load_state_dict({})


def test_forward_hooks_in_order():
    calls = []
    module = nn.Linear(1, 1)
    module.register_forward_pre_hook(lambda m, args: calls.append("pre"))
    module.register_forward_pre_hook(lambda m, args: calls.append("first pre"), prepend=True)
    module.register_forward_hook(lambda m, args, out: calls.append("post"))
    module.register_forward_hook(lambda m, args, kwargs, out: calls.append(sorted(kwargs)), with_kwargs=True)
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: calls.append("global"))
    module(input=torch.ones(1))
    handle.remove()
    assert calls == ["first pre", "pre", "global", "post", ["input"]]
    calls.clear()
    module(torch.ones(1))
    assert calls == ["first pre", "pre", "post", []]


def test_forward_hooks_replace():
    module = nn.Identity()
    with module.register_forward_pre_hook(lambda m, args: (args[0] + 1,)):
        with module.register_forward_hook(lambda m, args, out: out * 10):
            assert module(torch.ones(1)).item() == 20
    assert module(torch.ones(1)).item() == 1
    with module.register_forward_pre_hook(lambda m, a, k: ((k["x"],), {}), with_kwargs=True):
        assert module(x=torch.ones(1)).item() == 1


def test_hooks_that_are_always_called():
    calls = []
    module = nn.Linear(1, 1)
    module.register_forward_hook(lambda m, args, out: calls.append("usual"))
    module.register_forward_hook(lambda m, args, out: calls.append("always"), always_call=True)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        module(torch.ones(1, 2))
    assert calls == ["always"]
    module.register_forward_hook(lambda m, args, out: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="raised an exception that was silenced"):
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            module(torch.ones(1, 2))


def test_full_backward_hooks():
    seen = []
    module = nn.Linear(2, 1, bias=False)
    nn.init.ones_(module.weight)
    module.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 2,))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, grad_output)))
    module.register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 10,))
    x = torch.ones(1, 2, requires_grad=True)
    module(x).sum().backward()
    assert seen[0][0][0].tolist() == [[2.0, 2.0]] and seen[0][1][0].tolist() == [[2.0]]
    assert x.grad.tolist() == [[20.0, 20.0]] and module.weight.grad.tolist() == [[2.0, 2.0]]


def test_legacy_backward_hooks():
    seen = []
    module = nn.Linear(2, 1)
    module.register_backward_hook(lambda m, grad_input, grad_output: seen.append(grad_output[0].tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen == [[[1.0]]]


def test_registration_hooks():
    register = nn.modules.module
    seen = []
    handles = [
        register.register_module_parameter_registration_hook(lambda m, name, p: seen.append(name)),
        register.register_module_module_registration_hook(lambda m, name, c: seen.append(name)),
        register.register_module_buffer_registration_hook(lambda m, name, b: torch.zeros(1)),
    ]
    module = nn.Module()
    module.p = nn.Parameter(torch.ones(1))
    module.m = nn.ReLU()
    module.register_buffer("b", torch.ones(1))
    for handle in handles:
        handle.remove()
    assert seen == ["p", "m"] and module.b.item() == 0


def test_state_dict_hooks():
    seen = []
    module = nn.Linear(1, 1)
    module.register_state_dict_pre_hook(lambda m, prefix, keep_vars: seen.append(prefix))
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias"))
    with pytest.raises(RuntimeError, match="must return None"):
        module.state_dict(prefix="a.")
    module._state_dict_hooks.clear()
    module.register_state_dict_post_hook(lambda m, state, prefix, meta: state.clear())
    assert module.state_dict() == {} and seen == ["a.", ""]
    module.register_load_state_dict_pre_hook(
        lambda m, state, prefix, meta, strict, missing, unexpected, errors: state.setdefault("bias", torch.ones(1))
    )
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    assert module.load_state_dict({}).missing_keys == []
    assert module.bias.item() == 1


def test_conversions():
    net = Net()
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight and weight.dtype == torch.float64 and net.kept.dtype == torch.float64
    net.to(torch.float16)
    assert weight.dtype == torch.float16
    net.float().to(memory_format=torch.channels_last)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    net.to("meta")
    assert net.first.weight.is_meta and net.kept.is_meta
    net.to_empty(device="cpu")
    assert not net.first.weight.is_meta


def test_conversion_takes_gradients_along():
    module = nn.Linear(1, 1)
    module(torch.ones(1, 1)).sum().backward()
    module.double()
    assert module.weight.grad.dtype == torch.float64
    module.zero_grad(set_to_none=False)
    assert module.weight.grad.item() == 0
    module.zero_grad()
    assert module.weight.grad is None


def test_copies_are_apart():
    net = Net()
    net.register_forward_hook(print)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(other._forward_hooks.values()) == [print]
        assert other.first.weight.tolist() == net.first.weight.tolist()
        assert other.first.weight is not net.first.weight
        assert isinstance(other.first.weight, nn.Parameter)
    shared = nn.ModuleList([net.first, net.first])
    twin = copy.deepcopy(shared)
    assert twin[0] is twin[1]


def test_names_without_duplicates():
    layer = nn.Linear(1, 1)
    net = nn.Sequential(layer, layer)
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert [n for n, _ in net.named_children()] == ["0"]


def test_compile_in_place():
    net = nn.Linear(1, 1)
    x = torch.ones(2, 1)
    expected = net(x)
    net.compile(backend="eager")
    assert torch.equal(net(x), expected)
    assert copy.deepcopy(net)._compiled_call_impl is None


def test_train_and_eval():
    net = Net()
    assert net.eval() is net and not net.second[1].training
    net.train()
    assert net.second[0].training


def test_containers_repr():
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    assert repr(layers) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    values = nn.ParameterDict(OrderedDict(a=torch.ones(2), b=3))
    assert list(values.keys()) == ["a", "b"] and values["b"] == 3
    assert [n for n, _ in values.named_parameters()] == ["a"]


def test_adaptive_softmax_with_one_target_in_a_cluster():
    torch.manual_seed(0)
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [2, 5])
    x, target = torch.randn(3, 16), torch.tensor([3, 0, 7])
    whole = layer(x, target)
    torch.testing.assert_close(whole.output, layer.log_prob(x).gather(1, target.unsqueeze(1)).squeeze(1))
    torch.testing.assert_close(layer(x[:1], target[:1]).output, whole.output[:1])
    torch.testing.assert_close(layer(x[2], target[2]).output, whole.output[2])


def test_a_module_without_its_init_says_so():
    class Forgetful(nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    class Assigning(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Assigning()
    with pytest.raises(AttributeError, match="'Forgetful' object has no attribute '_backward_hooks'"):
        Forgetful()(torch.ones(1))
    with pytest.raises(AttributeError, match="'Forgetful' object has no attribute '_parameters'"):
        list(Forgetful().parameters())


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.MultiheadAttention(4, 2, add_bias_kv=True),
        lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True),
        lambda: nn.Linear(2, 2),
    ],
)
def test_initialisation_is_looked_up_when_it_runs(make, monkeypatch):
    """Libraries that load weights replace functions of nn.init for a while, so that nothing is drawn over them."""
    module = make()
    before = [parameter.detach().clone() for parameter in module.parameters()]
    for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "uniform_", "constant_", "zeros_", "ones_"):
        monkeypatch.setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)
        monkeypatch.setattr(nn.modules.transformer, name, lambda tensor, *args, **kwargs: tensor, raising=False)
    for each in module.modules():
        for reset in ("reset_parameters", "_reset_parameters"):
            getattr(each, reset, lambda: None)()
    for mine, kept in zip(module.parameters(), before):
        assert torch.equal(mine, kept)


def test_a_buffer_takes_no_attribute_s_place():
    module = nn.Module()
    module.taken = 5
    with pytest.raises(KeyError, match="attribute 'taken' already exists"):
        module.taken = nn.Buffer(torch.ones(2))
    del module.taken
    module.taken = nn.Buffer(torch.ones(2))
    module.taken = nn.Buffer(torch.ones(3))
    assert module.taken.shape == (3,)


def test_a_class_whose_register_buffer_does_not_know_of_persistence():
    class Older(nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    module = Older()
    module.kept = nn.Buffer(torch.ones(2))
    assert list(module.state_dict()) == ["kept"]


def test_cross_entropy_of_no_classes():
    assert nn.CrossEntropyLoss()(torch.rand(5, 0), torch.rand(5, 0)).isnan()
    assert nn.CrossEntropyLoss(reduction="sum")(torch.rand(5, 0), torch.rand(5, 0)) == 0


def test_global_hooks_run_in_their_order():
    register = nn.modules.module
    seen = []
    handles = [
        register.register_module_forward_hook(lambda module, args, output, number=number: seen.append(number))
        for number in range(3)
    ]
    handles += [
        register.register_module_buffer_registration_hook(
            lambda module, name, value, number=number: seen.append(number)
        )
        for number in range(3)
    ]
    try:
        module = torch.nn.Identity()
        module(torch.ones(1))
        module.register_buffer("x", None)
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("name", ["AvgPool2d", "AvgPool3d", "MaxPool2d"])
def test_states_of_older_pooling_layers(name):
    """Layers that were pickled before an option was there come back with what it then meant."""
    layer = getattr(nn, name)(2)
    old = getattr(nn, name).__new__(getattr(nn, name))
    old.__setstate__({k: v for k, v in vars(layer).items() if k not in ("padding", "ceil_mode", "count_include_pad")})
    if name == "AvgPool3d":
        assert (old.padding, old.ceil_mode, old.count_include_pad) == (0, False, True)
    else:
        assert not hasattr(old, "padding")


@pytest.fixture
def swapping():
    torch.__future__.set_swap_module_params_on_conversion(True)
    yield
    torch.__future__.set_swap_module_params_on_conversion(False)


def test_load_state_dict_swaps_what_module_load_gives(swapping):
    module = nn.Linear(2, 2)
    weight, given = module.weight, {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}
    module.load_state_dict(given)
    assert module.weight is weight and weight.tolist() == [[1, 1], [1, 1]] and weight.requires_grad
    module.load_state_dict(given, assign=True)
    assert module.weight is weight and weight.data_ptr() == given["weight"].data_ptr() and weight.requires_grad

    class Scaled(torch.Tensor):
        def module_load(self, other, assign=False):
            return (other * 2).as_subclass(Scaled) if assign else other

    module.weight = nn.Parameter(torch.ones(2, 2).as_subclass(Scaled))
    module.load_state_dict(given, assign=True)
    assert type(module.weight) is Scaled and module.weight.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(
        RuntimeError, match='While swapping the parameter named "weight".*module_load returned one of self'
    ):
        module.load_state_dict(given)


class _Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(tensors, meta, size, stride):
        return _Wrapper(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [each.inner if isinstance(each, _Wrapper) else each for each in args]
        return _Wrapper(func(*args, **(kwargs or {})))


def test_conversions_reach_the_tensors_in_a_wrapper():
    module = nn.Linear(2, 2)
    weight = module.weight = nn.Parameter(_Wrapper(torch.ones(2, 2)))
    module.double()
    assert module.weight is weight and weight.dtype == weight.inner.dtype == torch.float64
