"""Train small networks by DistributedDataParallel: training.py STORE RANK SIZE DEVICE [VARIANT ...]. Print losses and weights as JSON.

SIZE 1 is the same training in one process, on the joined batch, without DistributedDataParallel. Runs on PyTorch as well.
"""

import contextlib
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

STEPS, BATCH = 6, 12


class Net(torch.nn.Module):
    """Two branches, of which a step may use one; buffers through the batch normalization where it is asked for."""

    def __init__(self, norm):
        super().__init__()
        self.first = torch.nn.Linear(6, 16)
        self.norm = torch.nn.BatchNorm1d(16) if norm else torch.nn.Identity()
        self.second = torch.nn.Linear(16, 3)
        self.extra = torch.nn.Linear(16, 3)

    def forward(self, x, extra):
        hidden = torch.tanh(self.norm(self.first(x)))
        return self.second(hidden) + (self.extra(hidden) if extra else 0)


VARIANTS = ("plain", "views", "small buckets", "unused", "no_sync", "unused at last", "buffers", "sixteen bits")


def wrap(net, variant):
    options = {"views": {"gradient_as_bucket_view": True}, "small buckets": {"bucket_cap_mb": 0.0001}}.get(variant, {})
    model = torch.nn.parallel.DistributedDataParallel(
        net, find_unused_parameters=variant.startswith("unused"), **options
    )
    if variant == "sixteen bits":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return model


def train(rank, size, device, variant):
    torch.manual_seed(5)
    net = Net(norm=variant == "buffers").to(device)
    data = torch.randn(STEPS, BATCH, 6, generator=torch.Generator().manual_seed(1)).to(device)
    labels = torch.randint(3, (STEPS, BATCH), generator=torch.Generator().manual_seed(2)).to(device)
    if rank > 0:
        for parameter in net.parameters():
            torch.nn.init.zeros_(parameter)  # rank 0's count
    model = wrap(net, variant) if size > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    losses = []
    for step in range(STEPS):
        mine = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        x, y = data[step][mine], labels[step][mine]
        # "unused": in the first steps nobody uses the branch, later only the last rank does.
        extra = variant != "unused" or (step >= 3 and rank == size - 1)
        accumulate = variant in ("no_sync", "unused at last") and step % 2 == 0
        if variant == "unused at last":  # its gradient is that of the pass before, but on the last rank
            extra = accumulate or rank == size - 1
        with model.no_sync() if accumulate and size > 1 else contextlib.nullcontext():
            loss = torch.nn.functional.cross_entropy(model(x, extra), y)
            loss.backward()
        if not accumulate:
            optimizer.step()
            optimizer.zero_grad()
        total = loss.detach().clone()
        if size > 1:
            dist.all_reduce(total)
        losses.append(total.item() / size)
    weights = {name: value.cpu().double().sum().item() for name, value in model.state_dict().items()}
    return {"losses": losses, "weights": weights}


def main(store, rank, size, device, *variants):
    if size > 1:
        if device != "cpu":
            devices = getattr(torch, device)
            devices.set_device(rank % devices.device_count())
        backend = {"cpu": "gloo", "npu": "hccl", "cuda": "nccl"}[device]
        dist.init_process_group(backend, init_method=f"file://{store}", rank=rank, world_size=size)
    print(json.dumps({variant: train(rank, size, device, variant) for variant in variants or VARIANTS}))
    if size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
