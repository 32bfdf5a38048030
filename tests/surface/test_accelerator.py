"""`torch.accelerator` where there is no accelerator, and with a stand-in for one."""

from types import SimpleNamespace

import pytest

import mindtorch_v2 as torch


def test_without_an_accelerator_nothing_but_none_is_a_device() -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    with torch.accelerator.device_index(None):
        pass
    for call in (
        lambda: torch.accelerator.device_index(0).__enter__(),
        torch.accelerator.get_memory_info,
        torch.accelerator.reset_peak_memory_stats,
        torch.accelerator.reset_accumulated_memory_stats,
    ):
        with pytest.raises(RuntimeError, match=r"^Cannot access accelerator device when none is available\.$"):
            call()


def test_a_device_is_the_current_one_within_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [0]
    there = SimpleNamespace(current_device=lambda: at[0], set_device=lambda index: at.__setitem__(0, index))
    monkeypatch.setattr(torch.accelerator, "_module", lambda: there)
    with torch.accelerator.device_index(1):
        assert at == [1]
        with torch.accelerator.device_index(None):
            assert at == [1]
    with pytest.raises(ZeroDivisionError), torch.accelerator.device_index(3):
        raise ZeroDivisionError
    assert at == [0]
