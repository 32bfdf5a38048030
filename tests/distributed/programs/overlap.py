"""The part of the communication that a training step hides behind its computation: overlap.py STORE RANK SIZE DEVICE KIND. Prints seconds as JSON.

The link is slowed: sending takes its time for each byte. Layers compute for a time that is slept, so that the figures do not
depend on what else the machine does; the communication takes about half of it.
"""

import json
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

LAYERS, WIDTH = 6, 192
SECONDS = {"forward": 0.03, "backward": 0.06}
BYTES = 4 * WIDTH * WIDTH * LAYERS


class SlowLink:
    """A connection that carries so many bytes a second."""

    def __init__(self, connection, rate):
        self.connection, self.rate = connection, rate

    def send(self, data):
        count = self.connection.send(data)
        time.sleep(count / self.rate)
        return count

    def __getattr__(self, name):
        return getattr(self.connection, name)


class Busy(torch.autograd.Function):
    """Nothing, which takes its time."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.seconds = backward
        time.sleep(forward)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        time.sleep(ctx.seconds)
        return grad, None, None


class Layer(torch.nn.Linear):
    busy = True

    def forward(self, x):
        seconds = SECONDS if Layer.busy else dict.fromkeys(SECONDS, 0.0)
        return Busy.apply(super().forward(x), seconds["forward"], seconds["backward"])


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(*(Layer(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))


def timed(model, steps=3):
    """Seconds of a step, the shortest of some."""
    x, found = torch.ones(1, WIDTH), []
    for _ in range(steps):
        dist.barrier()
        began = time.perf_counter()
        model(x).sum().backward()
        found.append(time.perf_counter() - began)
        for parameter in model.parameters():
            parameter.grad = None
    return min(found)


def main(store, rank, size, kind):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    alone = timed(network())
    if kind == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(network(), bucket_cap_mb=BYTES / LAYERS / 2**20)
    else:
        model = network()
        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    traffic = (
        BYTES if kind == "ddp" else BYTES / 2 * 3
    )  # to the one other rank: halves there and back; gathered twice, summed once
    rate = traffic / (sum(SECONDS.values()) * LAYERS / 2)
    for peer in dist.group.WORLD._get_backend(torch.device("cpu"))._mesh._peers.values():
        peer.connection = SlowLink(peer.connection, rate)
    together = timed(model)
    Layer.busy = False
    communication = timed(model)
    dist.destroy_process_group()
    return {"compute": alone, "communication": communication, "step": together}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[5])))
