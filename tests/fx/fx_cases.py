"""The programs behind `fx_cases.json`: each does one thing with `torch.fx` and says what it saw, as text or plain values."""

import contextlib
import io
import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.nn import functional as F

CASES: dict[str, Callable[[], Any]] = {}


def case(program: Callable) -> Callable:
    CASES[program.__name__] = program
    return program


def printed(function: Callable) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function()
    return out.getvalue()


def caught(function: Callable) -> str:
    try:
        result = function()
    except Exception as error:  # noqa: BLE001  (any class: it is what is compared)
        return f"{type(error).__name__}: {error}"
    return f"no error: {result}"


def both(module: Any) -> str:
    return f"{module.code}\n{module.graph}"


def of(function: Callable, **options: Any) -> str:
    return both(fx.symbolic_trace(function, **options))


class Pair(NamedTuple):
    a: Any
    b: Any


@fx.wrap
def leaf_function(x, n=1):
    return x * n if n > 0 else -x


fx.wrap("len")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)
        self.seq = nn.Sequential(nn.Linear(5, 5), nn.ReLU())
        self.register_buffer("buf", torch.ones(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.linear(x + self.param).clamp(min=0.0, max=1.0)
        return self.seq(h) + self.buf


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = Block()
        self.two = nn.ModuleList([Block(), nn.ReLU()])

    def forward(self, x, scale: float = 2.0):
        x = self.one(x)[:, :4]
        for module in self.two:
            x = module(x)
        return x * scale


# ---- tracing ----


@case
def module():
    return both(fx.symbolic_trace(Block()))


@case
def nested_modules():
    traced = fx.symbolic_trace(Outer())
    return both(traced) + str(traced)


@case
def functions_of_nn():
    def f(x, w):
        a = F.relu(x) + F.gelu(x) + F.softmax(x, dim=-1) + F.dropout(x, 0.1, False)
        b = F.linear(x, w) + F.layer_norm(x, (4,)) + F.silu(a, inplace=True) + F.hardtanh(a)
        c = F.conv2d(a, w) + F.max_pool2d(b, 2) + F.adaptive_avg_pool2d(a, (1, 1)) + F.pad(b, (1, 1))
        d = F.cross_entropy(c, w) + F.mse_loss(c, w) + F.embedding(x, w) + F.normalize(x) + F.interpolate(x, 2)
        return d, F.scaled_dot_product_attention(x, w, w), F.max_pool1d(x, 2, return_indices=True), F.threshold(x, 1, 2)

    return of(f)


@case
def functions_of_torch():
    def f(x, y):
        a = torch.cat([x, y], dim=1) + torch.stack((x, y)) + torch.einsum("ij,jk->ik", x, y) + torch.where(x > 0, x, y)
        b = torch.linalg.norm(x) + torch.special.expit(y) + torch.fft.fft(x) + torch.norm(x) + torch.split(x, 2)[0]
        c, d = torch.max(x, dim=1)
        e = torch.meshgrid(x, y, indexing="ij")
        return a, b, c, d, e, torch.zeros_like(x, dtype=torch.float16), torch.full((2,), 1.0), torch._assert(x, "text")

    return of(f)


@case
def operators_of_python():
    def f(x, y):
        a = x + y - y * x / 2 // 3 % 4**x @ y
        b = (x == y) & (x != y) | (x < 1) ^ (x > 1)
        c = (x <= 1, x >= 1, -x, +x, ~x, x << 1, x >> 2, abs(x), round(math.pi))
        d = 1 + x, 1 - x, 2 * x, 2 / x, 2 // x, 2 % x, 2**x
        x += 1
        return a, b, c, d, x[1:, None, ..., ::2], y[x]

    return of(f)


@case
def methods_and_attributes():
    def f(x):
        n, c = x.shape
        y = x.view(n, -1).float().to(torch.int64).to("cpu", non_blocking=True)
        z = y.T.mean(dim=(0, 1), keepdim=True).shape[0]
        return y.size(0) + z, x.dtype, x.sizes(k=[c, {"a": n}]), x.grad

    return of(f)


@case
def tensor_on_the_left():
    t = torch.ones(2)

    def f(x):
        return t + x, t * x, t @ x, t.add(x), t == x, torch.add(t, x)

    return of(f)


@case
def constants():
    def f(x):
        a = x + torch.tensor([1.0, 2.0])
        return (
            a + torch.tensor(3),
            x.to(torch.bfloat16),
            float("inf"),
            float("nan"),
            torch.device("cpu"),
            slice(1, None),
            None,
            ...,
        )

    return of(f)


@case
def names():
    def f(x, add, relu_1, self_):
        add_1 = x + add
        list_ = torch.add(add_1, 1)
        return torch.relu(list_), torch.relu(x).relu(), x.and_thenCamelCase(), operator.add(x, relu_1)

    return of(f)


@case
def signature():
    def f(x: torch.Tensor, *, y: Optional[int] = None, z: "list[torch.Tensor]" = ()):
        return x, y, z

    def g(x, *args, **kwargs):
        return x, args, kwargs

    def h(x: list[torch.Tensor], y: dict[str, int], z: int | None, w: tuple[()] = ()) -> tuple[torch.Tensor, int]:
        return x, y, z

    return [of(f), of(g), of(h)]


@case
def concrete_arguments():
    def f(x, flag, n=3, y=None):
        for _ in range(n):
            x = x + 1 if flag else x - 1
        return x if y is None else x + y

    return [
        of(f, concrete_args={"flag": True, "n": 3}),
        of(f, concrete_args={"flag": False, "n": 2, "y": None}),
        of(f, concrete_args={"flag": 0, "n": 1, "y": "text"}),
    ]


@case
def concrete_tree():
    def f(x, pair):
        a, (b, c) = pair["a"], pair["b"]
        return {"r": x + a * b, "s": [c]}

    traced = fx.symbolic_trace(f, concrete_args={"pair": {"a": fx.PH, "b": (fx.PH, fx.PH)}})
    out = traced(torch.ones(2), {"a": torch.ones(2), "b": (torch.ones(2), torch.zeros(2))})
    return (
        both(traced),
        out["r"].tolist(),
        out["s"][0].tolist(),
        str(traced.graph.process_inputs(1, {"a": 2, "b": (3, 4)})),
    )


@case
def concrete_fails():
    def f(x, flag):
        return x if flag else -x

    traced = fx.symbolic_trace(f, concrete_args={"flag": True})
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        return traced(torch.ones(1), True).tolist(), caught(lambda: traced(torch.ones(1), False))


@case
def wrapped_functions():
    def f(x):
        return leaf_function(x, n=2) + leaf_function(torch.ones(2)), len(x), math.sqrt(x), math.floor(2.5)

    traced = fx.symbolic_trace(f)
    return traced.code.replace("tests_fx_", ""), [node.meta for node in traced.graph.nodes if node.meta], len([1, 2])


@case
def custom_tracer():
    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Block) or super().is_leaf_module(m, name)

    class Through(fx.Tracer):
        def is_leaf_module(self, m, name):
            return False

    root = Outer()
    stacks = {
        node.name: {key: (path, kind.__name__) for key, (path, kind) in node.meta.get("nn_module_stack", {}).items()}
        for node in Through().trace(root).nodes
    }
    return str(Leaves().trace(root)), str(Through().trace(root)), stacks


@case
def parameter_shapes():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x.view(self.p.shape[0], -1) if self.p.dim() == 2 else x

    tracer = fx.Tracer(param_shapes_constant=True)
    return str(tracer.trace(M()))


@case
def containers():
    def f(x):
        pair = Pair(x, x + 1)
        return pair, {"a": [x, (pair.b,)], 2: x}, range(3)

    return of(f).replace("fx_cases_", "")


@case
def errors_while_tracing():
    def branch(x):
        return x if x.sum() > 0 else -x

    def loop(x):
        return [y for y in x]

    def star(x):
        return torch.add(*x)

    def keys(x):
        return {x: 1}

    def unknown(x):
        return torch.relu(x), object

    def length(x):
        return builtins_len(x)

    def boolean(x):
        return bool(x) or int(x)

    class Other(nn.Module):
        def forward(self, x):
            return Block()(x)

    builtins_len = lambda v: v.__len__()
    functions = [branch, loop, star, unknown, length, boolean]
    said = [caught(lambda f=f: fx.symbolic_trace(f)) for f in functions]
    return said, caught(lambda: fx.symbolic_trace(Other())), fx._symbolic_trace.is_fx_tracing()


@case
def wrap_errors():
    return caught(lambda: fx.wrap(3)), caught(lambda: fx.wrap("len"))


@case
def proxyable_class():
    class TwoOf(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def total(self):
            return self.left + self.right

    graph = fx.Tracer().trace(lambda x: TwoOf(x, 1).total())
    return [(n.op, n.name, str(n.args)) for n in graph.nodes], TwoOf(1, 2).total()


@case
def running():
    model = Outer()
    traced = fx.symbolic_trace(model)
    x = torch.arange(12.0).reshape(3, 4) / 10
    return (
        torch.equal(model(x), traced(x)),
        traced(x, 3.0).tolist() == model(x, 3.0).tolist(),
        traced(x).sum().grad_fn is not None,
    )


@case
def error_in_generated_code():
    def f(x, y):
        a = x + 1
        b = a @ y
        return b * 2

    traced = fx.symbolic_trace(f)
    err = io.StringIO()
    with contextlib.redirect_stderr(err):
        said = caught(lambda: traced(torch.ones(2, 3), torch.ones(2, 3)))
    text = err.getvalue()
    return said, text[text.index("Call using") :]
