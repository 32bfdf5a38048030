"""`torch.export`: graphs, signatures, sizes that may differ, errors, and the module that runs.

Names, counts and texts that are expected here are what PyTorch 2.13 gives for the same programs.
"""

import dataclasses

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dynamo.exc import Unsupported, UserError
from mindtorch_v2.export import Dim, export
from mindtorch_v2.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

if reference.is_reference():
    pytest.skip("expected values are written down", allow_module_level=True)


class Net(nn.Module):
    """Parameters, buffers of both kinds, a constant, writes, keyword arguments, a dict as the result."""

    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)
        self.c = torch.tensor([1.0, 2.0])
        self.register_buffer("seen", torch.zeros(2), persistent=False)

    def forward(self, x, *, scale=None):
        y = self.bn(self.conv(x)).relu().mean((2, 3))
        y.add_(1)
        z = self.fc(y) + self.c
        self.seen += z.sum(0).detach()
        return {"a": z, "b": z.shape[0], "k": nn.functional.layer_norm(z, (2,)), "n": None, "f": 2.5}


def exported(dynamic=True):
    torch.manual_seed(0)
    net, x = Net(), torch.randn(2, 3, 8, 8)
    shapes = {"x": {0: Dim("batch", max=10)}, "scale": None} if dynamic else None
    return net, export(net, (x,), {"scale": None}, dynamic_shapes=shapes)


def targets(program):
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def test_the_graph_has_the_operators_that_the_program_calls():
    _, program = exported()
    assert targets(program) == [
        "aten.conv2d.default", "aten.add_.Tensor", "aten.batch_norm.default", "aten.relu.default", "aten.mean.dim",
        "aten.add_.Tensor", "aten.linear.default", "aten.add.Tensor", "aten.sum.dim_IntList", "aten.detach.default",
        "aten.add_.Tensor", "aten.layer_norm.default", "aten.sym_size.int",
    ]  # fmt: skip
    assert [n.name for n in program.graph.find_nodes(op="placeholder")] == [
        "p_conv_weight", "p_conv_bias", "p_bn_weight", "p_bn_bias", "p_fc_weight", "p_fc_bias", "b_seen",
        "b_bn_running_mean", "b_bn_running_var", "b_bn_num_batches_tracked", "c_c", "x", "scale",
    ]  # fmt: skip


def test_the_signature_says_what_inputs_and_outputs_are():
    _, program = exported()
    signature = program.graph_signature
    assert signature.inputs_to_parameters["p_fc_bias"] == "fc.bias"
    assert signature.non_persistent_buffers == ("seen",)
    assert signature.lifted_tensor_constants == ("c",)
    assert signature.user_inputs == ("x", None)
    assert signature.user_outputs == ("add", "sym_size_int", "layer_norm", None, 2.5)
    assert signature.buffers_to_mutate == {}
    assert "b_seen: BUFFER target='seen' persistent=False\n" in str(signature)
    assert sorted(program.constants) == ["c", "seen"]
    assert set(program.state_dict) == set(Net().state_dict())
    assert str(program.range_constraints) == "{s0: VR[0, 10]}"


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_the_module_computes_and_writes_what_the_program_does(batch, lower):
    net, program = exported()
    if lower:
        program = program.run_decompositions()
        assert not any("add_" in each or "copy_" in each for each in targets(program))
        assert list(program.graph_signature.buffers_to_mutate.values()) == [
            "seen", "bn.running_mean", "bn.running_var", "bn.num_batches_tracked"
        ]  # fmt: skip
    x = torch.randn(batch, 3, 8, 8)
    before = {name: value.clone() for name, value in net.named_buffers()}
    expected = net(x, scale=None)
    after = {name: value.clone() for name, value in net.named_buffers()}
    with torch.no_grad():
        for name, value in net.named_buffers():
            value.copy_(before[name])
    module = program.module()
    result = module(x, scale=None)
    assert list(result) == list(expected)
    assert result["b"] == batch and result["n"] is None and result["f"] == 2.5
    torch.testing.assert_close(result["a"], expected["a"], rtol=0, atol=0 if not lower else 1e-6)
    for name, value in module.named_buffers():
        torch.testing.assert_close(value, after[name], rtol=0, atol=0 if not lower else 1e-6)
    assert "seen" not in module.state_dict() and "c" not in module.state_dict()


def test_the_module_can_be_trained():
    net, program = exported(dynamic=False)
    x = torch.randn(2, 3, 8, 8)
    net(x, scale=None)["k"].square().sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    module = program.module()
    module(x, scale=None)["k"].square().sum().backward()
    for parameter, gradient in zip(module.parameters(), expected):
        torch.testing.assert_close(parameter.grad, gradient, rtol=0, atol=0)
    for name in ("train", "eval"):
        with pytest.raises(NotImplementedError, match=rf"Calling {name}\(\) is not supported yet."):
            getattr(module, name)()


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((torch.ones(20, 3, 8, 8),), {"scale": None}, AssertionError, r"Guard failed: x.size\(\)\[0\] <= 10"),
        ((torch.ones(4, 3, 9, 8),), {"scale": None}, AssertionError, r"Guard failed: x.size\(\)\[2\] == 8"),
        ((torch.ones(4, 3, 8, 8),), {"scale": 1}, AssertionError, "Guard failed: scale == None"),
        ((torch.ones(4, 3, 8, 8), 1), {"scale": None}, ValueError, "Trying to flatten user inputs with exported input tree"),
        ((torch.ones(4, 3, 8, 8),), {"scales": 1}, ValueError, "Ran into a kwarg keyword mismatch"),
        ((torch.ones(4, 3, 8),), {"scale": None}, AssertionError, r"Guard failed: len\(x.size\(\)\) == 4"),
    ],
)  # fmt: skip
def test_inputs_for_which_the_graph_does_not_hold_are_refused(args, kwargs, error, text):
    with pytest.raises(error, match=text):
        exported()[1].module()(*args, **kwargs)


def test_a_program_is_no_function():
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly. You should use"):
        exported()[1](torch.ones(2, 3, 8, 8))


def module_of(function):
    class Made(nn.Module):
        forward = function

    return Made()


@pytest.mark.parametrize(
    ("function", "args", "shapes", "error", "text"),
    [
        (lambda s, x: x if x.sum() > 0 else -x, (torch.ones(3),), None, GuardOnDataDependentSymNode,
         r"Could not guard on data-dependent expression Eq\(u0, 1\)"),
        (lambda s, x: x * 2 if x.shape[0] > 4 else x, (torch.ones(8),), ({0: Dim("n")},), UserError,
         r"(?s)Constraints violated \(n\)!.*n = L\['x'\].size\(\)\[0\] in the specified range satisfy the generated guard "
         r"5 <= L.*Suggested fixes:\n  n = Dim\('n', min=5\)"),
        (lambda s, x: x.reshape(8), (torch.ones(8),), ({0: Dim("n")},), UserError,
         r"(?s)You marked n as dynamic but your code specialized it to be a constant \(8\).*Suggested fixes:\n  n = 8"),
        (lambda s, x: x.reshape(8), (torch.ones(8),), ({0: Dim.DYNAMIC},), UserError,
         r"You marked L\['x'\].size\(\)\[0\] as dynamic but your code specialized it"),
        (lambda s, x: x, (torch.ones(1),), ({0: Dim("n")},), UserError, r"specialized it to be a constant \(1\)"),
        (lambda s, x, y: x + y, (torch.ones(8), torch.ones(8)), ({0: Dim("n")}, {0: Dim("m")}), UserError,
         r"(?s)The values of m = L\['y'\].size\(\)\[0\] and n = L\['x'\].size\(\)\[0\] must always be equal.*\n  m = n"),
        (lambda s, x, y: x + y, (torch.ones(8), torch.ones(8)), ({0: Dim("n")},), UserError,
         "`inputs` has 2 elements, but `dynamic_shapes` has 1 elements"),
        (lambda s, x, y: x + y, (torch.ones(8), torch.ones(8)), {"x": None}, UserError,
         r"top-level keys must be the arg names \['x', 'y'\] of `inputs`, but here they are \['x'\]"),
        (lambda s, x: x, (torch.ones(8),), ({3: Dim("n")},), IndexError, "list assignment index out of range"),
        (lambda s, x, y: x, (torch.ones(8),), None, TypeError, "missing a required argument: 'y'"),
        (lambda s, x: x, [torch.ones(8)], None, UserError, "Expecting `args` to be a tuple of example positional inputs"),
        (lambda s, x: object(), (torch.ones(8),), None, UserError, "outputs with type `<class 'object'>` is not supported"),
        (lambda s, x: x, (object(),), None, UserError, "Unsupported input type builtins.object"),
    ],
)  # fmt: skip
def test_errors(function, args, shapes, error, text):
    with pytest.raises(error, match=text):
        export(module_of(function), args, dynamic_shapes=shapes)


def test_only_modules_are_exported():
    with pytest.raises(
        ValueError, match="Expected `mod` to be an instance of `torch.nn.Module`, got <class 'function'>."
    ):
        export(lambda x: x, (torch.ones(2),))


def test_strict_asks_for_what_can_be_captured_whole():
    assert targets(export(module_of(lambda s, x: x + 1), (torch.ones(2),), strict=True)) == ["aten.add.Tensor"]
    with pytest.raises(Unsupported, match="depends on values"):
        export(module_of(lambda s, x: x if x.sum() > 0 else -x), (torch.ones(3),), strict=True)


@pytest.mark.parametrize(
    ("function", "shapes", "ranges", "sizes"),
    [
        (lambda s, x, y: x + y, [{0: Dim.AUTO}] * 2, "{s0: VR[2, int_oo]}", [3, 9]),
        (lambda s, x, y: x + y, [{0: Dim("n")}] * 2, "{s0: VR[0, int_oo]}", [1, 9]),
        (lambda s, x, y: x + y, [{0: Dim.DYNAMIC(max=9)}] * 2, "{s0: VR[2, 9]}", [3, 9]),
        (lambda s, x, y: x + y, [{0: 2 * Dim("h")}] * 2, "{s0: VR[0, int_oo]}", [2, 10]),
        (lambda s, x, y: (x + y) * (3 if x.shape[0] > 5 else 4), [{0: Dim.AUTO}] * 2, "{s0: VR[6, int_oo]}", [6, 9]),
        (lambda s, x, y: (x + y).reshape(8), [{0: Dim.AUTO}] * 2, "{}", [8]),
    ],
)  # fmt: skip
def test_sizes_that_may_differ(function, shapes, ranges, sizes):
    module = module_of(function)
    program = export(module, (torch.ones(8), torch.ones(8)), dynamic_shapes=shapes)
    assert str(program.range_constraints) == ranges
    for size in sizes:
        x, y = torch.randn(size), torch.randn(size)
        assert torch.equal(program.module()(x, y), module(x, y))
        assert torch.equal(program.run_decompositions().module()(x, y), module(x, y))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(8), torch.ones(7))


def test_sizes_that_follow_from_another_are_checked():
    program = export(module_of(lambda s, x: x * 2), (torch.ones(8),), dynamic_shapes=({0: 2 * Dim("h", max=6)},))
    assert program.module()(torch.ones(12)).shape == (12,)
    for size in (7, 14):
        with pytest.raises(AssertionError, match="Guard failed"):
            program.module()(torch.ones(size))


@dataclasses.dataclass
class Pair:
    first: object
    second: object


def test_inputs_and_results_may_be_nested():
    torch.export.register_dataclass(Pair, serialized_type_name="tests.export.Pair")

    def forward(self, Big, d, *rest, pair=None, **more):
        return Pair(Big + d["a.b"], [rest[0] * pair.first, more["extra"][0] - pair.second])

    x = torch.arange(3.0)
    args, kwargs = (x, {"a.b": x + 1}, x + 2), {"pair": Pair(x + 3, x + 4), "extra": [x + 5]}
    module = module_of(forward)
    program = export(module, args, kwargs)
    assert program.graph_signature.user_inputs == ("big", "d_a_b", "rest_0", "pair_first", "pair_second", "extra_0")
    result, expected = program.module()(*args, **kwargs), module(*args, **kwargs)
    assert type(result) is Pair and torch.equal(result.first, expected.first)
    assert all(map(torch.equal, result.second, expected.second))


def test_writes_to_inputs_and_gradient_modes():
    def forward(self, x, n):
        x.add_(n)
        with torch.no_grad():
            z = x * 2
        return x + torch.tensor([1.0]) + z

    program = export(module_of(forward), (torch.zeros(8), 3))
    assert "_set_grad_enabled" in str([node.target for node in program.graph.nodes])
    assert program.graph_signature.inputs_to_lifted_tensor_constants == {"c_lifted_tensor_0": "lifted_tensor_0"}
    lowered = program.run_decompositions()
    assert lowered.graph_signature.user_inputs_to_mutate == {"add": "x"}
    for each in (program, lowered):
        x = torch.zeros(8)
        assert torch.equal(each.module()(x, 3), torch.full((8,), 10.0)) and torch.equal(x, torch.full((8,), 3.0))
        with pytest.raises(AssertionError, match="Guard failed: n == 3"):
            each.module()(x, 4)


def test_attributes_that_are_assigned_are_not_kept():
    def forward(self, x):
        self.last = x * 2
        return self.last

    module = module_of(forward)
    with pytest.warns(UserWarning, match="The tensor attribute self.last was assigned during export."):
        program = export(module, (torch.ones(2),))
    assert not hasattr(module, "last")
    assert torch.equal(program.module()(torch.ones(2)), torch.full((2,), 2.0))


def test_tied_parameters_stay_one():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.e, self.l, self.unused = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False), nn.Linear(2, 2)
            self.l.weight = self.e.weight

        def forward(self, x):
            return self.l(self.e(x)), x

    module = Tied()
    program = export(module, (torch.tensor([1, 2]),), dynamic_shapes=({0: Dim("n")},))
    assert [
        n.args[0].name for n in program.graph.find_nodes(op="call_function", target=torch.ops.aten.embedding.default)
    ] == ["p_l_weight"]
    assert program.graph_signature.user_outputs == ("linear", "x")
    assert len(program.graph_signature.parameters) == 4
    x = torch.tensor([3, 0, 1])
    assert torch.equal(program.module()(x)[0], module(x)[0])


def test_what_runs_in_transforms_and_custom_functions_is_in_the_graph():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.sin(x) * 2

        @staticmethod
        def backward(ctx, g):
            return g

    module = module_of(lambda s, x: Double.apply(torch.vmap(lambda row: row - row.sum())(x)))
    program = export(module, (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},))
    x = torch.randn(6, 4)
    assert torch.equal(program.module()(x), module(x))


def test_programs_know_that_they_are_exported():
    seen = []

    def forward(self, x):
        seen.append((torch.compiler.is_exporting(), torch.compiler.is_compiling()))
        return torch.compiler.disable(torch.sin)(x)

    program = export(module_of(forward), (torch.ones(2),))
    assert seen[0] == (True, True) and not torch.compiler.is_exporting()
    assert targets(program) == ["aten.sin.default"]


def test_a_failed_export_leaves_nothing_behind():
    net = Net()
    weight = net.fc.weight

    def forward(self, x):
        net(x)
        raise KeyError("mine")

    module = module_of(forward)
    module.net = net
    with pytest.raises(KeyError, match="mine"):
        export(module, (torch.ones(2, 3, 8, 8),))
    assert net.fc.weight is weight and type(net.seen) is torch.Tensor
    assert type(torch.ones(2) + 1) is torch.Tensor


def test_dims():
    assert [repr(d) for d in (Dim("a"), Dim("a", min=2), Dim("a", min=1, max=5), 2 * Dim("a") + 1, Dim.AUTO)] == [
        "Dim('a', min=0)", "Dim('a')", "Dim('a', min=1, max=5)", "2*a + 1", "DimHint(AUTO)"
    ]  # fmt: skip
    assert (2 * Dim("a", min=1, max=5) + 1).max == 11
    with pytest.raises(AssertionError, match="Cannot create Dim with inconsistent min=5, max=2"):
        Dim("a", min=5, max=2)
    with pytest.raises(AssertionError, match="Dim name must be a valid identifier, got a b"):
        Dim("a b")
    with pytest.raises(NotImplementedError, match="Only increasing linear operations"):
        Dim("a") * -1


@pytest.mark.parametrize("sizes", [None, {"x": {0: Dim("length")}}])
def test_a_value_of_a_tensor_is_asked_for_again(sizes):
    def forward(self, x):
        total, first = x.sum().item(), x[0].item()
        return x * total + first * 2 + total * first

    program = export(module_of(forward), (torch.tensor([1, 2, 3]),), dynamic_shapes=sizes)
    assert program.module()(torch.tensor([2, 5, 1])).tolist() == [16 + 4 + 16, 40 + 4 + 16, 8 + 4 + 16]


def test_checks_of_values_are_nodes():
    class Checks(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.one_hot(x, 3)

    program = torch.export.export(Checks(), (torch.tensor([0, 2]),)).run_decompositions()
    names = [node.target for node in program.graph.nodes]
    assert names.count(torch.ops.aten._assert_async.msg) == 2
    assert program.module()(torch.tensor([1, 0])).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        program.module()(torch.tensor([1, 3]))


def test_inputs_keep_names_of_functions_of_python() -> None:
    class Net(torch.nn.Module):
        def forward(self, input, len):
            return input * len

    args = (torch.ones(2), torch.full((2,), 3.0))
    program = export(Net(), args)
    for each in (program, program.run_decompositions()):
        assert each.graph_signature.user_inputs == ("input", "len")
        assert [node.name for node in each.graph.find_nodes(op="placeholder")] == ["input", "len"]
        assert each.module()(*args).tolist() == [3.0, 3.0]


class _Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2)

    def forward(self, x):
        return nn.functional.silu(self.linear(self.norm(self.conv(x)).mean((2, 3))))


def test_a_table_says_what_is_taken_apart():
    aten = torch.ops.aten
    module = _Layers().eval()
    x = torch.randn(1, 3, 5, 5)
    program = torch.export.export(module, (x,))

    def found(table):
        taken = program.run_decompositions(table)
        assert torch.allclose(taken.module()(x), module(x), atol=1e-6) is (doubled not in table.values())
        return {each.target for each in taken.graph.nodes if each.op == "call_function"}

    def doubled(x, weight, bias, *_):
        return 2 * aten.convolution(x, weight, bias, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)

    table = torch.export.default_decompositions()
    assert aten.conv2d.default in table and aten.convolution.default not in table
    assert {aten.convolution.default, aten.addmm.default, aten.sigmoid.default} <= found(table)
    assert {aten.conv2d.default, aten.linear.default, aten.silu.default} <= found({})
    changed = table.copy()
    del changed[aten.conv2d.default]
    assert {aten.conv2d.default, aten.addmm.default} <= found(changed)
    assert aten.conv2d.default in table and isinstance(changed, torch.export.CustomDecompTable)
    changed[aten.conv2d.default] = doubled
    assert {aten.convolution.default, aten.mul.Tensor} <= found(changed)
