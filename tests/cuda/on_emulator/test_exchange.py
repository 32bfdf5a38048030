"""Memory handed to other libraries and taken from them, by DLPack and CUDA's array interface, with the streams that read it."""

import weakref

import pytest

import mindtorch_v2 as torch


class _Plain:
    """An array of a library that knows only CUDA's array interface."""

    def __init__(self, **entries):
        self.__cuda_array_interface__ = entries


class _Producer:
    """A library's array whose `__dlpack__` notes what it is asked for."""

    def __init__(self, tensor):
        self.tensor, self.asked = tensor, {}

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked = options
        return self.tensor.__dlpack__(**options)


def test_dlpack_shares_the_memory():
    x = torch.arange(6.0, device="cuda").view(2, 3).t()
    assert x.__dlpack_device__() == (2, 0)
    y = torch.from_dlpack(x)
    assert y.device == x.device and y.stride() == (1, 3) and y.data_ptr() == x.data_ptr()
    y[0, 1] = 50
    assert x.tolist() == [[0, 50], [1, 4], [2, 5]]
    z = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x[1:]))
    assert z.tolist() == [[1, 4], [2, 5]] and z.storage_offset() == 1


def test_the_producer_is_told_the_stream_that_reads():
    producer = _Producer(torch.ones(2, device="cuda"))
    torch.from_dlpack(producer)
    assert producer.asked["stream"] == 1  # the default one has no address
    with torch.cuda.Stream() as stream:
        torch.from_dlpack(producer)
    assert producer.asked["stream"] == stream.cuda_stream
    host = _Producer(torch.ones(2))
    torch.from_dlpack(host)
    assert "stream" not in host.asked


def test_the_readers_stream_waits(monkeypatch):
    waits = []
    x = torch.ones(2, device="cuda")
    writer, reader = torch.cuda.Stream(), torch.cuda.Stream()
    monkeypatch.setattr(torch.cuda.Stream, "wait_stream", lambda self, other: waits.append((self, other)))
    with writer:
        x.__dlpack__(stream=reader.cuda_stream)
        x.__dlpack__(stream=writer.cuda_stream)
        x.__dlpack__(stream=-1)
        x.__dlpack__()
        x.__dlpack__(stream=1)
    default = torch.cuda.default_stream()
    assert waits == [(reader, writer), (default, writer), (default, writer)]


def test_streams_without_an_address_are_refused():
    x = torch.ones(2, device="cuda")
    with pytest.raises(BufferError, match="per-thread default stream is not supported"):
        x.__dlpack__(stream=2)
    with pytest.raises(AssertionError, match="unsupported stream on CUDA: 0"):
        x.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        x.__dlpack__(stream="1")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one device")
def test_another_gpus_memory_is_refused():
    with pytest.raises(BufferError, match="different CUDA device index. Expected: 1. Current device: 0"):
        torch.ones(2, device="cuda:1").__dlpack__()


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [
        ("float32", "<f4"), ("float16", "<f2"), ("bfloat16", "<V2"), ("complex64", "<c8"), ("uint8", "|u1"), ("int8", "|i1"),
        ("int64", "<i8"), ("bool", "|b1"), ("complex128", "<c16"), ("uint16", "<u2"),
    ],
)  # fmt: skip
def test_the_array_interface_both_ways(dtype, typestr):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]], device="cuda").to(getattr(torch, dtype))
    told = x.__cuda_array_interface__
    assert told == {"typestr": typestr, "shape": (2, 3), "strides": None, "data": (x.data_ptr(), False), "version": 2}
    y = torch.as_tensor(_Plain(**told))
    assert (y.dtype, y.device, y.data_ptr()) == (x.dtype, x.device, x.data_ptr())
    assert torch.equal(x.cpu(), y.cpu())
    t = x.t()
    size = x.element_size()
    assert t.__cuda_array_interface__["strides"] == (size, 3 * size)
    assert torch.equal(torch.asarray(_Plain(**t.__cuda_array_interface__)).cpu(), t.cpu())
    copied = torch.tensor(_Plain(**told))
    assert torch.equal(copied.cpu(), x.cpu()) and copied.device == x.device and copied.data_ptr() != x.data_ptr()


def test_what_has_no_array_interface():
    assert not hasattr(torch.ones(2), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="use var.detach"):
        torch.ones(2, device="cuda", requires_grad=True).__cuda_array_interface__
    with pytest.raises(TypeError, match="no typestr for torch.float8_e4m3fn"):
        torch.empty(2, device="cuda", dtype=torch.float8_e4m3fn).__cuda_array_interface__


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"typestr": ">f4"}, ValueError, "'>f4' stands for no dtype"),
        ({"typestr": "<f16"}, ValueError, "'<f16' stands for no dtype"),
        ({"shape": (-1, 3)}, ValueError, "sizes must not be negative, but one is -1"),
        ({"strides": (12,)}, TypeError, "same length as shape"),
        ({"strides": (12, 3)}, ValueError, "not a multiple of the element byte size"),
        ({"data": (4096, True)}, TypeError, "read only flag is not supported"),
        ({"data": 4096}, TypeError, "2-tuple"),
        ({"data": (0, False)}, ValueError, "6 elements at the address 0"),
        ({"shape": (1 << 40, 1 << 40)}, ValueError, "too many elements"),
        ({"typestr": None}, TypeError, "str"),
    ],
)
def test_hostile_array_interfaces(change, error, text):
    told = torch.ones(2, 3, device="cuda").__cuda_array_interface__
    with pytest.raises(error, match=text):
        torch.as_tensor(_Plain(**{**told, **change}))
    del told["shape"]
    with pytest.raises(ValueError, match="has no 'shape'"):
        torch.as_tensor(_Plain(**told))


def test_the_owner_lives_as_long_as_the_tensor():
    x = torch.ones(3, device="cuda")
    owner = _Plain(**x.__cuda_array_interface__)
    alive = weakref.ref(owner)
    y = torch.as_tensor(owner)
    del owner
    assert alive() is not None
    del y
    assert alive() is None


def test_the_accelerator_is_the_gpu():
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.is_available() and torch.accelerator.device_count() == torch.cuda.device_count()
    with torch.cuda.Stream() as stream:
        assert torch.accelerator.current_stream() == stream
    assert torch.accelerator.current_device_index() == 0
