"""Many steps of a small training on the emulated GPU, and what is alive along them, as JSON: run_long.py STEPS."""

import ctypes
import json
import resource
import sys

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda import libraries


def main(steps):
    emulator = ctypes.CDLL(libraries.driver_path())
    emulator.emulated_report.restype = ctypes.c_char_p
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 2)
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    side, told = torch.cuda.Stream(), []
    for step in range(steps + 1):
        x = torch.randn(3, 4).pin_memory().to("cuda", non_blocking=True)
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            x.record_stream(side)
            extra = x.sum()
        torch.cuda.current_stream().wait_stream(side)
        loss = model(x).square().sum() + extra
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:  # else the host runs ahead, and what is under way grows
            torch.cuda.synchronize()
        if step % (steps // 2) == 0:
            del x, extra
            report = json.loads(emulator.emulated_report())
            held = {"allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved()}
            told.append({**report, **held, "resident_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss})
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]))
