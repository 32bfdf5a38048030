"""Tensor objects end and live again: weak references, finalizers, attributes and the collector see none of it."""

import gc
import subprocess
import sys
import weakref

import mindtorch_v2 as torch


def test_a_reused_object_starts_clean() -> None:
    for _ in range(200):  # more than are kept
        old = torch.ones(2, requires_grad=True)
        old.mark = "old"
        watch = weakref.ref(old)
        del old
        assert watch() is None
        fresh = torch.zeros(3)
        assert not hasattr(fresh, "mark")
        assert not fresh.requires_grad and fresh.grad_fn is None
        assert fresh.tolist() == [0, 0, 0]
        assert gc.is_tracked(fresh)


def test_cycles_through_tensors_are_collected() -> None:
    gone = []
    for k in range(100):
        a, b = torch.ones(1), torch.ones(1)
        a.other, b.other = b, a
        weakref.finalize(a, gone.append, k)
    del a, b
    gc.collect()
    assert sorted(gone) == list(range(100))


def test_a_finalizer_set_on_the_class_runs_for_every_tensor() -> None:
    code = (
        "import mindtorch_v2 as t; seen = []; t.Tensor.__del__ = lambda self: seen.append(1)\n"
        "for _ in range(70): t.ones(1)\n"
        "print(len(seen))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) >= 70


def test_subclasses_end_as_their_class_says() -> None:
    seen = []

    class Watched(torch.Tensor):
        def __del__(self) -> None:
            seen.append(self.shape)

    x = torch.ones(2, 3).as_subclass(Watched)
    del x
    gc.collect()
    assert seen == [torch.Size([2, 3])]


def test_a_small_storage_grows_out_of_its_block_and_back() -> None:
    x = torch.arange(4.0)
    storage = x.untyped_storage()
    x.resize_(1000)[:4].tolist()
    assert x[:4].tolist() == [0, 1, 2, 3]
    assert storage.nbytes() == 4000
    storage.resize_(8)
    storage.resize_(16)
    assert torch.tensor([], dtype=torch.float32).set_(storage, 0, (2,)).tolist() == [0, 1]
    storage.resize_(0)
    assert storage.nbytes() == 0
    storage.resize_(100_000)
    assert storage.nbytes() == 100_000
