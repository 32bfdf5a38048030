"""A rank that dies, is late, or does something else: the others get an exception, in time."""

import json
import os
import pickle

import ranks

# Whichever rank finds it out says so, and tells the other, if its message is faster than the end of the connection.
TEXTS = {
    "is late": "Timed out waiting 1000ms for all_reduce operation to complete: rank 1 has not begun any collective of this group",
    "other shape": "rank 0 called all_reduce of (2) float32 SUM, while rank 1 called all_reduce of (3) float32 SUM",
    "other dtype": "rank 0 called all_reduce of (2) float32 SUM, while rank 1 called all_reduce of (2) int64 SUM",
    "other op": "rank 0 called all_reduce of (2) float32 SUM, while rank 1 called all_reduce of (2) float32 MAX",
    "other collective": "rank 0 called all_reduce of (2) float32 SUM, while rank 1 called broadcast of (2) float32 from 1",
    "sends too much": "rank 1 sent 12 bytes, but rank 0 waits for 8",
    "misses a barrier": "[Rank 0]: Rank 1 failed to pass monitoredBarrier in 1000 ms",
}


def test_ranks_that_do_not_do_the_same_are_told():
    first, second = ranks.results("failures.py", 2, seconds=60)
    for case, text in TEXTS.items():
        assert text in first[case] or text in second[case], (first[case], second[case])
        assert first[case] != "no error"
        # Who has only to send is done before that.
        assert second[case] != "no error" or case in ("other collective", "sends too much")
    assert first["and then"] == second["and then"] == 3.0


def test_a_rank_that_dies():
    first, second = ranks.run("failures.py", "dies", seconds=60)
    assert first.status == 0 and second.status == 9, first.err
    told = json.loads(first.out)["dies"]
    assert "Connection closed by peer [127.0.0.1]:" in told and "(rank 1)" in told


def test_a_rank_that_is_stopped_is_named_and_what_was_under_way_is_written_down(tmp_path):
    """Its connections stay, so that nothing tells of it but that it does not answer."""
    kept = {"TORCH_FR_DUMP_TEMP_FILE": f"{tmp_path}/traces/rank_"}
    first, second, third = ranks.run("failures.py", "stops", size=3, seconds=60, environment=kept)
    assert (first.status, second.status, third.status) == (0, -9, 0), first.err
    for rank in (first, third):
        told = json.loads(rank.out)["stops"]
        assert "Timed out waiting 2000ms for all_reduce operation to complete: rank 1 does not answer" in told
        assert "rank 0 " not in told.partition("complete: ")[2] and "rank 2 " not in told.partition("complete: ")[2]
    assert sorted(os.listdir(tmp_path / "traces")) == ["rank_0", "rank_2"]
    trace = pickle.loads((tmp_path / "traces" / "rank_0").read_bytes())
    assert [entry["state"] for entry in trace["entries"]] == ["completed", "completed", "started"]
    last = trace["entries"][-1]
    assert (last["profiling_name"], last["input_sizes"], last["input_dtypes"]) == (
        "gloo:all_reduce",
        [[2, 3]],
        ["BFloat16"],
    )
    assert last["frames"][0]["filename"].endswith("failures.py") and last["frames"][0]["name"] == "stop_one"
    assert trace["pg_config"] == {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    assert trace["pg_status"]["0"]["last_completed_collective"] == 2
