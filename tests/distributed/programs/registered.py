"""Back ends of a program's own, and the rehearsal "fake": registered.py STORE RANK SIZE. Prints what the collectives give, as JSON.

The same file runs on PyTorch, where the expected values come from. The own back end leaves its requests in the store, so that two
ranks need no other connection.
"""

import json
import pickle
import sys
import warnings

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future
from torch.testing._internal.distributed.fake_pg import FakeStore  # registers "fake" where that is not there by itself

warnings.simplefilter("ignore")
RANK, SIZE = int(sys.argv[2]), int(sys.argv[3])


def done(result):
    future = torch.futures.Future()
    future.set_result(result)
    return _create_work_from_future(future)


class Mailbox(dist.ProcessGroup):
    """Everything by way of the store."""

    def __init__(self, store, rank, size):
        super().__init__(rank, size)
        self.store, self.place, self.count, self.asked = store, rank, 0, []

    def getBackendName(self):
        return "mailbox"

    def exchange(self, name, value):
        self.count += 1
        self.asked.append(name)
        self.store.set(f"{self.count}/{self.place}", pickle.dumps(value).hex())
        found = [self.store.get(f"{self.count}/{rank}") for rank in range(self.size())]
        return [pickle.loads(bytes.fromhex(each.decode())) for each in found]

    def allreduce(self, tensors, options):
        maximum = options.reduceOp == dist.ReduceOp.MAX
        all_of_them = torch.stack([torch.tensor(each) for each in self.exchange("allreduce", tensors[0].tolist())])
        tensors[0].copy_(all_of_them.amax(0) if maximum else all_of_them.sum(0))
        return done(tensors)

    def broadcast(self, tensors, options):
        tensors[0].copy_(torch.tensor(self.exchange("broadcast", tensors[0].tolist())[options.rootRank]))
        return done(tensors)

    def allgather(self, outputs, inputs, options):
        for output, each in zip(outputs[0], self.exchange("allgather", inputs[0].tolist()), strict=True):
            output.copy_(torch.tensor(each))
        return done(outputs)

    def barrier(self, opts):
        self.exchange("barrier", 0)
        return done([])


def error_of(function):
    try:
        function()
    except (AssertionError, RuntimeError, ValueError) as error:
        return type(error).__name__
    return "no error"


def own():
    def make(store, rank, size, timeout):
        return Mailbox(store, rank, size)

    dist.Backend.register_backend("mailbox", lambda *_: None, devices="cpu")
    twice = error_of(lambda: dist.Backend.register_backend("mailbox", make, devices="cpu"))
    dist.init_process_group("mailbox", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=SIZE)
    world = dist.group.WORLD
    found = {
        "names": [
            twice,
            dist.Backend("MAILBOX"),
            dist.get_backend(),
            world.name(),
            isinstance(world, Mailbox),
            world.rank(),
        ],
        "capability": dist.Backend.backend_capability["mailbox"],
        "default": dist.Backend.default_device_backend_map["cpu"],
    }
    x = torch.tensor([1.0, 2.0]) * (RANK + 1)
    work = dist.all_reduce(x, async_op=True)
    found["sum"] = [work.wait(), x.tolist()]
    dist.all_reduce(x.add_(RANK), op=dist.ReduceOp.MAX)
    found["max"] = x.tolist()
    parts = [torch.zeros(2) for _ in range(SIZE)]
    dist.all_gather(parts, torch.full((2,), float(RANK)))
    found["gathered"] = [each.tolist() for each in parts]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    with torch.no_grad():
        model.module.weight.fill_(1.0)
    model(torch.tensor([[1.0, float(RANK)]])).sum().backward()
    found["averaged"] = model.module.weight.grad.tolist()
    found["missing"] = error_of(lambda: dist.reduce(x, 0))
    group = dist.new_group([0])
    found["group"] = [dist.get_rank(group), dist.get_world_size(group)]
    found["kept"] = [dist.distributed_c10d._world.pg_names[world]]
    dist.barrier()
    dist.destroy_process_group()
    return found


def rehearsed():
    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=3)
    x, found = torch.tensor([1.0, 2.0, 3.0]), {}
    found["backend"] = [dist.get_backend(), dist.get_rank(), dist.get_world_size()]
    y = x.clone()
    dist.all_reduce(y)
    dist.broadcast(y, 0)
    dist.reduce(y, 0)
    found["as it was"] = y.tolist()
    parts = [torch.zeros(3) for _ in range(3)]
    dist.all_gather(parts, x)
    found["gathered"] = [each.tolist() for each in parts]
    whole = torch.zeros(9)
    dist.all_gather_into_tensor(whole, x)
    found["gathered into"] = whole.tolist()
    dist.reduce_scatter(y, [x, x + 10, x + 20])
    found["scattered"] = y.tolist()
    dist.reduce_scatter_tensor(y, torch.arange(9.0))
    found["its part"] = y.tolist()
    dist.all_to_all_single(whole, torch.arange(9.0))
    found["exchanged"] = whole.tolist()
    dist.scatter(y, [x, x + 1, x + 2], src=1)
    found["from here"] = y.tolist()
    dist.scatter(y.zero_(), src=0)
    found["from elsewhere"] = y.tolist()
    found["received"] = [dist.recv(y, 0), y.tolist()]
    objects = [None] * 3
    dist.all_gather_object(objects, {"a": 1})
    found["objects"] = objects
    mesh = dist.init_device_mesh("cpu", (3,))
    table = dist.tensor.distribute_tensor(torch.ones(6, 2), mesh, [dist.tensor.Shard(0)])
    found["sharded"] = [list(table.to_local().shape), str(table.sum().placements), list(table.full_tensor().shape)]
    dist.destroy_process_group()
    return found


if __name__ == "__main__":
    import torch.distributed.tensor

    print(json.dumps({"own": own(), "rehearsed": rehearsed()}))
