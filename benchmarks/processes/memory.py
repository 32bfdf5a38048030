"""The memory of a rank with FSDP2: memory.py STORE RANK SIZE. Prints bytes as JSON.

What stays between steps is counted from the tensors that the rank holds, the peak of a step is the allocator's, above what an empty
program with one step of a tiny model has.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

WIDTH, LAYERS = 1024, 12


def local(tensor):
    held = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return held.untyped_storage().nbytes()


def peak_of(function):
    """The most bytes of tensors while a function runs."""
    torch.cpu.reset_peak_memory_stats()
    function()
    return torch.cpu.memory_stats()["allocated_bytes.peak"]


def sharded(width, layers):
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=False) for _ in range(layers)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)


def main(store, rank, size):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    small, optimizer = sharded(8, 2)
    for _ in range(3):
        small(torch.ones(2, 8)).sum().backward()
        optimizer.step()
    empty = torch.cpu.memory_stats()["allocated_bytes.current"]
    model, optimizer = sharded(WIDTH, LAYERS)
    x = torch.ones(2, WIDTH)
    whole = sum(each.numel() * 4 for each in model.parameters())

    def gradients():
        model(x).sum().backward()

    gradients()
    optimizer.step()
    kept = sum(local(each) + local(each.grad) for each in model.parameters())
    kept += sum(
        local(value) for each in optimizer.state.values() for value in each.values() if isinstance(value, torch.Tensor)
    )
    optimizer.zero_grad()
    found = {"gradients": peak_of(gradients) - empty, "update": peak_of(optimizer.step) - empty}
    print(json.dumps({"whole": 4 * whole, "layer": 4 * WIDTH * WIDTH, "kept": kept, **found}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
