"""Calls that PyTorch's Gloo answers otherwise, or refuses: beyond.py STORE RANK SIZE DEVICE. Prints what was found, as JSON."""

import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

store, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
found = {}

whole = torch.arange(12.0).view(3, 4) + rank
dist.all_reduce(whole[:, 1::2])
found["gaps"] = whole.int().tolist()

if rank == 1:
    dist.send(torch.tensor([8.0]), 0, tag=5)
else:
    landing = torch.zeros(1)
    found["anyone"] = [dist.recv(landing, tag=5), landing.tolist()]

large = torch.full((1 << 21,), rank + 1.0)
dist.all_reduce(large)
found["large"] = [large.sum().item(), large.max().item()]

# Collectives of a block are done behind it, or when what it gives was waited for.
sums = [torch.tensor([rank + 1.0 + i]) for i in range(3)]
with dist._coalescing_manager() as block:
    dist.all_reduce(sums[0])
    dist.all_reduce(sums[1], async_op=True)
with dist._coalescing_manager(async_ops=True) as later:
    dist.all_reduce(sums[2], async_op=True)
    dist.barrier()
later.wait()
found["together"] = [*map(torch.Tensor.item, sums), len(block.works), len(later.works)]

# Messages are told apart by their tags, whatever collectives run meanwhile.
if rank == 1:
    works = [dist.isend(torch.tensor([2.0]), 0, tag=2), dist.isend(torch.tensor([1.0]), 0, tag=1)]
    dist.barrier()
else:
    one, two = torch.zeros(1), torch.zeros(1)
    works = [dist.irecv(one, 1, tag=1)]
    dist.barrier()
    dist.recv(two, 1, tag=2)
for work in works:
    work.wait()
found["in any order"] = [one.item(), two.item()] if rank == 0 else None

mesh = init_device_mesh("cpu", (1, size), mesh_dim_names=("dp", "tp"))
total = torch.tensor([rank + 1.0])
dist.all_reduce(total, group=mesh["tp"].get_group())
found["mesh"] = [
    mesh.mesh.tolist(),
    repr(mesh),
    mesh.size(1),
    mesh.get_local_rank("tp"),
    mesh.get_coordinate(),
    total.item(),
]

try:
    dist.recv(torch.zeros(1), rank)
except ValueError as error:
    found["from itself"] = f"ValueError: {error}"
print(json.dumps(found))
dist.destroy_process_group()
