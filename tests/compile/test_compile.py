"""`torch.compile`: what it takes, what it gives back, when it captures again, and that results are those of eager."""

import copy
import pickle
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dynamo import config, exc
from mindtorch_v2._dynamo.testing import CompileCounter, CompileCounterWithBackend
from mindtorch_v2._dynamo.utils import counters

BACKENDS = ["eager", "aot_eager", "aot_eager_decomp_partition", "inductor"]


@pytest.fixture(autouse=True)
def _from_the_start():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def _net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_is_that_of_eager(backend):
    eager = _net()
    model = copy.deepcopy(eager)
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (eager, model)]
    for step in range(5):
        x = torch.randn(6, 4)
        losses = []
        for run, optimizer in zip((eager, compiled), optimizers):
            torch.manual_seed(step)
            loss = run(x).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss)
        assert torch.allclose(*losses)
    for mine, theirs in zip(model.state_dict().values(), eager.state_dict().values()):
        assert torch.allclose(mine, theirs)
    assert counters["stats"]["unique_graphs"] == 1


def test_an_optimized_module_is_its_module():
    model = nn.Linear(2, 3)
    compiled = torch.compile(model, backend="eager")
    assert isinstance(compiled, nn.Module)
    assert isinstance(compiled, torch._dynamo.OptimizedModule)
    assert compiled._orig_mod is model
    assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert [name for name, _ in compiled.named_parameters()] == ["_orig_mod.weight", "_orig_mod.bias"]
    assert compiled.in_features == 2
    compiled.eval()
    assert not model.training
    assert not compiled.training
    compiled.extra = 5
    assert model.extra == 5
    del compiled.extra
    assert not hasattr(model, "extra")
    x = torch.ones(1, 2)
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert type(other) is type(compiled)
        assert torch.equal(other(x), model(x))
        assert other._orig_mod is not model


def test_what_it_refuses():
    with pytest.raises(RuntimeError, match="Invalid backend: 'no_such'"):
        torch.compile(lambda x: x, backend="no_such")
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(lambda x: x, mode="default", options={})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        torch.compile(lambda x: x, mode="fast")
    with pytest.raises(AssertionError, match="A callable function is expected"):
        torch.compile(3)
    with pytest.raises(NotImplementedError, match="capture_scalar_outputs"):
        config.capture_scalar_outputs = True
    assert torch.compile(len, disable=True) is len


def test_a_backend_gets_the_graph():
    seen = []

    def backend(graph, examples):
        seen.append((graph, examples))
        return graph.forward

    function = torch.compile(lambda x, y: (x + y).relu(), backend=backend)
    assert function(torch.ones(2), torch.ones(2)).tolist() == [2, 2]
    ((graph, examples),) = seen
    assert isinstance(graph, torch.fx.GraphModule)
    assert [tuple(each.shape) for each in examples] == [(2,), (2,)]
    with pytest.raises(exc.BackendCompilerFailed, match="ZeroDivisionError"):
        torch.compile(lambda x: x + 1, backend=lambda graph, examples: 1 / 0)(torch.ones(2))
    with config.patch(suppress_errors=True):
        function = torch.compile(lambda x: x + 1, backend=lambda graph, examples: 1 / 0)
        assert function(torch.ones(2)).tolist() == [2, 2]


def test_graphs_are_used_again_where_guards_hold():
    counter = CompileCounter()
    scale = [2.0]

    def function(x, flag=True):
        return x * scale[0] if flag else x - 1

    compiled = torch.compile(function, backend=counter)
    x = torch.ones(3)
    for _ in range(3):
        assert compiled(x).tolist() == [2] * 3
    assert counter.frame_count == 1
    assert compiled(x, False).tolist() == [0] * 3
    assert counter.frame_count == 2
    scale[0] = 3.0
    assert compiled(x).tolist() == [3] * 3
    assert counter.frame_count == 3
    with torch.no_grad():
        assert compiled(x.double()).dtype == torch.float64
    assert counter.frame_count == 4


def test_a_batch_of_another_size_costs_one_more_graph():
    counter = CompileCounterWithBackend("aot_eager")
    net = _net().eval()
    compiled = torch.compile(net, backend=counter)
    for size in (3, 4, 5, 9, 2, 3):
        x = torch.randn(size, 4)
        assert torch.allclose(compiled(x), net(x))
    assert counter.frame_count == 2


def test_the_limit_of_graphs():
    with config.patch(recompile_limit=2):
        compiled = torch.compile(lambda x, n: x * n, backend="eager")
        for n in range(2, 7):
            assert compiled(torch.ones(2), str(n) and float(n)).tolist() == [n, n]
        assert counters["stats"]["unique_graphs"] <= 2
        whole = torch.compile(lambda x, name: x + len(name), backend="eager", fullgraph=True)
        with pytest.raises(exc.FailOnRecompileLimitHit, match="recompile_limit"):
            for name in ("a", "bb", "ccc"):
                whole(torch.ones(2), name)


def test_a_graph_break_is_right_and_named():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            x = self.first(x)
            if x.sum().item() > 0:
                x = -x
            return self.second(x)

    net = Net()
    counter = CompileCounter()
    compiled = torch.compile(net, backend=counter)
    for _ in range(4):
        x = torch.randn(2, 3)
        assert torch.equal(compiled(x), net(x))
    assert counter.frame_count == 3  # what comes first, and either way on
    assert net.first._compiled_call_impl is None
    assert counters["graph_break"]
    with pytest.raises(exc.Unsupported, match=r"test_compile\.py:\d+\n.*item\(\)"):
        torch.compile(net, backend="eager", fullgraph=True)(x)


def test_graph_break_by_hand():
    def function(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    assert torch.compile(function, backend="eager")(torch.ones(1)).tolist() == [4]
    with pytest.raises(exc.Unsupported, match="graph_break"):
        torch.compile(function, backend="eager", fullgraph=True)(torch.ones(1))


def test_is_compiling_and_disable():
    seen = []

    def function(x):
        return x + 1 if torch.compiler.is_compiling() else x - 1

    assert torch.compile(function, backend="eager")(torch.ones(1)).tolist() == [2]
    assert function(torch.ones(1)).tolist() == [0]

    @torch.compiler.disable
    def left_out(x):
        seen.append(torch.compiler.is_compiling())
        return x * 3

    assert torch.compile(lambda x: left_out(x) + 1, backend="eager")(torch.ones(1)).tolist() == [4]
    assert seen == [False]
    counter = CompileCounter()
    inner = torch.compile(lambda x: x + 1, backend=counter)
    assert torch.compiler.disable(lambda x: inner(x))(torch.ones(1)).tolist() == [2]
    assert counter.frame_count == 0


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_forbidden_call_is_an_error(fullgraph):
    @torch._dynamo.forbid_in_graph
    def forbidden(x):
        return x * 2

    @torch._dynamo.disallow_in_graph
    def left_out(x):
        return x * 2

    def compiled(function):
        return torch.compile(lambda x: function(x + 1) - 1, backend="eager", fullgraph=fullgraph)

    assert forbidden(torch.ones(1)).tolist() == [2]
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable <function .*forbidden at"):
        compiled(forbidden)(torch.ones(1))
    if not fullgraph:  # a break of the graph, and no error
        assert compiled(left_out)(torch.ones(1)).tolist() == [3]
    assert torch._dynamo.forbid_in_graph([left_out]) == [left_out]
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        compiled(left_out)(torch.ones(1))
    with pytest.raises(AssertionError, match="forbid_in_graph applies only to callables"):
        torch._dynamo.forbid_in_graph(3)


def test_stances():
    counter = CompileCounter()
    function = torch.compile(lambda x: x + 1, backend=counter)
    with torch.compiler.set_stance("force_eager"):
        function(torch.ones(2))
    assert counter.frame_count == 0
    function(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        function(torch.ones(2))
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            function(torch.ones(2, dtype=torch.float64))
    with torch.compiler.set_stance("eager_on_recompile"):
        function(torch.ones(2, dtype=torch.float64))
    assert counter.frame_count == 1
    with pytest.raises(RuntimeError, match="expected stance"):
        torch.compiler.set_stance("no_such")


def test_explain():
    found = torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 2)
    found = torch._dynamo.explain(lambda x: x + x.sum().item())(torch.ones(2))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (2, 1, 2)


def test_registered_backends():
    assert torch.compiler.list_backends() == torch._dynamo.list_backends()
    assert set(BACKENDS) <= set(torch._dynamo.list_backends(None))
    with pytest.raises(AssertionError, match="duplicate name"):
        torch._dynamo.register_backend(lambda graph, examples: graph, name="eager")


def test_logs(capsys):
    torch._logging.set_logs(guards=True, graph_code=True, aot_graphs=True, recompiles=True, graph_breaks=True)
    try:
        function = torch.compile(lambda x: x.relu(), backend="aot_eager")
        function(torch.ones(2))
        function(torch.ones(2, dtype=torch.float64))
        torch.compile(lambda x: x.sum().item(), backend="eager")(torch.ones(2))
    finally:
        torch._logging.set_logs()
    told = capsys.readouterr().err
    for artifact in ("guards", "graph_code", "aot_graphs", "recompiles", "graph_breaks"):
        assert f"[__{artifact}]" in told
    assert "aten.relu.default" in told
    with pytest.raises(ValueError, match="Unrecognized component or artifact"):
        torch._logging.set_logs(no_such=True)


def test_threads_share_graphs():
    counter = CompileCounter()
    function = torch.compile(lambda x: (x * 2).sum(), backend=counter)
    results = []
    threads = [threading.Thread(target=lambda: results.append(function(torch.ones(4)).item())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [8.0] * 8
    assert counter.frame_count == 1


@pytest.mark.parametrize("index", [[-2], [0, 2], [[1], [0]]])
def test_lists_are_indices_in_a_graph(index):
    x = torch.arange(24.0).view(2, 3, 4)
    compiled = torch.compile(lambda x: x[:, :, index] + x[..., [1]].sum(), fullgraph=True)
    assert torch.equal(compiled(x), x[:, :, index] + x[..., 1].sum())


def test_a_compiled_function_is_not_traced_by_jit():
    compiled = torch.compile(lambda x: x if torch.jit.is_tracing() else x * 2, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [2, 2]


def test_counts_in_bins_are_part_of_a_graph():
    count = torch.compile(lambda x: torch.histc(x, bins=4, min=0, max=3) * 2, backend="eager", fullgraph=True)
    assert count(torch.tensor([0.0, 3.0, 3.0, 1.0, 7.0])).tolist() == [2, 2, 0, 4]


def test_methods_and_optimizer_steps():
    class Scaled:
        def __init__(self, scale):
            self.scale = scale

        def run(self, x):
            return x * self.scale

    assert torch.compile(Scaled(3.0).run, backend="aot_eager")(torch.ones(1)).tolist() == [3]
    parameters = [[torch.ones(3, requires_grad=True)] for _ in range(2)]
    optimizers = [torch.optim.AdamW(each, lr=0.1) for each in parameters]
    steps = [optimizers[0].step, torch.compile(optimizers[1].step, backend="aot_eager")]
    for number in range(4):
        for (parameter,), step in zip(parameters, steps):
            parameter.grad = torch.arange(3.0) + number
            step()
    assert torch.allclose(parameters[0][0], parameters[1][0])


def _caught(x, written):
    written.add_(1)
    try:
        y = torch.ops.compile_tests.fails(torch.dropout(x, 0.5, True))
    except NotImplementedError:
        y = torch.dropout(x, 0.5, True)
    return y


def _not_needed(x, written):
    written.add_(1)
    try:
        written.index_copy_(0, torch.tensor([0]), x[:1])
    except (NotImplementedError, ImportError):
        written[0] = x[0]
    return written * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", [_caught, _not_needed])
def test_errors_that_depend_on_form_are_caught_in_programs_that_write(function, backend):
    def fails(x):
        raise NotImplementedError("no kernel")

    with torch.library._scoped_library("compile_tests", "DEF") as lib:
        lib.define("fails(Tensor x) -> Tensor")
        lib.impl("fails", fails, "CPU")
        torch.library.register_fake("compile_tests::fails", torch.empty_like, lib=lib)
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        for seed in range(3):
            x, mine, theirs = torch.randn(4), torch.zeros(4), torch.zeros(4)
            torch.manual_seed(seed)
            expected = function(x, theirs)
            torch.manual_seed(seed)
            assert torch.equal(compiled(x, mine), expected)
            assert torch.equal(mine, theirs)


def test_errors_that_depend_on_values_end_the_capture_of_programs_that_write():
    def function(x, index):
        index.add_(1)
        try:
            return x[index]
        except IndexError:
            return x

    with pytest.raises(exc.Unsupported, match="block of a try statement"):
        torch.compile(function, backend="eager", fullgraph=True)(torch.ones(3), torch.zeros(1, dtype=torch.int64))
    compiled = torch.compile(function, backend="eager")
    for first in (0, 1):
        index = torch.full((1,), first)
        assert compiled(torch.ones(3), index).tolist() == [1]
        assert index.item() == first + 1
