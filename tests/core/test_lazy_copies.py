"""`Tensor._lazy_clone`: two storages share their bytes until one of them is written."""

import itertools
import os
import pickle
import threading

import pytest

import mindtorch_v2 as torch


def _address(tensor):
    return torch._C._data_address(tensor)


def _is_lazy(tensor):
    return torch._C._is_cow_tensor(tensor)


SIZES = [3, 5000]  # the bytes of a small storage lie in its own block


@pytest.fixture(params=SIZES, ids=["small", "large"])
def pair(request):
    x = torch.arange(float(request.param))
    place = _address(x)
    clone = x._lazy_clone()
    assert _is_lazy(x) and _is_lazy(clone)
    assert _address(x) == _address(clone) == place
    assert not torch._C._is_alias_of(x, clone)
    return x, clone, x.tolist(), place


def test_reading_copies_nothing(pair):
    x, clone, values, place = pair
    assert (x + clone).tolist() == [2 * v for v in values]
    assert clone.tolist() == x.view(-1).tolist() == values
    assert _is_lazy(x) and _is_lazy(clone) and _address(x) == _address(clone) == place


@pytest.mark.parametrize("first", [0, 1])
def test_the_first_write_copies_and_the_second_does_not(pair, first):
    *tensors, values, place = pair
    written, kept = tensors[first], tensors[1 - first]
    written.add_(1)
    assert not _is_lazy(written) and _address(written) != place
    assert kept.tolist() == values and _address(kept) == place
    kept.mul_(2)
    assert not _is_lazy(kept) and _address(kept) == place
    assert written.tolist() == [v + 1 for v in values]
    assert kept.tolist() == [2 * v for v in values]


def test_writing_through_a_view_copies_for_all_views(pair):
    x, clone, values, _ = pair
    view = x[1:]
    view.zero_()
    assert x.tolist() == [values[0]] + [0] * (len(values) - 1)
    assert _address(view) == _address(x) + 4 and clone.tolist() == values


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_copies_of_copies_go_in_any_order(size, order):
    x = torch.arange(float(size))
    values = x.tolist()
    copies = {0: x, 1: x._lazy_clone()}
    copies[2] = copies[1]._lazy_clone()
    del x
    for gone in order:
        written = copies[min(copies)]
        written.add_(1)
        assert written.tolist() == [v + 1 for v in values]
        written.sub_(1)
        assert all(each.tolist() == values for each in copies.values())
        del copies[gone], written
    assert torch.arange(float(size)).tolist() == values


@pytest.mark.parametrize(
    "hand_out",
    [
        lambda t: t.data_ptr(),
        lambda t: t.untyped_storage().data_ptr(),
        lambda t: t.numpy(),
        lambda t: memoryview(t.untyped_storage()),
        lambda t: torch.utils.dlpack.to_dlpack(t),
        lambda t: t.untyped_storage()[:4],
        lambda t: t.share_memory_(),
    ],
    ids=["data_ptr", "storage", "numpy", "buffer", "dlpack", "slice", "shared"],
)
def test_who_gets_the_address_may_write(pair, hand_out):
    x, clone, values, place = pair
    held = hand_out(clone)
    assert not _is_lazy(clone) and _address(clone) != place
    x.zero_()
    assert clone.tolist() == values
    del held


def test_storages_are_written_apart(pair):
    x, clone, values, _ = pair
    clone.untyped_storage()[0] = 7
    assert x.tolist() == values and clone.tolist() != values


def test_a_storage_grows_apart(pair):
    x, clone, values, _ = pair
    clone.untyped_storage().resize_(100_000)
    assert clone.tolist() == values
    x.fill_(1)
    clone.untyped_storage().resize_(8)
    assert clone.untyped_storage().nbytes() == 8 and clone[:2].tolist() == values[:2]


def test_who_is_left_alone_may_grow(pair):
    x, clone, values, _ = pair
    x.add_(1)
    clone.add_(1)  # its bytes are what it shared
    clone.resize_(20_000)
    assert clone[: len(values)].tolist() == [v + 1 for v in values]
    del x
    clone.resize_(0)
    assert clone.tolist() == []


def test_what_others_hold_is_copied_at_once():
    x = torch.arange(3.0)
    array = x.numpy()
    clone = x._lazy_clone()
    assert not _is_lazy(clone) and _address(clone) != _address(x)
    array[0] = 5
    assert clone.tolist() == [0, 1, 2]


def test_gradients_views_and_conjugates():
    x = torch.arange(3.0, requires_grad=True)
    y = x._lazy_clone()
    assert y.requires_grad and not y._is_view()
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    z = torch.tensor([1 + 2j]).conj()
    assert z._lazy_clone().tolist() == [1 - 2j]
    assert x[1:]._lazy_clone().tolist() == [1, 2]
    assert torch.empty(2, device="meta")._lazy_clone().shape == (2,)


def test_out_and_lists_are_written():
    x = torch.zeros(3)
    a, b = x._lazy_clone(), x._lazy_clone()
    torch.add(torch.ones(3), 1, out=a)
    torch._foreach_add_([b], 5)
    assert (x.tolist(), a.tolist(), b.tolist()) == ([0, 0, 0], [2, 2, 2], [5, 5, 5])


def test_a_pickle_copies():
    x = torch.arange(3.0)
    clone = pickle.loads(pickle.dumps(x._lazy_clone()))
    clone.zero_()
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("threads", "count"), [(1, 1), (1, 10), (4, 2), (4, 10)])
def test_parallel_loops_may_not_copy(threads, count):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.ones(2, 2)
        torch._test_parallel_materialize(x, count)
        with pytest.raises(RuntimeError, match="Materializing a storage"):
            torch._test_parallel_materialize(x._lazy_clone(), count)
        one = torch.ones(1)._lazy_clone()
        assert torch._test_parallel_materialize(one, 1, True) is one
    finally:
        torch.set_num_threads(before)


def test_threads_copy_apart():
    x = torch.arange(1000.0)
    copies = [x._lazy_clone() for _ in range(16)]
    threads = [threading.Thread(target=lambda c=c, i=i: c.add_(i)) for i, c in enumerate(copies)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(c.tolist() == [v + i for v in range(1000)] for i, c in enumerate(copies))
    assert x.tolist() == list(range(1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_copies():
    x = torch.arange(3.0)
    clone = x._lazy_clone()
    child = os.fork()
    if child == 0:
        clone.add_(1)
        os._exit(0 if clone.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert clone.tolist() == [0, 1, 2]
