"""Tensors whose memory processes share: by fork, and sent through queues."""

import gc
import os

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import multiprocessing as mp

FORK = mp.get_context("fork")


def _run(function, *args):
    process = FORK.Process(target=function, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_sharing_moves_the_storage_in_place():
    x = torch.arange(6.0)
    row = x.view(2, 3)[1]
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared() and row.is_shared() and x.untyped_storage().is_shared()
    x[3] = 9.0
    assert row.tolist() == [9.0, 4.0, 5.0]
    assert not x.clone().is_shared()
    assert torch.empty(0).share_memory_().is_shared()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.resize_(100)


@pytest.mark.parametrize("size", [3, 5000])
def test_what_pointed_to_the_old_memory_may_still_be_used(size):
    x = torch.zeros(size)
    array = x.numpy()
    x.share_memory_()
    array[:] = 1.0
    assert array.sum() == size and x.sum() == 0


def test_descriptors_are_given_back():
    before = len(os.listdir("/proc/self/fd"))
    for size in (0, 3, 5000):
        for _ in range(20):
            torch.ones(size).share_memory_()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_child_trains_the_parents_module():
    layer = torch.nn.Linear(2, 1).share_memory()
    plain = torch.zeros(3)

    def train():
        optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        plain.fill_(1.0)

    before = [p.detach().clone() for p in layer.parameters()]
    _run(train)
    torch.testing.assert_close([p.detach() for p in layer.parameters()], [p - 1 for p in before])
    assert plain.sum() == 0


def test_what_a_queue_carries_is_shared_both_ways():
    queue, seen = FORK.Queue(), FORK.Event()
    weight = torch.nn.Parameter(torch.ones(4, 3))

    def send():
        x = torch.arange(12).view(3, 4)
        queue.put((x.T[1:], weight, torch.ones(2, requires_grad=True)))
        assert seen.wait(60)
        assert x[0, 1] == 100

    process = FORK.Process(target=send)
    process.start()
    column, parameter, leaf = queue.get(timeout=60)
    assert column.tolist() == [[1, 5, 9], [2, 6, 10], [3, 7, 11]] and column.stride() == (1, 4)
    assert type(parameter) is torch.nn.Parameter and parameter.requires_grad and leaf.requires_grad
    column[0, 0] = 100
    seen.set()
    process.join(60)
    assert process.exitcode == 0


def test_results_of_autograd_are_not_sent():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        mp.reductions.reduce_tensor(torch.ones(2, requires_grad=True) * 2)


def test_strategies_are_named_as_pytorch_names_them():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x', expected one of"):
        mp.set_sharing_strategy("x")


def test_what_comes_back_is_the_same_storage():
    """Memory that a process has already is not mapped again: one storage, and views of it in one message stay its views."""
    x = torch.zeros(4, 4)
    queue = torch.multiprocessing.SimpleQueue()
    queue.put([x, x[1], x.storage()])
    whole, row, storage = queue.get()
    assert whole.untyped_storage()._cdata == row.untyped_storage()._cdata == x.untyped_storage()._cdata
    assert storage._cdata == x.untyped_storage()._cdata
    assert storage.dtype == torch.float32
    row.fill_(1)
    assert x[1].tolist() == [1.0] * 4
    queue.put(x)
    del x, whole, row, storage
    gc.collect()
    assert queue.get().sum().item() == 4


def test_thread_names():
    torch.multiprocessing._set_thread_name("a thread of some length")
    assert torch.multiprocessing._get_thread_name() == "a thread of som"
