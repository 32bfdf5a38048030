"""Names of `TORCH_LOGS` and `set_logs`: all of PyTorch 2.13's are taken."""

import logging
import os
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._logging._internal import is_on
from mindtorch_v2._logging._names import ARTIFACTS, COMPONENTS, SAME, SILENT

pytestmark = pytest.mark.no_torch

# torch._logging._internal.log_registry of PyTorch 2.13, but for an artifact of its own tests.
PYTORCHS = set(
    "aot async_compile autograd c10d cache ddp distributed dtensor dynamic dynamo export fake_tensor fsdp inductor native_dsl "
    "onnx pp torch annotation aot_graphs aot_graphs_effects aot_joint_graph auto_chunker autotuning benchmarking bytecode "
    "caching compiled_autograd compiled_autograd_verbose compute_dependencies cudagraph_static_inputs cudagraphs ddp_graphs "
    "fusion graph graph_breaks graph_code graph_code_verbose graph_region_expansion graph_sizes guards hierarchical_compile "
    "incremental inductor_metrics ir_post_fusion ir_pre_fusion kernel_code loop_ordering loop_tiling node_runtime_estimation "
    "not_implemented onnx_diagnostics output_code overlap overlap_scheduling perf_hints post_grad_graphs pre_grad_graphs "
    "recompiles recompiles_verbose schedule side_effects sym_node trace_bytecode trace_call trace_shape_events trace_source "
    "verbose_guards".split()
)


@pytest.fixture(autouse=True)
def off():
    yield
    torch._logging.set_logs()


def run(names, code="import mindtorch_v2", **variables):
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    environment = {**os.environ, "TORCH_LOGS": names, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_every_name_of_pytorchs_is_taken():
    assert COMPONENTS.keys() | ARTIFACTS.keys() | SAME.keys() | SILENT == PYTORCHS
    done = run(",".join(sorted(PYTORCHS)))
    assert done.returncode == 0, done.stderr


def test_a_name_that_is_none_is_refused():
    done = run("nonsense")
    assert done.returncode != 0
    assert "unknown name 'nonsense'" in done.stderr and "fake_tensor" in done.stderr


def test_components_reach_their_loggers():
    torch._logging.set_logs(distributed=logging.DEBUG, fsdp=logging.ERROR)
    assert logging.getLogger("torch.distributed").level == logging.DEBUG
    assert logging.getLogger("torch.distributed.fsdp").level == logging.ERROR
    torch._logging.set_logs()
    assert logging.getLogger("torch.distributed").level == logging.NOTSET


def test_what_has_nothing_to_tell_says_so(caplog):
    torch._logging.set_logs(kernel_code=True, schedule=True)
    assert "Nothing will be written of kernel_code, schedule" in caplog.text
    with pytest.raises(ValueError, match="Expected bool to enable artifact kernel_code, received 3"):
        torch._logging.set_logs(kernel_code=3)


def test_names_that_mean_another():
    torch._logging.set_logs(graph_code_verbose=True)
    assert is_on("graph_code")


def test_file_and_format(tmp_path):
    code = "import mindtorch_v2 as torch; torch.compile(lambda x: x + 1)(torch.ones(2))"
    done = run(
        "graph_code", code, TORCH_LOGS_OUT=str(tmp_path / "log"), TORCH_LOGS_FORMAT="<%(levelname)s> %(message)s"
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "log").read_text()
    assert text.startswith("<INFO>") and ".add(1)" in text
    assert text in done.stderr
