"""Functions in processes of their own, that find each other by an address: spawned.py. Prints what each rank sums."""

import socket
import sys

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist


def work(rank, port, size):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    sys.stdout.write(f"{rank} {total.item()}\n")
    sys.stdout.flush()
    dist.barrier()  # the process that fails ends the other
    dist.destroy_process_group()
    if rank == 1:
        raise ValueError("after the work")


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    try:
        torch.multiprocessing.spawn(work, (port, 2), nprocs=2)
    except torch.multiprocessing.ProcessRaisedException as error:
        sys.stdout.write(str(error).strip().splitlines()[-1] + "\n")
