"""The graph of one run, as counters of operations read it."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


class Model(nn.Module):
    """A convolution, a transposed one, and a list of results taken apart."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

    def forward(self, x):
        left, right = self.up(self.conv(x)).split(1, 1)
        return torch.cat([left, right]), torch.einsum("abcd,abcd->a", left, right)


def _operators(graph):
    return [node for node in graph.nodes() if node.kind().startswith("aten::")]


def test_kinds_shapes_and_arguments():
    graph, results = torch.jit._get_trace_graph(Model(), (torch.ones(2, 3, 4, 4),))
    assert [tuple(each.shape) for each in results] == [(4, 1, 8, 8), (2,)]
    kinds = [node.kind() for node in _operators(graph)]
    assert kinds == ["aten::_convolution", "aten::_convolution", "aten::split", "aten::cat", "aten::einsum"]
    conv, up, split, cat, einsum = _operators(graph)
    for node, transposed, shape in ((conv, False, [2, 4, 4, 4]), (up, True, [2, 2, 8, 8])):
        inputs = list(node.inputs())
        # PyTorch 2.13: input, weight, bias, stride, padding, dilation, transposed, output_padding, groups and four flags.
        assert len(inputs) == 13
        assert inputs[6].toIValue() is transposed
        assert inputs[8].toIValue() == 1
        assert node.output().type().sizes() == shape
    assert [each.toIValue() for each in list(up.inputs())[3].node().inputs()] == [2, 2]
    assert not split.output().isCompleteTensor()
    assert str(split.output().type()) == "List[Tensor]"
    unpacked = graph.findNode("prim::ListUnpack")
    assert [each.type().sizes() for each in unpacked.outputs()] == [[2, 1, 8, 8]] * 2
    assert list(next(cat.inputs()).node().inputs()) == list(unpacked.outputs())
    assert next(einsum.inputs()).toIValue() == "abcd,abcd->a"
    assert [each.node().kind() for each in graph.outputs()] == ["prim::TupleConstruct"]


def test_inputs_then_parameters_and_buffers_once_each():
    model = nn.BatchNorm1d(2)
    model.again = model.weight
    graph, _ = torch.jit._get_trace_graph(model.eval(), torch.ones(3, 2))
    told = [(each.type().sizes(), each.type().scalarType(), each.requires_grad()) for each in graph.inputs()]
    expected = [([3, 2], "Float", False), ([2], "Float", True), ([2], "Float", True)]
    assert told == [*expected, ([2], "Float", False), ([2], "Float", False), ([], "Long", False)]


def test_hooks_name_scopes():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, name=name: torch._C._get_tracing_state().push_scope(name))
        module.register_forward_hook(lambda *_: torch._C._get_tracing_state().pop_scope())
    graph, _ = torch.jit._get_trace_graph(model, torch.ones(1, 2))
    assert [node.scopeName() for node in _operators(graph)] == ["/0", "/1"]
    assert torch._C._get_tracing_state() is None


def test_printed_as_torchscript():
    graph, _ = torch.jit._get_trace_graph(lambda x: x.add_(1), torch.ones(2))
    lines = str(graph).splitlines()
    assert lines[0] == "graph(%0 : Float(2, strides=[1], requires_grad=0, device=cpu)):"
    assert lines[-2] == "  %3 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add_(%0, %1, %2)"
    assert lines[-1] == "  return (%3)"
    assert isinstance(graph, torch._C.Graph)


def test_the_result_keeps_its_history_and_inputs_are_copied_when_asked():
    weight = torch.ones(2, requires_grad=True)
    _, result, copies = torch.jit._get_trace_graph(
        lambda x: (x.mul_(2) * weight).sum(), torch.ones(2), return_inputs=True
    )
    result.backward()
    assert weight.grad.tolist() == [2.0, 2.0]
    assert copies[0].tolist() == [1.0, 1.0]


def test_what_cannot_be_traced_is_refused():
    with pytest.raises(RuntimeError, match="Type 'int' cannot be traced. Only Tensors and"):
        torch.jit._get_trace_graph(lambda x: x, 3)
    with pytest.raises(ValueError, match="broken"):
        torch.jit._get_trace_graph(_broken, torch.ones(2))
    assert torch._C._get_tracing_state() is None
    assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]


def _broken(x):
    raise ValueError("broken")
