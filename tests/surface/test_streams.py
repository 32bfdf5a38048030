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
