"""Devices that nothing here can drive: the exceptions by which programs tell, as PyTorch 2.13 raises them."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "xpu"])
def test_not_compiled(device):
    text = f"Torch not compiled with {device.partition(':')[0].upper()} enabled"
    for use in (
        lambda: torch.ones(2).to(device),
        lambda: torch.empty(2, device=device),
        lambda: torch.nn.Linear(2, 2).to(device),
    ):
        with pytest.raises(AssertionError) as raised:
            use()
        assert str(raised.value) == text


def test_not_linked():
    with pytest.raises(RuntimeError, match="^PyTorch is not linked with support for mps devices$"):
        torch.ones(2).to("mps")
