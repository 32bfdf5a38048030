"""An all_reduce of one number, and of 16 MiB, by "gloo": scalar.py STORE RANK SIZE. Runs on PyTorch as well.

For each line of input, "COUNT NUMBERS": so many calls in a row, on so many float32 numbers; prints the seconds of each call, mean and median.
"""

import json
import statistics
import sys
import time

import torch
import torch.distributed as dist


def main(store, rank, size):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.set_num_threads(1)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        count, numbers = map(int, line.split())
        tensor, times = torch.zeros(numbers), []
        dist.barrier()
        began = time.perf_counter()
        for _ in range(count):
            since = time.perf_counter()
            dist.all_reduce(tensor)
            times.append(time.perf_counter() - since)
        mean = (time.perf_counter() - began) / count
        print(json.dumps({"mean": mean, "median": statistics.median(times)}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
