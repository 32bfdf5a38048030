"""The same programs on emulated GPUs by the emulated NCCL, and what becomes of ranks that fail."""

import json
import os
import signal
import subprocess
import sys

import pytest
import ranks

from mindtorch_v2._backends.cuda import libraries

pytestmark = pytest.mark.skipif(not (libraries.EMULATOR / "libnccl.so.2").exists(), reason="the emulator is not built")
_ALIVE = "TORCH_NCCL_ASYNC_ERROR_HANDLING"


def test_collectives_give_on_gpus_what_gloo_gives(expected):
    """While streams are delayed at random."""
    environment = {**ranks.TWO_GPUS, "MINDTORCH_CUDA_HOSTILE": "7"}
    found = ranks.results("collectives.py", 2, device="cuda", launcher=ranks.ON_GPUS, environment=environment)
    for rank, (theirs, ours) in enumerate(zip(expected("collectives", "collectives.py|2"), found, strict=True)):
        theirs["barriers"] = "nccl"
        theirs["errors_of_reductions"]["average of ints"] = "no error"  # NCCL divides them
        for name, value in ours.items():
            wanted = theirs[name]
            if isinstance(value, dict):
                value = {key: _named(each) for key, each in value.items()}
                wanted = {key: _named(each) for key, each in wanted.items() if key in value}
            assert value == wanted, f"{name} on rank {rank}"


def _named(value):
    return value.replace("Gloo", "NCCL") if isinstance(value, str) else value


def test_training_takes_the_course_of_gloo(expected):
    variants = ("plain", "views", "unused", "no_sync", "buffers")
    options = {"device": "cuda", "launcher": ranks.ON_GPUS, "environment": ranks.TWO_GPUS}
    found = ranks.results("training.py", 2, *variants, **options)
    for theirs, ours in zip(expected("training", "training.py|2"), found, strict=True):
        for variant in variants:
            assert ours[variant]["losses"] == pytest.approx(theirs[variant]["losses"], rel=1e-4), variant
            assert ours[variant]["weights"] == pytest.approx(theirs[variant]["weights"], rel=1e-3, abs=1e-4), variant


def _fail(case, **environment):
    given = {**ranks.TWO_GPUS, **environment}
    return ranks.run("nccl_failures.py", case, device="cuda", launcher=ranks.ON_GPUS, environment=given)


FAILURES = {
    "other": "rank 0 calls ncclAllReduce(2 float32, sum), but rank 1 calls ncclAllReduce(3 float32, sum)",
    "late": "before timing out (the group's timeout is 2 s)",
    "dies": "rank 1 of 2 has gone",
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_process_ends_where_another_rank_failed(case):
    first, _ = _fail(case)
    assert first.status == -signal.SIGABRT, first.err
    assert "[rank 0]" in first.err and FAILURES[case] in first.err and "This process is ended" in first.err


@pytest.mark.parametrize("case", FAILURES)
def test_or_the_error_is_raised_by_the_next_call(case):
    first, _ = _fail(case, **{_ALIVE: "0"})
    assert first.status == 0, first.err
    told = json.loads(first.out)
    assert told["total"] == 3.0 and FAILURES[case] in told["error"]


def test_without_a_driver_there_is_no_nccl():
    program = (
        "import mindtorch_v2 as t, mindtorch_v2.distributed as d; assert not d.is_nccl_available();\n"
        "d.init_process_group('nccl', store=d.HashStore(), rank=0, world_size=1)"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MINDTORCH_CUDA")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert "Distributed package doesn't have NCCL built in" in done.stderr
