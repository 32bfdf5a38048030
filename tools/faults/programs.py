"""The programs whose calls are made to fail. Each is prepared once, run in a fork, and says what right results are."""

from __future__ import annotations

import io
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy

import mindtorch_v2 as torch


class Program(NamedTuple):
    """A program: what stands ready before anything fails, what then runs, and whether what came out is right."""

    prepare: Callable[[Path], Any]
    run: Callable[[Any], Any]
    check: Callable[[Any, Any], bool]
    after: Callable[[Any], None] = lambda ready: None  # whether the fault came or not: raises if something is lost
    threads: bool = (
        False  # uses other threads or processes: it is warmed up in the fork, and may leave handles for them
    )


PROGRAMS: dict[str, Program] = {}


def program(
    prepare: Callable[[Path], Any], check: Callable[[Any, Any], bool], name: str = "", **more: Any
) -> Callable[..., Any]:
    """Add a function to the programs, under its name unless another is given."""

    def add(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        PROGRAMS[name or run.__name__] = Program(prepare, run, check, **more)
        return run

    return add


@program(lambda folder: torch.arange(12.0).view(3, 4), lambda x, y: y == 424.0)
def pointwise(x: Any) -> float:
    """Small operators and a reduction."""
    return ((x + 1) * 2 - x).add(x * 5).mul(x > -1).sum().item() + x.t().reshape(-1)[1].item()


@program(lambda folder: torch.arange(200_000.0), lambda x, y: y.tolist() == [199999.0, 199998.0], threads=True)
def large(x: Any) -> Any:
    """Operators with memory from the system, by several threads, and a sort."""
    torch.set_num_threads(2)
    return (torch.cat([x, x + 0]).view(2, -1)[0].sort(descending=True).values * 1.0)[:2]


@program(
    lambda folder: (torch.ones(64, 64), torch.ones(1, 3, 8, 8), torch.nn.Conv2d(3, 4, 3)),
    lambda x, y: y[0] == 64 * 64 * 64,
)
def products(ready: Any) -> Any:
    """oneDNN: a product and a convolution."""
    a, image, layer = ready
    with torch.no_grad():
        return (a @ a).sum().item(), layer(image).shape


@program(lambda folder: torch.eye(6) * 2 + 1, lambda x, y: bool(torch.allclose(x @ y, torch.eye(6), atol=1e-5)))
def factorisation(x: Any) -> Any:
    """OpenBLAS: an inverse."""
    torch.linalg.eigvalsh(x)
    return torch.linalg.inv(x)


@program(lambda folder: torch.ones(3, 2, requires_grad=True), lambda x, y: x.grad.tolist() == [[6.0, 6.0]] * 3)
def backward(x: Any) -> None:
    """A graph with views, a write in place, hooks and a function of the user's."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * 2

        @staticmethod
        def backward(ctx, grad):
            (value,) = ctx.saved_tensors
            return grad * 2

    y = Twice.apply(x.view(6)).view(3, 2)
    y = y.clone()
    y[0].mul_(1)
    y.register_hook(lambda grad: grad * 3)
    loss = y.sum()
    torch.autograd.grad(loss, x, retain_graph=True)
    loss.backward()


def _model(folder: Path) -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    return model, torch.optim.Adam(model.parameters()), torch.ones(3, 4)


def _is_trained(ready: Any, loss: Any) -> bool:
    return all(bool(torch.isfinite(each).all()) for each in ready[0].parameters()) and loss > 0


@program(_model, _is_trained)
def training(ready: Any) -> float:
    """Two steps of Adam."""
    model, optimizer, x = ready
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@program(lambda folder: torch.arange(24.0).view(2, 3, 4), lambda x, y: y == [[23.0, 22.0], 13.0, (12, 2)])
def subscripts(x: Any) -> Any:
    """Indexing of all kinds, masks, writes."""
    copy = x.clone()
    copy[torch.tensor([0, 1]), :, [1, 2]] = 7
    copy[copy > 20] = 1
    copy[..., None, ::2]
    return [x[[1, 1], 2, [3, 2]].tolist(), x[1][0, 1].item(), tuple(x[x > -1].view(12, 2).shape)]


def _with_old_file(folder: Path) -> Any:
    path = folder / "a.pt"
    torch.save({"a": torch.zeros(1000), "old": True}, path)
    return path, {"a": torch.ones(1000), "old": False}


def _file_is_whole(ready: Any) -> None:
    path, new = ready
    found = torch.load(path)
    expected = torch.zeros(1000) if found["old"] else new["a"]
    if not torch.equal(found["a"], expected):
        raise AssertionError("the file is neither the old one nor the new one")
    if os.listdir(path.parent) != [path.name]:
        raise AssertionError(f"left behind: {sorted(os.listdir(path.parent))}")


def _is_new(ready: Any, result: Any) -> bool:
    return not torch.load(ready[0])["old"]


@program(_with_old_file, _is_new, after=_file_is_whole)
def save(ready: Any) -> None:
    """A file that takes the place of another."""
    path, new = ready
    torch.save(new, path)


@program(_with_old_file, _is_new, after=_file_is_whole)
def save_the_old_format(ready: Any) -> None:
    """The same, without an archive."""
    path, new = ready
    torch.save(new, path, _use_new_zipfile_serialization=False)


@program(_with_old_file, lambda ready, found: found[0]["old"] and found[1]["a"].sum().item() == 0, after=_file_is_whole)
def load(ready: Any) -> Any:
    """A file, read and mapped."""
    return torch.load(ready[0]), torch.load(ready[0], mmap=True)


@program(lambda folder: torch.arange(1000.0), lambda x, y: torch.equal(x, y))
def streams(x: Any) -> Any:
    """A file in memory, and Python's own pickles."""
    stream = io.BytesIO()
    torch.save(x, stream)
    stream.seek(0)
    return pickle.loads(pickle.dumps(torch.load(stream)))


class _Squares(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return torch.full((20_000,), float(index * index))


@program(lambda folder: _Squares(), lambda x, y: y == [0.0, 1, 4, 9, 16, 25, 36, 49])
def loader(dataset: Any) -> Any:
    """Batches made in the same process."""
    return [batch[0, 0].item() for batch in torch.utils.data.DataLoader(dataset, batch_size=1)]


@program(lambda folder: _Squares(), lambda x, y: y == [0.0, 4, 16, 36], threads=True)
def loader_with_workers(dataset: Any) -> Any:
    """Batches from two processes, by shared memory."""
    return [
        batch[0, 0].item() for batch in torch.utils.data.DataLoader(dataset, batch_size=2, num_workers=2, timeout=15)
    ]


@program(lambda folder: None, lambda x, y: y == (b"1", 3), threads=True)
def store(ready: Any) -> Any:
    """A store's server and a client."""
    from datetime import timedelta

    made = torch.distributed.TCPStore("127.0.0.1", 0, 1, True, timeout=timedelta(seconds=5))
    made.set("a", "1")
    made.wait(["a"])
    return made.get("a"), made.add("n", 3)


@program(lambda folder: folder / "store", lambda x, y: y == 3.0, threads=True)
def group(path: Path) -> float:
    """A group of one: its mesh, and a collective."""
    from datetime import timedelta

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{path}-{os.getpid()}", rank=0, world_size=1, timeout=timedelta(seconds=5)
    )
    try:
        x = torch.full((1000,), 3.0)
        torch.distributed.all_reduce(x)
        return x[0].item()
    finally:
        torch.distributed.destroy_process_group()


@program(lambda folder: torch.ones(5), lambda x, y: y == 10.0 * 2, threads=True)
def threads(x: Any) -> float:
    """Threads of Python's."""
    results: list[float] = []
    made = [threading.Thread(target=lambda: results.append((x * 2).sum().item())) for _ in range(2)]
    started = []
    try:
        for thread in made:
            thread.start()
            started.append(thread)
    finally:
        for thread in started:
            thread.join()
    if len(results) != len(made):
        raise RuntimeError("a thread ended with an error")
    return sum(results)


@program(lambda folder: torch.ones(4), lambda x, y: y.tolist() == [3.0] * 4)
def schemas(x: Any) -> Any:
    """Operators that are defined, called, and gone."""
    with torch.library._scoped_library("faults", "FRAGMENT") as library:
        library.define("twice(Tensor x, int[2] n=[1, 2], *, str? word='a') -> Tensor")
        library.impl("twice", lambda x, n=(1, 2), word=None: x + n[1], "CPU")
        return torch.ops.faults.twice(x)


def _compiled(x: Any) -> Any:
    return (x.sin() + x.cos()).view(-1)[:2] * 2


@program(lambda folder: torch.zeros(3), lambda x, y: y.tolist() == [2.0, 2.0])
def compiled(x: Any) -> Any:
    """A function that is captured and lowered."""
    torch.compiler.reset()
    return torch.compile(_compiled, backend="aot_eager")(x)


def _whole(x: Any, kept: list[float]) -> Any:
    for factor in (1.0, 2.0):
        kept.append(factor)
    slopes = torch.vmap(torch.func.grad(lambda row: (row * row).sum()))(x)
    return (slopes * kept[-1] + 1).relu().sum(0)


@program(
    lambda folder: (torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)),
    lambda ready, y: y == [[10.0] * 3, [1.0, 2.0]] and ready[1].grad.tolist() == [[4.0] * 3] * 2,
)
def compiled_whole(ready: Any) -> Any:
    """A graph without breaks by the default back end: transforms and writes to lists inside, and its gradients."""
    torch.compiler.reset()
    x, leaf = ready
    leaf.grad = None
    kept: list[float] = []
    function = torch.compile(_whole, fullgraph=True)
    result = function(x, kept).tolist()
    function(leaf, []).sum().backward()
    return [result, kept]


@program(lambda folder: torch.arange(8.0), lambda x, y: y.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0])
def lowered_ahead(x: Any) -> Any:
    """Forward and backward, lowered before they run."""
    from mindtorch_v2._functorch.aot_autograd import aot_function

    leaf = x.detach().requires_grad_()
    aot_function(lambda value: (value * value + value).sum(), lambda module, inputs: module)(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


@program(lambda folder: torch.ones(2, 3), lambda x, y: y.shape == (3, 3))
def traced(x: Any) -> Any:
    """A graph of fx, made and run."""
    return torch.fx.symbolic_trace(lambda x: torch.mm(x.t(), x).relu())(x)


@program(lambda folder: torch.ones(2, 3), lambda x, y: y[0].shape == (4, 3) and y[1].tolist() == [3.0, 3.0])
def transforms(x: Any) -> Any:
    """vmap and grad."""
    torch.func.grad(lambda value: value.sin().sum())(x)
    return torch.vmap(lambda row: row * 2)(torch.cat([x, x])), torch.vmap(torch.sum)(x)


@program(lambda folder: numpy.arange(6.0).reshape(2, 3), lambda x, y: y == 15.0)
def exchange(array: Any) -> float:
    """Memory of NumPy's and of capsules'."""
    made = torch.from_numpy(array)
    again = torch.from_dlpack(made)
    torch.frombuffer(bytearray(16), dtype=torch.float32)
    torch.asarray([[1, 2], [3, 4]])
    return float(again.numpy().sum())


@program(lambda folder: torch.tensor([[0.0, 2], [3, 0]]), lambda x, y: torch.equal(x, y))
def sparse(x: Any) -> Any:
    """Both layouts, and back."""
    return (x.to_sparse() + x.to_sparse_csr().to_dense().to_sparse()).coalesce().to_dense() / 2


@program(lambda folder: torch.ones(10), lambda x, y: y.shape == (10,))
def random_numbers(x: Any) -> Any:
    """Generators and their states."""
    generator = torch.Generator()
    generator.set_state(generator.manual_seed(3).get_state())
    torch.randperm(5, generator=generator)
    return torch.nn.functional.dropout(torch.rand(10, generator=generator) + torch.normal(x, x))


@program(lambda folder: torch.arange(5000.0), lambda x, y: torch.equal(x, y))
def shared(x: Any) -> Any:
    """Memory that processes share."""
    return x.clone().share_memory_().clone()


@program(lambda folder: (folder / "p.pt2", torch.ones(2, 4)), lambda x, y: y.shape == (2, 2))
def export(ready: Any) -> Any:
    """A program that is exported, written, read and run."""
    path, x = ready
    torch.export.save(torch.export.export(torch.nn.Linear(4, 2), (x,)), path)
    return torch.export.load(path).module()(x)


@program(lambda folder: torch.ones(3), lambda x, y: "aten::add" in y)
def profile(x: Any) -> str:
    """A table of the profiler's."""
    with torch.profiler.profile() as made:
        x + x
    return made.key_averages().table()
