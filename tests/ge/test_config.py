"""Settings, and the names under which everything is found."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torchair
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda c: setattr(c, "mode", "fast"), ValueError, "CompilerConfig.mode can be 'max-autotune', .*, got 'fast'"),
        (lambda c: setattr(c, "moed", 1), AttributeError, "has no setting 'moed' here"),
        (lambda c: setattr(c.debug.graph_dump, "type", "txt"), ValueError, "None, 'air', 'pbtxt', got 'txt'"),
        (lambda c: setattr(c.debug, "deadlocks", True), AttributeError, "CompilerConfig.debug has no setting"),
        (
            lambda c: setattr(c.ge_config, "oo_level", "O2"),
            ValueError,
            "ge_config.oo_level can be 'O3', 'O1', got 'O2'",
        ),
    ],
)
def test_settings_that_are_not_there(change: Callable, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        change(torchair.CompilerConfig())


def test_settings_without_effect_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindtorch_v2._backends.ge.config._told", set())
    config = torchair.CompilerConfig()
    config.experimental_config.enable_view_optimize = True  # as it is
    with pytest.warns(UserWarning, match=r"CompilerConfig\.experimental_config\.frozen_parameter has no effect here"):
        config.experimental_config.frozen_parameter = True
    torchair.CompilerConfig().experimental_config.frozen_parameter = True
    assert (
        config.experimental_config.frozen_parameter
        and not torchair.CompilerConfig().experimental_config.frozen_parameter
    )
    with pytest.warns(UserWarning, match="debug.aclgraph.clone_input"):
        config.debug.aclgraph.clone_input = False


def test_modes_that_torchair_captures_run_operator_by_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mindtorch_v2._backends.ge.config._told", set())
    config = torchair.CompilerConfig()
    config.mode = "reduce-overhead"
    seen = []
    config.post_grad_custom_pre_pass = lambda graph: seen.append([node.target for node in graph.graph.nodes])
    traced = make_fx(lambda x: x.exp() + 1)(torch.ones(2))
    with pytest.warns(UserWarning, match="mode 'reduce-overhead': the graph's operators are run one by one"):
        run = torchair.ge_compile(traced, config=config)
    torch.testing.assert_close(run(torch.zeros(2)), torch.full((2,), 2.0))
    assert len(seen) == 1 and torch.ops.aten.exp.default in seen[0]


def test_passes_change_the_graph_before_it_runs() -> None:
    def double(graph: Any) -> None:
        for node in graph.graph.nodes:
            if node.target is torch.ops.aten.exp.default:
                node.target = torch.ops.aten.log.default

    config = torchair.CompilerConfig()
    config.debug.run_eagerly = True
    config.post_grad_custom_post_pass = double
    run = torchair.ge_compile(make_fx(lambda x: x.exp())(torch.ones(2)), config=config)
    torch.testing.assert_close(run(torch.full((2,), 5.0)), torch.full((2,), 5.0).log())


def test_a_config_of_another_kind() -> None:
    with pytest.raises(TypeError, match="compiler_config must be a torchair.CompilerConfig, got dict"):
        torchair.get_npu_backend(compiler_config={})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("ge", "Const Cast"),
        ("_ge_concrete_graph.ge_apis", "Const Cast"),
        ("_ge_concrete_graph.fx2ge_converter", "declare_supported register_fx_node_ge_converter"),
        ("configs.compiler_config", "CompilerConfig"),
        ("ge_concrete_graph.ge_graph", "Tensor DataType get_default_ge_graph"),
        ("ge_concrete_graph.ge_apis", "Const Cast custom_op"),
        ("npu_fx_compiler", "get_compiler get_npu_backend"),
    ],
)
def test_names(module: str, names: str) -> None:
    found = importlib.import_module(f"mindtorch_v2.torchair.{module}")
    assert all(callable(getattr(found, name)) for name in names.split())


def test_the_logger_has_torchairs_name() -> None:
    assert importlib.import_module("mindtorch_v2.torchair.core.utils").logger.name == "torchair"


def test_operators_and_attributes_by_name() -> None:
    from mindtorch_v2.torchair import ge
    from mindtorch_v2.torchair._ge_concrete_graph import ge_apis

    for name in ("TensorMove", "Const", "Cast", "Clone", "custom_op", "MatMulV2"):
        assert callable(getattr(ge, name)) and callable(getattr(ge_apis, name))
    for name in (
        "Int",
        "Float",
        "Bool",
        "Str",
        "DataType",
        "ListInt",
        "ListFloat",
        "ListBool",
        "ListStr",
        "ListListInt",
    ):
        assert callable(getattr(ge.attr, name))
    with pytest.raises(AttributeError, match="no prototype of the GE operator 'Nope'"):
        _ = ge.Nope
    with pytest.raises(RuntimeError, match="while a graph is converted"):
        ge.Const(1)


def test_names_of_earlier_versions() -> None:
    from mindtorch_v2._backends.ge.graph import Graph
    from mindtorch_v2.torchair.core._concrete_graph import ValuePack, _is_symlist
    from mindtorch_v2.torchair.ge_concrete_graph import fx2ge_converter, ge_graph

    with Graph("g") as graph:
        assert ge_graph.get_default_ge_graph() is graph
        assert [ge_graph.next_unique_name("Add") for _ in range(2)] == ["Add", "Add_1"]
    with pytest.raises(RuntimeError, match="while a graph is converted"):
        ge_graph.get_default_ge_graph()
    left_out = ge_graph.get_invalid_desc()
    assert left_out.attr["_is_unfed_optional"].b and left_out.dtype == 0
    assert ge_graph.compat_as_bytes("sum") == b"sum" == ge_graph.compat_as_bytes(b"sum")
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
        ge_graph.compat_as_bytes(3)  # type: ignore[arg-type]

    def converter() -> None: ...

    assert fx2ge_converter.declare_supported([])(converter) is converter
    assert ValuePack(1).npu is None and not _is_symlist([1, 2]) and not _is_symlist("ab")
    assert int(ge_graph.DataType.DT_INT4) == 29 and int(ge_graph.DataType.DT_MAX) == 42
    with pytest.raises(TypeError, match="DT_INT4 is a name only"):
        _ = ge_graph.DataType.DT_INT4.proto
    with pytest.raises(NotImplementedError, match="torch.fx.replace_pattern"):
        torchair.register_replacement(None, None, ())


PROGRAM = """
import sys
import mindtorch_v2
try:
    import torchair
except ModuleNotFoundError:
    print("not before")
mindtorch_v2.as_torch()
import torchair.ge
import torch
from torchair._ge_concrete_graph.fx2ge_converter import register_fx_node_ge_converter
print(torchair.register_fx_node_ge_converter is register_fx_node_ge_converter)
print(torchair is mindtorch_v2.torchair, sys.modules["torchair.ge"] is torchair.ge)
try:
    import torch_npu
except ModuleNotFoundError as error:
    print(error)
import os
os.environ["MINDTORCH_AS_TORCH_NPU"] = "1"
import torch_npu
print(torch_npu.npu is torch.npu)
"""


def test_torchair_stands_in_where_torch_does() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[3].startswith("No module named 'torch_npu'. ") and "MINDTORCH_AS_TORCH_NPU=1" in lines.pop(3)
    assert lines == ["not before", "True", "True True", "True"]


def test_a_torchair_that_is_installed_stays(tmp_path: Any) -> None:
    (tmp_path / "torchair").mkdir()
    (tmp_path / "torchair" / "__init__.py").write_text("whose = 'theirs'")
    (tmp_path / "torchair" / "ge.py").write_text("whose = 'theirs too'")
    program = (
        "import mindtorch_v2; mindtorch_v2.as_torch(); import torchair.ge; print(torchair.whose, torchair.ge.whose)"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.stdout.splitlines() == ["theirs theirs too"], done.stderr


def test_the_device_is_needed_to_run() -> None:
    """Without CANN the error says where it was looked for."""
    from mindtorch_v2._backends.npu import libraries
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

    if libraries.find("libascendcl.so")[0] is not None:
        pytest.skip("this process has CANN")
    with pytest.raises(RuntimeError, match=r"(?s)libascendcl.so was not found. Tried:.*npu emulate"):
        torchair.ge_compile(make_fx(lambda x: x + 1, tracing_mode="fake")(torch.ones(2)))
