"""The outcomes of the tests of files on both sides, and the tables of them."""

from __future__ import annotations

import collections
import datetime
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# What runs, by what it is about. Files about CUDA, other devices, TorchScript's compiler, code of PyTorch's compiler and
# quantized kernels are left out; "user" is what a user's program stands on.
FILES: dict[str, str] = {
    "user": "test_torch test_view_ops test_indexing test_shape_ops test_sort_and_select test_tensor_creation_ops "
    "test_type_promotion test_scatter_gather_ops test_nn test_autograd test_linalg test_reductions test_binary_ufuncs "
    "test_unary_ufuncs test_serialization test_dataloader test_optim test_spectral_ops test_modules test_testing test_numpy_interop "
    "test_dlpack test_stateless test_subclass test_type_info test_complex optim/test_optim optim/test_lrscheduler "
    "optim/test_swa_utils distributions/test_distributions nn/test_convolution nn/test_pooling nn/test_module_hooks "
    "nn/test_parametrization nn/test_dropout nn/test_embedding nn/test_init nn/test_lazy_modules nn/test_load_state_dict "
    "nn/test_multihead_attention nn/test_packed_sequence nn/test_pruning autograd/test_functional autograd/test_complex",
    "other": "test_overrides test_python_dispatch test_custom_ops test_pytree test_futures test_sparse test_sparse_csr "
    "test_foreach test_masked test_maskedtensor test_namedtensor test_segment_reductions test_fake_tensor "
    "test_functionalization test_fx test_fx_passes test_proxy_tensor test_decomp test_ops test_ops_gradients "
    "test_ops_fwd_gradients test_meta test_package test_monitor test_nestedtensor test_transformers test_legacy_vmap "
    "test_multiprocessing test_utils test_weak test_flop_counter functorch/test_vmap functorch/test_eager_transforms "
    "functorch/test_ops functorch/test_aotdispatch functorch/test_control_flow profiler/test_profiler "
    "test_autograd_fallback test_function_schema test_schema_check test_datapipe test_mkldnn test_comparison_utils "
    "fx/test_common_passes fx/test_cse_pass fx/test_dce_pass fx/test_fx_const_fold fx/test_fx_split fx/test_matcher_utils "
    "fx/test_partitioner_order fx/test_pass_infra fx/test_source_matcher_utils export/test_unflatten "
    "test_namedtuple_return_api test_per_overload_api test_module_tracker test_native_mha test_autocast test_expanded_weights "
    "test_multiprocessing_spawn test_fx_experimental test_bundled_inputs test_functional_optim test_out_dtype_op test_content_store "
    "test_native_functions test_file_check test_dispatch test_autoload functorch/test_rearrange functorch/test_parsing "
    "functorch/test_minifier export/test_tree_utils export/test_pass_infra export/test_functionalized_assertions export/test_sparse "
    "export/test_torchbind export/test_passes export/test_lift_unlift export/test_verifier profiler/test_execution_trace "
    "profiler/test_record_function profiler/test_memory_profiler profiler/test_profiler_tree profiler/test_torch_tidy "
    "dynamo/test_functions dynamo/test_ctx_manager dynamo/test_exceptions dynamo/test_higher_order_ops dynamo/test_modules "
    "dynamo/test_subclasses dynamo/test_hooks dynamo/test_autograd_function dynamo/test_global dynamo/test_misc dynamo/test_unspec",
    "distributed": " ".join(
        f"distributed/{name}"
        for name in (
            "_tensor/test_dtensor _tensor/test_api _tensor/test_init _tensor/test_redistribute _tensor/test_pointwise_ops "
            "_tensor/test_math_ops _tensor/test_matrix_ops _tensor/test_tensor_ops _tensor/test_view_ops "
            "_tensor/test_embedding_ops _tensor/test_random_ops _tensor/test_convolution_ops _tensor/test_experimental_ops "
            "_tensor/test_optimizers _tensor/test_utils _tensor/test_common_rules _tensor/test_op_strategy "
            "_tensor/test_attention _tensor/test_dtensor_ops _tensor/debug/test_comm_mode "
            "_tensor/debug/test_comm_mode_features _tensor/debug/test_op_coverage _tensor/experimental/test_local_map "
            "_tensor/experimental/test_register_sharding _tensor/experimental/test_tp_transform "
            "_tensor/test_dtensor_compile tensor/parallel/test_parallelize_api tensor/parallel/test_tp_style "
            "tensor/parallel/test_tp_examples tensor/parallel/test_tp_random_state tensor/parallel/test_micro_pipeline_tp "
            "_composable/test_contract _composable/test_checkpoint _composable/test_replicate "
            "_composable/test_replicate_with_compiler _composable/fsdp/test_fully_shard_init "
            "_composable/fsdp/test_fully_shard_training _composable/fsdp/test_fully_shard_state_dict "
            "_composable/fsdp/test_fully_shard_mixed_precision _composable/fsdp/test_fully_shard_state "
            "_composable/fsdp/test_fully_shard_clip_grad_norm_ _composable/fsdp/test_fully_shard_frozen "
            "_composable/fsdp/test_fully_shard_autograd _composable/fsdp/test_fully_shard_comm "
            "_composable/fsdp/test_fully_shard_extensions _composable/fsdp/test_fully_shard_logging "
            "_composable/test_composability/test_2d_composability _composable/test_composability/test_pp_composability "
            "checkpoint/test_dedup_tensors checkpoint/test_nested_dict checkpoint/test_save_load_api "
            "checkpoint/test_fsdp_model_state checkpoint/test_compatibility checkpoint/test_format_utils "
            "checkpoint/test_utils checkpoint/test_tp_checkpoint checkpoint/test_traverse checkpoint/test_hsdp_checkpoint "
            "checkpoint/test_state_dict_utils checkpoint/test_dtensor_checkpoint checkpoint/test_dtensor_resharding "
            "checkpoint/test_planner checkpoint/test_checkpoint checkpoint/test_file_system_checkpoint_cpu "
            "checkpoint/test_file_system_checkpoint checkpoint/e2e/test_e2e_save_and_load checkpoint/e2e/test_fine_tuning "
            "checkpoint/test_state_dict checkpoint/test_fsspec checkpoint/fsdp/test_fsdp_dsd pipelining/test_pipe "
            "pipelining/test_unflatten pipelining/test_microbatch pipelining/test_backward pipelining/test_stage "
            "pipelining/test_schedule pipelining/test_schedule_multiproc pipelining/test_transformer test_c10d_gloo "
            "test_c10d_common test_store test_device_mesh test_c10d_object_collectives test_c10d_pypg test_c10d_spawn_gloo "
            "test_c10d_logger test_backends test_fake_pg test_multi_threaded_pg test_functional_api "
            "test_c10d_functional_native test_collective_utils test_control_collectives test_data_parallel "
            "test_inductor_collectives test_dynamo_distributed test_pg_wrapper test_launcher launcher/test_run "
            "test_distributed_spawn algorithms/test_join algorithms/ddp_comm_hooks/test_ddp_hooks "
            "algorithms/quantization/test_quantization optim/test_apply_optimizer_in_backward optim/test_named_optimizer "
            "optim/test_zero_redundancy_optimizer elastic/test_control_plane fsdp/test_wrap fsdp/test_utils "
            "fsdp/test_shard_utils fsdp/test_checkpoint_wrapper fsdp/test_fsdp_fx fsdp/test_fsdp_flatten_params "
            "fsdp/test_fsdp_misc fsdp/test_fsdp_sharded_grad_scaler _shard/sharded_tensor/test_sharded_tensor "
            "_shard/sharding_spec/test_sharding_spec _shard/sharding_plan/test_sharding_plan _shard/test_sharder "
            "_shard/sharded_tensor/test_logger _tools/test_mod_tracker _tools/test_memory_tracker "
            "_tools/test_runtime_estimator _tools/test_mem_tracker _tools/test_sac_estimator _tools/test_fsdp2_mem_tracker "
            "flight_recorder/test_fr_analysis nn/jit/test_instantiator"
        ).split()
    ),
}


# Modules of the infrastructure that a file needs as they were in its version: its set-up calls itself without end otherwise.
AS_THEY_WERE = {"test_linalg": ["common_device_type"]}
AS_THEY_WERE |= {
    file: ["common_dtensor"] for file in FILES["distributed"].split()
}  # today's stands on tensors of many ranks in one process
AS_THEY_WERE["distributed/_tensor/test_dtensor_ops"] += (
    "common_methods_invocations core linalg fft special sparse _masked nested signal".split()
)


BEGIN, END = "<!-- made by python -m tests.pytorch_suite --record: -->", "<!-- end -->"


class Outcome(NamedTuple):
    """How a test ended: pass, skip, fail, crash, hang, import or done, and why."""

    status: str
    cause: str


class Share(NamedTuple):
    """Of one file: tests that pass on the real PyTorch, how many of these pass here, when, and of how large a sample."""

    expected: int
    passed: int
    day: str = ""
    sample: str = ""  # "" where all tests of the file ran


def log_of(folder: pathlib.Path, side: str, file: str) -> pathlib.Path:
    """Where the results of a file are written."""
    return folder / side / (file.replace("/", ".") + ".jsonl")


def read(log: pathlib.Path) -> dict[str, Outcome]:
    """The outcomes in a log by the test's id; "" stands for the file."""
    if not log.exists():
        return {}
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return {entry["id"]: Outcome(entry["status"], entry["cause"]) for entry in entries if "id" in entry}


def forget_what_did_not_pass(log: pathlib.Path) -> None:
    """Leave in a log the tests that passed, so that the rest runs again."""
    if log.exists():
        passed = {name: outcome for name, outcome in read(log).items() if name and outcome.status == "pass"}
        lines = [json.dumps({"id": name, "status": "pass", "cause": ""}) + "\n" for name in passed]
        log.write_text("".join(lines), "utf-8")


def share(folder: pathlib.Path, file: str) -> Share:
    """How much of what passes on the real PyTorch passes here."""
    wanted = {name for name, outcome in read(log_of(folder, "pytorch", file)).items() if outcome.status == "pass"}
    log = log_of(folder, "ours", file)
    ours = read(log)
    passed = sum(ours.get(name, Outcome("", "")).status == "pass" for name in wanted)
    day = datetime.date.fromtimestamp(log.stat().st_mtime).isoformat() if log.exists() else ""
    return Share(len(wanted), passed, day, read(log_of(folder, "pytorch", file)).get("", Outcome("", "")).cause)


def causes(folder: pathlib.Path, file: str) -> list[tuple[int, str, str]]:
    """(how often, one test, its cause) of what passes on the real PyTorch and not here, the most frequent first."""
    wanted = {name for name, outcome in read(log_of(folder, "pytorch", file)).items() if outcome.status == "pass"}
    ours = read(log_of(folder, "ours", file))
    whole = ours.get("", Outcome("", ""))
    found: dict[str, list[str]] = collections.defaultdict(list)
    for name in sorted(wanted):
        outcome = ours.get(
            name, whole if whole.status == "import" else Outcome("missing", "this test does not exist here")
        )
        if outcome.status != "pass":
            text = re.sub(r" To execute this test.*?(?=@|$)", " ", outcome.cause)
            found[f"{outcome.status}: {text}"].append(name)
    kinds: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    for text, names in found.items():
        kinds[re.sub(r"\d+|0x[0-9a-f]+", "N", text)[:120]] += [(name, text) for name in names]
    return sorted(((len(tests), *tests[0]) for tests in kinds.values()), key=lambda each: -each[0])


def table(shares: Mapping[str, Sequence[int]]) -> str:
    """The shares of files, as `record` gives them, in Markdown."""
    lines = ["| File | passes on PyTorch | passes here | | seen last |", "|---|---:|---:|---:|---|"]
    for group, names in FILES.items():
        found = {file: Share(*shares[file]) for file in sorted(names.split()) if file in shares}
        for file, each in found.items():
            seen = ", ".join(part for part in (each.day, each.sample) if part)
            lines.append(f"| {file} | {each.expected} | {each.passed} | {each.passed / each.expected:.1%} | {seen} |")
        expected, passed = (sum(each[i] for each in found.values()) for i in (0, 1))
        if expected:
            lines.append(f"| **{group}, all** | **{expected}** | **{passed}** | **{passed / expected:.1%}** | |")
    return "\n".join(lines)


def with_table(page: str, shares: Mapping[str, Sequence[int]]) -> str:
    """A page with the table between its marks made anew."""
    return with_part(page, BEGIN, table(shares))


def with_part(page: str, begin: str, text: str) -> str:
    """A page with what stands between the mark `begin` and the next end made anew."""
    before, rest = page.split(begin)
    return f"{before}{begin}\n{text}\n{END}{rest.split(END, 1)[1]}"


def record(folder: pathlib.Path, before: Mapping[str, Sequence[Any]] | None = None) -> dict[str, list[Any]]:
    """The shares of the files that ran to their end on both sides, as data, with those of `before` that did not run.

    file -> [passes on PyTorch, passes here, the day, "" or the sample].
    """
    files = [file for names in FILES.values() for file in names.split()]
    ended = [
        file for file in sorted(files) if all("" in read(log_of(folder, side, file)) for side in ("pytorch", "ours"))
    ]
    shares = {file: list(share(folder, file)) for file in ended}
    found = {**(before or {}), **{file: each for file, each in shares.items() if each[0]}}
    return {file: list(found[file]) for file in sorted(found)}
