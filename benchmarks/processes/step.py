"""A DDP step beside its parts: step.py STORE RANK SIZE. Prints seconds as JSON. Runs on PyTorch as well.

The parts are the same step without DDP, on all ranks at the same time, and the collectives of its buckets with nothing beside them.
Each is measured by the clock, and in processor time, which says what DDP adds where the machine has other work.
"""

import json
import statistics
import sys
import time

import torch
import torch.distributed as dist

ROUNDS, WIDTH, LAYERS, ROWS = 12, 512, 6, 256


def network():
    torch.manual_seed(0)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))
        for _ in range(LAYERS)
    ]
    return torch.nn.Sequential(*layers)


def step(model, optimizer, x):
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def main(store, rank, size):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.set_num_threads(1)
    x = torch.randn(ROWS, WIDTH)
    alone, copied = network(), torch.nn.parallel.DistributedDataParallel(network())
    optimizers = [torch.optim.SGD(model.parameters(), lr=1e-3) for model in (alone, copied)]
    sizes: list[int] = []

    def hook(state, bucket):
        sizes.append(bucket.buffer().numel())
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])

    probe = torch.nn.parallel.DistributedDataParallel(network())
    probe.register_comm_hook(None, hook)
    probe(x).square().mean().backward()
    buckets = [torch.zeros(each) for each in sizes]

    def communicate():
        works = [dist.all_reduce(bucket, async_op=True) for bucket in buckets]
        for work in works:
            work.wait()

    times: dict[str, list[float]] = {"compute": [], "communication": [], "step": []}
    spent: dict[str, list[float]] = {name: [] for name in times}
    parts = {
        "compute": lambda: step(alone, optimizers[0], x),
        "communication": communicate,
        "step": lambda: step(copied, optimizers[1], x),
    }
    for number in range(ROUNDS + 2):
        for name, part in parts.items():
            dist.barrier()
            began, busy = time.perf_counter(), time.process_time()
            part()
            dist.barrier()  # of the rank that takes longest
            if number >= 2:
                times[name].append(time.perf_counter() - began)
                spent[name].append(time.process_time() - busy)
    found: dict[str, object] = {name: statistics.median(each) for name, each in times.items()}
    found["processor"] = {name: statistics.median(each) for name, each in spent.items()}
    print(json.dumps(found | {"buckets": len(buckets)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
