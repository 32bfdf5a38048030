"""Errors that two ranks are told when they do not do the same: failures.py STORE RANK SIZE DEVICE [dies | stops]. Prints {case: text} as JSON.

Each case has a group of its own, which it breaks; the default group goes on.
"""

import datetime
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

SHORT, LONG = datetime.timedelta(seconds=1), datetime.timedelta(seconds=20)


def reduce(count=2, dtype=torch.float32, op=dist.ReduceOp.SUM):
    return lambda group: dist.all_reduce(torch.ones(count, dtype=dtype), op, group=group)


def late(call):
    def wait_and_call(group):
        time.sleep(1.5)
        call(group)

    return wait_and_call


# What rank 0 does, what rank 1 does, and how long the group waits.
CASES = {
    "is late": (reduce(), late(reduce()), SHORT),
    "other collective": (reduce(), lambda group: dist.broadcast(torch.ones(2), src=1, group=group), LONG),
    "other shape": (reduce(), reduce(count=3), LONG),
    "other dtype": (reduce(), reduce(dtype=torch.int64), LONG),
    "other op": (reduce(), reduce(op=dist.ReduceOp.MAX), LONG),
    "sends too much": (
        lambda group: dist.recv(torch.zeros(2), 1, group=group),
        lambda group: dist.send(torch.ones(3), 0, group=group),
        LONG,
    ),
    "misses a barrier": (
        lambda group: dist.monitored_barrier(group=group),
        late(lambda group: dist.monitored_barrier(group=group)),
        SHORT,
    ),
}


def stop_one(rank):
    """The first rank ends the stopped one, whose process would stay, once the others know of it: its end closes connections."""
    pids = [None] * 3
    dist.all_gather_object(pids, os.getpid())
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        dist.all_reduce(torch.ones(2, 3, dtype=torch.bfloat16))
    except RuntimeError as error:
        return str(error)
    finally:
        store.set(f"rank {rank} was told", "")
        if rank == 0:
            store.wait(["rank 2 was told"], datetime.timedelta(seconds=30))
            os.kill(pids[1], signal.SIGKILL)
    return "no error"


def main(store, rank, size, device, *options):
    timeout = datetime.timedelta(seconds=2) if "stops" in options else LONG
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=int(size), timeout=timeout)
    if "stops" in options:
        return {"stops": stop_one(rank)}
    if "dies" in options:
        if rank == 1:
            os._exit(9)
        return {"dies": attempt(reduce(), None)}
    found = {}
    for name, (*calls, timeout) in CASES.items():
        group = dist.new_group([0, 1], timeout=timeout)
        found[name] = attempt(calls[rank], group)
        dist.barrier()
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    found["and then"] = total.item()
    dist.destroy_process_group()
    return found


def attempt(call, group):
    try:
        call(group)
    except RuntimeError as error:
        return str(error)
    return "no error"


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])))
