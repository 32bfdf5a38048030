"""Memory that is taken away or moved under tensors and arrays that show it: an error, never a crash."""

import gc
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

READS = [
    "v + 1",
    "v.sum()",
    "v.clone()",
    "v.tolist()",
    "v[3].item()",
    "v.numpy()",
    "v.add_(1)",
    "v.zero_()",
    "v.t().exp()",
    "v @ v",
    "torch.cat([v, v])",
    "torch.ones(10)[v.long()]",
    "repr(v)",
    "float(v[3])",
    "torch.zeros(4).copy_(v)",
    "torch.add(torch.ones(4), 1, out=v)",
]


@pytest.mark.parametrize("nbytes", [0, 16])
@pytest.mark.parametrize("read", READS)
def test_reading_is_an_error(read, nbytes):
    v = torch.arange(6.0)[2:]
    v.untyped_storage().resize_(nbytes)
    with pytest.raises(RuntimeError, match=r"not allocated yet|out of bounds for storage of size"):
        eval(read, {"torch": torch, "v": v})


def test_what_reads_no_elements_goes_on():
    a = torch.arange(6.0)
    a.untyped_storage().resize_(0)
    assert a.view(2, 3).t().shape == (3, 2) and a.detach()[1:].shape == (5,)
    assert torch.empty_like(a).shape == a.new_zeros(6).shape == (6,)
    assert a.resize_(8).zero_().sum().item() == 0


def test_numpy_holds_the_memory_where_it_is():
    for get in (torch.Tensor.numpy, torch.Tensor.__array__, lambda t: t[1:].numpy(), lambda t: t.numpy(force=True)):
        t = torch.zeros(3)
        array = get(t)
        for grow in (lambda t: t.resize_(1000), lambda t: t.untyped_storage().resize_(0)):
            with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
                grow(t)
        array[:] = 5
        assert t[-1].item() == 5


def test_data_of_a_leaf_keeps_a_dtype_with_gradients():
    x = torch.ones(3, requires_grad=True)
    for data in (torch.ones(3, dtype=torch.int64), torch.ones(3, dtype=torch.bool)):
        with pytest.raises(RuntimeError, match="data set to a tensor that requires gradients must be floating point"):
            x.data = data
    y = x * 2
    x.data = torch.ones(5)
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3] * 5
    x.grad = None
    y.sum().backward()  # of the graph made before
    assert x.grad.tolist() == [2] * 3


def test_a_long_chain_of_gradients_is_freed():
    for cycle in (False, True):
        last = torch.ones(1)
        for _ in range(100_000):
            tensor = torch.ones(1)
            tensor.grad = last
            last = tensor
        if cycle:
            last.itself = last
        del tensor, last
        gc.collect()


def test_a_sub_interpreter_is_refused():
    program = (
        "import sys, _xxsubinterpreters as sub\n"
        "import mindtorch_v2 as torch\n"
        "there = sub.create()\n"
        "try:\n"
        "    sub.run_string(there, f'import sys; sys.path[:] = {sys.path!r}; import mindtorch_v2')\n"
        "except sub.RunFailedError as error:\n"
        "    print(error)\n"
        "print(torch.ones(2).sum().item())\n"
    )
    pytest.importorskip("_xxsubinterpreters")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "cannot be imported in a sub-interpreter" in ran.stdout and ran.stdout.endswith("2.0\n")
