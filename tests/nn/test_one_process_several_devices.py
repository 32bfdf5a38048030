"""Inputs cut and outputs joined for several devices: of what no device is needed for, PyTorch's answers."""

import collections
import importlib

import pytest
from agreement import same, same_error

import mindtorch_v2 as torch

Pair = collections.namedtuple("Pair", "a b")


def _part(torch, name):
    return importlib.import_module(f"{torch.__name__}.nn.parallel.{name}")


@pytest.mark.parametrize(
    "inputs",
    [
        5,
        None,
        (),
        [1, (2, 3), {"a": 4}],
        {"a": [1, 2], "b": ()},
        ((), [], {}),
    ],
)
def test_inputs_that_are_no_tensors_go_to_every_device(inputs):
    same(lambda torch: torch.nn.parallel.scatter(inputs, [0, 1]))
    same(lambda torch: torch.nn.parallel.scatter(inputs, []))


@pytest.mark.parametrize(("inputs", "kwargs"), [((1,), {"a": 2}), ((1,), None), ((), None), ((), {"a": 1})])
def test_arguments_are_as_many_as_devices(inputs, kwargs):
    same(lambda torch: _part(torch, "scatter_gather").scatter_kwargs(inputs, kwargs, [0, 1]))


def test_named_tuples_stay_what_they_are():
    assert torch.nn.parallel.scatter(Pair(1, 2), [0, 1]) == [Pair(1, 2), Pair(1, 2)]
    assert torch.nn.parallel.gather([Pair(None, None)], 0) == Pair(None, None)
    with pytest.warns(FutureWarning, match="`is_namedtuple` is deprecated"):
        assert _part(torch, "scatter_gather").is_namedtuple(Pair(1, 2))


@pytest.mark.parametrize("outputs", [[None, None], [{"a": None}, {"a": None}], [[None, (None,)], [None, (None,)]]])
def test_outputs_that_are_no_tensors_are_joined(outputs):
    same(lambda torch: torch.nn.parallel.gather(outputs, 0))


REFUSED = {
    "tensors_on_the_host": lambda torch: torch.nn.parallel.gather([torch.ones(2), torch.ones(2)], 0),
    "other_keys": lambda torch: torch.nn.parallel.gather([{"a": None}, {"b": None}], 0),
    "other_lengths": lambda torch: torch.nn.parallel.gather([{"a": None}, {}], 0),
    "module_on_the_host": lambda torch: torch.nn.parallel.replicate(torch.nn.Linear(2, 2), [0]),
    "replica_on_the_host": lambda torch: torch.nn.parallel.replicate(torch.nn.Linear(2, 2), ["cpu"]),
    "sum_on_the_host": lambda torch: _part(torch, "comm").reduce_add([torch.ones(2)]),
    "sums_on_the_host": lambda torch: _part(torch, "comm").reduce_add_coalesced([[torch.ones(2)], [torch.ones(2)]]),
    "copies_nowhere": lambda torch: _part(torch, "comm").broadcast(torch.ones(2)),
    "pieces_on_the_host": lambda torch: _part(torch, "comm").scatter(torch.ones(2), ["cpu"]),
    "pieces_twice": lambda torch: _part(torch, "comm").scatter(torch.ones(2), [0], out=[torch.ones(2)]),
    "joined_twice": lambda torch: _part(torch, "comm").gather([torch.ones(2)], destination=0, out=torch.ones(2)),
    "no_device": lambda torch: torch.nn.parallel.parallel_apply([torch.nn.Identity()], [torch.ones(1)]),
    "too_few_inputs": lambda torch: torch.nn.parallel.parallel_apply([torch.nn.Identity()], []),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    same_error(REFUSED[name])


def test_tensors_are_found_in_nested_inputs():
    same(lambda torch: _part(torch, "parallel_apply").get_a_var([3, {"a": torch.ones(2)}]))
    same(lambda torch: _part(torch, "parallel_apply").get_a_var((1, {"a": 2})))


def test_copies_pieces_and_joins_in_given_memory():
    comm = _part(torch, "comm")
    x = torch.arange(6).reshape(3, 2)
    outputs = [torch.zeros(2, 2, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.int64)]
    assert [each.tolist() for each in comm.scatter(x, out=outputs)] == [[[0, 1], [2, 3]], [[4, 5]]]
    joined = torch.zeros(3, 2, dtype=torch.int64)
    assert comm.gather(outputs, out=joined) is joined and torch.equal(joined, x)
    assert torch.equal(comm.gather(outputs, destination="cpu"), x)
    copies = comm.broadcast(x, out=[torch.empty_like(x), torch.empty_like(x)])
    assert all(torch.equal(each, x) for each in copies)


def test_the_old_name_warns():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with pytest.warns(FutureWarning, match="DistributedDataParallelCPU` is deprecated"):
            torch.nn.parallel.DistributedDataParallelCPU(torch.nn.Linear(2, 2))
    finally:
        torch.distributed.destroy_process_group()
