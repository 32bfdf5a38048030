"""Arrays of other libraries that are refused are let go."""

import gc
import weakref

import pytest

import mindtorch_v2 as torch


class Exporter:
    def __init__(self, device):
        self.device = device

    def __dlpack__(self, **options):
        raise ValueError("nothing is handed out")

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (99, 0), "no device"])
def test_an_exporter_that_is_refused_is_let_go(device) -> None:
    exporter = Exporter(device)
    kept = weakref.ref(exporter)
    with pytest.raises((ValueError, AssertionError, RuntimeError, TypeError)):
        torch.from_dlpack(exporter)
    del exporter
    gc.collect()
    assert kept() is None
