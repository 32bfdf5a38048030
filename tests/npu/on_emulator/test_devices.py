"""Two devices: guards, copies between them, their own streams, memory and generators. Run with --devices 2."""

import pathlib

import pytest

import mindtorch_v2 as torch

pytestmark = pytest.mark.skipif(torch.npu.device_count() < 2, reason="needs two devices")


@pytest.fixture(autouse=True)
def _first_device() -> object:
    yield
    torch.npu.set_device(0)


def test_tensors_are_made_where_they_are_asked_for() -> None:
    assert torch.npu.device_count() == 2 and torch.npu.current_device() == 0
    with torch.npu.device(1):
        x = torch.ones(3, device="npu")
        assert torch.npu.current_device() == 1
    assert x.device == torch.device("npu:1") and torch.npu.current_device() == 0
    torch.npu.set_device("npu:1")
    assert torch.empty(2, device="npu").get_device() == 1
    assert torch.empty(2, device="npu:0").get_device() == 0
    assert (x + x).device.index == 1 and (torch.ones(2, device="npu:0") * 2).device.index == 0
    with pytest.raises(RuntimeError, match="invalid NPU device 2: there are 2"):
        torch.npu.set_device(2)
    with pytest.raises(RuntimeError, match="invalid NPU device 5: there are 2"):
        torch.empty(1, device="npu:5")


def test_copies_between_devices() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    first = x.to("npu:0")
    second = first.to("npu:1")
    assert second.device.index == 1 and torch.equal(second.cpu(), x)
    second.mul_(2)
    first.copy_(second)
    assert torch.equal(first.cpu(), x * 2)
    strided = first.t().to("npu:1")
    assert torch.equal(strided.cpu(), x.t() * 2)
    half = second.to("npu:0", torch.float16)
    assert half.dtype == torch.float16 and torch.equal(half.cpu(), (x * 2).half())


def test_operands_are_on_one_device() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device="npu:0") + torch.ones(2, device="npu:1")


def test_gradients_cross_devices() -> None:
    x = torch.randn(4, device="npu:0", requires_grad=True)
    y = (x * 2).to("npu:1") ** 2
    y.sum().backward()
    assert x.grad is not None and x.grad.device.index == 0
    torch.testing.assert_close(x.grad.cpu(), 8 * x.detach().cpu())


def test_streams_and_memory_are_each_devices_own() -> None:
    before = torch.npu.memory_allocated(0), torch.npu.memory_allocated(1)
    stream = torch.npu.Stream(device=1)
    assert stream.device.index == 1
    with torch.npu.stream(stream):
        x = torch.full((1000,), 3.0, device="npu:1")
        event = stream.record_event()
    torch.npu.current_stream(1).wait_event(event)
    assert x.sum().item() == 3000 and torch.npu.current_device() == 0
    assert torch.npu.memory_allocated(0) == before[0] and torch.npu.memory_allocated(1) > before[1]
    torch.manual_seed(4)
    assert torch.equal(torch.rand(5, device="npu:0").cpu(), torch.rand(5, device="npu:1").cpu())


def test_a_graph_of_another_device_is_dropped_once_it_is_done() -> None:
    graph = torch.npu.NPUGraph()
    with torch.npu.device(1):
        x = torch.ones(1 << 20, device="npu")
        with torch.npu.graph(graph):
            y = x
            for _ in range(30):
                y = y + 1
        graph.replay()
    graph.reset()
    assert y[-1].item() == 31.0


def test_storages_take_their_bytes_along() -> None:
    x = torch.arange(1.0, 4.0)
    storage = x.untyped_storage()
    first = storage.to(device="npu")
    assert first.device == torch.device("npu:0") and first.tolist() == storage.tolist()
    second = first.to(device="npu:1")
    assert second.device == torch.device("npu:1") and second.cpu().tolist() == storage.tolist()
    assert second.to(device="npu:1") is second and storage.to(device="cpu") is storage
    assert x.storage().npu().tolist() == [1, 2, 3]


def test_a_file_is_loaded_to_where_it_was_and_to_elsewhere(tmp_path: pathlib.Path) -> None:
    x = torch.arange(6.0).reshape(2, 3).npu(1)
    torch.save({"whole": x, "part": x[:, 1:]}, tmp_path / "file.pt")
    for map_location, device in ((None, "npu:1"), ("npu:0", "npu:0"), ({"npu:1": "npu:0"}, "npu:0"), ("cpu", "cpu")):
        found = torch.load(tmp_path / "file.pt", map_location=map_location)
        assert {str(each.device) for each in found.values()} == {device}
        assert torch.equal(found["whole"].cpu(), x.cpu()) and torch.equal(found["part"].cpu(), x.cpu()[:, 1:])
