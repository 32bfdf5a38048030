"""States of sharded models: states.py STORE RANK SIZE DEVICE FOLDER. Prints what was looked at.

PyTorch's wrapper wants a GPU; all else runs there as well.
"""

import json
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullStateDictConfig,
    FullyShardedDataParallel,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor

FULL = StateDictOptions(full_state_dict=True)


def net(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Sequential(torch.nn.Linear(7, 1)))


def sharded(seed=0):
    model = net(seed)
    fully_shard(model[2])
    return fully_shard(model)


def step(model, optimizer, times=3):
    source = torch.Generator().manual_seed(4)
    for _ in range(times):
        model(torch.randn(6, 5, generator=source)).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=0.01)


def same(a, b):
    assert a.keys() == b.keys(), (a.keys(), b.keys())
    return all(torch.allclose(a[name].cpu(), b[name].cpu(), atol=1e-6) for name in a)


def wrapped(seed=0, **options):
    return FullyShardedDataParallel(
        net(seed),
        auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}),
        use_orig_params=True,
        device_id=torch.device("cpu"),
        **options,
    )


def memory(size):
    """A rank has its share of parameters, gradients and states, and between steps nothing whole."""
    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(4)))
    whole = sum(each.numel() for each in model.parameters())
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 16)).sum().backward()
    optimizer.step()
    held = [each.to_local() for parameter in model.parameters() for each in (parameter, parameter.grad)]
    held += [each.to_local() for state in optimizer.state.values() for each in state.values() if each.dim()]
    kept = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in held}
    return sum(kept.values()) == 4 * 4 * whole // size


def main(store, rank, size, device, folder):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    found = {}
    alone, model = net(), sharded()
    one, optimizer = adam(alone), adam(model)
    step(alone, one)
    step(model, optimizer)
    expected = alone.state_dict()
    whole = get_model_state_dict(model, options=FULL)
    found["whole state"] = same(whole, expected)
    pieces, states = get_state_dict(model, optimizer)
    found["pieces"] = all(isinstance(each, DTensor) for each in pieces.values())
    found["names of states"] = sorted(states["state"])
    moments = get_optimizer_state_dict(model, optimizer, options=FULL)["state"]
    theirs = get_optimizer_state_dict(alone, one)["state"]
    found["moments"] = all(same(moments[name], theirs[name]) for name in theirs)
    first = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    found["first rank only"] = [len(first) if rank == 0 else 4, len(first) if rank else 0]

    dcp.save({"model": pieces, "optimizer": states}, checkpoint_id=folder)
    other = sharded(seed=9)
    other_optimizer = adam(other)
    model_state, optimizer_state = get_state_dict(other, other_optimizer)
    into = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(into, checkpoint_id=folder)
    set_state_dict(other, other_optimizer, model_state_dict=into["model"], optim_state_dict=into["optimizer"])
    step(other, other_optimizer)
    step(alone, one)
    found["goes on"] = same(get_model_state_dict(other, options=FULL), alone.state_dict())

    third = sharded(seed=5)
    third_optimizer = adam(third)
    spread = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(third, alone.state_dict() if rank == 0 else {}, options=spread)
    whole_states = get_optimizer_state_dict(other, other_optimizer, options=FULL)
    set_optimizer_state_dict(third, third_optimizer, whole_states, options=FULL)
    step(third, third_optimizer)
    step(alone, one)
    found["spread"] = same(get_model_state_dict(third, options=FULL), alone.state_dict())

    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD):
        alone = net()
        one = adam(alone)
        step(alone, one)
        model = wrapped(sharding_strategy=strategy, sync_module_states=True)
        optimizer = adam(model)
        step(model, optimizer)
        label = strategy.name
        found[f"{label} state"] = same(model.state_dict(), alone.state_dict())
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, True)
        ):
            found[f"{label} first rank"] = len(model.state_dict()) == (4 if rank == 0 else 0)
        fresh = wrapped(seed=3, sharding_strategy=strategy)
        fresh.load_state_dict(alone.state_dict())
        with FullyShardedDataParallel.summon_full_params(fresh):
            names = [name for name, _ in fresh.named_parameters()]
            found[f"{label} summoned"] = names == list(alone.state_dict()) and all(
                torch.equal(mine, yours) for mine, yours in zip(fresh.parameters(), alone.parameters())
            )
            for parameter in fresh.parameters():
                parameter.data.add_(1)
        with FullyShardedDataParallel.summon_full_params(fresh):
            found[f"{label} written"] = all(
                torch.allclose(mine, yours + 1) for mine, yours in zip(fresh.parameters(), alone.parameters())
            )
        saved = FullyShardedDataParallel.optim_state_dict(model, optimizer)
        again = wrapped(seed=4, sharding_strategy=strategy)
        again.load_state_dict(alone.state_dict())
        again_optimizer = adam(again)
        again_optimizer.load_state_dict(
            FullyShardedDataParallel.optim_state_dict_to_load(again, again_optimizer, saved)
        )
        step(again, again_optimizer)
        step(alone, one)
        found[f"{label} goes on"] = same(again.state_dict(), alone.state_dict())
        again(torch.ones(2, 5)).sum().backward()
        alone(torch.ones(2, 5)).sum().backward()
        mine, yours = again.clip_grad_norm_(0.1), torch.nn.utils.clip_grad_norm_(alone.parameters(), 0.1)
        found[f"{label} norm"] = bool(torch.allclose(mine, yours))
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("copies", "pieces"))
    model = wrapped(sharding_strategy=ShardingStrategy.HYBRID_SHARD, device_mesh=mesh)
    alone = net()
    step(model, adam(model))
    step(alone, adam(alone))
    found["hybrid"] = same(model.state_dict(), alone.state_dict())
    found["memory"] = memory(size)
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
