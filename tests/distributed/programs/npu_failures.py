"""Errors that two ranks on NPUs are told when one fails, and gaps and barriers: npu_failures.py STORE RANK SIZE DEVICE [dies]. Prints {case: text} as JSON.

Each case has a group of its own; HCCL_EXEC_TIMEOUT is a few seconds.
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist


def reduce(count=2, late=None):
    def call(group):
        dist.all_reduce(torch.ones(count, device="npu"), group=group)
        if late is not None:  # the first one connects the ranks
            time.sleep(late)
            dist.all_reduce(torch.ones(count, device="npu"), group=group)

    return call


def send(rank):
    return lambda group: dist.send(torch.ones(2, device="npu"), rank, group=group)


# What rank 0 does, and rank 1.
CASES = {
    "other": (reduce(), reduce(count=3)),
    "crossed": (send(1), send(0)),
    "late": (reduce(late=0), reduce(late=float(os.environ["HCCL_EXEC_TIMEOUT"]) + 1)),
}


def attempt(call, group):
    try:
        call(group)
        torch.npu.synchronize()
    except RuntimeError as error:
        return str(error)
    return "no error"


def main(store, rank, *options):
    torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{store}", rank=rank, world_size=2)
    reduce()(None)
    torch.npu.synchronize()
    if "dies" in options:
        if rank == 1:
            os._exit(9)
        return {"dies": attempt(reduce(), None)}
    found = {name: attempt(calls[rank], dist.new_group([0, 1])) for name, calls in CASES.items()}
    total = torch.tensor([rank + 1.0], device="npu")
    dist.all_reduce(total)
    found["and then"] = total.item()
    columns = torch.arange(6.0, device="npu").view(2, 3).t()
    landing = [torch.zeros(3, 2, device="npu").t().contiguous().t() for _ in range(2)]
    dist.gather(columns + rank, landing if rank == 0 else None)
    found["gathered"] = [each.tolist() for each in landing]
    if rank == 1:
        time.sleep(0.5)
    barrier = dist.barrier(async_op=True)
    before = barrier.is_completed()
    barrier.wait()
    found["barrier"] = [before, barrier.is_completed()]
    dist.destroy_process_group()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), *sys.argv[5:])))
