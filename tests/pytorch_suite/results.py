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
}


# Modules of the infrastructure that a file needs as they were in its version: its set-up calls itself without end otherwise.
AS_THEY_WERE = {"test_linalg": ["common_device_type"]}


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
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table(shares)}\n{END}{rest.split(END)[1]}"


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
