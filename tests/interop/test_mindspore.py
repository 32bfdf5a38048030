"""Tensors that share memory with MindSpore's.

`make test-mindspore` runs these on MindSpore itself. Where it is not installed they run on `tests/support/mindspore_stand_in.py`,
which follows the same protocol over NumPy: that shows our half of the exchange, and nothing about MindSpore.
"""

import gc
import pathlib
import re
import subprocess
import sys
import threading
import warnings
import weakref

import mindspore_stand_in
import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.interop import _mindspore

DTYPES = sorted(_mindspore._DTYPES)


@pytest.fixture(autouse=True)
def ms(monkeypatch):
    """MindSpore, or the module in its place."""
    if not mindspore_stand_in.real():
        for name, module in mindspore_stand_in.MODULES.items():
            monkeypatch.setitem(sys.modules, name, module)
        yield mindspore_stand_in.MODULE
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mindspore
        yield mindspore


@pytest.fixture(autouse=True)
def _no_warning_asked_for(monkeypatch):
    monkeypatch.setattr(_mindspore, "_warn", None)


def _numbers(dtype, *shape):
    count = int(np.prod(shape))
    return (
        (torch.arange(count) % 2 if dtype == "bool" else torch.arange(count)).to(getattr(torch, dtype)).reshape(shape)
    )


def _array(ms_tensor, dtype):
    array = np.array(ms_tensor.asnumpy())
    return array.view(np.uint16) if dtype == "bfloat16" else array


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0,), (2, 0, 3), (1,), (2, 1, 3)])
def test_values_dtypes_and_shapes_both_ways(ms, dtype, shape):
    ours = _numbers(dtype, *shape)
    theirs = ours.to_mindspore()
    assert isinstance(theirs, ms.Tensor)
    assert theirs.dtype == getattr(ms, _mindspore._DTYPES[dtype][0])
    assert tuple(theirs.shape) == shape
    bits = ours.view(torch.uint16) if dtype == "bfloat16" else ours
    assert np.array_equal(_array(theirs, dtype), bits.numpy())
    back = torch.from_mindspore(theirs)
    assert (back.dtype, back.shape, back.stride(), back.requires_grad) == (ours.dtype, ours.shape, ours.stride(), False)
    assert torch.equal(back, ours)


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_one_in_both_directions(ms, dtype):
    ours = _numbers(dtype, 2, 3)
    theirs = torch.to_mindspore(ours)
    back = torch.from_mindspore(theirs)
    assert theirs.data_ptr() == ours.data_ptr() == back.data_ptr()
    ours[0, 0] = 1
    assert back[0, 0].item() == 1 and bool(_array(theirs, dtype)[0, 0])
    back[0, 0] = 0
    assert ours[0, 0].item() == 0 and not bool(_array(theirs, dtype)[0, 0])


def test_writes_of_mindspore_are_seen(ms):
    ours = torch.zeros(2, 3)
    theirs = ours.to_mindspore()
    theirs[0, 1] = 7.0
    theirs.data_ptr()  # waits for the write
    assert ours.tolist() == [[0, 7, 0], [0, 0, 0]]
    made = ms.Tensor(np.zeros((2, 3), np.float32))
    seen = torch.from_mindspore(made)
    made[1, 0] = 5.0
    made.data_ptr()
    assert seen.tolist() == [[0, 0, 0], [5, 0, 0]]


def test_the_version_rises_when_we_are_told(ms):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    theirs = y.detach().to_mindspore()
    theirs[0] = 9.0
    theirs.data_ptr()
    torch.autograd.graph.increment_version(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_strided_tensor_goes_as_a_contiguous_copy(ms):
    ours = torch.arange(6.0).reshape(2, 3).t()
    theirs = ours.to_mindspore()
    assert theirs.data_ptr() != ours.data_ptr()
    assert theirs.asnumpy().tolist() == ours.tolist()
    part = torch.arange(6.0)[2:]
    assert part.to_mindspore().data_ptr() == part.data_ptr()


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
def test_views_of_mindspore_come_without_a_copy(ms, dtype):
    base = _numbers(dtype, 3, 4).to_mindspore()
    whole = torch.from_mindspore(base)
    for view, expected in (
        (base[1:], whole[1:]),
        (base[:, 1:], whole[:, 1:]),
        (base[1:, 2:], whole[1:, 2:]),
        (base[::2], whole[::2]),
        (base.transpose(1, 0), whole.t()),
    ):
        ours = torch.from_mindspore(view)
        assert torch.equal(ours, expected)
        if view.data_ptr() == expected.data_ptr():  # MindSpore itself did not copy
            assert ours.data_ptr() == expected.data_ptr()
            assert ours.stride() == expected.stride()
    assert torch.from_mindspore(base[1:]).data_ptr() == whole[1:].data_ptr()


def test_copy_shares_nothing(ms):
    theirs = ms.Tensor(np.ones((2, 2), np.float32))
    ours = torch.from_mindspore(theirs, copy=True)
    ours.zero_()
    assert theirs.asnumpy().tolist() == [[1, 1], [1, 1]]


def test_memory_lives_when_the_first_owner_goes(ms):
    """In both orders, and with other memory allocated afterwards."""
    ours = torch.full((1000, 100), 3.0)
    gone = weakref.ref(ours)
    theirs = ours.to_mindspore()
    del ours
    gc.collect()
    assert gone() is None
    junk = [torch.full((1000, 100), 7.0) for _ in range(20)]
    assert (theirs.asnumpy() == 3).all()
    back = torch.from_mindspore(theirs)
    del theirs, junk
    gc.collect()
    junk = [torch.full((1000, 100), 7.0) for _ in range(20)]
    assert back.eq(3).all()
    made = ms.Tensor(np.full((1000, 100), 5.0, np.float32))
    seen = torch.from_mindspore(made)
    del made
    gc.collect()
    junk = [ms.Tensor(np.full((1000, 100), 7.0, np.float32)) for _ in range(20)]
    assert len(junk) == 20 and seen.eq(5).all()


def test_memory_lives_when_mindspore_takes_other(ms):
    """`assign_value` gives a tensor another memory: the one that we have stays, with the values it had."""
    made = ms.Tensor(np.full((1000, 1000), 3.0, np.float32))
    seen = torch.from_mindspore(made)
    made.assign_value(ms.Tensor(np.full((1000, 1000), 5.0, np.float32)))
    gc.collect()
    junk = [ms.Tensor(np.full((1000, 1000), 7.0, np.float32)) for _ in range(10)]
    assert [item.asnumpy()[0, 0] for item in junk] == [7] * 10
    assert seen.eq(3).all()
    assert torch.from_mindspore(made).eq(5).all()


def test_memory_that_mindspore_has_is_not_resized(ms):
    ours = torch.zeros(3)
    theirs = ours.to_mindspore()
    with pytest.raises(RuntimeError, match="not resizable"):
        ours.resize_(100_000)
    assert theirs.shape == (3,)


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory in use is read from /proc")
def test_ten_thousand_round_trips_do_not_grow(ms):
    def trip():
        ours = torch.ones(10_000)  # 40 KB: lost ones would come to 400 MB
        back = torch.from_mindspore(ours.to_mindspore())
        theirs = torch.from_mindspore(ms.Tensor(np.ones(10_000, np.float32))).to_mindspore()
        assert back.data_ptr() == ours.data_ptr() and theirs.shape == (10_000,)

    for _ in range(200):
        trip()
    gc.collect()
    before = _resident()
    for _ in range(10_000):
        trip()
    gc.collect()
    assert _resident() - before < 20e6


def test_threads(ms):
    failures = []

    def work(number):
        try:
            for step in range(200):
                value = float(number * 1000 + step)
                back = torch.from_mindspore(torch.full((50,), value).to_mindspore())
                assert back.eq(value).all()
        except BaseException as error:  # noqa: BLE001  (handed to the test's own thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_gradient_crosses(ms):
    x = torch.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="gradient history stays behind"):
        theirs = (x * 2).to_mindspore()
    assert torch.from_mindspore(theirs).requires_grad is False
    x.detach().to_mindspore()  # no warning, which would be an error here
    with torch.no_grad():
        x.to_mindspore()
    assert torch.nn.Parameter(torch.ones(2)).detach().to_mindspore().shape == (2,)


def test_warnings_are_turned_on_and_off(ms):
    torch.set_interop_warning(True)
    with pytest.warns(UserWarning, match=r"^to_mindspore\(\): a tensor crosses") as told:
        theirs = torch.to_mindspore(torch.ones(2))
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^from_mindspore\(\): a tensor crosses") as told:
        torch.from_mindspore(theirs)
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="a tensor crosses") as told:
        torch.ones(2).to_mindspore()
    assert told[0].filename == __file__
    torch.set_interop_warning(False)
    torch.from_mindspore(torch.ones(2, requires_grad=True).to_mindspore())
    with pytest.raises(TypeError, match="expects a bool, got str"):
        torch.set_interop_warning("no")


def test_what_cannot_cross_is_told_what_can(ms):
    supported = "dense CPU tensors of .*float32.* are exchanged"
    with pytest.raises(TypeError, match="expects a Tensor, got list"):
        torch.to_mindspore([1.0])
    with pytest.raises(RuntimeError, match=f"layout torch.sparse_coo; {supported}: use .to_dense"):
        torch.eye(2).to_sparse().to_mindspore()
    with pytest.raises(RuntimeError, match=f"a tensor on meta; {supported}"):
        torch.empty(2, device="meta").to_mindspore()
    with pytest.raises(TypeError, match=f"a tensor of torch.float8_e5m2; {supported}"):
        torch.zeros(2).to(torch.float8_e5m2).to_mindspore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that they are deprecated
        quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
    with pytest.raises(TypeError, match=f"a tensor of torch.qint8; {supported}: use .dequantize"):
        quantised.to_mindspore()
    freed = torch.ones(2)
    freed.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="the memory of the tensor was freed"):
        freed.to_mindspore()
    with pytest.raises(TypeError, match=f"expects a mindspore.Tensor, got ndarray; {supported}"):
        torch.from_mindspore(np.ones(2))
    with pytest.raises(TypeError, match="got COOTensor; .*take .to_dense"):
        torch.from_mindspore(ms.COOTensor.__new__(ms.COOTensor))


def test_memory_of_other_devices_is_refused(monkeypatch):
    """On the stand-in always: a tensor of MindSpore's on Ascend needs Ascend."""
    for name, module in mindspore_stand_in.MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    theirs = mindspore_stand_in.Tensor(np.ones(2, np.float32))
    theirs.device = "Ascend:0"
    with pytest.raises(RuntimeError, match=r"a tensor on Ascend:0; dense CPU tensors .*: use .move_to\('CPU'\)"):
        torch.from_mindspore(theirs)


def test_memory_that_is_not_there_is_refused(monkeypatch):
    """On the stand-in always: MindSpore's own gives such tensors only for parameters to be initialised later."""
    for name, module in mindspore_stand_in.MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)
    theirs = mindspore_stand_in.Tensor(np.ones(2, np.float32))
    theirs.data_ptr = lambda: 0
    with pytest.raises(RuntimeError, match="has no memory yet"):
        torch.from_mindspore(theirs)


def test_without_mindspore_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mindspore", None)
    for call in (lambda: torch.ones(1).to_mindspore(), lambda: torch.from_mindspore(object())):
        with pytest.raises(ImportError, match=r"pip install 'mindtorch_v2\[mindspore\]'"):
            call()


def test_importing_us_does_not_import_mindspore():
    code = (
        "import sys, mindtorch_v2; mindtorch_v2.interop, mindtorch_v2.from_mindspore;"
        "assert not any(name.partition('.')[0] == 'mindspore' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


needs_mindspore = pytest.mark.skipif(not mindspore_stand_in.real(), reason="what MindSpore itself computes")
ROOT = pathlib.Path(__file__).parents[2]


@needs_mindspore
def test_the_page_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "mindspore.md").read_text(), re.M | re.S)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "mindspore.md", "exec"), names)


@needs_mindspore
@pytest.mark.slow
def test_the_mixed_model_learns():
    program = ROOT / "examples" / "mindspore_mixed" / "train.py"
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", program], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert losses[0] > 1.2 and losses[-1] < 0.3
