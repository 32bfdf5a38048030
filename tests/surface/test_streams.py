"""torch.Stream and torch.Event on the CPU, where work is done when a call returns."""

import pytest

import mindtorch_v2 as torch


def test_stream_of_the_cpu():
    stream = torch.Stream()
    assert repr(stream) == "torch.Stream device_type=cpu, device_index=-1, stream_id=0"
    assert stream.device == torch.device("cpu") and stream.query() and stream.synchronize() is None
    assert stream == torch.Stream("cpu") and hash(stream) == hash(torch.Stream())
    for refused in (stream.record_event, lambda: stream.wait_stream(stream), lambda: torch.Event().record()):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events."):
            refused()


def test_event_of_the_cpu():
    assert torch.Event().query() and torch.Event("cpu").device == torch.device("cpu")


def test_other_devices():
    with pytest.raises(RuntimeError, match=r"torch\.Stream: there is no back end for the device cuda"):
        torch.Stream("cuda")


def test_cpus_older_autocast_is_found_without_an_import():
    with pytest.warns(FutureWarning, match=r"`torch.cpu.amp.autocast\(args...\)` is deprecated"):
        context = torch.cpu.amp.autocast()
    with context:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        torch.cpu.nothing
