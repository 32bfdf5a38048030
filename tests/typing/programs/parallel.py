"""Data parallel training over processes of one machine."""

import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Numbers(Dataset[torch.Tensor]):
    def __init__(self, count: int) -> None:
        self.data = torch.arange(count, dtype=torch.float32).unsqueeze(1) / count

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.data[index]

    def __len__(self) -> int:
        return len(self.data)


def total(values: Iterable[torch.Tensor]) -> torch.Tensor:
    result = torch.stack([value.sum() for value in values]).sum()
    dist.all_reduce(result, op=dist.ReduceOp.SUM)
    return result


def run(rank: int, world: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    numbers = Numbers(32)
    sampler: DistributedSampler[torch.Tensor] = DistributedSampler(numbers, num_replicas=world, rank=rank)
    loader = DataLoader(numbers, batch_size=4, sampler=sampler)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for x in loader:
            loss = nn.functional.mse_loss(model(x), 2 * x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    checksum = total(parameter.detach() for parameter in model.parameters())
    if rank == 0:
        print(dist.get_world_size(), torch.isfinite(checksum).item())
    dist.destroy_process_group()


def main() -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29531")
    mp.spawn(run, args=(2,), nprocs=2, join=True)


if __name__ == "__main__":
    main()
