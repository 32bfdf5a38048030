"""Options of the allocator, its history, and counts of pinned memory."""

import os
import pathlib
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.common.allocator_settings import Settings
from mindtorch_v2._backends.npu import state

MIB = 1 << 20
memory: Any = torch.npu.memory


def _program(options: str, program: str) -> Any:
    found = subprocess.run(
        [sys.executable, "-c", f"import mindtorch_v2 as torch\nMIB = 1 << 20\n{program}"],
        env={**os.environ, "PYTORCH_NPU_ALLOC_CONF": options},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return found.stdout.split() if found.returncode == 0 else found.stderr


_FIVE = """
held = [torch.empty(5 * MIB, dtype=torch.int8, device="npu") for _ in range(2)]
print(torch.npu.memory_reserved() // MIB)
"""


@pytest.mark.parametrize(
    ("options", "reserved"),
    [
        ("", 20),
        ("large_segment_size_mb:50", 50),
        ("expandable_segments:True,segment_size_mb:128", 128),
        ("expandable_segments:True,segment_size_mb:50,large_segment_size_mb:100", 100),
        ("segment_size_mb:128", 20),
        ("expandable_segments:False, garbage_collection_threshold:0.8", 20),
    ],
)
def test_blocks_of_medium_size_share_segments(options: str, reserved: int) -> None:
    assert _program(options, _FIVE) == [str(reserved)]


def test_a_share_of_the_memory() -> None:
    program = """
total = torch.npu.mem_get_info()[1]
print(torch.npu.get_per_process_memory_fraction())
torch.empty(total // 20, dtype=torch.int8, device="npu")
try:
    torch.empty(total // 5, dtype=torch.int8, device="npu")
except torch.npu.OutOfMemoryError:
    print("refused")
"""
    share, refused = _program("per_process_memory_fraction:0.1", program)
    assert abs(float(share) - 0.1) < 1e-6 and refused == "refused"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("large_segment_size_mb:5", "segments must be larger than 10 MiB, not 5"),
        ("large_segment_size_mb:1.5", "must be a whole number of MiB, but it is 1.5"),
        ("large_segment_size_mb:50,max_split_size_mb:30", "must be at least the size of segments, 50, but it is 30"),
        ("per_process_memory_fraction:2.0", "must be a number from 0 to 1, but it is 2.0"),
        ("per_process_memory_fraction:-0.1", "must be a number from 0 to 1, but it is -0.1"),
        ("per_process_memory_fraction:", "per_process_memory_fraction has no value"),
    ],
)
def test_options_that_are_none(options: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Settings("PYTORCH_NPU_ALLOC_CONF").read(options)
    assert message in _program(options, 'torch.empty(1, device="npu")')


def test_options_without_effect_are_told() -> None:
    with pytest.warns(
        UserWarning, match="have no effect here: expandable_segments, page_size, segments; memory is held"
    ):
        Settings("PYTORCH_NPU_ALLOC_CONF").read("expandable_segments:True,segments:3,page_size:1g")
    said = _program("expandable_segments:True", 'torch.empty(1, device="npu"); raise SystemExit(1)')
    assert "PYTORCH_NPU_ALLOC_CONF: these options have no effect here: expandable_segments" in said


def test_a_larger_free_block_is_taken_where_blocks_are_not_split() -> None:
    program = """
for rounding in (20, 30):
    torch.npu.memory._set_allocator_settings(f"max_split_size_mb:50,max_non_split_rounding_mb:{rounding}")
    torch.npu.empty_cache()
    torch.empty(100 * MIB, dtype=torch.int8, device="npu")
    before = torch.npu.memory_reserved()
    x = torch.empty(75 * MIB, dtype=torch.int8, device="npu")
    print((torch.npu.memory_reserved() - before) // MIB, torch.npu.memory_allocated() // MIB)
    del x
    assert torch.npu.memory_allocated() == 0
"""
    assert _program("roundup_power2_divisions:[256:1,512:2]", program) == ["76", "76", "0", "102"]


@pytest.fixture
def recorded() -> Iterator[None]:
    memory._record_memory_history(max_entries=100)
    yield
    memory._record_memory_history(enabled=None)


def test_the_history_of_memory(recorded: None, tmp_path: pathlib.Path) -> None:
    torch.npu.empty_cache()
    x = torch.empty(30 * MIB, dtype=torch.int8, device="npu")
    address = x.data_ptr()
    del x
    torch.npu.empty_cache()
    events = [e for e in memory._snapshot()["device_traces"][0] if e["addr"] == address]
    assert [e["action"] for e in events] == [
        "segment_alloc",
        "alloc",
        "free_requested",
        "free_completed",
        "segment_free",
    ]
    assert {e["size"] for e in events if e["action"].startswith("segment")} == {32 * MIB}
    assert {e["size"] for e in events if not e["action"].startswith("segment")} == {30 * MIB + 512}
    assert any(f["name"] == "test_the_history_of_memory" and f["filename"] == __file__ for f in events[1]["frames"])
    memory._dump_snapshot(str(tmp_path / "memory.pickle"))
    read = pickle.loads((tmp_path / "memory.pickle").read_bytes())
    assert read["device_traces"] == memory._snapshot()["device_traces"] and read["segments"] == memory.memory_snapshot()
    memory._record_memory_history("state", context=None, max_entries=2)
    held = [torch.empty(1, device="npu") for _ in range(3)]
    traces = memory._snapshot()["device_traces"][0]
    assert len(traces) == 2 and "frames" not in traces[0] and len(held) == 3
    with pytest.raises(RuntimeError, match="enabled must be None, 'state' or 'all', but it is 'some'"):
        memory._record_memory_history("some")
    memory._record_memory_history(None)
    assert memory._snapshot()["device_traces"] == [[] for _ in range(torch.npu.device_count())]


def test_pinned_memory_is_counted() -> None:
    before = memory.host_memory_stats()
    memory.reset_accumulated_host_memory_stats()
    x, y = torch.ones(64).pin_memory(), torch.ones(32).pin_memory()
    del y
    found = memory.host_memory_stats_as_nested_dict()
    assert found["allocations"]["current"] == before["allocations.current"] + 1
    assert found["allocated_bytes"]["current"] == before["allocated_bytes.current"] + 256
    assert found["allocations"]["allocated"] == 2 and found["allocations"]["freed"] == 1
    assert found["allocated_bytes"]["freed"] == 128
    assert found["allocations"]["peak"] >= found["allocations"]["current"] + 1
    memory.reset_peak_host_memory_stats()
    assert memory.host_memory_stats()["allocated_bytes.peak"] == found["allocated_bytes"]["current"]
    assert x.is_pinned()


def test_pinned_memory_serves_again(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, calls = state.get().runtime, []
    take, give = runtime.aclrtMallocHost, runtime.aclrtFreeHost

    def taken(address: Any, nbytes: int) -> int:
        calls.append(nbytes)
        return take(address, nbytes)

    def given(address: int) -> int:
        calls.append(-1)
        return give(address)

    monkeypatch.setattr(runtime, "aclrtMallocHost", taken)
    monkeypatch.setattr(runtime, "aclrtFreeHost", given)
    torch.npu.host_empty_cache()
    calls.clear()
    first = torch.arange(300, dtype=torch.uint8).pin_memory()
    address = first.data_ptr()
    del first
    again = torch.ones(512, dtype=torch.uint8).pin_memory()  # of the same power of two
    assert again.data_ptr() == address and again.sum() == 512 and calls == [512]
    other = torch.ones(257, dtype=torch.uint8).pin_memory()
    assert other.data_ptr() != address and calls == [512, 512]
    smaller = torch.ones(256, dtype=torch.uint8).pin_memory()
    assert calls == [512, 512, 256] and smaller.sum() == 256
    x = torch.zeros(257, dtype=torch.uint8, device="npu")
    x.copy_(other, non_blocking=True)
    del other
    torch.full((257,), 9, dtype=torch.uint8).pin_memory()
    assert x.sum() == 257  # what was not copied yet is no one else's
    del again
    calls.clear()
    torch.npu.host_empty_cache()
    assert calls and set(calls) == {-1} and smaller.sum() == 256
    kept = torch.ones(2000, dtype=torch.uint8).pin_memory()
    del kept
    calls.clear()
    codes = iter([207001, 0])

    def refused(address: Any, nbytes: int) -> int:
        return next(codes) or taken(address, nbytes)

    monkeypatch.setattr(runtime, "aclrtMallocHost", refused)  # no memory left: what is kept is given back first
    assert torch.ones(5000, dtype=torch.uint8).pin_memory().sum() == 5000 and calls == [-1, 8192]


def test_pinned_memory_of_a_graph_is_kept() -> None:
    y, graph = torch.zeros(64, device="npu"), torch.npu.NPUGraph()
    before = memory.host_memory_stats()["allocations.current"]
    with torch.npu.graph(graph):
        pinned = torch.full((64,), 7.0).pin_memory()
        y.copy_(pinned, non_blocking=True)
    pinned[0] = 3.0
    del pinned
    assert memory.host_memory_stats()["allocations.current"] == before + 1
    graph.replay()
    assert y.tolist() == [3.0, *[7.0] * 63]
    graph.reset()
    assert memory.host_memory_stats()["allocations.current"] == before


def test_requests_are_rounded_to_steps_between_powers_of_two() -> None:
    program = """
for size in (33 * MIB, 65 * MIB, 200 * MIB, 3 * MIB):
    x = torch.empty(size, dtype=torch.int8, device="npu")
    print(torch.npu.memory_stats()["allocated_bytes.all.current"] / MIB, torch.npu.memory_stats()["requested_bytes.all.current"] // MIB)
    del x
"""
    found = _program("roundup_power2_divisions:[8:1,64:4,128:8,>:16]", program)
    assert found == ["34.0", "33", "80.0", "65", "208.0", "200", "3.00048828125", "3"]
    assert _program("roundup_power2_divisions:2", program)[::2] == ["48.0", "96.0", "256.0", "4.0"]


def test_steps_by_the_size_of_requests() -> None:
    settings = Settings("PYTORCH_NPU_ALLOC_CONF")
    settings.read("roundup_power2_divisions:[8:1,64:4,128:8,256:2,>:16],max_split_size_mb:40")
    assert settings.divisions == [1, 1, 1, 1, 0, 0, 4, 8, 2, 16, 16, 16, 16, 16, 16, 16]
    assert settings.rounded(510 * MIB) == 512 * MIB and settings.rounded(513 * MIB) == 544 * MIB
    assert settings.rounded(33 * MIB) == settings.rounded(100) == 0  # without steps
    settings.read("roundup_power2_divisions:4")
    assert settings.rounded(1200) == 0 and settings.rounded(2100) == 2560  # blocks have 512 bytes at least
    for wrong in ("3", "[8:3]", "[7:2]", "[>:4]", "8:2"):
        with pytest.raises(ValueError, match="roundup_power2_divisions must be a power of two"):
            settings.read(f"roundup_power2_divisions:{wrong}")
