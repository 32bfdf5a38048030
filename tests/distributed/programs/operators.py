"""Every operator with samples on distributed tensors: operators.py STORE RANK SIZE DEVICE [NAME ...]. Prints what differs.

Numbers and gradients are those of the operator on plain tensors, for pieces along the first and along the last dimension.
"""

import json
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))

from samples import Inputs, dtypes, flat, samples

from mindtorch_v2._operators.table import ROWS

LAST = -1


def placed(mesh, dim):
    """Distribute tensors along a dimension, those that have none whole."""

    def arrange(library, tensor):
        how = Shard(dim % tensor.dim()) if tensor.dim() else Replicate()
        return distribute_tensor(tensor, mesh, [how], src_data_rank=None)

    return arrange


def whole(value):
    return value.full_tensor() if isinstance(value, DTensor) else value


def same(ours, plain):
    if not isinstance(plain, torch.Tensor):
        return ours == plain
    ours = whole(ours).detach()
    if ours.shape != plain.shape or ours.dtype != plain.dtype:
        return False
    if plain.is_floating_point() or plain.is_complex():
        return torch.allclose(ours, plain.detach(), rtol=2e-4, atol=2e-5, equal_nan=True)
    return torch.equal(ours, plain)


def compare(row, index, dtype, mesh, dim):
    """None, or the way in which an operator on pieces differs."""
    plain, pieces = (
        Inputs(torch, row, index, dtype, grad=True, arrange=arrange) for arrange in (None, placed(mesh, dim))
    )
    torch.manual_seed(0)
    expected = flat(row.handle(*plain.args, **plain.kwargs))
    torch.manual_seed(0)
    try:
        made = flat(row.handle(*pieces.args, **pieces.kwargs))
    except Exception as error:  # noqa: BLE001  (which is what is looked for)
        return f"{type(error).__name__}: {str(error)[:150]}"
    # Nothing is left out when something differs: all ranks have to do the same.
    problem = None if len(made) == len(expected) and all([*map(same, made, expected)]) else "results differ"
    roots = [(a, b) for a, b in zip(made, expected) if isinstance(b, torch.Tensor) and b.requires_grad]
    if not roots or row.body is not None:
        return problem
    for results in zip(*roots):
        total = sum((each.abs() if each.is_complex() else each * each).sum() for each in results)
        total.backward()
    for mine, yours in zip(pieces.leaves, plain.leaves):
        if (mine.grad is None) != (yours.grad is None) or (yours.grad is not None and not same(mine.grad, yours.grad)):
            problem = problem or "gradients differ"
    return problem


def main(store, rank, size, device, *names):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    mesh, found, count = init_device_mesh("cpu", (size,)), {}, 0
    for name in names or sorted(ROWS):
        row = ROWS[name]
        for index in range(min(2, len(samples(row)))):
            dtype = next(iter(dtypes(row, samples(row)[index])))
            try:
                Inputs(torch, row, index, dtype)
                given = Inputs(torch, row, index, dtype, grad=True)
                row.handle(*given.args, **given.kwargs)
            except Exception:  # noqa: BLE001  (a sample that makes no call here)
                continue
            for dim in (0, LAST):
                try:
                    problem = compare(row, index, dtype, mesh, dim)
                except Exception as error:  # noqa: BLE001  (of the operator on plain tensors, or of backward)
                    problem = f"backward: {type(error).__name__}: {str(error)[:150]}"
                count += 1
                if problem is not None:
                    found[f"{name}-{index} along {dim}"] = problem
    print(json.dumps({"calls": count, "differ": found}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
