"""A process of a job whose machines come and go: elastic.py FOLDER [fail]. It notes who is there, and ends when there is a file `finish`."""

import os
import sys
import time

import torch
import torch.distributed as dist

folder = sys.argv[1]
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
with open(f"{folder}/seen", "a") as seen:
    seen.write(f"{rank} of {size}\n")
if "fail" in sys.argv and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    dist.barrier()  # both have noted it before one fails
    if rank == 1:
        sys.exit(5)
end = torch.zeros(1)
while not end.item():
    end.fill_(float(os.path.exists(f"{folder}/finish")))
    dist.all_reduce(end, dist.ReduceOp.MIN)
    time.sleep(0.05)
dist.destroy_process_group()
