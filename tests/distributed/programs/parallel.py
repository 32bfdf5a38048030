"""Train a small GPT by several kinds of parallelism: parallel.py STORE RANK SIZE DEVICE [KIND ...]. Print losses as JSON.

SIZE 1 is the training in one process. Runs on PyTorch as well.
"""

import functools
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

STEPS, BATCH, LENGTH, VOCABULARY, WIDTH, HEADS, LAYERS = 20, 8, 12, 48, 32, 4, 4


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = HEADS
        self.query, self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (
            part(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x), approximate="tanh"))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention = torch.nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.mlp = torch.nn.LayerNorm(WIDTH), Mlp()

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(torch.nn.Module):
    """Embeddings, blocks, and scores of the next token; parts that a pipeline leaves out are None."""

    def __init__(self, again=False):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(VOCABULARY, WIDTH), torch.nn.Embedding(LENGTH, WIDTH)
        self.blocks = torch.nn.ModuleDict({str(i): Block() for i in range(LAYERS)})
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.again = again  # whether blocks are computed again in backward

    def forward(self, x):
        if self.tokens is not None:
            x = self.tokens(x) + self.places(torch.arange(LENGTH, device=x.device))
        for block in self.blocks.values():
            x = checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return x if self.head is None else self.head(self.norm(x))


def loss_of(scores, target):
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten(0, 1))


def data():
    source = torch.Generator().manual_seed(1)
    return torch.randint(VOCABULARY, (STEPS, BATCH, LENGTH + 1), generator=source)


def sharded(model, mesh, **options):
    for block in model.blocks.values():
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


def tensor_parallel(model, mesh, sequence=False, loss=False):
    """Cut heads and hidden features over the ranks; with `sequence`, what is between them along the sequence."""
    whole, cut = Replicate(), Shard(1)
    between = cut if sequence else whole
    plan = {
        "tokens": RowwiseParallel(input_layouts=whole, output_layouts=between),
        "places": RowwiseParallel(input_layouts=whole, output_layouts=Shard(0) if sequence else whole),
        "head": ColwiseParallel(
            input_layouts=between, output_layouts=Shard(-1) if loss else whole, use_local_output=not loss
        ),
    }
    if sequence:
        plan["norm"] = SequenceParallel()
    for path in model.blocks:
        parts = {
            "attention.query": ColwiseParallel(),
            "attention.key": ColwiseParallel(),
            "attention.value": ColwiseParallel(),
            "attention.out": RowwiseParallel(output_layouts=between),
            "mlp.up": ColwiseParallel(),
            "mlp.down": RowwiseParallel(output_layouts=between),
        }
        if sequence:
            parts |= {"norm1": SequenceParallel(), "norm2": SequenceParallel()}
            parts |= {
                name: PrepareModuleInput(input_layouts=(cut,), desired_input_layouts=(whole,))
                for name in ("attention", "mlp")
            }
        plan |= {f"blocks.{path}.{name}": style for name, style in parts.items()}
    return parallelize_module(model, mesh, plan)


def train(model, step_loss, reduced=None, clip=None, accumulate=1):
    """The losses of the whole batch: the mean over the ranks of a group (`reduced`) where each has a part."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for batch in data():
        total = step_loss(model, batch[:, :-1], batch[:, 1:])
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        total = total.full_tensor() if isinstance(total, DTensor) else total
        total = total.detach().clone()
        if reduced is not None:
            dist.all_reduce(total, group=reduced)
            total /= dist.get_world_size(reduced)
        losses.append(total.item())
    return losses


def part_of(rank, size, *tensors):
    rows = BATCH // size
    return [each[rank * rows : (rank + 1) * rows] for each in tensors]


def plain(rank, size, model, x, y):
    x, y = part_of(rank, size, x, y)
    loss = loss_of(model(x), y)
    loss.backward()
    return loss


def accumulated(rank, size, model, x, y):
    """Two backward passes, of which the last sums the gradients."""
    x, y = part_of(rank, size, x, y)
    losses = []
    for last, (a, b) in zip((False, True), zip(x.chunk(2), y.chunk(2))):
        model.set_requires_gradient_sync(last)
        loss = loss_of(model(a), b) / 2
        loss.backward()
        losses.append(loss)
    return sum(losses)


def with_loss_parallel(model, x, y):
    with loss_parallel():
        loss = loss_of(model(x), y)
        loss.backward()
    return loss


def pipelined(rank, size, kind, mesh=None, data_rank=0, data_size=1, wrap=None):
    """Stages of a pipeline; the loss is the last stage's, which tells the others."""
    from torch.distributed import pipelining

    group = None if mesh is None else mesh.get_group()
    bent = kind in ("zbv", "dual")  # the first rank has the first stage and the last
    several = bent or kind in ("interleaved", "looped", "zero bubble")
    places = [rank, 2 * size - 1 - rank] if bent else [rank, rank + size] if several else [rank]
    count = size * len(places)
    per = LAYERS // count
    parts = []
    for place in places:
        torch.manual_seed(0)
        model = Gpt()
        for i in range(LAYERS):
            if not place * per <= i < (place + 1) * per:
                del model.blocks[str(i)]
        if place > 0:
            model.tokens = model.places = None
        if place < count - 1:
            model.norm = model.head = None
        parts.append(wrap(model) if wrap else model)
    stages = [
        pipelining.PipelineStage(model, place, count, torch.device("cpu"), group=group)
        for model, place in zip(parts, places)
    ]
    schedules = {
        "gpipe": pipelining.ScheduleGPipe,
        "1f1b": pipelining.Schedule1F1B,
        "interleaved": pipelining.ScheduleInterleaved1F1B,
        "looped": pipelining.ScheduleLoopedBFS,
        "zero bubble": pipelining.ScheduleInterleavedZeroBubble,
        "zbv": pipelining.ScheduleZBVZeroBubble,
        "dual": pipelining.ScheduleDualPipeV,
    }
    schedule = schedules[kind](stages if several else stages[0], n_microbatches=4, loss_fn=loss_of)
    both = torch.nn.ModuleList(parts)

    def step(model, x, y):
        x, y = part_of(data_rank, data_size, x, y)
        losses = []
        if 0 in places:
            schedule.step(x, **({"target": y, "losses": losses} if count - 1 in places else {}))
        elif count - 1 in places:
            schedule.step(target=y, losses=losses)
        else:
            schedule.step()
        total = torch.stack(losses).mean() if losses else torch.zeros(())
        last = 0 if bent else size - 1
        last = dist.get_global_rank(group, last) if group is not None else last
        dist.broadcast(total := total.detach().clone(), last, group=group)
        return total

    return both, step


def run(kind, rank, size):
    torch.manual_seed(0)
    here = functools.partial(plain, rank, size)
    if kind == "single":
        return train(Gpt(), functools.partial(plain, 0, 1))
    if kind == "single clipped":
        return train(Gpt(), functools.partial(plain, 0, 1), clip=0.5)
    mesh = init_device_mesh("cpu", (size,))
    if kind == "ddp":
        return train(torch.nn.parallel.DistributedDataParallel(Gpt()), here, dist.group.WORLD)
    if kind == "fsdp":
        return train(sharded(Gpt(), mesh), here, dist.group.WORLD)
    if kind == "fsdp clipped":
        return train(sharded(Gpt(), mesh), here, dist.group.WORLD, clip=0.5)
    if kind == "fsdp checkpoint":
        return train(sharded(Gpt(again=True), mesh), here, dist.group.WORLD)
    if kind == "fsdp offload":
        return train(sharded(Gpt(), mesh, offload_policy=CPUOffloadPolicy(pin_memory=False)), here, dist.group.WORLD)
    if kind == "fsdp accumulated":
        return train(sharded(Gpt(), mesh), functools.partial(accumulated, rank, size), dist.group.WORLD)
    if kind == "fsdp mixed":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        return train(sharded(Gpt(), mesh, mp_policy=policy), here, dist.group.WORLD)
    if kind == "fsdp near":  # between forward and backward, pairs of ranks keep parameters whole together
        return train(sharded(Gpt(), mesh, reshard_after_forward=2), here, dist.group.WORLD)
    if kind == "fsdp kept":
        return train(sharded(Gpt(), mesh, reshard_after_forward=False), here, dist.group.WORLD)
    if kind == "tp":
        return train(tensor_parallel(Gpt(), mesh), functools.partial(plain, 0, 1))
    if kind == "sp clipped":
        return train(tensor_parallel(Gpt(), mesh, sequence=True), functools.partial(plain, 0, 1), clip=0.5)
    if kind == "sp":
        return train(tensor_parallel(Gpt(), mesh, sequence=True), functools.partial(plain, 0, 1))
    if kind == "tp loss":
        return train(tensor_parallel(Gpt(), mesh, sequence=True, loss=True), with_loss_parallel)
    if kind in ("gpipe", "1f1b"):
        return train(*pipelined(rank, size, kind))
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("outer", "inner"))
    outer, inner = mesh["outer"], mesh["inner"]
    place = outer.get_local_rank()
    if kind in ("interleaved", "looped", "zero bubble", "zbv", "dual"):  # two pipelines, which do the same
        return train(*pipelined(inner.get_local_rank(), inner.size(), kind, inner))
    if kind == "hsdp":
        return train(sharded(Gpt(), mesh), here, dist.group.WORLD)
    if kind in ("fsdp tp", "fsdp sp"):
        model = sharded(tensor_parallel(Gpt(), inner, sequence="sp" in kind), outer)
        return train(model, functools.partial(plain, place, 2), outer.get_group())
    if kind == "fsdp tp clipped":
        model = sharded(tensor_parallel(Gpt(), inner), outer)
        return train(model, functools.partial(plain, place, 2), outer.get_group(), clip=0.5)
    if kind == "fsdp pp":
        wrap = functools.partial(sharded, mesh=outer)
        model, step = pipelined(inner.get_local_rank(), inner.size(), "1f1b", inner, place, 2, wrap)
        return train(model, step, outer.get_group())
    if kind == "tp pp":
        wrap = functools.partial(tensor_parallel_stage, mesh=outer)
        return train(*pipelined(inner.get_local_rank(), inner.size(), "1f1b", inner, wrap=wrap))
    raise ValueError(f"no such kind of parallelism: {kind}")


def tensor_parallel_stage(model, mesh):
    plan = {}
    for path in model.blocks:
        plan |= {f"blocks.{path}.attention.{name}": ColwiseParallel() for name in ("query", "key", "value")}
        plan |= {f"blocks.{path}.mlp.up": ColwiseParallel()}
        plan |= {f"blocks.{path}.{name}": RowwiseParallel() for name in ("attention.out", "mlp.down")}
    return parallelize_module(model, mesh, plan)


KINDS = (
    "ddp|fsdp|fsdp clipped|fsdp checkpoint|fsdp offload|fsdp accumulated|fsdp mixed|fsdp kept|fsdp near|tp|sp|sp clipped|tp loss|gpipe|1f1b|interleaved|looped|hsdp|"
    "fsdp tp|fsdp sp|fsdp tp clipped|fsdp pp|tp pp"
).split("|")


def main(store, rank, size, device, *kinds):
    if size > 1:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    print(
        json.dumps(
            {kind: run(kind, rank, size) for kind in kinds or (KINDS if size > 1 else ["single", "single clipped"])}
        )
    )
    if size > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
