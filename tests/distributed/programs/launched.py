"""The facts that a launched process knows, in the second group that it makes: launched.py [fail]."""

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for _ in range(2):
    pair = dist.new_group([0, 1], use_local_synchronization=True)
    dist.barrier(pair)
    dist.destroy_process_group(pair)
dist.destroy_process_group()
dist.init_process_group("gloo")
total = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(total)
if "fail" in sys.argv and dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(7)
if "fail" in sys.argv:
    dist.barrier()  # rank 1 does not come
local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
said = [dist.get_rank(), dist.get_world_size(), *local, dist.is_torchelastic_launched(), total.item()]
sys.stdout.write(" ".join(map(str, said)) + "\n")  # at once: the processes share the output
dist.destroy_process_group()
