"""Collectives that return new tensors, as a program: functional.py STORE RANK SIZE [DEVICE]. Prints what each case gave, as JSON.

The same file runs on PyTorch, where the expected values come from.
"""

import json
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

STORE, RANK, SIZE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
warnings.simplefilter("ignore")


def wait(tensor):
    return functional.wait_tensor(tensor).tolist()


def leaf(*shape):
    count = torch.Size(shape).numel()
    return (torch.arange(float(count)).reshape(shape) * (RANK + 1)).requires_grad_()


def refused(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is printed)
        return f"{type(error).__name__}: {error}"
    return "nothing"


def gradient(call, *shape):
    x = leaf(*shape)
    y = functional.wait_tensor(call(x))
    (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape) * (RANK + 2)).sum().backward()
    return [y.tolist(), x.grad.tolist()]


def main():
    dist.init_process_group("gloo", init_method=f"file://{STORE}", rank=RANK, world_size=SIZE)
    world = dist.group.WORLD
    name = world.group_name
    ops = torch.ops._c10d_functional
    plain = leaf(4).detach()
    found = {op: wait(functional.all_reduce(plain, op, world)) for op in ("sum", "min", "max", "product", "SUM")}
    found["left as it was"] = plain.tolist()
    found["reduced"] = gradient(lambda x: functional.all_reduce(x, "sum", world), 3)
    found["gathered"] = gradient(lambda x: functional.all_gather_single(x, 0, world), 2, 2)
    found["gathered across"] = gradient(lambda x: functional.all_gather_single(x, 1, world), 2, 2)
    found["scattered"] = gradient(lambda x: functional.reduce_scatter_single(x, "sum", 0, world), SIZE * 2, 2)
    found["scattered across"] = gradient(lambda x: functional.reduce_scatter_single(x, "sum", 1, world), 2, SIZE)
    found["exchanged"] = gradient(lambda x: functional.all_to_all_single(x, None, None, world), SIZE * 2)
    sent, received = [1] * SIZE, [1] * SIZE
    sent[0], received = 2, [2] * SIZE if RANK == 0 else [1] * SIZE
    found["in parts"] = gradient(lambda x: functional.all_to_all_single(x, received, sent, world), SIZE + 1)
    found["around"] = wait(functional.permute_tensor(plain, [(i + 1) % SIZE for i in range(SIZE)], world))
    found["copied"] = wait(functional.broadcast(plain, SIZE - 1, world))
    found["of a list"] = [wait(t) for t in ops.all_reduce_coalesced([plain, plain[:2]], "sum", name)]
    found["gathered lists"] = [wait(t) for t in ops.all_gather_into_tensor_coalesced([plain, plain[:2]], SIZE, name)]
    found["in place"] = wait(ops.all_reduce_(plain.clone(), "sum", name))
    out = torch.empty(4 * SIZE)
    ops.wait_tensor(ops.all_gather_into_tensor_out(plain, SIZE, name, out=out))
    found["out"] = out.tolist()
    meta = torch.empty(4, 2, device="meta")
    found["shapes"] = [
        list(ops.all_gather_into_tensor(meta, 3, "x").shape),
        list(ops.reduce_scatter_tensor(meta, "sum", 2, "x").shape),
        list(ops.all_to_all_single(meta, [1, 2], [2, 2], "x").shape),
        list(ops.all_reduce(meta, "sum", "x").shape),
    ]
    found["refused"] = [
        refused(lambda: ops.all_reduce(plain, "sum", "nope")),
        refused(lambda: ops.all_reduce(plain, "summ", name)),
        refused(lambda: functional.all_reduce(plain, "sum", 3)),
        refused(lambda: ops.all_reduce(leaf(2), "max", name).sum().backward()),
        refused(lambda: functional.all_to_all_single(plain, [1], None, world)),
    ]
    print(json.dumps(found))
    dist.destroy_process_group()


main()
