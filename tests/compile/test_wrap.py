"""`torch._higher_order_ops.wrap`: a function that stays a graph of its own. The graphs are PyTorch 2.13's."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.testing import EagerAndRecordGraphs
from mindtorch_v2._higher_order_ops.wrap import wrap

scale = torch.tensor([1.0, 2.0, 3.0])
layer = torch.nn.Linear(3, 3)


def _graph(function, *args):
    backend = EagerAndRecordGraphs()
    found = torch.compile(function, backend=backend, fullgraph=True)(*args)
    (graph,) = backend.graphs
    torch.testing.assert_close(found, function(*args))
    return graph


def _lines(module):
    return [line.partition(";")[0] for line in module.code.strip().splitlines()]


def test_what_the_function_reads_is_an_operand():
    graph = _graph(lambda x, y: wrap(lambda x: (x * 2 + y, {"a": x.sin()}), x), torch.ones(3), torch.ones(3))
    assert _lines(graph)[-5:] == [
        "    wrap_body_0 = self.wrap_body_0",
        "    wrap = torch.ops.higher_order.wrap(wrap_body_0, l_x_, l_y_)",
        "    getitem = wrap[0]",
        "    getitem_1 = wrap[1]",
        "    return (getitem, getitem_1)",
    ]
    assert _lines(graph.wrap_body_0) == [
        "def forward(self, l_x_, l_y_):",
        "    mul = l_x_ * 2",
        "    add = mul + l_y_",
        "    sin = l_x_.sin()",
        "    return (add, sin)",
    ]


def test_one_within_another():
    graph = _graph(lambda x: wrap(lambda x: wrap(lambda x: x + scale, x), x), torch.ones(3))
    assert "wrap = torch.ops.higher_order.wrap(wrap_body_1, l_x_, g_scale_)" in graph.code
    assert "wrap = torch.ops.higher_order.wrap(wrap_body_0, l_x_, g_scale_)" in graph.wrap_body_1.code
    assert "add = l_x_ + g_scale_" in graph.wrap_body_1.wrap_body_0.code


def test_constants_keywords_and_modules():
    graph = _graph(lambda x: wrap(lambda x, n, k=1: layer(x) * n * k, x, 3, k=2), torch.ones(3))
    parameters = "g_layer_parameters_weight_, g_layer_parameters_bias_"
    assert f"torch.ops.higher_order.wrap(wrap_body_0, l_x_, {parameters})" in graph.code
    assert "mul = linear * 3" in graph.wrap_body_0.code and "mul_1 = mul * 2" in graph.wrap_body_0.code


def test_results_that_are_no_tensors_and_operands_given_back():
    graph = _graph(lambda x: (wrap(lambda x: 1, x), wrap(lambda x: x, x), x.sin()), torch.ones(3))
    assert "torch.ops.higher_order.wrap(wrap_body_0)" in graph.code
    assert _lines(graph.wrap_body_1) == ["def forward(self, l_x_):", "    return (l_x_,)"]


def test_writes_and_gradients():
    def program(x):
        y = x * 2
        wrap(lambda y: y.add_(1), y)
        return y

    x = torch.ones(3, requires_grad=True)
    torch.compile(program, backend="eager", fullgraph=True)(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert torch.compile(program, backend="eager", fullgraph=True)(torch.ones(3)).tolist() == [3, 3, 3]


def test_a_function_that_writes_to_a_list_outside_has_no_graph():
    seen = []

    def body(x):
        seen.append(1)
        return x * 2

    with pytest.raises(torch._dynamo.exc.Unsupported, match="higher_order.wrap that writes to objects outside"):
        torch.compile(lambda x: wrap(body, x), backend="eager", fullgraph=True)(torch.ones(2))
    assert torch.compile(lambda x: wrap(body, x), backend="eager")(torch.ones(2)).tolist() == [2, 2]
    assert seen == [1]
