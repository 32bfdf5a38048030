"""Collectives among more ranks than send to each other directly: ranks are threads here, which the back end does not know."""

import concurrent.futures
import datetime
import functools
import operator

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _gloo, _mesh
from mindtorch_v2.distributed._reduce_op import RedOpType

SIZES = (9, 12, 16)  # one more than the direct ones; no power of two; a power of two
LONG = datetime.timedelta(seconds=60)


@pytest.fixture(scope="module", params=SIZES)
def ranks(request):
    """A function that runs another in all ranks, each with its group, and gives their results."""
    store, size = torch.distributed.HashStore(), request.param
    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        groups = list(pool.map(lambda rank: _gloo.ProcessGroupGloo(store, rank, size, LONG), range(size)))
        yield lambda function: list(pool.map(function, groups))
        list(pool.map(lambda group: group.close(), groups))


def numbers(rank, count, dtype=torch.float64):
    return (torch.arange(count) % 7 + rank % 3 + 1).to(dtype)


@pytest.mark.parametrize("count", [1, 5, 40_000])  # fewer than ranks; in trees; in rings
@pytest.mark.parametrize("op", ["SUM", "AVG", "PRODUCT", "MAX", "MIN"])
def test_all_reduce(ranks, op, count):
    def run(group):
        tensor = numbers(group.rank, count)
        group.allreduce(tensor, RedOpType[op]).wait()
        return group.size, tensor

    found = ranks(run)
    size = found[0][0]
    parts = [numbers(rank, count) for rank in range(size)]
    combine = {"PRODUCT": operator.mul, "MAX": torch.maximum, "MIN": torch.minimum}.get(op, operator.add)
    expected = functools.reduce(combine, parts) / (size if op == "AVG" else 1)
    for _, tensor in found:
        assert torch.equal(tensor, expected)


@pytest.mark.parametrize("count", [3, 40_000])
def test_all_ranks_get_the_same_bits(ranks, count):
    def run(group):
        torch_numbers = torch.linspace(0.1, 0.9, count) * 1.1**group.rank
        group.allreduce(torch_numbers, RedOpType.SUM).wait()
        return torch_numbers

    first, *others = ranks(run)
    assert all(torch.equal(first, each) for each in others)


def test_truth_values_and_complex_numbers(ranks):
    def run(group):
        flag = torch.tensor([group.rank == 5, False])
        point = torch.full((3, 2), 1 + 2j)
        group.allreduce(flag, RedOpType.SUM).wait()
        group.allreduce(point.t(), RedOpType.SUM).wait()
        return group.size, flag, point

    for size, flag, point in ranks(run):
        assert flag.tolist() == [True, False]
        assert torch.equal(point, torch.full((3, 2), size * (1 + 2j)))


@pytest.mark.parametrize("root", [0, 4, 8])
def test_broadcast_and_reduce(ranks, root):
    def run(group):
        sent, own = torch.full((3,), float(group.rank)), numbers(group.rank, 10)
        group.broadcast(sent, root).wait()
        kept = own.clone()
        group.reduce(own, root, RedOpType.SUM).wait()
        return group, sent, own, kept

    found = ranks(run)
    total = sum(kept for *_, kept in found)
    for group, sent, own, kept in found:
        assert sent.tolist() == [root] * 3
        assert torch.equal(own, total if group.rank == root else kept)


def test_gather_and_scatter_in_rings(ranks):
    def run(group):
        own = torch.full((2, 3), float(group.rank))
        outputs = [torch.empty(3, 2).t() if rank % 2 else torch.empty(2, 3) for rank in range(group.size)]
        group.allgather(outputs, own).wait()
        parts = [torch.full((4,), float(rank + group.rank)) for rank in range(group.size)]
        part = torch.empty(4)
        group.reduce_scatter(part, parts, RedOpType.SUM).wait()
        group.barrier().wait()
        return group, outputs, part, parts

    for group, outputs, part, parts in ranks(run):
        assert [each.tolist() for each in outputs] == [[[rank] * 3] * 2 for rank in range(group.size)]
        assert part.tolist() == [group.rank * group.size + sum(range(group.size))] * 4
        assert [each.tolist() for each in parts] == [[rank + group.rank] * 4 for rank in range(group.size)]


def test_no_rank_sends_much(ranks, monkeypatch):
    """In a ring a rank sends, of a large all_reduce, twice its bytes to one other; in trees little more than its bytes a few times."""
    sent = {}
    send, swap = _mesh.Mesh.send, _mesh.Mesh.swap

    def count(mesh, rank, key, label, buffer, awaited=False):
        sent.setdefault(mesh.rank, []).append((rank, len(buffer)))
        return send(mesh, rank, key, label, buffer, awaited)

    def count_small(mesh, key, label, sends, receives):
        done = swap(mesh, key, label, sends, receives)
        if done is not None:  # otherwise `send` follows
            sent.setdefault(mesh.rank, []).extend((rank, len(buffer)) for rank, buffer in sends.items())
        return done

    monkeypatch.setattr(_mesh.Mesh, "send", count)
    monkeypatch.setattr(_mesh.Mesh, "swap", count_small)
    size = ranks(lambda group: group.allreduce(torch.ones(48_000), RedOpType.SUM).wait() and group.size)[0]
    for rank, messages in sent.items():
        assert {other for other, _ in messages} == {(rank + 1) % size}
        assert sum(length for _, length in messages) <= 2 * 4 * 48_000
    sent.clear()
    ranks(lambda group: group.allreduce(torch.ones(1), RedOpType.SUM).wait())
    assert max(len(messages) for messages in sent.values()) <= size.bit_length()


def test_more_ranks_than_a_mesh_takes():
    with pytest.raises(
        RuntimeError,
        match=r"at most 64 ranks, not 65: start the program by mpirun or srun and use init_process_group\(\"mpi\"\)",
    ):
        _gloo.ProcessGroupGloo(torch.distributed.HashStore(), 0, 65, LONG)
