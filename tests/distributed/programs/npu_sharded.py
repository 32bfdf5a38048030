"""A model and a tensor of the CPU that are sharded where the ranks' devices are: npu_sharded.py STORE RANK SIZE DEVICE. Prints what came of it as JSON."""

import json
import sys

import torch
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor


def main(store, rank, size):
    torch.npu.set_device(rank)
    torch.distributed.init_process_group("hccl", init_method=f"file://{store}", rank=rank, world_size=size)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    fully_shard(model)
    places = sorted({str(each.device) for each in (*model.parameters(), *model.buffers())})
    model(torch.ones(2, 3, device="npu")).sum().backward()
    found = {"places": places, "grad": type(model[0].weight.grad).__name__, "rows": model[0].weight.to_local().shape[0]}
    mesh = torch.distributed.init_device_mesh("npu", (size,))
    whole = torch.arange(6.0).reshape(3, 2)
    pieces = distribute_tensor(whole, mesh, [Shard(0)])
    found["pieces"] = [str(pieces.to_local().device), torch.equal(pieces.full_tensor().cpu(), whole)]
    torch.distributed.destroy_process_group()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
