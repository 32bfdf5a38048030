"""Operators that take functions, as nodes of graphs: exported, recorded below autograd, saved, decomposed, and compiled.

Which nodes a program has, and what its functions read as operands, is PyTorch 2.13's.
"""

import io

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.map import map as map_slices
from mindtorch_v2._higher_order_ops.scan import scan
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils import _pytree as pytree


class Chooses(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.other = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        y = torch.cond(
            x.sum() > 0,
            lambda x: self.one(x).relu(),
            lambda x: torch.cond(x.max() < -2, lambda x: self.other(x), lambda x: x * 2.0, (x,)),
            (x,),
        )
        return y + x.shape[0]


class Repeats(torch.nn.Module):
    def forward(self, x):
        return torch.while_loop(lambda n, x: n < 4, lambda n, x: (n + 1, x * 2 + 1), (torch.tensor(0), x))


class Scans(torch.nn.Module):
    def forward(self, x):
        return scan(lambda total, x: (total + x, total * x), torch.zeros(4), x)


class Maps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x):
        return map_slices(lambda row, y: self.linear(row) * y.sum(), x, x[0])


CALLS = {Chooses: "cond", Repeats: "while_loop", Scans: "scan", Maps: "map_impl"}
INPUTS = [value * torch.ones(rows, 4) for value, rows in ((1.0, 3), (-1.0, 3), (-3.0, 3), (0.5, 5), (-2.5, 7))]


def equal(one, other):
    pairs = zip(pytree.tree_leaves(one), pytree.tree_leaves(other), strict=True)
    return all(torch.allclose(*pair) for pair in pairs)


def calls(module):
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("kind", CALLS, ids=CALLS.values())
def test_a_program_is_exported_for_all_sizes(kind):
    module = kind()
    rows = torch.export.Dim("rows", min=2, max=64)
    program = torch.export.export(module, (torch.ones(3, 4),), dynamic_shapes={"x": {0: rows}})
    assert calls(program.graph_module).count(CALLS[kind]) == 1
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for each in (program, program.run_decompositions(), torch.export.load(file)):
        run = each.module()
        assert all(equal(run(x), module(x)) for x in INPUTS)


def test_functions_are_graphs_that_take_operands():
    outer = torch.tensor([2.0, 2.0])

    def program(x):
        y = x * 3
        return torch.cond(x.sum() > 0, lambda x: x.sin() + outer + y, lambda x: x.cos(), (x,))

    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(program, tracing_mode=mode, _allow_non_fake_inputs=True)(torch.ones(2))
        (node,) = (node for node in graph.graph.nodes if str(node.target) == "cond")
        assert [each.name for each in node.args[1:3]] == ["true_graph_0", "false_graph_0"]
        assert [each.name for each in node.args[3]] == ["x_1", "_tensor_constant0", "mul"]
        assert (
            "torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, (x_1, _tensor_constant0, mul))" in graph.code
        )
        assert calls(graph.true_graph_0) == ["aten.sin.default", "aten.add.Tensor", "aten.add.Tensor"]
        assert calls(graph.false_graph_0) == ["aten.cos.default"]
        assert all(equal(graph(x), program(x)) for x in (torch.ones(2), -torch.ones(2)))


def test_gradients_of_a_recorded_choice_are_a_choice():
    def gradient(x):
        y = torch.cond(x.sum() > 0, lambda x: x.sin() * x, lambda x: x.cos(), (x,))
        return torch.autograd.grad(y.sum(), x)[0]

    graph = make_fx(gradient)(torch.ones(3, requires_grad=True))
    assert calls(graph).count("cond") == 2
    for value in (1.0, -1.0):
        x = torch.full((3,), value, requires_grad=True)
        assert equal(graph(x), gradient(x))


def test_a_gradient_that_a_graph_cannot_see_is_refused():
    w = torch.ones(3, requires_grad=True)

    def program(x):
        return torch.cond(x.sum() > 0, lambda x: x * w, lambda x: x.cos(), (x,))

    with pytest.raises(NotImplementedError, match="requires grad and is no operand"):
        make_fx(program)(torch.ones(3, requires_grad=True))


def test_exported_choices_can_be_trained():
    module, x = Chooses(), torch.ones(3, 4)
    run = torch.export.export(module, (x,)).module()
    for each in (module, run):
        each.zero_grad()
        each(x).square().sum().backward()
    assert torch.allclose(module.one.weight.grad, run.one.weight.grad) and module.one.weight.grad.any()


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x[:1], RuntimeError, "aliasing"),
        (lambda x: x.sum(), RuntimeError, "shape"),
        (lambda x: (x + 1, x + 2), RuntimeError, "structure|same"),
        (lambda x: x.add_(1) * 2, RuntimeError, "mutation"),
        (lambda x: 3, RuntimeError, "have to give tensors"),
    ],
)
def test_functions_that_do_not_fit_are_refused_while_recording(function, error, text):
    def program(x):
        return torch.cond(x.sum() > 0, function, lambda x: x.cos(), (x * 1,))

    with pytest.raises(error, match=text):
        make_fx(program)(torch.ones(2))


def test_choices_within_choices_run_eagerly():
    def inner(x):
        return torch.cond(x.max() < -2, lambda x: x - 1, lambda x: x * 2, (x,))

    def choose(x):
        return torch.cond(x.sum() > 0, torch.sin, inner, (x,))

    assert choose(torch.tensor([-1.0])).item() == -2 and choose(torch.tensor([-3.0])).item() == -4


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("kind", CALLS, ids=CALLS.values())
def test_a_program_is_captured_whole(kind, backend):
    module = kind()
    compiled = torch.compile(module, backend=backend, fullgraph=True)
    assert all(equal(compiled(x), module(x)) for x in INPUTS)
    x, other = (torch.ones(3, 4, requires_grad=True) for _ in range(2))
    for run, given in ((module, x), (compiled, other)):
        pytree.tree_leaves(run(given))[-1].sum().backward()
    assert torch.allclose(x.grad, other.grad)


def test_a_captured_function_may_not_write():
    seen, module = [], torch.nn.Module()

    def notes(x):
        seen.append(1)
        return x + 1

    def assigns(x):
        module.last = 1
        return x + 1

    def writes(x):
        x.add_(1)
        return x * 2

    for function in (notes, assigns, writes):
        compiled = torch.compile(
            lambda x, f=function: torch.cond(x.sum() > 0, f, lambda x: x.cos(), (x,)), backend="eager", fullgraph=True
        )
        with pytest.raises(torch._dynamo.exc.Unsupported, match="write"):
            compiled(torch.ones(2))


def test_archives_name_only_known_operators():
    program = torch.export.export(Chooses(), (torch.ones(3, 4),))
    file = io.BytesIO()
    torch.export.save(program, file)
    damaged = file.getvalue().replace(b"higher_order.cond", b"higher_order.bond")
    with pytest.raises(RuntimeError):
        torch.export.load(io.BytesIO(damaged))
