"""A rank that dies, is late, or does something else: the others get an exception, in time."""

import json

import ranks

# Whichever rank finds it out says so, and tells the other, if its message is faster than the end of the connection.
TEXTS = {
    "is late": "Timed out waiting 1000ms for all_reduce operation to complete",
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
