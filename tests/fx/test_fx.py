"""`torch.fx` beyond the recorded cases: transformers' models, folders, asserts, cost of import."""

import importlib
import pickle
import subprocess
import sys
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.act = nn.Sequential(nn.ReLU())
        self.register_buffer("scale", torch.full((2,), 2.0))

    def forward(self, x):
        return self.act(self.linear(x)) * self.scale


def test_to_folder(tmp_path) -> None:
    traced = fx.symbolic_trace(Net())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traced.to_folder(tmp_path / "saved_net", "Saved")
    assert "Was not able to save the following children modules as reprs" in str(caught[0].message)
    text = (tmp_path / "saved_net" / "module.py").read_text()
    assert "class Saved(torch.nn.Module):" in text
    assert "self.act" in text
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mindtorch_v2 as m; m.as_torch(); import torch; from saved_net import Saved; "
        "print(Saved()(torch.ones(1, 3)).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(traced(torch.ones(1, 3)).tolist())


def test_traced_asserts_are_recorded() -> None:
    class Asserts(fx.Tracer):
        trace_asserts = True

    namespace: dict = {}  # pytest rewrites the asserts of this file
    exec("def f(x):\n    assert x.sum() == 1, 'message'\n    return x", namespace)
    graph = Asserts().trace(namespace["f"])
    assert [node.name for node in graph.nodes] == ["x", "sum_1", "eq", "assert_fn", "output"]
    with pytest.raises(AssertionError):
        fx.GraphModule({}, graph)(torch.zeros(2))


def test_table_of_nodes(capsys) -> None:
    fx.symbolic_trace(lambda x: torch.relu(x)).graph.print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert [line.split()[0] for line in lines[2:]] == ["placeholder", "call_function", "output"]
    assert set(lines[1]) == {"-", " "}


def test_stack_traces_name_the_program() -> None:
    class Recording(fx.Tracer):
        record_stack_traces = True

        def is_leaf_module(self, m, module_qualified_name):
            return False

    graph = Recording().trace(Net())
    trace = graph.find_nodes(op="call_function", target=torch._C._nn.linear)[0].stack_trace
    assert "in forward" in trace
    assert "return self.act(self.linear(x)) * self.scale" in trace
    assert "nn/modules" not in trace


def test_refuses_what_writes() -> None:
    class Functional(fx.Tracer):
        check_mutable_operations = True

    with pytest.raises(RuntimeError, match="Tried to trace mutable operation"):
        Functional().trace(lambda x: torch.relu_(x))


@pytest.mark.parametrize(
    ("module", "first"),
    [
        (torch.nn.ReLU(), "def forward(self, input : torch.Tensor) -> torch.Tensor:"),
        (torch.nn.Sequential(torch.nn.ReLU()), "def forward(self, input):"),
    ],
)
def test_a_traced_layer_can_be_pickled(module: torch.nn.Module, first: str) -> None:
    traced = torch.fx.symbolic_trace(module)
    assert traced.code.strip().splitlines()[0] == first
    assert pickle.loads(pickle.dumps(traced))(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


class _Delayed(torch.nn.Module):
    def forward(self, x: "torch.Tensor") -> "torch.Tensor":
        return x + 1


def test_annotations_that_are_delayed_can_be_pickled() -> None:
    traced = torch.fx.symbolic_trace(_Delayed())
    assert pickle.loads(pickle.dumps(traced))(torch.ones(1)).tolist() == [2.0]


def test_code_of_a_local_class_cannot_be_pickled() -> None:
    class Local:
        pass

    graph = fx.Graph()
    graph.output(graph.call_function(Local))
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        fx.GraphModule({}, graph).__reduce__()


def test_patches_are_undone() -> None:
    before = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: x if x else -x)
    assert (nn.Module.__call__, nn.Module.__getattr__) == before
    assert not fx._symbolic_trace.is_fx_tracing()


@pytest.mark.no_torch
def test_importing_the_package_does_not_import_fx() -> None:
    code = "import sys, mindtorch_v2; print('mindtorch_v2.fx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["bert", "gpt2", "resnet_like"])
def test_models_run_as_traced(name: str) -> None:
    torch.manual_seed(0)
    if name == "resnet_like":
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        ).eval()
        args = (torch.randn(2, 3, 8, 8),)
    else:
        model = _encoder(causal=name == "gpt2").eval()
        args = (torch.randn(2, 5, 8),)
    traced = fx.symbolic_trace(model)
    traced.graph.lint()
    expected = model(*args)
    assert torch.equal(traced(*args), expected)
    assert torch.equal(fx.Interpreter(traced).run(*args), expected)
    assert torch.equal(importlib.import_module("copy").deepcopy(traced)(*args), expected)


def _encoder(causal: bool) -> nn.Module:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            q, k, v = (part.view(batch, length, 2, 4).transpose(1, 2) for part in (q, k, v))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return x + self.out(y.transpose(1, 2).reshape(batch, length, 8))

    return nn.Sequential(Attention(), nn.Linear(8, 8), nn.GELU())


def test_calls_without_results_stay():
    """An operator without results is called for its effect: here a check that raises."""
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

    module = make_fx(torch.linalg.inv)(torch.eye(2))
    module.graph.eliminate_dead_code()
    assert [node.name for node in module.graph.nodes if node.is_impure()] == [
        "arg0_1",
        "_linalg_check_errors",
        "output",
    ]
    module.recompile()
    with pytest.raises(torch.linalg.LinAlgError, match="linalg.inv: The diagonal element 1 is zero"):
        module(torch.zeros(2, 2))
    for backend in ("eager", "aot_eager", "inductor"):
        with pytest.raises(torch.linalg.LinAlgError, match="linalg.inv: The diagonal element 2 is zero"):
            torch.compile(lambda z: torch.linalg.inv(z) + 1, backend=backend)(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
