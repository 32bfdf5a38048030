"""Record a step: recorded.py STORE RANK SIZE DEVICE KIND FILE. Prints what the recorder saw, as JSON."""

import json
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from mindtorch_v2.distributed import simulate


class Slow(torch.nn.Linear):
    def forward(self, x):
        time.sleep(0.05)
        return super().forward(x)


def main(store, rank, size, kind, path):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.manual_seed(0)
    model = torch.nn.Sequential(Slow(64, 64, bias=False), Slow(64, 64, bias=False))
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4 * 64 * 64 / 2**20)
    elif kind == "fsdp":
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    x = torch.ones(1, 64)
    with simulate.record(path, steps=2):
        for _ in range(2):
            if kind == "messages":
                model(x)
                if rank == 0:
                    dist.send(x, 1)
                else:
                    time.sleep(0.1)
                    dist.recv(x, 0)
            else:
                model(x).sum().backward()
    if rank == 0:
        schedule = simulate.Schedule.load(path)
        computed = [sum(event[1] for event in events if event[0] == "compute") for events in schedule.ranks]
        print(json.dumps({"kinds": schedule.kinds(), "computed": computed, "groups": list(schedule.groups.values())}))
    else:
        print("{}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[5:])
