"""Collectives of the back end "mpi": mpi.py, started by mpirun. Prints what was looked at, on the first rank."""

import datetime
import json
import time

import torch
import torch.distributed as dist


def combined(rank, size):
    kinds = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8)
    found = {}
    for dtype in kinds:
        tensor = torch.full((5,), rank + 1).to(dtype)
        dist.all_reduce(tensor)
        found[f"sum {dtype}"] = tensor.tolist() == [size * (size + 1) / 2] * 5
        tensor = torch.full((5,), rank + 1).to(dtype)
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
        found[f"max {dtype}"] = tensor.tolist() == [size] * 5
    tensor = torch.tensor([rank == 0])
    dist.all_reduce(tensor)
    found["any"] = tensor.item() is True
    mean = torch.full((2,), float(rank))
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    found["mean"] = mean.tolist() == [(size - 1) / 2] * 2
    return found


def moved(rank, size):
    found = {}
    gathered = [torch.empty(2) for _ in range(size)]
    dist.all_gather(gathered, torch.full((2,), float(rank)))
    found["all_gather"] = [each[0].item() for each in gathered] == list(range(size))
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * size))
    found["reduce_scatter"] = part.tolist() == [size * 2.0 * rank, size * (2.0 * rank + 1)]
    copied = torch.full((3,), float(rank))
    dist.broadcast(copied, size - 1)
    found["broadcast"] = copied.tolist() == [size - 1.0] * 3
    strided = torch.full((3, 4), float(rank)).t()[::2]
    dist.broadcast(strided, 1)
    found["strided"] = strided.unique().tolist() == [1.0]
    exchanged = torch.empty(size)
    dist.all_to_all_single(exchanged, torch.arange(float(size)) + 10 * rank)
    found["all_to_all"] = exchanged.tolist() == [10.0 * each + rank for each in range(size)]
    listed = [torch.empty(2) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), listed, 0)
    scattered = torch.empty(2)
    dist.scatter(scattered, listed, 0)
    found["gather and scatter"] = scattered.tolist() == [rank, rank]
    if rank == 0:
        dist.send(torch.ones(4), 1, tag=7)
    elif rank == 1:
        received = torch.zeros(4)
        found["sender"] = dist.recv(received, None, tag=7) == 0 and received.tolist() == [1.0] * 4
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    found["objects"] = objects == [{"rank": each} for each in range(size)]
    works = [dist.all_reduce(torch.ones(100), async_op=True) for _ in range(4)]
    last = torch.ones(1)
    dist.all_reduce(last)  # behind what is under way
    found["in order"] = all(work.wait() for work in works) and last.item() == size
    pair = dist.new_group([0, 1])
    if rank < 2:
        tensor = torch.ones(1)
        dist.all_reduce(tensor, group=pair)
        found["group"] = tensor.item() == 2
    return found


def large(rank, size):
    """Collectives in which MPI waits itself, among others."""
    count, found = 1 << 19, {}
    expected = size * (size + 1) / 2
    works, sums = [], []
    for each in range(4):
        sums.append(torch.full((count if each % 2 else 3,), float(rank + 1)))
        works.append(dist.all_reduce(sums[-1], async_op=True))
    sums.append(torch.full((count,), float(rank + 1), dtype=torch.bfloat16))
    dist.all_reduce(sums[-1])
    found["large and small"] = all(work.wait() for work in works) and all(each.eq(expected).all() for each in sums)
    whole = torch.empty(size * count)
    dist.all_gather_into_tensor(whole, torch.full((count,), float(rank)))
    found["large all_gather"] = [each.unique().tolist() for each in whole.chunk(size)] == [
        [each] for each in range(size)
    ]
    part = torch.empty(count)
    dist.reduce_scatter_tensor(part, whole + rank)
    found["large reduce_scatter"] = part.unique().tolist() == [size * rank + sum(range(size))]
    copied = torch.full((count,), float(rank))
    dist.broadcast(copied, 1)
    found["large broadcast"] = copied.unique().tolist() == [1.0]
    return found


def late(rank):
    """The error of a rank whose partner comes later than the group allows."""
    pair = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=1))
    said = ""
    if rank < 2:
        time.sleep(4 * rank)
        try:
            dist.all_reduce(torch.ones(1 << 19), group=pair)
            said = "through"
        except RuntimeError as error:
            said = str(error)
    dist.barrier()
    wanted = ["Timed out waiting 1000ms for all_reduce operation to complete", "through"]
    return {"late": said == (wanted[rank] if rank < 2 else "")}


def trained(rank, size):
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    model(torch.full((2, 3), float(rank))).sum().backward()
    mean = 2 * sum(range(size)) / size
    return {"data parallel": torch.allclose(model.module.weight.grad, torch.full((2, 3), mean))}


def main():
    dist.init_process_group("mpi")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {"name": dist.get_backend() == "mpi", **combined(rank, size), **moved(rank, size), **trained(rank, size)}
    found |= {**large(rank, size), **late(rank)}
    everybody = [None] * size
    dist.all_gather_object(everybody, [name for name, right in found.items() if not right])
    if rank == 0:
        print(json.dumps({"size": size, "looked at": len(found), "wrong": everybody}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
