"""The collectives as methods of a group, lists of tensors at once, and bad arguments: methods.py STORE RANK SIZE. Prints JSON.

The same file runs on PyTorch, where the expected values come from.
"""

import datetime
import json
import sys
import warnings

import torch
import torch.distributed as dist

warnings.simplefilter("ignore")  # PyTorch says of some of these that there are newer ones
RANK, SIZE = int(sys.argv[2]), int(sys.argv[3])


def numbers(*shape):
    return (torch.arange(float(torch.Size(shape).numel())) + 1).view(shape) * (RANK + 1)


def room(*shape):
    return [torch.zeros(shape) for _ in range(SIZE)]


def options(name, **fields):
    made = getattr(dist.distributed_c10d, name)()
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def waited(work, *results):
    work.wait()
    return [plain(each) for each in results]


def plain(value):
    return [plain(each) for each in value] if isinstance(value, list) else value.tolist()


def methods(group):
    """{case: what the tensors were then}."""
    found = {}
    x = numbers(3)
    found["allreduce"] = waited(group.allreduce([x]), x)
    x = numbers(3)
    found["allreduce of a tensor"] = waited(group.allreduce(x, dist.ReduceOp.PRODUCT), x)
    x = numbers(2)
    limit = datetime.timedelta(seconds=60)
    found["allreduce by options"] = waited(
        group.allreduce([x], options("AllreduceOptions", reduceOp=dist.ReduceOp.MAX, timeout=limit)), x
    )
    x, y = numbers(2), numbers(1, 3)
    found["allreduce_coalesced"] = waited(group.allreduce_coalesced([x, y]), x, y)
    x, y = numbers(2), numbers(2)
    found["broadcast"] = [
        *waited(group.broadcast([x], options("BroadcastOptions", rootRank=1)), x),
        *waited(group.broadcast(y, 0), y),
    ]
    x, y = numbers(2), numbers(2)
    group.reduce([x], options("ReduceOptions", rootRank=1, reduceOp=dist.ReduceOp.MIN)).wait()
    group.reduce(y, 0).wait()
    found["reduce"] = [x.tolist() if RANK == 1 else None, y.tolist() if RANK == 0 else None]
    lists, single = [room(2)], room(2)
    found["allgather"] = [
        *waited(group.allgather(lists, [numbers(2)]), *lists),
        *waited(group.allgather(single, numbers(2)), single),
    ]
    lists = [[torch.zeros(2), torch.zeros(1)] for _ in range(SIZE)]
    found["allgather_coalesced"] = waited(group.allgather_coalesced(lists, [numbers(2), numbers(1)]), *lists)
    x = torch.zeros(2 * SIZE)
    found["_allgather_base"] = waited(group._allgather_base(x, numbers(2)), x)
    lists = [room(2)] if RANK == 0 else []
    found["gather"] = waited(group.gather(lists, [numbers(2)], options("GatherOptions")), *lists)
    x = torch.zeros(2)
    given = [[numbers(2) + i for i in range(SIZE)]] if RANK == 1 else []
    found["scatter"] = waited(group.scatter([x], given, options("ScatterOptions", rootRank=1)), x)
    x, y = torch.zeros(2), torch.zeros(2)
    found["reduce_scatter"] = [
        *waited(group.reduce_scatter([x], [[numbers(2) + i for i in range(SIZE)]]), x),
        *waited(group.reduce_scatter(y, [numbers(2)] * SIZE, dist.ReduceOp.MAX), y),
    ]
    x = torch.zeros(SIZE)
    found["alltoall_base"] = waited(group.alltoall_base(x, numbers(SIZE), [], []), x)
    if RANK == 0:
        found["messages"] = [group.send([numbers(2)], 1, 3).wait(), group.send([numbers(1)], 1, 4).wait()]
    elif RANK == 1:
        x, y = torch.zeros(2), torch.zeros(1)
        work = group.recv_anysource([y], 4)
        found["messages"] = [*waited(group.recv([x], 0, 3), x), *waited(work, y), work._source_rank()]
    found["barrier"] = [group.barrier().wait(), group.barrier(options("BarrierOptions")).wait()]
    group.monitored_barrier()
    return found


def functions():
    """{case: what the tensors were then}."""
    x, y, z = numbers(2), numbers(3), numbers(1)
    dist.all_reduce_coalesced([x, y])
    work = dist.all_reduce_coalesced([z], op=dist.ReduceOp.MAX, async_op=True)
    lists = [[torch.zeros(2), torch.zeros(1)] for _ in range(SIZE)]
    dist.all_gather_coalesced(lists, [numbers(2), numbers(1)])
    return {"all_reduce_coalesced": waited(work, x, y, z), "all_gather_coalesced": plain(lists)}


def errors():
    """{case: the exception}. Nothing of this gets as far as another rank."""
    x, lists = torch.zeros(2), room(2)
    cases = {
        "a rank too many": lambda: dist.new_group([0, 99]),
        "a negative rank": lambda: dist.new_group([-1, 0]),
        "a rank in two groups": lambda: dist.new_subgroups_by_enumeration([[0, 1], [1]]),
        "rank of no group": lambda: dist.get_rank("x"),
        "no group": lambda: dist.all_reduce(x, group=5),
        "no tensors": lambda: dist.all_gather([1], x),
        "no list": lambda: dist.all_gather(x, x),
        "several dtypes": lambda: dist.all_reduce_coalesced([x, x.double()]),
        "too few lists": lambda: dist.all_gather_coalesced([[x]], [x, x]),
        "no time-out": lambda: dist.monitored_barrier(timeout=3),
        "no root": lambda: dist.group.WORLD.broadcast(x, 99),
        "too few places": lambda: dist.group.WORLD.allgather(lists[:-1], x),
    }
    found = {}
    for name, case in cases.items():
        try:
            case()
            found[name] = "no error"
        except (RuntimeError, TypeError, ValueError) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=SIZE)
    print(json.dumps({"methods": methods(dist.group.WORLD), "functions": functions(), "errors": errors()}), flush=True)
    dist.barrier()
    dist.destroy_process_group()
