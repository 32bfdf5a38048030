"""An all_reduce of 64 MB over MPI, beside the bare call of mpi4py: mpirun -n 2 ... mpi.py [MEGABYTES]. Rank 0 prints seconds as JSON."""

import json
import statistics
import sys
import time

import torch
import torch.distributed as dist
from mpi4py import MPI

ROUNDS = 15


def main(megabytes):
    dist.init_process_group("mpi")
    tensor = torch.zeros(megabytes * 1_000_000 // 4)
    memory = memoryview(tensor.numpy()).cast("B")
    bare: list[float] = []
    ours: list[float] = []

    def call():
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, [memory, tensor.numel(), MPI.FLOAT], MPI.SUM)

    for number in range(ROUNDS + 2):
        for times, function in ((bare, call), (ours, lambda: dist.all_reduce(tensor))):
            dist.barrier()
            began = time.perf_counter()
            function()
            if number >= 2:  # the first calls make MPI's buffers
                times.append(time.perf_counter() - began)
    if dist.get_rank() == 0:
        found = {name: [statistics.median(times), min(times)] for name, times in (("bare", bare), ("ours", ours))}
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
