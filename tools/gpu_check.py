"""Check and measure a GPU: values against the CPU, random numbers, bandwidth, products, host time, training.

    python tools/gpu_check.py --out ours.json                    # mindtorch_v2
    python tools/gpu_check.py --package torch --out theirs.json  # PyTorch for CUDA, where it is installed: the same measurements
    python tools/gpu_check.py --compare ours.json theirs.json    # both beside each other

Times are CUDA events around many launches, medians of five; host times are wall time of launches that nobody waits for.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import operator
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

torch: Any = None
results: dict[str, Any] = {}


def note(name: str, value: Any) -> None:
    """Keep a result, and say it at once: a run may be cut short."""
    results[name] = value
    print(f"{name}: {value}", flush=True)


def section(function: Callable[[], None]) -> None:
    """Run one part; an error of it is a result too."""
    try:
        function()
    except Exception as error:  # noqa: BLE001  (the parts behind it still count)
        note(f"error in {function.__name__}", f"{type(error).__name__}: {str(error)[:600]}")
        traceback.print_exc()


def milliseconds(body: Callable[[], Any], repeats: int = 20) -> float:
    """The device's time of one call: the median of five measurements of `repeats` calls each."""
    for _ in range(3):
        body()
    torch.cuda.synchronize()
    found = []
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            body()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) / repeats)
    return statistics.median(found)


def device() -> None:
    """The device's properties."""
    told = torch.cuda.get_device_properties(0)
    note("device", {"name": told.name, "multiprocessors": told.multi_processor_count, "memory": told.total_memory})


def random_numbers() -> None:
    """First and last numbers of draws after a seed."""
    draws: dict[str, Callable[[int], Any]] = {
        "rand": lambda n: torch.rand(n, device="cuda"),
        "rand float64": lambda n: torch.rand(n, device="cuda", dtype=torch.float64),
        "rand bfloat16": lambda n: torch.rand(n, device="cuda", dtype=torch.bfloat16),
        "rand float16": lambda n: torch.rand(n, device="cuda", dtype=torch.float16),
        "uniform_": lambda n: torch.empty(n, device="cuda").uniform_(-2, 3),
        "randn": lambda n: torch.randn(n, device="cuda"),
        "randn float64": lambda n: torch.randn(n, device="cuda", dtype=torch.float64),
        "normal_ bfloat16": lambda n: torch.empty(n, device="cuda", dtype=torch.bfloat16).normal_(1, 2),
        "randint": lambda n: torch.randint(0, 1000, (n,), device="cuda"),
        "randint wide": lambda n: torch.randint(0, 1 << 40, (n,), device="cuda"),
        "random_ int32": lambda n: torch.empty(n, device="cuda", dtype=torch.int32).random_(),
        "random_ float32": lambda n: torch.empty(n, device="cuda").random_(),
        "bernoulli_": lambda n: torch.empty(n, device="cuda").bernoulli_(0.3),
        "bernoulli": lambda n: torch.bernoulli(torch.full((n,), 0.3, device="cuda")),
        "exponential_": lambda n: torch.empty(n, device="cuda").exponential_(2.0),
        "cauchy_": lambda n: torch.empty(n, device="cuda").cauchy_(),
        "log_normal_": lambda n: torch.empty(n, device="cuda").log_normal_(),
        "geometric_": lambda n: torch.empty(n, device="cuda").geometric_(0.3),
        "dropout": lambda n: torch.nn.functional.dropout(torch.ones(n, device="cuda"), 0.3),
        "randperm": lambda n: torch.randperm(n, device="cuda"),
        "multinomial": lambda n: torch.multinomial(torch.ones(n, device="cuda"), 4),
    }
    for name, draw in draws.items():
        for n in (10, 1000, 3_000_000):
            torch.manual_seed(11)
            try:
                x = draw(n).double()
                second = draw(n).double()
                note(f"seeded {name} {n}", [*x[:4].tolist(), *x[-3:].tolist(), *second[:3].tolist()])
            except Exception as error:  # noqa: BLE001  (it is a result too)
                note(f"seeded {name} {n}", f"{type(error).__name__}: {str(error)[:200]}")


def bandwidth() -> None:
    """Bytes moved by the device's memory, in GB/s."""
    n = 1 << 26
    functional = torch.nn.functional
    cases: dict[str, tuple[Any, int]] = {}
    made: Any
    for name, dtype, size in (("float32", torch.float32, 4), ("bfloat16", torch.bfloat16, 2)):
        x, y = torch.randn(n, device="cuda", dtype=dtype), torch.randn(n, device="cuda", dtype=dtype)
        out = torch.empty_like(x)
        m, rows = x.view(-1, 1024), x.view(-1, 8192)
        weight, bias = torch.randn(1024, device="cuda", dtype=dtype), torch.randn(1024, device="cuda", dtype=dtype)
        made = {
            f"copy {name}": (lambda x=x, out=out: out.copy_(x), 2 * n * size),
            f"add {name}": (lambda x=x, y=y, out=out: torch.add(x, y, out=out), 3 * n * size),
            f"mul by a number {name}": (lambda x=x, out=out: torch.mul(x, 2.5, out=out), 2 * n * size),
            f"gelu {name}": (lambda x=x: functional.gelu(x), 2 * n * size),
            f"add of a row {name}": (lambda m=m, bias=bias: m + bias, 2 * n * size),
            f"sum {name}": (lambda x=x: x.sum(), n * size),
            f"sum of rows {name}": (lambda m=m: m.sum(1), n * size),
            f"sum of columns {name}": (lambda m=m: m.sum(0), n * size),
            f"max of rows {name}": (lambda m=m: m.amax(1), n * size),
            f"softmax 1024 {name}": (lambda m=m: torch.softmax(m, 1), 2 * n * size),
            f"softmax 8192 {name}": (lambda rows=rows: torch.softmax(rows, 1), 2 * n * size),
            f"layer_norm {name}": (
                lambda m=m, w=weight, b=bias: functional.layer_norm(m, (1024,), w, b),
                2 * n * size,
            ),
            f"transposed copy {name}": (lambda m=m: m.t().contiguous(), 2 * n * size),
        }
        cases |= made
    for name, (body, nbytes) in cases.items():
        try:
            note(f"GB/s {name}", round(nbytes / milliseconds(body) / 1e6, 1))
        except Exception as error:  # noqa: BLE001  (it is a result too)
            note(f"GB/s {name}", f"{type(error).__name__}: {str(error)[:200]}")


def products() -> None:
    """Products of matrices, in TFLOP/s."""
    functional = torch.nn.functional
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16), ("float32", torch.float32)):
        n = 8192 if dtype != torch.float32 else 4096
        a, b = torch.randn(n, n, device="cuda", dtype=dtype), torch.randn(n, n, device="cuda", dtype=dtype)
        bias = torch.randn(n, device="cuda", dtype=dtype)
        note(
            f"TFLOP/s mm {name} {n}",
            round(2 * n**3 / milliseconds(functools.partial(operator.matmul, a, b), 5) / 1e9, 1),
        )
        note(
            f"TFLOP/s linear {name} {n}",
            round(2 * n**3 / milliseconds(functools.partial(functional.linear, a, b, bias), 5) / 1e9, 1),
        )
    q, k, v = (torch.randn(8, 16, 2048, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    try:
        attention = functional.scaled_dot_product_attention
        note(
            "ms attention 8x16x2048x64 bfloat16 causal",
            round(milliseconds(lambda: attention(q, k, v, is_causal=True), 5), 3),
        )
    except Exception as error:  # noqa: BLE001  (it is a result too)
        note("ms attention", f"{type(error).__name__}: {str(error)[:200]}")


def host_time() -> None:
    """Microseconds of the host for one call of a small operator."""
    x, y = torch.randn(64, device="cuda"), torch.randn(64, device="cuda")
    out = torch.empty_like(x)
    w = torch.randn(64, 64, device="cuda")
    cases: dict[str, Callable[[], Any]] = {
        "add, out given": lambda: torch.add(x, y, out=out),
        "add": lambda: x + y,
        "add_": lambda: out.add_(y),
        "relu": lambda: torch.relu(x),
        "sum": lambda: x.sum(),
        "mm": lambda: w @ w,
        "empty": lambda: torch.empty(64, device="cuda"),
    }
    for name, body in cases.items():
        found = []
        for _ in range(200):
            body()
        for _ in range(5):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(1000):
                body()
            found.append((time.perf_counter() - start) * 1e3)
        note(f"us {name}", round(statistics.median(found), 2))
    torch.cuda.synchronize()


def training() -> None:
    """Losses of a small transformer on the GPU and on the CPU, and the time of a step, eager and captured."""
    nn, functional = torch.nn, torch.nn.functional
    Module: Any = nn.Module

    class Block(Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            q, k, v = self.qkv(self.first(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            scores = (q @ k.transpose(-1, -2) / math.sqrt(c // self.heads)).softmax(-1)
            x = x + self.out((scores @ v).transpose(1, 2).reshape(b, t, c))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    class Model(Module):
        def __init__(self, width: int = 256, layers: int = 4) -> None:
            super().__init__()
            self.embed = nn.Embedding(1000, width)
            self.blocks = nn.ModuleList([Block(width, 4) for _ in range(layers)])
            self.head = nn.Linear(width, 1000)

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    def losses(where: str) -> list[float]:
        torch.manual_seed(3)
        model = Model()
        tokens = torch.randint(0, 1000, (4, 65))
        model, tokens = model.to(where), tokens.to(where)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        found = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(tokens[:, :-1]).reshape(-1, 1000), tokens[:, 1:].reshape(-1))
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
        return [float(each) for each in found]

    ours, there = losses("cpu"), losses("cuda")
    note("losses on the GPU", [round(each, 5) for each in there])
    note("greatest difference of 20 losses to the CPU", max(abs(a - b) for a, b in zip(ours, there, strict=True)))
    model = Model(768, 12).cuda()
    tokens = torch.randint(0, 1000, (8, 128), device="cuda")
    note("ms forward of 12 layers, 8 x 128 tokens", round(milliseconds(lambda: model(tokens), 5), 3))
    with torch.no_grad():
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                expected = model(tokens)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            found = model(tokens)
        graph.replay()
        note("greatest difference of a captured forward", float((found - expected).abs().max()))
        note("ms captured forward of 12 layers", round(milliseconds(graph.replay, 5), 3))


def compare(first: str, second: str) -> None:
    """Print two results beside each other."""
    with open(first) as a, open(second) as b:
        ours, theirs = json.load(a), json.load(b)
    for name, value in ours.items():
        other = theirs.get(name)
        ratio = ""
        if isinstance(value, (int, float)) and isinstance(other, (int, float)) and other:
            ratio = f"  {value / other:.2f}"
        same = "  same" if value == other else ""
        if isinstance(value, list) and isinstance(other, list) and value != other:
            ratio = f"  differs by {max((abs(x - y) for x, y in zip(value, other)), default=0):.3g}"
        print(f"{name}: {value} | {other}{ratio}{same}")


PARTS = (device, random_numbers, host_time, bandwidth, products, training)


def main() -> None:
    """See the module."""
    global torch
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", default="mindtorch_v2", help="mindtorch_v2 or torch")
    parser.add_argument("--out", help="a file for the results, as JSON")
    parser.add_argument("--parts", default=",".join(p.__name__ for p in PARTS))
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    given = parser.parse_args()
    if given.compare:
        compare(*given.compare)
        return
    torch = importlib.import_module(given.package)
    for part in PARTS:
        if part.__name__ in given.parts.split(","):
            section(part)
            if given.out:
                with open(given.out, "w") as file:
                    json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
