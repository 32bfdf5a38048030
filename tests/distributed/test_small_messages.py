"""Small collectives, which ranks swap without the bookkeeping of messages: nothing that happens beside them is lost or taken for theirs.

Ranks are threads here, which the back end does not know.
"""

import concurrent.futures
import datetime
import random
import time

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _gloo, _mesh
from mindtorch_v2.distributed._reduce_op import RedOpType

SIZE = 3


@pytest.fixture
def ranks():
    """A function that runs another in all ranks, each with its group, and gives their results or what they raised."""
    store = torch.distributed.HashStore()

    def outcome(future):
        return future.exception(60) or future.result()

    with concurrent.futures.ThreadPoolExecutor(SIZE) as pool:
        limit = datetime.timedelta(seconds=20)
        groups = list(pool.map(lambda rank: _gloo.ProcessGroupGloo(store, rank, SIZE, limit), range(SIZE)))
        yield lambda function: [outcome(each) for each in [pool.submit(function, group) for group in groups]]
        list(pool.map(lambda group: group.close(), groups))


def test_ranks_run_ahead_and_send_messages_beside(ranks):
    """Each rank rests at moments of its own, so that others are ahead; messages and large collectives come between."""

    def run(group):
        draw, found, following = random.Random(group.rank), [], (group.rank + 1) % SIZE
        for step in range(200):
            if draw.random() < 0.05:
                time.sleep(draw.random() * 0.01)
            messages = []
            if step % 7 == 0:
                landing = torch.empty(3)
                messages = [
                    group.recv(landing, (group.rank - 1) % SIZE, step),
                    group.send(torch.full((3,), float(group.rank)), following, step),
                ]
            number = torch.tensor([float(group.rank + step)])
            later = step % 11 == 0  # a thread of the group's own does it then
            work = group.allreduce(number, RedOpType.SUM, later)
            if step % 50 == 0:
                large = torch.full((20_000,), float(step))
                group.allreduce(large, RedOpType.MAX).wait()
                assert torch.equal(large, torch.full((20_000,), float(step)))
            work.wait()
            for message in messages:
                message.wait()
            if messages:
                assert landing.tolist() == [float((group.rank - 1) % SIZE)] * 3
            found.append(number.item())
        return found

    expected = [sum(float(rank + step) for rank in range(SIZE)) for step in range(200)]
    assert ranks(run) == [expected] * SIZE


def test_what_comes_is_looked_at(ranks):
    """Another operation of the same size is found out; the error reaches the rank that waits for both, too."""

    def run(group):
        group.allreduce(torch.ones(1), RedOpType.MAX if group.rank == 1 else RedOpType.SUM).wait()

    for error in ranks(run):
        assert "rank 1 called all_reduce of (1) float32 MAX" in str(error)


def test_messages_that_came_before_are_found(ranks, monkeypatch):
    """The moving thread keeps what comes before a rank asks for it."""
    monkeypatch.setattr(_mesh, "_REST", 0.0)

    def run(group):
        found = []
        for step in range(5):
            time.sleep(0.02 * group.rank)
            number = torch.tensor([step])
            group.allreduce(number, RedOpType.SUM).wait()
            found.append(number.item())
        return found

    assert ranks(run) == [[SIZE * step for step in range(5)]] * SIZE


def test_a_rank_that_hangs_up(ranks):
    def run(group):
        group.barrier().wait()
        if group.rank == 2:
            group.abort()
            return "gone"
        time.sleep(0.05)
        group.allreduce(torch.ones(1), RedOpType.SUM).wait()

    first, second, last = ranks(run)
    assert last == "gone"
    assert "rank 2 gave up: the process group was aborted" in str(first)
    assert "rank 2 gave up" in str(second)
