"""Every collective of `torch.distributed`, as a program: collectives.py STORE RANK SIZE [DEVICE]. Prints what each case gave, as JSON.

The same file runs on PyTorch, where the expected values come from.
"""

import datetime
import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradients

CASES = {}
DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(rank, dtype, count=5):
    values = torch.tensor([(rank + 2) * (i % 3 + 1) * (-1) ** i * 0.75 for i in range(count)])
    return (values > 0 if dtype == "bool" else values.abs() if dtype == "uint8" else values).to(getattr(torch, dtype))


def tensor(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype, device=DEVICE)


@case
def all_reduce(rank, size):
    found = {}
    for dtype in DTYPES:
        if DEVICE == "npu" and dtype == "float64":
            continue  # HCCL does not combine it
        ops = ["SUM", "MIN", "MAX"] + ([] if DEVICE == "npu" and dtype == "bfloat16" else ["PRODUCT"])
        bits = ("int" in dtype or dtype == "bool") and DEVICE == "cpu"
        for op in ops + (["BAND", "BOR", "BXOR"] if bits else []) + (["AVG"] if "float" in dtype else []):
            value = numbers(rank, dtype).to(DEVICE)
            dist.all_reduce(value, op=getattr(dist.ReduceOp, op))
            found[f"{dtype} {op}"] = value
    return found


@case
def all_reduce_of_little(rank, size):
    empty = torch.empty(0, 3, device=DEVICE)
    dist.all_reduce(empty)
    zero_dim = torch.tensor(1.5 + rank, device=DEVICE)
    dist.all_reduce(zero_dim)
    return [empty, zero_dim]


@case
def all_reduce_of_many(rank, size):
    value = torch.arange(70001, dtype=torch.int64, device=DEVICE) * (rank + 1)
    dist.all_reduce(value)
    return [value.sum(), value.cpu()[[0, 1, 35000, 70000]]]


@case
def all_reduce_of_a_parameter(rank, size):
    parameter = torch.nn.Parameter(tensor(1.0 + rank, 2.0))
    with torch.no_grad():
        dist.all_reduce(parameter)
    return parameter


@case
def asynchronous(rank, size):
    values = [torch.full((3,), float(rank + i), device=DEVICE) for i in range(4)]
    works = [dist.all_reduce(value, async_op=True) for value in values]
    waited = [work.wait() for work in reversed(works)]
    return values + waited


@case
def broadcast(rank, size):
    found = []
    for root in range(size):
        for dtype in (torch.float32, torch.int64, torch.bool):
            value = torch.full((2, 3), rank + 1).to(dtype).to(DEVICE)
            dist.broadcast(value, src=root)
            found.append(value)
    return found


@case
def reduce(rank, size):
    value = tensor(1.0 + rank, 2.0)
    dist.reduce(value, dst=size - 1, op=dist.ReduceOp.MAX)
    return value if rank == size - 1 else None


@case
def all_gather(rank, size):
    landing = [torch.zeros(2, 2, device=DEVICE) for _ in range(size)]
    dist.all_gather(landing, torch.full((2, 2), float(rank), device=DEVICE))
    row = torch.zeros(size * 3, device=DEVICE)
    dist.all_gather_into_tensor(row, tensor(1.0, 2.0, 3.0) * (rank + 1))
    return landing + [row]


@case
def gather_and_scatter(rank, size):
    landing = [torch.zeros(2, device=DEVICE) for _ in range(size)] if rank == 1 else None
    dist.gather(tensor(1.0, 2.0) + rank, landing, dst=1)
    given = [tensor(float(i), 5.0) for i in range(size)] if rank == 0 else None
    own = torch.zeros(2, device=DEVICE)
    dist.scatter(own, given, src=0)
    return [landing, own]


@case
def reduce_scatter(rank, size):
    own, row = torch.zeros(2, device=DEVICE), torch.zeros(2, 2, device=DEVICE)
    dist.reduce_scatter(own, [tensor(1.0, float(i)) * (rank + 1) for i in range(size)])
    dist.reduce_scatter_tensor(row, torch.arange(4.0 * size, device=DEVICE).view(2 * size, 2), op=dist.ReduceOp.MAX)
    return [own, row]


@case
def all_to_all(rank, size):
    landing = [torch.zeros(2, device=DEVICE) for _ in range(size)]
    dist.all_to_all(landing, [tensor(10.0 * rank + i, 1.0) for i in range(size)])
    even = torch.zeros(2 * size, device=DEVICE)
    dist.all_to_all_single(even, torch.arange(2.0 * size, device=DEVICE) + 10 * rank)
    # Rank r sends r + 1 rows to everybody.
    uneven = torch.zeros(sum(range(1, size + 1)), 2, device=DEVICE)
    rows = torch.full(((rank + 1) * size, 2), float(rank), device=DEVICE)
    dist.all_to_all_single(uneven, rows, [r + 1 for r in range(size)], [rank + 1] * size)
    return landing + [even, uneven]


@case
def point_to_point(rank, size):
    value = tensor(1.0, 2.0) + rank
    landing = torch.zeros(2, device=DEVICE)
    if rank == 0:
        dist.send(value, dst=1, tag=3)
        return None
    if rank == 1:
        return [dist.recv(landing, src=0, tag=3), landing]
    return None


@case
def both_ways_at_once(rank, size):
    landing = torch.zeros(2, device=DEVICE)
    after, before = (rank + 1) % size, (rank - 1) % size
    operations = [dist.P2POp(dist.isend, tensor(float(rank), 7.0), after), dist.P2POp(dist.irecv, landing, before)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return landing


@case
def groups(rank, size):
    last = dist.new_group([size - 1])
    pair = dist.new_group([0, 1])
    found = [dist.get_rank(last), dist.get_world_size(pair), dist.get_rank(pair)]
    if rank < 2:
        value = tensor(1.0 + rank)
        dist.all_reduce(value, group=pair)
        found += [
            value,
            dist.get_process_group_ranks(pair),
            dist.get_global_rank(pair, 1),
            dist.get_group_rank(pair, 0),
        ]
        dist.destroy_process_group(pair)
    return found


@case
def objects(rank, size):
    gathered, at_root = [None] * size, [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * rank})
    dist.gather_object((rank,), at_root if rank == 0 else None, dst=0)
    everywhere = [rank, "two", None]
    dist.broadcast_object_list(everywhere, src=1)
    own = [None]
    dist.scatter_object_list(own, [[i] for i in range(size)] if rank == 0 else None, src=0)
    return [gathered, at_root, everywhere, own]


@case
def gradients(rank, size):
    """Through collectives: results and the gradients of their sums of squares."""
    found = {}
    for name, call in {
        "all_reduce": lambda x: [with_gradients.all_reduce(x * 2)],
        "all_gather": with_gradients.all_gather,
        "broadcast": lambda x: [with_gradients.broadcast(x * 1, 1)],
        "all_to_all": lambda x: with_gradients.all_to_all(
            [torch.zeros(2, device=DEVICE) for _ in range(size)], list(x)
        ),
        "all_to_all_single": lambda x: [with_gradients.all_to_all_single(torch.zeros_like(x), x * 1)],
        "reduce_scatter": lambda x: [
            with_gradients.reduce_scatter(torch.zeros_like(x), [x * (i + 1) for i in range(size)])
        ],
        "gather": lambda x: with_gradients.gather(x * 1, 0),
        "scatter": lambda x: [with_gradients.scatter([x * (i + 1) for i in range(size)], 0)],
        "reduce": lambda x: [with_gradients.reduce(x * 1, 0)],
    }.items():
        x = (torch.arange(2.0 * size, device=DEVICE).view(size, 2) + rank).requires_grad_()
        outputs = call(x)
        sum((output * (rank + 1.0 + i)).square().sum() for i, output in enumerate(outputs)).backward()
        whole = rank == 0 or name != "reduce"  # elsewhere PyTorch's is what it happens to be
        found[name] = [[output for output in outputs if whole], x.grad]
    return found


@case
def barriers(rank, size):
    dist.barrier()
    work = dist.barrier(async_op=True)
    work.wait()
    return dist.get_backend()


@case
def errors(rank, size):
    """Calls that every rank refuses before anything is sent."""
    one, three = torch.ones(1, device=DEVICE), torch.ones(3, device=DEVICE)
    attempts = {
        "a list": lambda: dist.all_reduce([one]),
        "a number": lambda: dist.all_gather([one, one], 3),
        "no list": lambda: dist.all_gather(one, one),
        "dtypes": lambda: dist.all_gather([one, one.int()], one),
        "too few": lambda: dist.all_gather([one], one),
        "sizes": lambda: dist.all_gather([three] * size, one),
        "sizes of a whole": lambda: dist.all_gather_into_tensor(three, three),
        "no root": lambda: dist.broadcast(one),
        "a wrong root": lambda: dist.broadcast(one, src=size),
        "two roots": lambda: dist.broadcast(one, src=0, group_src=0),
        "to itself": lambda: dist.send(one, rank),
        "a tag": lambda: dist.isend(one, (rank + 1) % size, tag=-1),
        "too few to scatter": lambda: dist.reduce_scatter(one, [one]),
        "splits": lambda: dist.all_to_all_single(three, three, [1] * size, [4] * size),
        "too large a group": lambda: dist.new_group(list(range(size + 1))),
        "an operation": lambda: dist.P2POp(dist.all_reduce, one, 0),
        "operations": lambda: dist.batch_isend_irecv([one]),
        "an outer rank": lambda: dist.get_global_rank(dist.new_group(list(range(size))), size + 3) and None,
        "twice": lambda: dist.init_process_group("gloo"),
    }
    found = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            found[name] = "no error"
        except Exception as error:  # noqa: BLE001  (it is compared)
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0].split(' <')[0]}"
    return found


@case
def errors_of_reductions(rank, size):
    """Arguments that cannot be combined."""
    attempts = {
        "average of ints": lambda: dist.all_reduce(tensor(1, dtype=torch.int64), op=dist.ReduceOp.AVG),
        "gaps": lambda: dist.isend(torch.ones(2, 3, device=DEVICE).t(), (rank + 1) % size),
    }
    if DEVICE == "cpu":
        attempts["bits of floats"] = lambda: dist.all_reduce(tensor(1.0), op=dist.ReduceOp.BAND)
        attempts["complex"] = lambda: dist.all_reduce(torch.tensor([1j]), op=dist.ReduceOp.MAX)
        attempts["int16"] = lambda: dist.all_reduce(torch.ones(2, dtype=torch.int16))
    found = {}
    for name, attempt in attempts.items():
        try:
            attempt()
            found[name] = "no error"
        except Exception as error:  # noqa: BLE001  (it is compared)
            found[name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return found


def plain(value):
    """As JSON has it; tensors by dtype and values."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        exact = value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
        return [str(value.dtype), exact.tolist()]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    store, rank, size, DEVICE, *only = sys.argv[1:]
    rank, size = int(rank), int(size)
    backend = {"cpu": "gloo", "npu": "hccl", "cuda": "nccl"}[DEVICE]
    if DEVICE != "cpu":
        devices = getattr(torch, DEVICE)
        devices.set_device(rank % devices.device_count())
    dist.init_process_group(
        backend, init_method=f"file://{store}", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60)
    )
    print(json.dumps({name: plain(CASES[name](rank, size)) for name in only or CASES}))
    dist.destroy_process_group()
