"""`aot_function`, `aot_module` and `aot_module_simplified`: what compilers are given, and that programs mean what they did."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._functorch.aot_autograd import (
    Lowering,
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_func,
)
from mindtorch_v2._lowered.partition import default_partition, min_cut_rematerialization_partition


def _nop(module, inputs):
    return module


def _targets(module):
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def _lowered(function, **options):
    return Lowering(function, _nop, strict=True, **options)


def test_trees_and_boxed_compilers():
    def compiler(module, inputs):
        return make_boxed_func(module.forward)

    function = aot_function(lambda tree, scale=1.0: {"sum": tree["a"] + tree["b"][0] * scale, "n": 3}, compiler)
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    found = function({"a": a, "b": [b]}, scale=2.0)
    assert found["n"] == 3
    found["sum"].sum().backward()
    assert found["sum"].tolist() == [3, 3]
    assert a.grad.tolist() == [1, 1]
    assert b.grad is None


def test_modules():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh())
    x = torch.randn(2, 3)
    compiled = aot_module(model, _nop)
    assert torch.equal(compiled(x), model(x))
    compiled(x).sum().backward()
    slope = 1 - model(x).detach().square()
    torch.testing.assert_close(model[0].weight.grad, slope.T @ x)
    traced = torch.fx.symbolic_trace(model)
    (found,) = aot_module_simplified(traced, [x], _nop)(x)
    assert torch.equal(found, model(x))


def test_what_is_returned_keeps_its_memory():
    def function(x, y):
        z = x * 2
        return x, x.view(-1), z, z[0], z.detach(), y.t(), (z[1], z[1])[0]

    run = _lowered(lambda *args: list(function(*args)))
    leaf = torch.randn(3, 4, requires_grad=True)
    x, y = leaf * 1, torch.randn(2, 5)
    same, flat, z, row, detached, transposed, again = run(x, y)
    assert same is x
    assert flat._base is x
    assert row._base is z
    assert detached.data_ptr() == z.data_ptr()
    assert not detached.requires_grad
    assert transposed.data_ptr() == y.data_ptr()
    (z.sum() + row.sum() * 3 + flat.sum() + again.sum()).backward()
    expected = torch.full((3, 4), 3.0)
    expected[0] += 6
    expected[1] += 2
    assert torch.equal(leaf.grad, expected)


def test_arguments_that_are_written():
    def function(x, buffer, hidden):
        x.mul_(2)
        buffer.add_(x.detach().sum())
        hidden.data.fill_(7)
        return [x * 3]

    run = _lowered(function)
    for call in (function, run):
        leaf = torch.ones(2, requires_grad=True)
        x, buffer, hidden = leaf * 1, torch.zeros(()), torch.zeros(2)
        before = buffer._version, hidden._version
        (result,) = call(x, buffer, hidden)
        result.sum().backward()
        assert x.tolist() == [2, 2]
        assert leaf.grad.tolist() == [6, 6]
        assert buffer.item() == 4
        assert hidden.tolist() == [7, 7]
        assert buffer._version > before[0]
        assert hidden._version == before[1]


def test_sizes_that_are_written():
    run = _lowered(lambda x: [x.t_(), x + 1])
    x = torch.arange(6.0).reshape(2, 3)
    found, other = run(x)
    assert found is x
    assert x.shape == (3, 2)
    assert torch.equal(other, torch.arange(6.0).reshape(2, 3).t() + 1)


@pytest.mark.parametrize("partition", [default_partition, min_cut_rematerialization_partition])
def test_random_numbers_are_those_of_eager(partition):
    def function(x):
        torch.rand(3)  # of no use, but drawn
        y = nn.functional.dropout(x.sin(), 0.5)
        return [y * torch.rand_like(y)]

    run = _lowered(function, partition_fn=partition)
    outcomes = []
    for call in (function, run):
        x = torch.linspace(0, 1, 20, requires_grad=True)
        torch.manual_seed(4)
        (y,) = call(x)
        y.sum().backward()
        outcomes.append((y.detach(), x.grad, torch.rand(2)))
    assert all(torch.equal(a, b) for a, b in zip(*outcomes))


def test_autocast_is_in_the_graph():
    run = _lowered(lambda x, w: [(x @ w).sum(), x @ w])
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)
    grads = []
    for call in (lambda x, w: [(x @ w).sum(), x @ w], run):
        with torch.autocast("cpu", torch.bfloat16):
            total, product = call(x, w)
        assert product.dtype == torch.bfloat16
        grads.append(torch.autograd.grad(total, w)[0])
    assert torch.equal(*grads)
    assert run(x, w)[1].dtype == torch.float32  # outside of the block: another graph


def test_gradients_with_other_strides_and_several_passes():
    run = _lowered(lambda x: [x * x])
    x = torch.randn(3, 4, requires_grad=True)
    (y,) = run(x)
    gradient = torch.randn(4, 3).t()
    for _ in range(2):
        (found,) = torch.autograd.grad(y, x, gradient, retain_graph=True)
        assert torch.allclose(found, 2 * x * gradient)
    (found,) = torch.autograd.grad(y, x, torch.ones(()).expand(3, 4))
    assert torch.allclose(found, 2 * x)


def test_a_second_derivative_says_that_there_is_none():
    x = torch.ones(2, requires_grad=True)
    (y,) = _lowered(lambda x: [x.sin()])(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        first.sum().backward()


def test_derivatives_inside():
    def function(x):
        x = x.detach().requires_grad_()
        return [torch.autograd.grad(x.sin().sum(), x)[0]]

    assert torch.allclose(_lowered(function)(torch.ones(2))[0], torch.ones(2).cos())


def test_one_graph_serves_arguments_anywhere_in_memory():
    graphs = []

    def compiler(module, inputs):
        graphs.append(module)
        return module

    run = Lowering(lambda x: [x * 2], compiler, strict=True)
    data = torch.arange(12.0).reshape(6, 2)
    for start in (0, 2, 4):
        assert torch.equal(run(data[start : start + 2])[0], data[start : start + 2] * 2)
    assert len(graphs) == 1
    by_place = Lowering(lambda x: [x.as_strided((2,), (1,), 4) * 2], compiler, strict=True)
    for start in (0, 2):
        assert by_place(data[start : start + 2])[0].tolist() == [8, 10]


def test_what_has_no_graph_is_refused():
    for function, text in {
        lambda x: [x.resize_(8)]: "resized",
        lambda x: [x.set_(torch.ones(3))]: "another storage",
        lambda x: [torch.zeros(2).requires_grad_()]: "requires? grad|gradient of its own",
    }.items():
        with pytest.raises(RuntimeError, match=text):
            _lowered(function)(torch.zeros(2))
    reasons = []
    run = Lowering(lambda x: [x.resize_(4).fill_(1)], _nop, refused=reasons.append)
    x = torch.zeros(2)
    assert run(x)[0] is x
    assert x.tolist() == [1] * 4
    assert reasons == ["an argument is resized"]


def test_the_smallest_cut_keeps_less():
    def function(x):
        return [x.sin().cos().exp().tanh().sum()]

    kept = {}
    for partition in (default_partition, min_cut_rematerialization_partition):
        run = _lowered(
            function,
            partition_fn=partition,
            observe=lambda kind, module, p=partition: kept.setdefault((p, kind), module),
        )
        x = torch.randn(50, requires_grad=True)
        run(x)[0].backward()
        reference = x.detach().requires_grad_()
        function(reference)[0].backward()
        assert torch.allclose(x.grad, reference.grad)
    sizes = {p: len(m.graph.find_nodes(op="placeholder")) for (p, kind), m in kept.items() if kind == "backward"}
    assert sizes[min_cut_rematerialization_partition] == 2  # the argument or one value, and the tangent
    assert sizes[default_partition] > 2
    assert "aten.sin.default" in _targets(kept[default_partition, "forward"])


def test_programs_for_open_sizes():
    run = aot_function(lambda x: x.sin() * x.shape[0], _nop, dynamic=True)
    for size in (3, 5):
        x = torch.arange(float(size), requires_grad=True)
        run(x).sum().backward()
        assert torch.equal(x.grad, x.detach().cos() * size)
    with pytest.raises(RuntimeError, match="nonzero"):
        aot_function(lambda x: x.nonzero().sum(), _nop)(torch.ones(2))  # no graph: its size is the data's
    with pytest.raises(RuntimeError):
        aot_function(lambda x: x * int(x.sum()), _nop, dynamic=True)(torch.ones(2))
