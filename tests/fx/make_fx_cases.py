"""The programs behind `make_fx_cases.json`: what `make_fx` records below autograd."""

from collections.abc import Callable
from typing import Any

from fx_cases import both, caught

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from mindtorch_v2.fx.passes.fake_tensor_prop import FakeTensorProp

CASES: dict[str, Callable[[], Any]] = {}


def case(program: Callable) -> Callable:
    CASES[program.__name__] = program
    return program


def x23() -> Any:
    return torch.arange(6.0).reshape(2, 3)


@case
def pointwise():
    def f(x, y):
        return torch.sin(x) * y + torch.relu(x) - y

    return [both(make_fx(f, tracing_mode=mode)(x23(), x23())) for mode in ("real", "fake")]


@case
def results_of_many_kinds():
    def f(x):
        a, b = torch.max(x, 1)
        c = torch.split(x, 1, 1)
        return {"a": a, "b": [b, c[1]], "n": 3}, (x, None), torch.topk(x, 2).indices

    made = make_fx(f)(x23())
    out = made(x23())
    return made.code, out[0]["b"][1].tolist(), out[0]["n"], type(out[0]).__name__, out[2].tolist()


@case
def nested_arguments():
    def f(tree, z):
        return tree["a"] * tree["b"][0] + z, tree["c"]

    tree = {"a": torch.ones(2), "b": [torch.ones(2)], "c": 3}
    made = make_fx(f)(tree, torch.ones(2))
    return made.code, made(tree, torch.ones(2))[0].tolist()


@case
def variadic():
    def f(*args):
        return args[0] * args[1]

    return make_fx(f)(torch.ones(2), torch.ones(2)).code, make_fx(torch.sin)(torch.ones(2)).code


@case
def views():
    def f(x):
        return x.view(3, 2).t()[0].unsqueeze(0).expand(4, 3).transpose(0, 1).detach().permute(1, 0).select(0, 1)

    return [make_fx(f, tracing_mode=mode)(x23()).code for mode in ("real", "fake")]


@case
def writes():
    def f(x, y):
        z = x.clone()
        z.mul_(y)
        z[0].copy_(y[1])
        w = torch.empty(2, 3)
        torch.sin(z, out=w)
        x.relu_()
        return z, w

    made = make_fx(f)(x23() - 3, x23())
    x = x23() - 3
    out = made(x, x23())
    return made.code, [t.tolist() for t in out], x.tolist()


@case
def constants():
    t = torch.ones(3)

    def f(x):
        return x * t + torch.tensor([1.0, 2.0, 3.0]), t

    made = make_fx(f)(x23())
    return made.code, sorted(name for name, _ in made.named_buffers()), made(x23())[0].tolist()


@case
def factories():
    def f(x):
        return x * torch.ones(3), torch.zeros_like(x), x.new_zeros(2), torch.full((2,), 1.5), torch.arange(3)

    return make_fx(f)(x23()).code


@case
def dead_results():
    def f(x):
        torch.sin(x)
        torch.cos(x).add_(x)
        return torch.exp(x)

    return make_fx(f)(x23()).code


@case
def values_are_refused():
    def item(x):
        return x * x.sum().item()

    def branch(x):
        return x if x.sum() > x.mean() else -x

    def number(x):
        return torch.full((2,), float(x[0, 0]))

    return [caught(lambda f=f: make_fx(f)(x23())) for f in (item, branch, number)]


@case
def known_values():
    def f(x):
        n = torch.tensor(2)
        return x.sum(n.item() - 1)

    return make_fx(f)(x23()).code


@case
def gradients():
    def f(x, w):
        w = w.detach().requires_grad_()
        y = torch.sigmoid(x @ w).sum()
        return torch.autograd.grad(y, w)

    made = make_fx(f)(x23(), torch.ones(3, 2))
    w = torch.full((3, 2), 0.5, requires_grad=True)
    expected = torch.autograd.grad(torch.sigmoid(x23() @ w).sum(), w)[0]
    got = made(x23(), w.detach())[0]
    return torch.allclose(got, expected), "tensor_constant" in made.code


@case
def what_nodes_know():
    made = make_fx(lambda x: torch.sum(torch.sin(x.t()), 0), tracing_mode="fake")(x23())
    return [
        (
            node.name,
            str(node.target),
            type(node.meta.get("val")).__name__,
            list(node.meta["val"].shape) if "val" in node.meta else None,
            list(node.meta["tensor_meta"].stride) if "tensor_meta" in node.meta else None,
        )
        for node in made.graph.nodes
    ]


@case
def readable():
    return make_fx(lambda x: torch.sin(x) * x)(x23()).print_readable(print_output=False)


@case
def parameters_of_modules():
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(3), nn.Tanh())
    made = make_fx(lambda x: model(x) * model[0].weight)(x23())
    return sorted(name for name, _ in made.named_parameters()), torch.allclose(
        made(x23()), model(x23()) * model[0].weight
    )


@case
def decompositions():
    def silu(x):
        return x * torch.sigmoid(x)

    table = {torch.ops.aten.silu.default: silu}
    return [make_fx(lambda x: torch.nn.functional.silu(x), decomposition_table=t)(x23()).code for t in (None, table)]


@case
def modes():
    seen = []

    def f(x):
        mode = get_proxy_mode()
        seen.append(type(mode).__name__)
        return torch.sin(x)

    make_fx(f)(x23())
    return seen, get_proxy_mode() is None


@case
def inside_fake_mode():
    with FakeTensorMode() as mode:
        x = mode.from_tensor(x23())
        made = make_fx(lambda x: torch.sin(x).sum())(x)
    return made.code, type(made.graph.find_nodes(op="placeholder")[0].meta["val"]).__name__


@case
def closed_over_real_in_fake():
    t = torch.ones(3)
    return (
        caught(lambda: make_fx(lambda x: x * t, tracing_mode="fake")(x23())),
        make_fx(lambda x: x * t, tracing_mode="fake", _allow_non_fake_inputs=True)(x23()).code,
        caught(lambda: make_fx(lambda x: x, tracing_mode="none")(x23())),
    )


@case
def propagated():
    graph_module = fx.symbolic_trace(lambda x, n: torch.max(x * n, dim=1))
    out = FakeTensorProp(graph_module).propagate(x23(), 2)
    return [(n.name, str(n.meta.get("val"))) for n in graph_module.graph.nodes][:-2], str(tuple(out))


@case
def custom_operators():
    lib = torch.library.Library("make_fx_cases", "FRAGMENT")
    lib.define("swap(Tensor x, Tensor y, float s=1.0) -> (Tensor, Tensor)")
    lib.impl("swap", lambda x, y, s=1.0: (y * s, x * s), "CPU")
    torch.library.register_fake(
        "make_fx_cases::swap", lambda x, y, s=1.0: (torch.empty_like(y), torch.empty_like(x)), lib=lib
    )
    lib.define("inplace(Tensor(a!) x, Tensor y) -> ()")
    lib.impl("inplace", lambda x, y: x.add_(y) and None, "CPU")
    torch.library.register_fake("make_fx_cases::inplace", lambda x, y: None, lib=lib)

    def f(x, y):
        a, b = torch.ops.make_fx_cases.swap(x, y, 2.0)
        z = a.clone()
        torch.ops.make_fx_cases.inplace(z, b)
        return z

    return [make_fx(f, tracing_mode=mode)(torch.ones(2), torch.ones(2)).code for mode in ("fake",)]


@case
def retraced():
    made = make_fx(lambda x, y: torch.sin(x) + y)(x23(), x23())
    again = make_fx(made)(x23(), x23())
    return again.code, str(again.graph) == str(made.graph)
