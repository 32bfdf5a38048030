"""Train on different numbers of batches by rank: joined.py STORE RANK SIZE DEVICE. Print losses and weights as JSON.

Runs on PyTorch as well.
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join, Joinable, JoinHook
from torch.distributed.optim import ZeroRedundancyOptimizer

DDP = torch.nn.parallel.DistributedDataParallel
VARIANTS = (
    "plain", "by those that go on", "small buckets", "buffers", "no_sync", "unused", "views", "hook", "zero", "off", "throw", "throw count",
)  # fmt: skip


class Net(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.first = torch.nn.Linear(6, 16)
        self.norm = torch.nn.BatchNorm1d(16) if norm else torch.nn.Identity()
        self.second = torch.nn.Linear(16, 3)
        self.extra = torch.nn.Linear(16, 3)

    def forward(self, x, extra=True):
        hidden = torch.tanh(self.norm(self.first(x)))
        return self.second(hidden) + (self.extra(hidden) if extra else 0)


class Counter(Joinable):
    """Count the steps of all ranks."""

    def __init__(self):
        super().__init__()
        self.count, self.last = torch.zeros(1), None

    def __call__(self):
        Join.notify_join_context(self)
        self.add(1)

    def add(self, amount):
        here = torch.full((1,), float(amount))
        dist.all_reduce(here)
        self.count += here

    def join_hook(self, **kwargs):
        counter, extra = self, kwargs.get("extra", 0)

        class Hook(JoinHook):
            def main_hook(self):
                counter.add(extra)

            def post_hook(self, is_last_joiner):
                counter.last = is_last_joiner

        return Hook()

    @property
    def join_device(self):
        return torch.device("cpu")

    @property
    def join_process_group(self):
        return dist.group.WORLD


def average(group, bucket):
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0] / 2)


def train(rank, size, variant):
    torch.manual_seed(5)
    net = Net(norm=variant == "buffers")
    options = {"views": {"gradient_as_bucket_view": True}, "small buckets": {"bucket_cap_mb": 0.0001}}.get(variant, {})
    model = DDP(net, find_unused_parameters=variant == "unused", **options)
    if variant == "hook":
        model.register_comm_hook(None, average)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    if variant == "zero":
        optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, lr=0.2)
    steps = 4 if variant == "off" else 3 + 2 * rank
    data = torch.randn(10, 4, 6, generator=torch.Generator().manual_seed(1 + rank))
    labels = torch.randint(3, (10, 4), generator=torch.Generator().manual_seed(20 + rank))
    losses, problem = [], None
    if variant == "zero":
        context = Join([model, optimizer])
    else:
        context = model.join(
            divide_by_initial_world_size=variant != "by those that go on",
            enable=variant != "off",
            throw_on_early_termination=variant == "throw",
        )
    try:
        with context:
            for step in range(steps):
                if variant == "no_sync" and step % 2 == 0:
                    with model.no_sync():
                        torch.nn.functional.cross_entropy(model(data[step]), labels[step]).backward()
                    continue
                # Only before any rank is through: ranks that are, PyTorch's DDP counts as users of what others used once.
                extra = variant != "unused" or step == 1
                loss = torch.nn.functional.cross_entropy(model(data[step], extra), labels[step])
                loss.backward()
                losses.append(loss.item())
                optimizer.step()
                if variant != "zero":  # whose steps of ranks that are through go by the gradients that they have
                    optimizer.zero_grad()
    except RuntimeError as error:
        problem = str(error)
    weights = {name: value.double().sum().item() for name, value in model.state_dict().items()}
    return {"losses": losses, "weights": weights, "problem": problem}


def count(rank, variant):
    counter, problem = Counter(), None
    try:
        with Join([counter], throw_on_early_termination=variant == "throw count", extra=10):
            for _ in range(2 + rank):
                counter()
    except RuntimeError as error:
        problem = str(error)
    return {"count": counter.count.item(), "last": counter.last, "problem": problem}


def main(store, rank, size, device):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    found = {variant: train(rank, size, variant) for variant in VARIANTS if variant != "throw count"}
    found["count"], found["throw count"] = count(rank, "count"), count(rank, "throw count")
    print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
