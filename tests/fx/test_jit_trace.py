"""`torch.jit.trace`: what is recorded, what follows other inputs, and what is warned of and refused."""

import copy
import pickle
import threading
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.last = nn.Linear(32, 3)
        self.unused = nn.Parameter(torch.ones(1))
        self.number = 3

    def forward(self, x, scale=None):
        y = torch.relu(self.norm(self.conv(x)))
        y = self.last(y.view(y.size(0), -1))
        return y if scale is None else y * scale


R = torch.randn
EXAMPLES = {
    "lstm": (nn.LSTM(3, 4, 2, batch_first=True), (R(2, 5, 3),), (R(3, 7, 3),)),
    "lstm with a state": (
        nn.LSTM(3, 4),
        (R(2, 5, 3), (R(1, 5, 4), R(1, 5, 4))),
        (R(3, 6, 3), (R(1, 6, 4), R(1, 6, 4))),
    ),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (R(2, 5, 8),), (R(3, 4, 8),)),
    "convolutions": (
        nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)
        ),
        (R(1, 3, 8, 8),),
        (R(4, 3, 9, 7),),
    ),
    "positions": (lambda x: x + torch.arange(x.size(1)), (R(2, 3),), (R(4, 5),)),
    "a list of sizes": (lambda x: x.reshape(*x.shape[:2], -1).sum(-1), (R(2, 3, 4, 5),), (R(3, 2, 2, 2),)),
    "sizes put together": (lambda x: x.view(x.shape[:-1] + (2, -1)), (R(3, 4),), (R(5, 6),)),
    "arithmetic": (lambda x: x[:, : (x.size(1) + 1) // 2 - 1], (R(2, 4),), (R(3, 9),)),
    "number of elements": (lambda x: x.numel() * x, (R(2, 3),), (R(4, 5),)),
    "a size for a function": (lambda x: F.interpolate(x, size=(x.shape[2] * 2, 3)), (R(1, 1, 3, 3),), (R(2, 1, 5, 4),)),
    "attributes": (lambda x: x.data + x.mT.mT + torch.fft.fft(x).real, (R(2, 3),), (R(4, 5),)),
    "several results": (lambda x: x.max(1).values + x.sort()[0][:, 0], (R(2, 3),), (R(4, 5),)),
    "functions of the core": (lambda x: x.norm(dim=1) + x.std(), (R(2, 3),), (R(4, 5),)),
    "items": (lambda x: x[torch.arange(x.size(0)), x.argmax(1)], (R(2, 3),), (R(4, 5),)),
    "in place": (lambda x: x.mul_(2).add_(1)[0], (R(2, 3),), (R(4, 5),)),
    "containers": (lambda x: (x, [x + 1, (x,)]), (R(2),), (R(3),)),
    "an argument of tensors": (lambda x, more: x + more["k"][0], (R(2), {"k": [R(2)]}), (R(3), {"k": [R(3)]})),
}


# Layers compare sizes, to refuse what does not fit: PyTorch warns of that too.
@pytest.mark.filterwarnings("ignore:Converting a tensor to a Python boolean")
@pytest.mark.parametrize("name", EXAMPLES)
def test_other_inputs(name):
    function, example, other = EXAMPLES[name]
    traced = torch.jit.trace(function, example)
    torch.testing.assert_close(traced(*copy.deepcopy(other)), function(*other))


def test_a_module_keeps_its_parameters():
    net = Net().eval()
    x = R(2, 1, 6, 6)
    traced = torch.jit.trace(net, x)
    assert isinstance(traced, torch.jit.ScriptModule) and isinstance(traced, nn.Module) and not traced.training
    assert list(traced.state_dict()) == list(net.state_dict()) and traced.last.weight is net.last.weight
    assert repr(traced) == (
        "Net(\n  original_name=Net\n  (conv): Conv2d(original_name=Conv2d)\n"
        "  (norm): BatchNorm2d(original_name=BatchNorm2d)\n  (last): Linear(original_name=Linear)\n)"
    )
    with torch.no_grad():
        net.last.weight.zero_()
    other = R(5, 1, 6, 6)
    assert torch.equal(traced(other), net(other))
    traced(other).sum().backward()
    assert net.last.bias.grad.tolist() == [5.0, 5.0, 5.0]
    assert torch.jit.freeze(traced) is traced
    with pytest.raises(RuntimeError, match="Freezing is currently only implemented for modules in eval mode"):
        torch.jit.freeze(traced.train())
    with pytest.raises(AttributeError, match="number"):
        traced.number
    with pytest.raises(NotImplementedError, match="only the traced Module itself can be called"):
        traced.last(R(1, 32))


def test_copies_are_their_own():
    traced = torch.jit.trace(Net().eval(), R(2, 1, 6, 6))
    other = copy.deepcopy(traced).double()
    x = R(3, 1, 6, 6)
    assert other(x.double()).dtype == torch.float64 and traced(x).dtype == torch.float32
    torch.testing.assert_close(other(x.double()).float(), traced(x))
    with pytest.raises(RuntimeError, match="ScriptModules cannot be pickled"):
        pickle.dumps(traced)


def test_arguments_by_name():
    net = Net().eval()
    x, scale = R(2, 1, 6, 6), torch.tensor(2.0)
    traced = torch.jit.trace(net, example_kwarg_inputs={"x": x, "scale": scale})
    torch.testing.assert_close(traced(x=x, scale=scale), 2 * net(x))
    methods = torch.jit.trace_module(net, {"forward": x})
    torch.testing.assert_close(methods(x), net(x))


def test_the_record_can_be_read():
    traced = torch.jit.trace(lambda x: x.view(x.size(0), -1) + 1, torch.ones(2, 3, 1))
    assert [node.op for node in traced.graph.nodes][0] == "placeholder"
    assert traced.code.splitlines()[:4] == [
        "def forward(self, x):",
        "    getattr_1 = x.shape",
        "    getitem = getattr_1[0];  getattr_1 = None",
        "    view = x.view(getitem, -1);  x = getitem = None",
    ]
    assert traced.name == "_lambda" and isinstance(traced, torch.jit.ScriptFunction)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x + 1 if x.sum() > 0 else x, "Converting a tensor to a Python boolean"),
        (lambda x: x + 1 if x.size(0) > 1 else x, "Converting a tensor to a Python boolean"),
        (lambda x: x * x.sum().item(), "Converting a tensor to a Python number"),
        (lambda x: x * int(x.sum()), "Converting a tensor to a Python integer"),
        (lambda x: x * x.detach().numpy().sum(), "Converting a tensor to a Python array"),
        (lambda x: x * len(x), "Using len to get tensor shape"),
        (lambda x: sum(x), "Iterating over a tensor"),
        (lambda x: x + torch.tensor(x.shape), "is a constant of the trace"),
        (lambda x: x + torch.rand(2), "Output nr 1. of the traced function does not match"),
        (lambda x: F.dropout(torch.ones(64) * x[0]), "Output nr 1. of the traced function does not match"),
    ],
)
def test_what_the_record_lacks_is_warned_of(function, text):
    with pytest.warns(torch.jit.TracerWarning, match=text):
        torch.jit.trace(function, torch.ones(2))


def test_the_way_of_the_example_is_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(lambda x: x + 1 if x.sum() > 0 else x - 1, torch.ones(2))
    assert traced(-torch.ones(2)).tolist() == [0.0, 0.0]


ONES = torch.ones(2)
WEIGHT = nn.Parameter(torch.ones(2))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: torch.jit.trace(lambda a: {"x": a}, ONES), "Encountering a dict at the output of the tracer"),
        (
            lambda: torch.jit.trace(lambda a: 3, ONES),
            "Only tensors, lists, tuples of tensors, or dictionary of tensors",
        ),
        (lambda: torch.jit.trace(lambda a: None, ONES), "The traced function didn't return any values!"),
        (lambda: torch.jit.trace(lambda a, n: a, (ONES, 3)), r"Type 'Tuple\[Tensor, int\]' cannot be traced"),
        (
            lambda: torch.jit.trace(lambda a: a + WEIGHT, ONES),
            "Cannot insert a Tensor that requires grad as a constant",
        ),
        (lambda: torch.jit.trace(Net()), "example_kwarg_inputs should be a dict"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def test_a_dict_without_strict():
    traced = torch.jit.trace(lambda a: {"x": a + 1}, ONES, strict=False)
    assert traced(torch.zeros(1))["x"].tolist() == [1.0]


def test_tracing_is_known_while_it_lasts():
    seen = []
    torch.jit.trace(lambda x: (seen.append(torch.jit.is_tracing()), x * 2)[1], ONES, check_trace=False)
    assert seen == [True] and not torch.jit.is_tracing()


def test_tracing_is_known_on_its_own_thread_only():
    seen = []

    def look(x):
        thread = threading.Thread(target=lambda: seen.append(torch.jit.is_tracing()))
        thread.start()
        thread.join()
        seen.append(torch.jit.is_tracing())
        return x * 2

    torch.jit.trace(look, ONES, check_trace=False)
    assert seen == [False, True]


def test_tracing_is_known_within_a_function_that_is_recorded_as_one():
    seen = []

    def look(x):
        y = x * 2
        y.requires_grad_().register_hook(lambda grad: seen.append(torch.jit.is_tracing()))
        y.sum().backward()
        return x

    torch.jit.trace(look, ONES, check_trace=False)
    assert seen == [True]


def test_a_trace_within_a_trace_is_refused_and_the_outer_one_goes_on():
    def nest(x):
        with pytest.raises(RuntimeError, match="Tracing can't be nested"):
            torch.jit.trace(lambda y: y * 2, ONES)
        assert torch.jit.is_tracing()
        return x + 1

    traced = torch.jit.trace(nest, ONES, check_trace=False)
    assert not torch.jit.is_tracing()
    assert traced(torch.tensor([4.0])).tolist() == [5.0]


def test_a_function_that_does_something_else_each_time_is_refused() -> None:
    calls = []

    def drifting(x):
        calls.append(1)
        return x + len(calls)

    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed across invocations"):
        torch.jit.trace(drifting, torch.ones(2))
    assert torch.jit.trace(drifting, torch.ones(2), check_trace=False)(torch.ones(2)).tolist() == [4.0, 4.0]


@pytest.mark.filterwarnings("ignore::mindtorch_v2.jit.TracerWarning")
def test_a_function_that_decides_by_its_input_is_refused_for_other_inputs() -> None:
    def decides(x):
        return x * 2 if x.sum() > 0 else x - 1

    torch.jit.trace(decides, torch.ones(2), check_inputs=[torch.full((2,), 3.0)])
    with pytest.raises(torch.jit.TracingCheckError, match="Graphs differed"):
        torch.jit.trace(decides, torch.ones(2), check_inputs=[-torch.ones(2)])
