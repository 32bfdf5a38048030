"""Communication hooks, sparse gradients and averaged parameters: hooks.py STORE RANK SIZE. Prints what parameters and gradients are, as JSON.

The same file runs on PyTorch, where the expected values come from.
"""

import json
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook as post_local
from torch.distributed.algorithms.ddp_comm_hooks import (
    DDPCommHookType,
    debugging_hooks,
    powerSGD_hook,
    register_ddp_comm_hook,
)
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.distributed.optim import (
    PostLocalSGDOptimizer,
    ZeroRedundancyOptimizer,
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
)
from torch.nn.parallel import DistributedDataParallel

warnings.simplefilter("ignore")  # PyTorch says of the hooks in C++ that nobody should call them
RANK, SIZE = int(sys.argv[2]), int(sys.argv[3])


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 6), torch.nn.Linear(6, 3))


def inputs(step):
    return torch.randn(5, 8, generator=torch.Generator().manual_seed(100 * RANK + step))


def rounded(tensor):
    return [round(each, 5) for each in tensor.flatten().tolist()]


def gradients(model):
    return [rounded(parameter.grad) for parameter in model.parameters()]


def passes(register, count=3):
    """The gradients of each of some passes with a hook."""
    model, found = DistributedDataParallel(network()), []
    register(model)
    for step in range(count):
        model.zero_grad()
        model(inputs(step)).square().sum().backward()
        found.append(gradients(model))
    return found


def powersgd(hook, **settings):
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=1, **settings)
    return passes(lambda model: model.register_comm_hook(state, hook))


def sparse():
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(6, 2, sparse=True), torch.nn.Linear(2, 2)))
    found = []
    for step in range(2):
        model.zero_grad()
        model(torch.tensor([RANK, 2 + step])).sum().backward()
        weight, *others = [parameter.grad for parameter in model.parameters()]
        found.append([weight.is_sparse, weight.to_dense().tolist(), *map(rounded, others)])
    return found


def averaged():
    """Parameters that differ, and are averaged every other step."""
    model = network(RANK)
    averager = averagers.PeriodicModelAverager(period=2, warmup_steps=1)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), averager)
    for step in range(4):
        optimizer.zero_grad()
        model(inputs(step)).square().sum().backward()
        optimizer.step()
    return [[rounded(each) for each in model.parameters()], optimizer.state_dict()["step"]]


def averaged_by_levels():
    """Parameters that differ, and are averaged every other step: by all, as there are two ranks."""
    model, found = network(RANK), []
    averager = HierarchicalModelAverager({1: 1, 2: SIZE}, warmup_steps=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(5):
        optimizer.zero_grad()
        model(inputs(step)).square().sum().backward()
        optimizer.step()
        averager.average_parameters(model.parameters())
        found.append(rounded(model[0].bias))
    return [found, averager.step]


def stepped_in_backward():
    """Each parameter by an optimizer of its own, within the backward pass; one has two."""
    model, found = network(), []
    _apply_optimizer_in_backward(torch.optim.AdamW, model.parameters(), {"lr": 0.01})
    _apply_optimizer_in_backward(torch.optim.SGD, [model[0].bias], {"lr": 0.1})
    for step in range(3):
        model(inputs(step)).square().sum().backward()
        found.append([rounded(each) for each in model.parameters()])
    kinds = [type(each).__name__ for each in _get_in_backward_optimizers(model)]
    return [found, kinds, [each.grad is None for each in model.parameters()]]


def local_later():
    group, _ = dist.new_subgroups(1)
    return passes(
        lambda model: model.register_comm_hook(
            post_local.PostLocalSGDState(None, group, 1), post_local.post_localSGD_hook
        ),
        2,
    )


def errors():
    def wrong(state, bucket: int):
        return None

    plain = DistributedDataParallel(network())
    cases = {
        "annotation": lambda: plain.register_comm_hook(None, wrong),
        "no function": lambda: plain.register_comm_hook(None, 3),
        "too early": lambda: powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1),
        "period": lambda: averagers.PeriodicModelAverager(0),
        "levels": lambda: HierarchicalModelAverager({}),
        "last level": lambda: HierarchicalModelAverager({2: SIZE + 1}),
        "levels' warm-up": lambda: HierarchicalModelAverager({2: SIZE}, -1),
        "warm-up": lambda: averagers.PeriodicModelAverager(1, -1),
        "no parameters": lambda: ZeroRedundancyOptimizer([], optimizer_class=torch.optim.SGD, lr=1),
        "no tensors": lambda: ZeroRedundancyOptimizer([torch.ones(1), 3], optimizer_class=torch.optim.SGD, lr=1),
        "batch norm": lambda: DistributedDataParallel(torch.nn.SyncBatchNorm(3)),
    }
    found = {}
    for name, case in cases.items():
        try:
            case()
            found[name] = "no error"
        except (RuntimeError, TypeError, ValueError) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def ignored():
    module = network()
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, ["0.weight"])
    model = DistributedDataParallel(module)
    model(inputs(0)).sum().backward()
    return gradients(model)


if __name__ == "__main__":
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=RANK, world_size=SIZE)
    each = powerSGD_hook.powerSGD_hook
    values = {
        "PowerSGD": powersgd(each, matrix_approximation_rank=2),
        "PowerSGD without memory": powersgd(each, use_error_feedback=False, warm_start=False),
        "PowerSGD by Gram and Schmidt": powersgd(each, matrix_approximation_rank=2, orthogonalization_epsilon=1e-8),
        "PowerSGD at once": powersgd(each, matrix_approximation_rank=2, batch_tensors_with_same_shape=True),
        "nothing": passes(lambda model: model.register_comm_hook(None, debugging_hooks.noop_hook), 1),
        "by name": passes(lambda model: register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model), 1),
        "in C++": passes(lambda model: model._register_builtin_comm_hook(dist.BuiltinCommHookType.FP16_COMPRESS), 1),
        "local later": local_later(),
        "sparse": sparse(),
        "averaged": averaged(),
        "averaged by levels": averaged_by_levels(),
        "stepped in backward": stepped_in_backward(),
        "ignored": ignored(),
    }
    found = {"values": values, "errors": errors()}
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(found))  # at the end: more than a pipe holds, which is read of one rank after the other
