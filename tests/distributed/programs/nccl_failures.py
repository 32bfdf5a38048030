"""Errors that ranks on GPUs are told when one fails: nccl_failures.py STORE RANK SIZE DEVICE CASE. Prints what came of it as JSON."""

import datetime
import json
import os
import sys
import time

import torch
import torch.distributed as dist


def main(store, rank, case):
    torch.cuda.set_device(rank)
    patience = datetime.timedelta(seconds=2 if case == "late" else 60)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2, timeout=patience)
    total = torch.tensor([rank + 1.0], device="cuda")
    dist.all_reduce(total)
    found = {"total": total.item()}
    if case == "dies" and rank == 1:
        os._exit(9)
    if case == "late" and rank == 1:
        time.sleep(5)
    begun = time.monotonic()
    dist.all_reduce(torch.ones(3 if case == "other" and rank == 1 else 2, device="cuda"))
    try:
        torch.cuda.synchronize()
        while time.monotonic() < begun + 20:
            dist.all_reduce(total)
            time.sleep(0.1)
    except dist.DistBackendError as error:
        found["error"] = str(error)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[5])
