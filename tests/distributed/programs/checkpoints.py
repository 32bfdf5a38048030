"""Save and load a checkpoint: checkpoints.py STORE RANK SIZE DEVICE save|load FOLDER. Runs on PyTorch as well."""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import CheckpointException
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

PLACES = {"rows": Shard(0), "uneven": Shard(0), "columns": Shard(1)}


def values():
    source = torch.Generator().manual_seed(3)
    shapes = {"rows": (12, 3), "uneven": (7,), "columns": (4, 9)}
    return {name: torch.randn(shape, generator=source) for name, shape in shapes.items()}


def state(mesh, filled):
    tensors = {
        name: distribute_tensor(value if filled else torch.zeros_like(value), mesh, [PLACES[name]])
        for name, value in values().items()
    }
    return {
        "model": tensors,
        "whole": torch.arange(6.0) * filled,
        "half": torch.ones(5, dtype=torch.bfloat16) * filled,
        "step": 5 * filled,
        "list": [1 * filled, {"x": torch.ones(2) * filled}],
        "name": "a name" if filled else "",
    }


def main(store, rank, size, device, way, folder):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    mesh, found = init_device_mesh("cpu", (size,)), {}
    if way == "save":
        pending = dcp.async_save(state(mesh, 1), checkpoint_id=folder, process_group=dist.new_group())
        pending.result()
    else:
        into, wanted = state(mesh, 0), state(mesh, 1)
        dcp.load(into, checkpoint_id=folder)
        found["loaded"] = (
            all(torch.equal(into["model"][name].full_tensor(), value) for name, value in values().items())
            and all(torch.equal(into[name], wanted[name]) for name in ("whole", "half"))
            and into["list"][1]["x"].tolist() == [1.0, 1.0]
            and (into["step"], into["name"], into["list"][0]) == (5, "a name", 1)
        )
        try:
            dcp.load({"nothing": torch.zeros(2)}, checkpoint_id=folder)
        except CheckpointException as error:
            found["missing"] = str(error.failures[0][0]).rstrip(".")
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
