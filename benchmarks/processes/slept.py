"""A step whose computing is slept: slept.py STORE RANK SIZE ddp|fsdp record FILE | measure. Prints seconds as JSON.

So many ranks as one likes compute beside each other on a machine of few cores, and what is measured is their communication.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

LAYERS, WIDTH, FORWARD, BACKWARD = 6, 256, 0.03, 0.06


class Busy(torch.autograd.Function):
    """Nothing, which takes its time."""

    @staticmethod
    def forward(ctx, x):
        time.sleep(FORWARD)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(BACKWARD)
        return grad


class Layer(torch.nn.Linear):
    def forward(self, x):
        return Busy.apply(super().forward(x))


def main(store, rank, size, kind, way, path=None):
    method = "env://" if "MASTER_ADDR" in os.environ else f"file://{store}"
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Layer(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=4 * WIDTH * WIDTH / 2**20)
    else:
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    x = torch.ones(1, WIDTH)

    def step():
        model(x).sum().backward()
        for parameter in model.parameters():
            parameter.grad = None

    step()
    step()  # gathering ahead goes by the pass before
    found = []
    if way == "record":
        from mindtorch_v2.distributed import simulate

        with simulate.record(path):
            step()
    else:
        for _ in range(3):
            dist.barrier()
            began = time.perf_counter()
            step()
            found.append(time.perf_counter() - began)
    print(json.dumps({"step": min(found, default=0.0)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
