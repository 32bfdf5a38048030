"""A small network trains for many steps on the emulator; prints what is alive early and at the end, as JSON.

long_run.py STEPS
"""

import ctypes
import json
import sys

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._backends.npu import state


def alive(emulator) -> dict[str, int]:
    """The emulator's counts, memory in use and held, and the size of this process in KiB."""
    torch.npu.synchronize()
    report = json.loads(emulator.emulatorReport())
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * 4
    return {
        **report["live"],
        "misuses": report["misuses"],
        "allocated": torch.npu.memory_allocated(),
        "reserved": torch.npu.memory_reserved(),
        "resident KiB": resident,
    }


def main(steps: int) -> None:
    """Train and print `{"early": ..., "late": ..., "losses": [first, last]}`."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randn(64, 8)
    labels = (data[:, :4] * 3).argmax(1)
    emulator = state.get().runtime.libraries.acl
    emulator.emulatorReport.restype = ctypes.c_char_p
    early, losses = {}, []
    for step in range(steps):
        rows = slice(step % 4 * 16, step % 4 * 16 + 16)
        loss = nn.functional.cross_entropy(model(data[rows].npu()), labels[rows].npu())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 1000 == 0:
            losses.append(loss.item())
        if step == steps // 10:
            early = alive(emulator)
    print(json.dumps({"early": early, "late": alive(emulator), "losses": [losses[0], loss.item()]}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
