"""Distributed tensors beside plain ones: tensors.py STORE RANK SIZE DEVICE. Prints placements; fails where numbers differ.

PyTorch refuses some views of uneven pieces that are made here.
"""

import io
import itertools
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

F = torch.nn.functional


def close(name, ours, plain):
    whole = ours.full_tensor() if isinstance(ours, DTensor) else ours
    assert whole.shape == plain.shape, (name, whole.shape, plain.shape)
    assert torch.allclose(whole, plain, atol=1e-5, rtol=1e-4), (name, whole, plain)


# Name, function of tensors, their sizes.
CASES = [
    ("mm", lambda x, w: x @ w, (8, 6), (6, 10)),
    ("mm uneven", lambda x, w: x @ w, (7, 5), (5, 9)),
    ("bmm", torch.bmm, (4, 3, 8), (4, 8, 5)),
    ("matmul of stacks", torch.matmul, (2, 4, 3, 8), (8, 5)),
    ("linear", F.linear, (2, 4, 8), (12, 8), (12,)),
    ("broadcast", lambda x, y: x * y + y, (4, 8), (8,)),
    ("gelu and softmax", lambda x: F.softmax(F.gelu(x), -1), (4, 8)),
    ("mean of squares", lambda x: (x**2).mean(), (8, 4)),
    ("sum of a dimension", lambda x: x.sum(1), (8, 4)),
    ("extremes", lambda x: x.amax(0) - x.amin(), (8, 4)),
    ("norms", lambda x: torch.linalg.vector_norm(x) + torch.linalg.vector_norm(x, 3, dim=1).sum(), (8, 4)),
    ("std", lambda x: x.std(0), (8, 4)),
    ("layer_norm", lambda x, w, b: F.layer_norm(x, (8,), w, b), (4, 2, 8), (8,), (8,)),
    ("heads", lambda x: x.view(4, 4, 4, 2).transpose(1, 2).reshape(4, 4, 8), (4, 4, 8)),
    ("flatten", lambda x: x.flatten(0, 1).square(), (4, 3, 8)),
    ("cat and split", lambda x, y: torch.cat([x, y], 1).split(4, 1)[1], (4, 6), (4, 6)),
    ("slices", lambda x: x[:, 1:5] * x[:, 3:7], (4, 8)),
    ("stack and unbind", lambda x, y: torch.stack([x, y]).unbind(0)[1], (4, 8), (4, 8)),
    ("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *[(4, 4, 6, 8)] * 3),
    ("mse", F.mse_loss, (8, 4), (8, 4)),
    ("cumsum", lambda x: x.cumsum(1), (4, 8)),
    ("expand", lambda x: x.unsqueeze(1).expand(4, 3, 8), (4, 8)),
]
WITH_INDICES = [
    ("cross_entropy", lambda x, i: F.cross_entropy(x, i), (8, 12), (8,), 12),
    ("cross_entropy ignoring", lambda x, i: F.cross_entropy(x, i, ignore_index=3), (8, 12), (8,), 12),
    ("embedding", lambda w, i: F.embedding(i, w), (12, 8), (4, 4), 12),
    ("gather", lambda x, i: x.gather(1, i), (8, 4), (8, 4), 4),
    ("index_select", lambda x, i: x.index_select(0, i), (8, 4), (4,), 8),
]


def places(shape):
    return [Replicate(), *(Shard(dim) for dim in range(len(shape)))]


def check(found, mesh, name, function, shapes, indices=None):
    plain = [torch.randn(shape, requires_grad=True) for shape in shapes]
    expected = function(*plain, *([indices] if indices is not None else []))
    weight = torch.randn(expected.shape)
    (expected * weight).sum().backward()
    choices = [places(shape) for shape in shapes]
    if indices is not None:
        choices.append([Replicate(), Shard(0)])
    for chosen in itertools.product(*choices):
        inputs = [
            distribute_tensor(each.detach(), mesh, [place]).requires_grad_() for each, place in zip(plain, chosen)
        ]
        more = [] if indices is None else [distribute_tensor(indices, mesh, [chosen[-1]])]
        made = function(*inputs, *more)
        label = f"{name} {'|'.join(map(str, chosen))}"
        close(label, made, expected)
        (made * distribute_tensor(weight, mesh, [Replicate()])).sum().backward()
        for mine, yours in zip(inputs, plain):
            close(f"gradient of {label}", mine.grad, yours.grad)
        found[label] = str(made.placements[0])


def main(store, rank, size, device):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    mesh, found = init_device_mesh("cpu", (size,)), {}
    torch.manual_seed(0)
    for name, function, *shapes in CASES:
        check(found, mesh, name, function, shapes)
    for name, function, shape, shape_of_indices, below in WITH_INDICES:
        check(found, mesh, name, function, [shape], torch.randint(below, shape_of_indices))
    # Every way of lying on two dimensions, moved to every other.
    grid = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("a", "b"))
    x = torch.randn(5, 7)
    ways = list(itertools.product([Replicate(), Shard(0), Shard(1)], repeat=2))
    for before, after in itertools.product(ways, repeat=2):
        moved = distribute_tensor(x, grid, before).redistribute(placements=after)
        assert moved.placements == after
        close(f"{before} to {after}", moved, x)
    local = torch.full((3, 4), float(rank + 1))
    for kind, value in (("sum", size * (size + 1) / 2), ("avg", (size + 1) / 2), ("max", size), ("min", 1)):
        close(kind, DTensor.from_local(local, mesh, [Partial(kind)]), torch.full((3, 4), float(value)))
        scattered = DTensor.from_local(local, mesh, [Partial(kind)]).redistribute(placements=[Shard(1)])
        close(f"{kind} in pieces", scattered, torch.full((3, 4), float(value)))
    summand = DTensor.from_local(local, mesh, [Partial()])
    with CommDebugMode() as counted:
        later = [(summand * 2).t(), summand + summand, -summand.reshape(12), summand.sum(0)]
    found["sums"] = [str(each.placements[0]) for each in later], counted.get_total_counts()
    for made, factor in zip(later, (2, 2, -1, 3)):
        total = float(factor * size * (size + 1) / 2)
        close("sum", made, torch.full(tuple(made.shape), total))
    kept = io.BytesIO()
    torch.save({"x": later[0], "mesh": mesh}, kept)
    kept.seek(0)
    loaded = torch.load(kept, weights_only=True)
    found["loaded"] = loaded["mesh"] == mesh and torch.equal(loaded["x"].full_tensor(), later[0].full_tensor())
    pair = DeviceMesh("cpu", [0, 2])
    inside = rank in (0, 2)
    piece = DTensor.from_local(torch.ones(2, 3), pair, [Shard(0)])
    found["pair"] = list(piece.shape) == [4, 3] and list((piece + 1).to_local().shape) == ([2, 3] if inside else [0])
    found["pair"] = found["pair"] and piece.sum().to_local().item() == (6.0 if inside else 0.0)
    try:
        DTensor.from_local(
            torch.ones(2, dtype=(torch.float32, torch.float64)[rank % 2]), mesh, [Shard(0)], run_check=True
        )
    except ValueError:
        found["checked"] = True
    try:
        distribute_tensor(x, mesh, [Shard(0)]).add_(torch.ones(5, 7))
    except RuntimeError as error:
        found["mixed"] = "got mixed torch.Tensor and DTensor" in str(error)
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
