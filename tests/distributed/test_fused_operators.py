"""Ascend's products fused with communication, between processes of this machine and between emulated NPUs."""

import pytest
import ranks

from mindtorch_v2._backends.npu import libraries


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_fused_operators_give_what_their_parts_give(device: str) -> None:
    options = {}
    if device == "npu":
        if not (libraries.EMULATOR / "lib64" / "libhccl.so").exists():
            pytest.skip("the emulator is not built")
        options = {"device": "npu", "launcher": ranks.emulated("--poison")}
    for found in ranks.results("fused.py", 2, **options):
        assert len(found) >= 16
        assert {name: value for name, value in found.items() if value > 1e-4} == {}
