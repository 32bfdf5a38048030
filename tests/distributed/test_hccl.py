"""The same programs on emulated NPUs, and what the emulated HCCL says of misuse, late and dead ranks."""

import json
import subprocess
import sys

import pytest
import ranks

from mindtorch_v2._backends.npu import libraries

pytestmark = pytest.mark.skipif(
    not (libraries.EMULATOR / "lib64" / "libhccl.so").exists(), reason="the emulator is not built"
)


def test_collectives_give_on_npus_what_gloo_gives(expected):
    """With delays between tasks, and memory full of NaN: what does not wait, or reads what it did not write, shows."""
    launcher = ranks.emulated("--shuffle=7", "--delay=60", "--poison")
    found = ranks.results("collectives.py", 2, device="npu", launcher=launcher)
    for rank, (theirs, ours) in enumerate(zip(expected("collectives", "collectives.py|2"), found, strict=True)):
        theirs["barriers"] = "hccl"
        for name, value in ours.items():
            wanted = theirs[name]
            if isinstance(value, dict):
                value = {key: _named(each) for key, each in value.items()}
                wanted = {key: _named(each) for key, each in wanted.items() if key in value}
            assert value == wanted, f"{name} on rank {rank}"


def _named(value):
    return value.replace("Gloo", "HCCL") if isinstance(value, str) else value


def test_training_takes_the_course_of_gloo(expected):
    variants = ("plain", "views", "unused", "no_sync", "buffers")
    found = ranks.results("training.py", 2, *variants, device="npu", launcher=ranks.emulated())
    for theirs, ours in zip(expected("training", "training.py|2"), found, strict=True):
        for variant in variants:
            assert ours[variant]["losses"] == pytest.approx(theirs[variant]["losses"], rel=1e-4), variant
            assert ours[variant]["weights"] == pytest.approx(theirs[variant]["weights"], rel=1e-3, abs=1e-4), variant


FAILURES = {
    "other": "HcclAllReduce failed on stream 0 of device 0: rank 0 calls HcclAllReduce(2 fp32, sum), but rank 1 calls "
    "HcclAllReduce(3 fp32, sum)",
    "crossed": "rank 0 calls a transfer of 2*fp32 from 0 to 1, but rank 1 calls a transfer of 2*fp32 from 1 to 0",
    "late": "rank 0 of 2 waited 3 s (HCCL_EXEC_TIMEOUT) in vain for rank 1",
}


def _fail(*arguments):
    environment = {"HCCL_EXEC_TIMEOUT": "3"}
    launcher = ranks.emulated()
    return ranks.run("npu_failures.py", *arguments, device="npu", launcher=launcher, environment=environment)


def test_ranks_that_do_not_do_the_same_are_told():
    first, second = (json.loads(rank.out) for rank in _fail())
    for case, text in FAILURES.items():
        assert text in first[case]
        assert second[case] != "no error"
    assert first["and then"] == second["and then"] == 3.0
    assert first["gathered"] == [[[0, 3], [1, 4], [2, 5]], [[1, 4], [2, 5], [3, 6]]]
    assert first["barrier"] == [False, True]


def test_a_rank_that_dies():
    first, second = _fail("dies")
    assert first.status == 0 and second.status == 9, first.err
    assert "rank 1 of 2 has gone" in json.loads(first.out)["dies"]


def test_the_interface_itself():
    """One process with two devices, by ctypes; among it everything that is wrong."""
    command = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--devices=2", "--", sys.executable]
    done = subprocess.run(
        [*command, str(ranks.PROGRAMS / "hccl_interface.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout)
    assert said["sums"] == [[11.0, 22.0, 33.0], [11.0, 22.0, 33.0]]
    assert said["halves"] == [2048.0]  # 2049 lies halfway between two halfs
    assert said["names"] == [True, 2, 1]
    for name, (code, text) in said["errors"].items():
        wanted_code, wanted = ERRORS[name]
        assert (code, wanted in text) == (wanted_code, True), f"{name}: {code} {text}"
    assert said["errors"].keys() == ERRORS.keys()


ERRORS = {
    "host memory": (1, "HcclAllReduce: sendBuf: address"),
    "too much": (1, "beyond an allocation of"),
    "no memory": (2, "HcclAllReduce: sendBuf is null"),
    "type": (1, "HcclBroadcast: data type 99 is not known"),
    "operation": (1, "HcclAllReduce: reduce operation 7 is not known"),
    "product of bfp16": (5, "HcclAllReduce: prod of bfp16 is not supported"),
    "sum of fp64": (5, "HcclAllReduce: sum of fp64 is not supported"),
    "root": (1, "HcclBroadcast: root 2 of 2 ranks"),
    "to itself": (1, "HcclSend: rank 0 to itself"),
    "device": (1, "the communicator was made for device 0, this thread is on device 1"),
    "counts": (1, "HcclAlltoAllV: rank 0 sends itself 2 fp32, but takes 1 fp32"),
    "root info": (1, "the root info is not from HcclGetRootInfo"),
    "rank": (1, "HcclCommInitRootInfo: rank 2 of 2 ranks"),
    "devices": (1, "HcclCommInitAll: device 0 is named twice"),
    "destroyed": (2, "is no communicator, or was destroyed"),
}


def test_a_model_is_sharded_where_the_ranks_communicate():
    """`fully_shard` without a mesh takes the accelerator by which the ranks communicate, and moves the module there; so does
    `distribute_tensor` with a tensor of the CPU."""
    found = ranks.results("npu_sharded.py", 2, device="npu", launcher=ranks.emulated())
    for rank, each in enumerate(found):
        pieces = [f"npu:{rank}", True]
        assert each == {"places": [f"npu:{rank}"], "grad": "DTensor", "rows": 2, "pieces": pieces}
