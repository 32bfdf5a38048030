"""The memory of a rank with FSDP2: memory.py STORE RANK SIZE. Prints bytes as JSON.

What stays between steps is counted from the tensors that the rank holds, the peak of a step from the process' resident memory.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS = 1024, 12


def status(field):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(field + ":"))


def local(tensor):
    held = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return held.untyped_storage().nbytes()


def main(store, rank, size):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    whole = sum(each.numel() * 4 for each in model.parameters())
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.ones(2, WIDTH)

    def step():
        model(x).sum().backward()
        kept = sum(local(each) + local(each.grad) for each in model.parameters())
        optimizer.step()
        return kept

    before = status("VmRSS")
    kept = step()
    kept += sum(
        local(value) for each in optimizer.state.values() for value in each.values() if isinstance(value, torch.Tensor)
    )
    optimizer.zero_grad()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak begins anew
    resident = status("VmRSS")
    step()
    print(
        json.dumps(
            {
                "whole": 4 * whole,
                "layer": 4 * WIDTH * WIDTH,
                "kept": kept,
                "before": before,
                "resident": resident,
                "peak": status("VmHWM"),
            }
        )
    )
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
