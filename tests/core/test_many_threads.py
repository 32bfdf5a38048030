"""Many threads at once on what they share: memory, caches of calls, leaves of graphs, operators that are called for the first
time, storages that others see. `SANITIZER=thread scripts/sanitize` runs these on a build that watches every access."""

import os
import threading

import numpy
import pytest

import mindtorch_v2 as torch

THREADS = 6
LARGE = 100_000  # elements; kernels of this size let go of the GIL and use several threads


def at_once(*works, times=1):
    """Run each work in `times` threads that begin together; the first exception is raised."""
    begin = threading.Barrier(len(works) * times)
    errors = []

    def run(work):
        begin.wait()
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (handed to the thread that waits)
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_memory_of_all_sizes():
    def work():
        kept = []
        for size in [1, 10, 1000, 1100, LARGE, 600_000] * 6:
            kept.append(torch.full((size,), 3.0))
            if len(kept) > 4:
                assert kept.pop(0)[-1].item() == 3.0
            torch.ones(size) + 1

    at_once(work, times=THREADS)
    torch._C._cpu_empty_cache()


def test_large_operators_share_their_inputs():
    a, b = torch.arange(float(LARGE)), torch.ones(LARGE)
    weight = torch.ones(64, 64)

    def work():
        for _ in range(8):
            assert (a + b)[-1].item() == LARGE
            assert (a.reshape(-1, 10).sum(1) > 0).all()
            assert (weight @ weight)[0, 0].item() == 64
            assert a.flip(0).sort().values[1].item() == 1
            assert torch.equal(torch.cat([a, b])[:LARGE], a)

    at_once(work, times=THREADS)


def test_first_calls():
    """Others wait while what the first call makes is made."""
    names = [
        "erfinv",
        "digamma",
        "i0",
        "sinc",
        "logit",
        "frac",
        "expm1",
        "asinh",
        "bucketize",
        "heaviside",
        "copysign",
        "xlogy",
    ]
    x = torch.full((5,), 0.5)

    def work():
        for name in names:
            function = getattr(torch, name)
            if name == "bucketize":
                function(x, torch.arange(3.0))
            elif name in ("heaviside", "copysign", "xlogy"):
                function(x, x)
            else:
                function(x)
        torch.nn.functional.gelu(x.requires_grad_()).sum().backward()

    at_once(work, times=THREADS)


def test_backward_through_shared_leaves_and_nodes():
    leaf = torch.ones(LARGE, requires_grad=True)
    shared = leaf * 2

    def work():
        for _ in range(4):
            (shared * 3).sum().backward(retain_graph=True)

    at_once(work, times=4)
    assert leaf.grad.unique().tolist() == [4 * 4 * 6]


def test_graphs_that_end_in_other_threads():
    made = [torch.ones(50, requires_grad=True) for _ in range(THREADS)]
    losses = [(leaf.exp() @ leaf) for leaf in made]

    def work():
        while True:
            try:
                losses.pop().backward()
            except IndexError:
                return

    at_once(work, times=3)
    assert all(leaf.grad is not None for leaf in made)


def test_in_place_on_own_views_of_one_storage():
    base = torch.zeros(THREADS, LARGE // 4)
    rows = list(base.unbind(0))

    def work():
        row = rows.pop()
        for _ in range(10):
            row += 1
            row[1:].mul_(1)

    at_once(work, times=THREADS)
    assert base.unique().tolist() == [10]


def test_storages_that_others_see():
    tensor = torch.zeros(1000)

    def work():
        for _ in range(200):
            array = tensor.numpy()
            again = torch.from_numpy(array)
            torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(again))
            numpy.asarray(tensor)
            with pytest.raises(RuntimeError):
                tensor.resize_(2000)

    keep = tensor.numpy()
    at_once(work, times=THREADS)
    assert keep.shape == (1000,)


def test_definitions_while_others_call():
    def define(number):
        library = torch.library.Library(f"many_threads_{number}", "DEF")
        for each in range(20):
            library.define(f"op{each}(Tensor x) -> Tensor")
            library.impl(f"op{each}", lambda x: x + 1, "CPU")
            assert getattr(getattr(torch.ops, f"many_threads_{number}"), f"op{each}")(torch.ones(2)).tolist() == [2, 2]

    x = torch.ones(4, requires_grad=True)
    at_once(
        *[lambda number=number: define(number) for number in range(3)],
        *[lambda: [torch.ops.aten.add(x, x).sum().backward() for _ in range(100)]] * 3,
    )


def test_settings_of_threads_are_their_own():
    x = torch.ones(3, requires_grad=True)

    def without():
        for _ in range(200):
            with torch.no_grad():
                assert not (x * 2).requires_grad

    def with_gradients():
        for _ in range(200):
            assert (x * 2).requires_grad

    def number_of_threads():
        before = torch.get_num_threads()
        for count in (1, 2, before) * 20:
            torch.set_num_threads(count)
            torch.ones(LARGE).sum()

    at_once(without, with_gradients, without, with_gradients, number_of_threads)


def test_generators():
    def work():
        generator = torch.Generator()
        for _ in range(20):
            generator.manual_seed(1)
            own = torch.rand(LARGE, generator=generator)
            torch.rand(5), torch.randperm(10), torch.nn.functional.dropout(own)
            assert own[0].item() == 0.7576315999031067

    at_once(work, times=THREADS)


def test_fork_while_others_take_memory():
    """The child finds no lock held by a thread that is not there."""
    ends = threading.Event()

    def work():
        while not ends.is_set():
            a = torch.ones(LARGE)
            (a + 1).sort()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                os._exit(0 if torch.ones(LARGE).sum().item() == LARGE and torch.ones(7).sum().item() == 7 else 1)
            _, status = os.waitpid(child, 0)
            assert status == 0
    finally:
        ends.set()
        for thread in threads:
            thread.join()
