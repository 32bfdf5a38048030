"""Passes that back ends cut graphs with: parts by what is supported, splits by tags, names of arguments, constants, norms folded."""

import operator
import random

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.fx import symbolic_trace
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.fx.experimental import const_fold, merge_matmul, meta_tracer, normalize, optimization
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.experimental.rewriter import RewritingTracer
from mindtorch_v2.fx.operator_schemas import normalize_function
from mindtorch_v2.fx.passes import net_min_base, operator_support, pass_manager, shape_prop, splitter_base
from mindtorch_v2.fx.passes.dialect.common import cse_pass
from mindtorch_v2.fx.passes.graph_manipulation import get_size_of_all_nodes
from mindtorch_v2.fx.passes.graph_transform_observer import GraphTransformObserver
from mindtorch_v2.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from mindtorch_v2.fx.passes.split_utils import split_by_tags
from mindtorch_v2.fx.passes.tools_common import legalize_graph
from mindtorch_v2.fx.passes.utils.fuser_utils import fuse_by_partitions, validate_partition


def _random_graph(seed):
    """A graph of additions and functions that a back end lacks, whose nodes take any values before them."""
    draw = random.Random(seed)
    graph = torch.fx.Graph()
    nodes = [graph.placeholder("x"), graph.placeholder("y")]
    for _ in range(draw.randint(3, 40)):
        if draw.random() < 0.6:
            nodes.append(graph.call_function(operator.add, (draw.choice(nodes[-8:]), draw.choice(nodes))))
        else:
            nodes.append(graph.call_function(torch.sigmoid, (draw.choice(nodes[-6:]),)))
    graph.output(tuple(draw.sample(nodes, min(3, len(nodes)))))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


TAKES_ADD = operator_support.create_op_support(lambda modules, node: node.target is operator.add)


@pytest.mark.parametrize("horizontal", [True, False])
def test_parts_of_random_graphs_hold_all_that_is_supported_and_compute_the_same(horizontal):
    x, y = torch.randn(3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    sizes = []
    for seed in range(60):
        module = _random_graph(seed)
        expected = module(x, y)
        supported = {node.name for node in module.graph.nodes if node.target is operator.add}
        cut = CapabilityBasedPartitioner(module, TAKES_ADD, True, skip_horizontal_fusion=not horizontal)
        parts = cut.propose_partitions()
        assert all(validate_partition(list(part.nodes)) for part in parts)
        assert sorted(node.name for part in parts for node in part.nodes) == sorted(supported)
        sizes.append(len(parts))
        fused = cut.fuse_partitions(parts)
        assert not any(node.target is operator.add for node in fused.graph.nodes)
        assert all(torch.equal(a, b) for a, b in zip(fused(x, y), expected))
    assert sum(sizes) == {True: 144, False: 259}[horizontal]  # PyTorch 2.13 makes 143 and 259


def test_large_graphs_are_cut_in_reasonable_time():
    graph = torch.fx.Graph()
    value = graph.placeholder("x")
    for number in range(3000):
        value = graph.call_function(
            operator.add if number % 3 else torch.sigmoid, (value, value)[: 2 if number % 3 else 1]
        )
    graph.output(value)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    assert len(CapabilityBasedPartitioner(module, TAKES_ADD, True).propose_partitions()) == 1000


def test_parts_that_need_each_other_are_refused():
    traced = symbolic_trace(lambda x: (x + 1).relu() + 2)
    x, add, relu, second, output = traced.graph.nodes
    with pytest.raises(AssertionError, match="cycles"):
        fuse_by_partitions(traced, [{add: None, second: None}])


def test_support_by_dtypes_reads_what_shapes_left():
    class Table(operator_support.OperatorSupport):
        _support_dict = {"_operator.add": (((torch.float64,),), {})}

    traced = symbolic_trace(lambda x, y: (x + 1, y + 1))
    shape_prop.ShapeProp(traced).propagate(torch.ones(1), torch.ones(1, dtype=torch.float64))
    nodes = [node for node in traced.graph.nodes if node.op == "call_function"]
    assert [Table().is_node_supported({}, node) for node in nodes] == [False, True]
    no_float = operator_support.OpSupports.decline_if_input_dtype(torch.float32)
    both = operator_support.chain(TAKES_ADD, no_float)
    assert [both.is_node_supported({}, node) for node in nodes] == [False, True]
    assert operator_support.any_chain(TAKES_ADD, no_float).is_node_supported({}, nodes[0])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 2, 3)
        self.norm = torch.nn.BatchNorm2d(2)
        self.drop = torch.nn.Dropout()
        self.scale = torch.nn.Parameter(torch.tensor([2.0]))

    def forward(self, x):
        y = self.drop(self.norm(self.conv(x)))
        return torch.relu(y) * (self.scale.exp() + 1)


def _net():
    torch.manual_seed(0)
    net = Net()
    net(torch.randn(4, 1, 5, 5))  # statistics that are not those it began with
    return net.eval(), torch.randn(2, 1, 5, 5)


def test_a_splitter_makes_parts_for_an_accelerator_and_for_the_cpu():
    net, x = _net()
    takes = operator_support.create_op_support(lambda modules, node: node.op == "call_module")
    settings = splitter_base._SplitterSettingBase(min_acc_module_size=2)
    splitter = splitter_base._SplitterBase(symbolic_trace(net), (x,), takes, settings)
    result = splitter.generate_split_results()
    # What depends on parameters only can run at once, and does so first.
    assert list(result.submodule_inputs) == ["_run_on_cpu_0", "_run_on_acc_1", "_run_on_cpu_2"]
    assert torch.equal(result.split_module(x), net(x))
    assert "nodes" in splitter_base._SplitterBase(symbolic_trace(net), (x,), takes, settings).split_preview()
    few = splitter_base._SplitterSettingBase(max_acc_splits=0)
    with pytest.raises(ValueError, match="at most 0 are allowed"):
        splitter_base._SplitterBase(symbolic_trace(net), (x,), takes, few)()


def test_tags_that_stand_the_wrong_way_round_are_refused():
    traced = symbolic_trace(lambda x: (x + 1).relu())
    for node in traced.graph.nodes:
        node.tag = "first" if node.name == "relu" else "second"
    with pytest.raises(AssertionError, match="order must be"):
        split_by_tags(traced, ["first", "second"])


def test_a_minimizer_finds_the_node_that_differs():
    class Wrong(net_min_base._MinimizerBase):
        def run_a(self, mod, inputs, report_idx=-1):
            return mod(*inputs)

        def run_b(self, mod, inputs, report_idx=-1):
            off = any(node.target is torch.exp for node in mod.graph.nodes)
            return mod(*inputs) + off

    def compare(a, b, names):
        return float((a - b).abs().max()), torch.equal(a, b)

    traced = symbolic_trace(lambda x: torch.relu(torch.exp(torch.sin(x))))
    for method in ("sequential", "binary", "block", "accumulate"):
        settings = net_min_base._MinimizerSettingBase(traverse_method=method)
        found = Wrong(traced, (torch.ones(2),), compare, settings).minimize()
        assert "exp" in {node.name for node in found}
        assert "relu" not in {node.name for node in found}


def test_constants_are_computed_once():
    net, x = _net()
    folded = const_fold.split_const_subgraphs(net)
    assert torch.allclose(folded(x), net(x))
    assert not any(node.target in (torch.exp, "exp") for node in folded.graph.nodes)
    before = folded._FX_CONST_FOLDED_ATTRS
    folded(x)
    assert folded._FX_CONST_FOLDED_ATTRS is before


def test_norms_are_folded_and_dropout_goes():
    net, x = _net()
    fused = optimization.fuse(net)
    assert not any(isinstance(module, torch.nn.BatchNorm2d) for module in fused.modules())
    assert torch.allclose(fused(x), net(x), atol=1e-6)
    quick = optimization.optimize_for_inference(net)
    assert not any(isinstance(module, torch.nn.Dropout) for module in quick.modules())
    assert torch.allclose(quick(x), net(x), atol=1e-6)
    assert any(isinstance(module, torch.nn.BatchNorm2d) for module in net.modules())  # the model itself is as it was


def test_arguments_get_names_and_defaults():
    args, kwargs = normalize_function(torch.cumsum, (1, 0), {}, (torch.Tensor, int))
    assert args == (1, 0)
    assert kwargs == {"dtype": None}
    traced = symbolic_trace(lambda x: torch.nn.functional.softmax(torch.sub(x, 1), dim=0))
    named = normalize.NormalizeArgs(traced).transform()
    assert all(not node.args for node in named.graph.nodes if node.op == "call_function")
    x = torch.randn(3)
    assert torch.equal(named(x), traced(x))
    operators = normalize.NormalizeOperators(symbolic_trace(lambda x: torch.add(x, 1))).transform()
    assert list(operators.graph.nodes)[1].target is operator.add


def test_products_by_one_matrix_become_one():
    module = symbolic_trace(lambda x, y, w: torch.matmul(x, w).sum() + torch.matmul(y, w).sum())
    merged = merge_matmul.merge_matmul(module)
    x, y, w = torch.randn(2, 3), torch.randn(4, 3), torch.randn(3, 5)
    assert torch.allclose(merged(x, y, w), module(x, y, w))


def test_examples_let_a_program_ask_for_sizes():
    def program(x):
        made = x + torch.arange(x.shape[-1], device=x.device)
        return made.relu() if made.shape[0] > 2 else made.neg()

    traced = meta_tracer.symbolic_trace(program, {"x": torch.empty(3, 2, device="meta")})
    x = torch.randn(3, 2)
    assert torch.equal(traced(x), program(x))


def test_assertions_stay_in_a_rewritten_program():
    class Checked(torch.nn.Module):
        def forward(self, a, b):
            assert a == b, "they differ"
            return a + b

    module = Checked()
    traced = torch.fx.GraphModule(module, RewritingTracer().trace(module))
    assert traced(3, 3) == 6
    with pytest.raises(AssertionError, match="they differ"):
        traced(3, 4)


def test_passes_run_in_an_order_that_holds():
    def first(x):
        return x + 1

    def second(x):
        return x * 2

    manager = pass_manager.PassManager([second, first], [pass_manager.this_before_that_pass_constraint(first, second)])
    with pytest.raises(RuntimeError, match="constraint violated"):
        manager(1)
    manager.passes.reverse()
    assert manager(1) == 4


def test_notes_go_along_with_transformations_and_annotations():
    def step(x):
        with fx_traceback.annotate({"stage": 1}):
            y = x.sin()
            with fx_traceback.annotate({"inner": True}):
                return y.cos()

    with fx_traceback.preserve_node_meta():
        traced = make_fx(step)(torch.ones(2))
    assert [node.meta.get("custom") for node in traced.graph.nodes] == [
        None,
        {"stage": 1},
        {"stage": 1, "inner": True},
        None,
    ]
    seen = []
    torch.compile(step, backend=lambda module, inputs: seen.append(module) or module)(torch.ones(2))
    graph = seen[0].graph
    assert [node.meta["custom"] for node in graph.nodes if node.target == "sin"] in ([{"stage": 1}], [])
    again = torch.fx.Transformer(traced).transform()
    assert again.graph.find_nodes(op="call_function", target=torch.ops.aten.sin.default)[0].meta["custom"] == {
        "stage": 1
    }


def test_an_observer_tells_what_a_pass_did(tmp_path):
    traced = symbolic_trace(lambda x: torch.neg(x))
    with GraphTransformObserver(traced, "swap") as observer:
        torch.fx.replace_pattern(traced, lambda x: torch.neg(x), lambda x: torch.relu(x))
    (made,) = [node for node in traced.graph.nodes if node.op == "call_function"]
    assert (observer.created_nodes, observer.erased_nodes) == ({"relu"}, {"neg"})
    assert made.meta["from_node"][-1].name == "neg"


def test_sizes_in_bytes():
    net, x = _net()
    traced = symbolic_trace(net)
    get_size_of_all_nodes(traced, [x])
    sizes = {node.name: tuple(node.size_bytes) for node in traced.graph.nodes if node.op != "output"}
    assert sizes["x"] == (200, 200)
    assert sizes["conv"] == (2 * 2 * 9 * 4, 2 * 2 * 9 * 4 + 20 * 4)


def test_a_graph_in_the_wrong_order_is_sorted():
    traced = symbolic_trace(lambda x: (x + 1).relu())
    x, add, relu, output = traced.graph.nodes
    relu.append(add)
    assert [node.name for node in legalize_graph(traced).graph.nodes] == ["x", "add", "relu", "output"]


def test_a_constant_that_is_written_while_it_is_traced_keeps_its_number():
    def program(x):
        three = torch.tensor(3)
        three.add_(1)
        return x + three

    for mode in ("real", "fake"):
        module = make_fx(program, tracing_mode=mode)(torch.ones(2))
        assert [module(torch.ones(2)).tolist() for _ in range(2)] == [[5.0, 5.0]] * 2


def test_common_expressions_are_one_with_their_defaults():
    module = make_fx(lambda x: x.sum([1]) + torch.ops.aten.sum.dim_IntList(x, [1], False))(torch.ones(2, 2))
    assert len([node for node in cse_pass.CSEPass()(module).graph_module.graph.nodes if "sum" in node.name]) == 1
