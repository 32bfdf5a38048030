"""Optimizers, attention, functions and operators of several ranks: beyond_layers.py STORE RANK SIZE DEVICE FOLDER."""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import context_parallel, local_map, register_sharding

F = torch.nn.functional


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 9), torch.nn.Tanh(), torch.nn.Linear(9, 3))


def steps(model, optimizer, rank=0, size=1, times=3):
    source = torch.Generator().manual_seed(2)
    for _ in range(times):
        x = torch.randn(8, 4, generator=source).chunk(size)[rank]
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def zero(rank, size):
    """Stage 1: the parameters of one process, and a state that goes on."""
    alone = net()
    one = torch.optim.AdamW(alone.parameters(), lr=0.05)
    steps(alone, one)
    model = torch.nn.parallel.DistributedDataParallel(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.05)
    steps(model, optimizer, rank, size)
    kept = sum(value.numel() for state in optimizer.optim.state.values() for value in state.values() if value.dim())
    whole = 2 * sum(each.numel() for each in alone.parameters())
    for to in range(size):
        optimizer.consolidate_state_dict(to)
    saved = optimizer.state_dict()
    again = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.05)
    again.load_state_dict(saved)
    steps(model, again, rank, size)
    steps(alone, one)
    same = all(torch.allclose(a, b, atol=1e-6) for a, b in zip(model.module.parameters(), alone.parameters()))
    return same and kept < 0.8 * whole


def attention(mesh, causal):
    """Losses and gradients of attention over a sequence that is cut over the ranks."""
    torch.manual_seed(1)
    x = torch.randn(2, 16, 8)
    layer = torch.nn.Linear(8, 24)

    def scores(x):
        query, key, value = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in layer(x).chunk(3, -1))
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal)

    scores(x).square().sum().backward()
    wanted = layer.weight.grad.clone()
    layer.weight.grad = None
    before = x.clone()
    with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]):
        part = x.shape[1]
        scores(x).square().sum().backward()
    dist.all_reduce(layer.weight.grad)
    return part == 16 // mesh.size() and torch.equal(x, before) and torch.allclose(layer.weight.grad, wanted, atol=1e-4)


def mapped(mesh):
    """A function of pieces, whose summed results are a distributed tensor again."""
    x, w = torch.randn(8, 6), torch.randn(6, 5)
    dist.broadcast(x, 0)
    dist.broadcast(w, 0)

    @local_map(out_placements=[Shard(0)], in_placements=([Shard(0)], [Replicate()]), redistribute_inputs=True)
    def product(a, b):
        assert a.shape[0] == 8 // mesh.size()
        return a @ b

    made = product(distribute_tensor(x, mesh, [Shard(1)]), distribute_tensor(w, mesh, [Shard(0)]))
    return torch.allclose(made.full_tensor(), x @ w, atol=1e-5)


def registered(mesh):
    """An operator of one's own, with a rule of one's own."""

    @torch.library.custom_op("programs::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    doubled.register_fake(torch.empty_like)

    @register_sharding(torch.ops.programs.doubled.default)
    def rule(x):
        return [([Shard(dim)], [Shard(dim)]) for dim in range(x.ndim)]

    x = torch.arange(12.0).view(4, 3)
    made = torch.ops.programs.doubled(distribute_tensor(x, mesh, [Shard(0)]))
    return made.placements == (Shard(0),) and torch.equal(made.full_tensor(), x * 2)


def safetensors(mesh, folder):
    """Pieces of ranks as files that are whole, read again in other pieces."""
    torch.manual_seed(3)
    x = torch.randn(7, 4)
    halves = torch.randn(4, 4).bfloat16()
    state = {"x": distribute_tensor(x, mesh, [Shard(0)]), "halves": distribute_tensor(halves, mesh, [Shard(1)])}
    writer = HuggingFaceStorageWriter(folder, save_distributed=True, enable_consolidation=True)
    dcp.save(state, storage_writer=writer)
    into = {
        "x": distribute_tensor(torch.zeros(7, 4), mesh, [Shard(1)]),
        "halves": distribute_tensor(torch.zeros_like(halves), mesh, [Replicate()]),
    }
    dcp.load(into, storage_reader=HuggingFaceStorageReader(folder))
    return torch.equal(into["x"].full_tensor(), x) and torch.equal(into["halves"].full_tensor(), halves)


def main(store, rank, size, device, folder):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (size,))
    found = {
        "zero": zero(rank, size),
        "attention": attention(mesh, False),
        "causal attention": attention(mesh, True),
        "mapped": mapped(mesh),
        "registered": registered(mesh),
        "safetensors": safetensors(mesh, folder),
    }
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
