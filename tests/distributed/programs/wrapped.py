"""Modules in wrappers, and layers that are computed again: wrapped.py STORE RANK SIZE DEVICE. Prints JSON.

Runs on PyTorch as well, but for what `FullyShardedDataParallel` takes part in, which it does not have on CPUs.
"""

import copy
import functools
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.fsdp import FullyShardedDataParallel, wrap
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


class Layer(torch.nn.Module):
    runs = 0

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x, scale=1.0):
        Layer.runs += 1
        return x + self.b(torch.tanh(self.a(x))) * scale


class Wrapper(torch.nn.Module):
    def __init__(self, inner, tag=0):
        super().__init__()
        self.inner, self.tag = inner, tag


def again(variant, model):
    """Let backward compute layers again, in one of several ways."""
    policy = functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={Layer})
    impl = CheckpointImpl.REENTRANT if variant == "reentrant" else CheckpointImpl.NO_REENTRANT
    by = functools.partial(checkpoint_wrapper, checkpoint_impl=impl)
    if variant == "policy":
        apply_activation_checkpointing(model, checkpoint_wrapper_fn=by, auto_wrap_policy=policy)
    elif variant == "classes":
        apply_activation_checkpointing(model, auto_wrap_policy=wrap.ModuleWrapPolicy({Layer}))
    elif variant == "offloaded":
        apply_activation_checkpointing(
            model, lambda each: offload_wrapper(checkpoint_wrapper(each)), lambda each: isinstance(each, Layer)
        )
    elif variant != "plain":
        apply_activation_checkpointing(model, by, lambda each: isinstance(each, Layer))


def train(rank, variant, sharded):
    torch.manual_seed(0)
    Layer.runs = 0
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), Layer(), Layer(), torch.nn.Linear(8, 2))
    if sharded:
        model = FullyShardedDataParallel(net, auto_wrap_policy=wrap.ModuleWrapPolicy({Layer}), use_orig_params=True)
        again(variant, model)
    else:
        again(variant, net)
        model = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for step in range(4):
        x = torch.randn(4, 4, generator=torch.Generator().manual_seed(step * 2 + rank))
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    state = model.state_dict()
    model.load_state_dict(state)
    weights = {name.removeprefix("module."): value.double().sum().item() for name, value in state.items()}
    return {"losses": losses, "weights": weights, "runs": Layer.runs}


def shape(module):
    return [type(module).__name__ + str(getattr(module, "tag", "")), [shape(each) for each in module.children()]]


def policies():
    """The form of a network that policies wrapped, and how many elements they count."""
    linear = torch.nn.Linear
    net = torch.nn.Sequential(
        linear(4, 8), torch.nn.Sequential(linear(8, 8), torch.nn.ReLU(), linear(8, 8)), linear(8, 2)
    )
    either = [
        functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda each: isinstance(each, torch.nn.ReLU)),
        functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={linear}),
    ]
    named = {
        "size": functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=60),
        "always": wrap.always_wrap_policy,
        "either": functools.partial(wrap._or_policy, policies=either),
    }
    found = {}
    for name, policy in named.items():
        for only in (False, True):
            own = copy.deepcopy(net)
            wrapped, count = wrap._recursive_wrap(own, policy, Wrapper, {own[2]}, {own[0].bias}, only, tag=7)
            found[f"{name} {only}"] = [shape(wrapped), count]
    with wrap.enable_wrap(wrapper_cls=Wrapper, tag=3):
        found["enabled"] = [shape(wrap.wrap(linear(1, 1))), shape(wrap.wrap(linear(1, 1), tag=5))]
    found["not enabled"] = shape(wrap.wrap(linear(1, 1), tag=5))
    return found


def scales(rank):
    """The scales, and whether steps were skipped, where one rank's gradient is infinite once."""
    scaler = ShardedGradScaler("cpu", init_scale=8.0, growth_interval=2)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    found = []
    for step in range(4):
        optimizer.zero_grad()
        loss = model(torch.ones(1, 2)).sum() * (float("inf") if step == 1 and rank == 1 else 1.0)
        scaler.scale(loss).backward()
        before = model.weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
        found.append([scaler.get_scale(), bool((model.weight == before).all())])
    return found


def main(store, rank, size, device):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    variants = ("plain", "policy", "classes", "reentrant", "offloaded")
    found = {variant: train(rank, variant, False) for variant in variants}
    found["policies"], found["scales"] = policies(), scales(rank)
    if "mindtorch" in torch.__file__:
        found["sharded"] = {variant: train(rank, variant, True) for variant in variants}
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
