"""Calls that would read or write outside the memory they are given, or after it is gone: PyTorch 2.13's errors and results."""

import ctypes

import numpy
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

aten = torch.ops.aten


def _x():
    return torch.arange(6.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), -3), "Tensor: invalid storage offset -3"),
        (
            lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (-1,), 0),
            "as_strided: Negative strides are not supported at the moment, got strides: [-1]",
        ),
        (
            lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), 5),
            "setStorage: sizes [2], strides [1], storage offset 5, and itemsize 4 requiring a storage size of 28 are out of "
            "bounds for storage of size 24",
        ),
        (
            lambda x: torch.as_strided_scatter(x, torch.ones(2), (-2,), (1,), 0),
            "Storage size calculation overflowed with sizes=[-2] and strides=[1]",
        ),
        (lambda x: aten._as_strided_backward(torch.ones(2), [6], [2], [1], -3), "Tensor: invalid storage offset -3"),
        (
            lambda x: aten._as_strided_backward(torch.ones(2), [6], [2], [-1], 0),
            "as_strided: Negative strides are not supported at the moment, got strides: [-1]",
        ),
        (
            lambda x: torch.select_scatter(x, torch.ones(2), 0, 1),
            "expected src to have a size equal to the slice of self. ",
        ),
    ],
)
def test_views_written_to(call, message):
    x = _x()
    with pytest.raises(RuntimeError) as caught:
        call(x)
    assert message in str(caught.value)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("size, target", [(0, [0] * 0), (3, [0, 0, 0]), (3, [0] * 0)])
def test_nll_loss_of_one_sample_has_one_target(size, target):
    with pytest.raises(ValueError) as caught:
        functional.nll_loss(torch.ones(size), torch.tensor(target, dtype=torch.int64))
    expected = f"For 1D input, 1D target must have size 1, but got target size: {len(target)}"
    assert str(caught.value) == expected


def test_nll_loss_of_one_sample():
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    loss = functional.nll_loss(x, torch.tensor([2]))
    assert loss.shape == () and loss.item() == -2
    loss.backward()
    assert x.grad.tolist() == [0, 0, -1]
    assert functional.cross_entropy(torch.zeros(3), torch.tensor([1])).item() == pytest.approx(1.0986123)


@pytest.mark.parametrize(
    "call",
    [
        lambda out: torch.arange(0, 6, 2, out=out),
        lambda out: torch.linspace(0, 4, 3, out=out),
        lambda out: torch.logspace(0, 2, 3, base=2, out=out).log2_().mul_(2),
        lambda out: torch.range(0, 4, 2, out=out),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_ranges_keep_an_out_of_as_many_elements(call):
    memory = torch.full((3, 3), -1.0)
    out = memory.t()[1:2]
    call(out)
    assert out.shape == (1, 3) and out.stride() == (1, 3)
    assert memory.tolist() == [[-1, 0, -1], [-1, 2, -1], [-1, 4, -1]]


def _capsule(x):
    return x.__dlpack__()


@pytest.mark.parametrize(
    "export",
    [
        _capsule,
        lambda x: memoryview(x.untyped_storage()),
        lambda x: torch.frombuffer(x.untyped_storage(), dtype=torch.uint8),
        lambda x: numpy.frombuffer(x.untyped_storage(), dtype=numpy.uint8),
        lambda x: numpy.from_dlpack(x),
        lambda x: torch.from_dlpack(x),
        lambda x: x.untyped_storage()[4:8],
        lambda x: x.numpy(),
    ],
    ids=[
        "capsule",
        "memoryview",
        "frombuffer",
        "numpy.frombuffer",
        "numpy.from_dlpack",
        "from_dlpack",
        "slice",
        "numpy",
    ],
)
def test_memory_in_use_elsewhere_keeps_its_address(export):
    x = _x()
    storage, held = x.untyped_storage(), export(x)
    address = storage.data_ptr()
    for change in (lambda: storage.resize_(0), lambda: storage.resize_(1 << 20), lambda: x.resize_(1 << 18)):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            change()
    assert storage.data_ptr() == address and x.tolist() == [0, 1, 2, 3, 4, 5]
    del held


def test_memory_that_was_given_back_can_be_resized():
    x = _x()
    for export in (_capsule, lambda x: memoryview(x.untyped_storage()), lambda x: x.untyped_storage()[4:8]):
        held = export(x)
        del held
        x.untyped_storage().resize_(48)
    assert x.untyped_storage().nbytes() == 48 and x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_on_meta():
    storage = torch.zeros(3, device="meta").untyped_storage()
    assert storage.fill_(1) is storage
    storage[0] = 1
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        storage[0]
    for call in (lambda: storage.cpu(), lambda: torch.zeros(3).untyped_storage().copy_(storage)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            call()
    typed = torch.zeros(3, device="meta").storage()
    assert repr(typed).endswith("...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 3]")


class _Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ndim": -1}, "expected at most 1024 dimensions and their sizes, got ndim=-1"),
        ({"ndim": 2**31 - 1}, "expected at most 1024 dimensions and their sizes"),
        ({"shape": None}, "got ndim=1 and no shape"),
        ({"shape": [-4]}, r"negative sizes are not supported, got \[-4\]"),
        ({"shape": [2**62, 8], "ndim": 2}, "too many elements"),
        ({"strides": [-1]}, r"negative strides are not supported, got \[-1\]"),
        ({"data": None}, "4 elements without memory"),
    ],
)
def test_dlpack_capsules_that_lie(change, message):
    memory = numpy.arange(4, dtype=numpy.float32)
    fields = {"data": memory.ctypes.data, "shape": [4], "strides": None, "ndim": 1} | change
    for name in ("shape", "strides"):
        values = fields[name]
        fields[name] = None if values is None else (ctypes.c_int64 * len(values))(*values)
    managed = _Managed(device_type=1, code=2, bits=32, lanes=1, **fields)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = ctypes.c_char_p(b"dltensor")
    with pytest.raises(RuntimeError, match=message):
        torch.from_dlpack(new(ctypes.addressof(managed), name, None))


def test_read_only_memory_by_dlpack():
    array = numpy.arange(3.0)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="the memory is read-only"):
        x = torch.from_dlpack(array)
    assert x.tolist() == [0, 1, 2]


def _add_one(xs):
    for x in xs:
        if x is not None:
            x.add_(1)


def test_lists_written_to_with_none():
    with torch.library._scoped_library("ends_of_memory", "DEF") as library:
        library.define("add_one(Tensor(a!)?[] xs) -> ()")
        library.impl("add_one", _add_one, "CompositeExplicitAutograd")
        x = torch.zeros(2)
        before = x._version
        torch.ops.ends_of_memory.add_one([x, None])
        torch.ops.ends_of_memory.add_one([None, None])
        assert x.tolist() == [1, 1] and x._version > before
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            torch.ops.ends_of_memory.add_one([None, torch.zeros(2, requires_grad=True)])


def test_what_a_function_cannot_be_asked():
    for name in ("_in_jvp", "materialize_grads"):
        with pytest.raises(AttributeError, match=name):
            getattr(torch._C._FunctionBase(), name)
