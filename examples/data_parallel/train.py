"""Two processes train one network, each on half of every batch, and end with the numbers of one process on all of it.

python -m mindtorch_v2 examples/data_parallel/train.py
"""

import argparse
import os
import pathlib
import socket

import matplotlib
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

matplotlib.use("Agg")
from matplotlib import pyplot

BATCH = 64


def moons(count: int = 512) -> tuple[Tensor, Tensor]:
    """Points on two half circles that reach into each other, and which one."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.arange(count) % 2
    angle = torch.rand(count, generator=generator) * torch.pi
    sign = 1 - 2 * labels
    points = torch.stack([angle.cos() * sign + labels, angle.sin() * sign + 0.5 * labels], dim=1)
    return points + 0.1 * torch.randn(points.shape, generator=generator), labels


def network() -> nn.Module:
    """The same initial numbers in every process."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2)).double()


def train(rank: int, processes: int, epochs: int, file: str) -> None:
    """A process's part; the first writes the parameters."""
    if processes > 1:
        dist.init_process_group("gloo", rank=rank, world_size=processes)
    points, labels = moons()
    data = TensorDataset(points.double(), labels)
    sampler = DistributedSampler(data, num_replicas=processes, rank=rank, shuffle=False)
    loader = DataLoader(data, batch_size=BATCH // processes, sampler=sampler)
    model = network()
    if processes > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # the gradients become the processes' mean
            optimizer.step()
    if rank == 0:
        torch.save((model.module if processes > 1 else model).state_dict(), file)
    if processes > 1:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/data_parallel"))
    chosen = parser.parse_args()
    if chosen.processes < 1 or BATCH % chosen.processes:
        parser.error(f"--processes: a divisor of {BATCH}")
    chosen.out.mkdir(parents=True, exist_ok=True)
    one, many = str(chosen.out / "one.pt"), str(chosen.out / "many.pt")
    train(0, 1, chosen.epochs, one)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    mp.spawn(train, args=(chosen.processes, chosen.epochs, many), nprocs=chosen.processes)
    alone, together = torch.load(one), torch.load(many)
    difference = max((alone[name] - together[name]).abs().max().item() for name in alone)
    model = network()
    model.load_state_dict(together)
    points, labels = moons()
    with torch.no_grad():
        right = (model(points.double()).argmax(1) == labels).float().mean().item()
        across, up = torch.meshgrid(torch.linspace(-1.6, 2.6, 120), torch.linspace(-1.2, 1.7, 90), indexing="xy")
        chance = model(torch.stack([across, up], dim=-1).reshape(-1, 2).double()).softmax(1)[:, 1].reshape(90, 120)
    figure, place = pyplot.subplots(figsize=(7, 4.5))
    shown = place.imshow(chance.tolist(), origin="lower", extent=(-1.6, 2.6, -1.2, 1.7), cmap="coolwarm", aspect="auto")
    place.scatter(*points.T.tolist(), c=labels.tolist(), cmap="coolwarm", s=8, edgecolors="black", linewidths=0.3)
    place.set_title(
        f"{chosen.processes} processes, one network: {right:.1%} right; from one process's by {difference:.0e}"
    )
    figure.colorbar(shown, label="chance of the second moon")
    figure.savefig(chosen.out / "moons.png", dpi=100)
    print(
        f"{right:.1%} right; the parameters differ from one process's by at most {difference:.1e}; {chosen.out / 'moons.png'}"
    )


if __name__ == "__main__":
    main()
