"""Cost of one call of an NPU operator on the host, from the call to its return: Python, dispatch, memory and descriptors.

python -m mindtorch_v2.npu emulate --noop -- python benchmarks/npu_call.py

With --noop the emulator's operators do nothing, so what is left is the package's own work and two calls by ctypes. Printed: the
medians of processor time in microseconds, and beside them the same call on the CPU, by which busy machines can be told.
"""

import statistics
import time

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.aclnn import operator


def microseconds(call, times=500, rounds=21):
    """The median over rounds of one call's processor time on this thread."""
    found = []
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(times):
            call()
        found.append((time.thread_time() - start) / times * 1e6)
        torch.npu.synchronize()
    return statistics.median(found)


def main():
    """Print a line for each case."""
    a, b = (torch.ones(4, 4, device="npu") for _ in range(2))
    weight = torch.ones(4, 4, device="npu", requires_grad=True)
    here = torch.ones(4, 4)
    gain, shift = (torch.ones(4, device="npu") for _ in range(2))
    results = [torch.empty(4, n, device="npu") for n in (4, 1, 1, 4)]
    layer_norm = operator("aclnnAddLayerNorm")  # of eleven arguments, eight of them tensors
    npu = torch.ops.npu
    cases = {
        "add, a new result": lambda: torch.add(a, b),
        "add_, in place": lambda: a.add_(b),
        "mul by a number": lambda: a * 2.0,
        "add, recorded for its gradient": lambda: torch.add(weight, b),
        "ACLNN alone, 11 arguments": lambda: layer_norm.run(a, b, gain, shift, None, 1e-5, True, *results),
        "npu_rms_norm: two results": lambda: npu.npu_rms_norm(a, gain),
        "npu_add_layer_norm: four results": lambda: npu.npu_add_layer_norm(a, b, gain, shift, 1e-5, True),
        "empty: memory only": lambda: torch.empty(4, 4, device="npu"),
        "the same add on the CPU": lambda: torch.add(here, here),
    }
    print(torch.npu.get_device_name())
    for name, call in cases.items():
        call()
        print(f"{microseconds(call):8.2f} us  {name}")


if __name__ == "__main__":
    main()
