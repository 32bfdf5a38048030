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


def test_a_module_is_called_on_both_devices() -> None:
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).npu().eval()
    x = torch.randn(5, 3, device="npu", requires_grad=True)
    devices = []
    layers[2].register_forward_hook(lambda module, inputs, output: devices.append(output.device.index))
    outputs = torch.nn.DataParallel(layers)(x)
    assert sorted(devices) == [0, 1] and outputs.device.index == 0
    found = torch.autograd.grad(outputs.pow(2).sum(), [x, *layers.parameters()])
    alone = layers(x)
    wanted = torch.autograd.grad(alone.pow(2).sum(), [x, *layers.parameters()])
    torch.testing.assert_close(outputs, alone)
    torch.testing.assert_close(found, wanted)
    with torch.no_grad():
        torch.testing.assert_close(torch.nn.parallel.data_parallel(layers, x, output_device=1).npu(0), alone)


def test_replicas_of_recurrent_layers_and_of_one_device() -> None:
    layer = torch.nn.LSTM(3, 4).npu()
    x = torch.randn(2, 4, 3, device="npu")
    alone, _ = layer(x)
    torch.testing.assert_close(torch.nn.DataParallel(layer, dim=1)(x)[0], alone)
    torch.testing.assert_close(torch.nn.DataParallel(layer, [0])(x)[0], alone)
    (replica,) = torch.nn.parallel.replicate(layer, [0], detach=True)
    assert not replica.weight_ih_l0.requires_grad and list(replica.parameters()) == []


def test_an_error_of_a_replica_is_raised() -> None:
    layer = torch.nn.DataParallel(torch.nn.Linear(3, 2).npu())
    with pytest.raises(RuntimeError, match="Caught RuntimeError in replica 0 on device 0"):
        layer(torch.ones(4, 5, device="npu"))
    with pytest.raises(RuntimeError, match="found one of them on device: npu:1"):
        torch.nn.DataParallel(torch.nn.Linear(3, 2).npu(), [0, 1]).npu(1)(torch.ones(4, 3, device="npu"))


def test_sums_copies_and_joins_between_devices() -> None:
    comm = torch.nn.parallel.comm
    first, second = torch.ones(2, device="npu:0"), torch.full((2,), 2.0, device="npu:1")
    total = comm.reduce_add([first, second], 1)
    assert total.device.index == 1 and total.tolist() == [3, 3] and first.tolist() == [1, 1]
    sums = comm.reduce_add_coalesced([[first, first.half()], [second, second.half()]], 0)
    assert [(each.dtype, each.tolist()) for each in sums] == [(torch.float32, [3, 3]), (torch.float16, [3, 3])]
    assert comm.gather([first, second], destination="cpu").tolist() == [1, 1, 2, 2]
    assert [each.device.index for each in comm.broadcast(first, [0, 1])] == [0, 1]
    assert [each.tolist() for each in comm.scatter(torch.arange(3), [0, 1], [1, 2])] == [[0], [1, 2]]
    with pytest.raises(ValueError, match="input 1 has invalid size: got 3, but expected 2"):
        comm.reduce_add([first, torch.ones(3, device="npu:1")], 0)
    with pytest.raises(RuntimeError, match="expects destination to be on the same GPU with one of the tensors"):
        comm.reduce_add([second], 0)


def test_numbers_of_devices_are_stacked() -> None:
    parts = [torch.tensor(1.0, device="npu:0", requires_grad=True), torch.tensor(2.0, device="npu:1")]
    joined = torch.nn.parallel.gather(parts, 0)
    assert joined.tolist() == [1, 2] and joined.device.index == 0
    joined.sum().backward()
    assert parts[0].grad.tolist() == 1
