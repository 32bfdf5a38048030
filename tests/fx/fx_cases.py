"""The programs behind `fx_cases.json`: each does one thing with `torch.fx` and says what it saw, as text or plain values."""

import contextlib
import copy
import io
import math
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.split_module import split_module
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


# ---- graphs by hand ----


def small() -> Any:
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=torch.Tensor)
    y = graph.placeholder("y", default_value=2)
    a = graph.call_function(torch.add, (x, y), {"alpha": 2})
    b = graph.call_method("relu", (a,))
    c = graph.call_function(operator.getitem, (b, (slice(None, 2, None), 0)))
    graph.output([b, {"c": c}])
    return graph


@case
def six_forms():
    graph = fx.Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("w.inner")
    m = graph.call_module("layers.0", (x,), {"scale": 1.0})
    f = graph.call_function(torch.nn.functional.relu, (m,), {"inplace": False})
    h = graph.create_node("call_method", "add_", (f, w), name="custom", type_expr=torch.Tensor)
    graph.output((h, f))
    graph.lint()
    return str(graph), graph.python_code("self").src, graph.python_code("root").src, [n.op for n in graph.nodes]


@case
def node_facts():
    graph = small()
    rows = []
    for node in graph.nodes:
        rows.append([node.name, node.op, str(node.args), str(node.kwargs), [u.name for u in node.users], [n.name for n in node.all_input_nodes],
                     node.format_node(), node.prev.name, node.next.name, node.is_impure(), node.stack_trace, repr(node)])  # fmt: skip
    nodes = list(graph.nodes)
    return (
        rows,
        nodes[0] < nodes[1],
        nodes[3] > nodes[1],
        nodes[1] <= nodes[1],
        len(graph.nodes),
        [n.name for n in reversed(graph.nodes)],
    )


@case
def node_changes():
    graph = small()
    x, y, a, b, c, _ = graph.nodes
    a.update_arg(1, 5)
    said = [str(graph)]
    a.update_kwarg("alpha", 3)
    a.insert_arg(1, x)
    b.args = (y,)
    said.append(str(graph))
    said.append(str(y.replace_all_uses_with(x)))
    c.replace_input_with(b, a)
    said.append(str(graph))
    said.append(caught(lambda: a.args.append(1)))
    said.append(caught(lambda: a.kwargs.update(b=1)))
    said.append(caught(lambda: c.args[1].append(1)))
    said.append(caught(lambda: a.insert_arg(9, 1)))
    b.name = "renamed"
    c.type = int
    said.append(graph.python_code("self").src)
    x.meta["a"] = 1
    said.append(caught(lambda: b.replace_all_uses_with(x, propagate_meta=True)))
    said.append(str(a.replace_all_uses_with(b, delete_user_cb=lambda n: n is not b)))
    return said + [str(graph)]


@case
def moving_nodes():
    graph = small()
    x, y, a, b, c, out = graph.nodes
    y.append(x)
    said = [[n.name for n in graph.nodes]]
    a.prepend(b)
    said.append([n.name for n in graph.nodes])
    said.append(caught(graph.lint))
    said.append(b < a)
    return said, caught(lambda: a.prepend(next(iter(small().nodes))))


@case
def inserting():
    graph = small()
    x, y, a, b, c, out = graph.nodes
    with graph.inserting_before(b):
        new = graph.call_function(torch.neg, (a,))
        graph.call_function(torch.neg, (new,))
    with graph.inserting_after(a):
        graph.call_method("first", (a,))
        graph.call_method("second", (a,))
    with graph.inserting_before():
        graph.placeholder("begin")
    with graph.inserting_after(out):
        graph.call_function(torch.ones, (2,))
    other = fx.Graph()
    return (
        [n.name for n in graph.nodes],
        caught(lambda: other.inserting_before(a)),
        caught(lambda: other.inserting_after(a)),
    )


@case
def erasing():
    graph = small()
    x, y, a, b, c, out = graph.nodes
    said = [caught(lambda: graph.erase_node(a)), caught(lambda: fx.Graph().erase_node(out))]
    graph.erase_node(out)
    graph.erase_node(c)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        graph.erase_node(c)
    for node in reversed(graph.nodes):
        graph.erase_node(node)
    return said, str(warned[0].message), str(graph), len(graph.nodes), list(b.users)


@case
def dead_code():
    def f(x, unused):
        torch.neg(x)
        y = torch.relu(x).relu()
        y.sum()
        x.add_(1)
        torch._assert(x.sum(), "kept")
        torch.rand(2)
        leaf_function(x)
        return x

    graph = fx.Tracer().trace(f)
    with_ops = fx.Graph()
    x = with_ops.placeholder("x")
    with_ops.call_function(torch.ops.aten.add_.Tensor, (x, 1))
    with_ops.call_function(torch.ops.aten.add.Tensor, (x, 1))
    with_ops.output(x)
    return (
        graph.eliminate_dead_code(),
        str(graph),
        graph.eliminate_dead_code(),
        with_ops.eliminate_dead_code(),
        str(with_ops),
    )


@case
def lint_errors():
    said = []
    graph, other = small(), small()
    x, y, a, b, c, out = graph.nodes
    b.args = (next(iter(other.nodes)),)
    said.append(caught(graph.lint))
    graph = small()
    x, y, a, b, c, out = graph.nodes
    c.name = "x"
    said.append(caught(graph.lint))
    graph = fx.Graph()
    graph.output(graph.get_attr("no.such"))
    traced = fx.symbolic_trace(Block())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with traced.graph.inserting_before():
            traced.graph.get_attr("no.such")
            traced.graph.get_attr("nothing")
            said.append(caught(lambda: traced.graph.call_module("no_such")))
    said += [str(w.message) for w in warned]
    said.append(caught(traced.graph.lint))
    said.append(caught(lambda: fx.Graph().call_function("text")))
    said.append(caught(lambda: fx.Graph().create_node("no_op", "x")))
    said.append(caught(lambda: fx.Graph().create_node("call_method", len)))
    said.append(caught(lambda: fx.Graph().create_node("call_method", "x", [1])))
    said.append(caught(lambda: fx.Graph().create_node("call_method", "x", (1,), [1])))
    return [text.replace("mindtorch_v2", "torch") for text in said]


@case
def copies():
    graph = small()
    new = fx.Graph()
    value = new.graph_copy(graph, {})
    new.output(value)
    again = copy.deepcopy(graph)
    third = fx.Graph()
    mapped = {}
    for node in graph.nodes:
        mapped[node] = third.node_copy(node, lambda n: mapped[n])
    return str(new), str(again), str(third), all(n.graph is again for n in again.nodes), str(value)


@case
def finding():
    graph = small()
    return (
        [n.name for n in graph.find_nodes(op="placeholder")],
        [n.name for n in graph.find_nodes(op="call_function", target=torch.add)],
        [n.name for n in graph.find_nodes(op="call_method", target="relu")],
        caught(lambda: graph.find_nodes(op="call_function")),
        graph.output_node().name,
    )


@case
def code_transformers():
    traced = fx.symbolic_trace(lambda x: x + 1)
    with traced.graph.on_generate_code(lambda current: lambda body: ["print('hello')\n", *body]):
        inside = traced.recompile().src
    traced.graph.on_generate_code(lambda current: lambda body: [*(current(body) if current else body), "# end\n"])
    return (
        inside,
        traced.recompile().src,
        traced.graph.python_code("self").globals.keys() - {"x"} and sorted(traced.graph.python_code("self").globals),
    )


@case
def map_arguments():
    graph = small()
    x, y = list(graph.nodes)[:2]
    tree = (x, [y, {"a": x, "b": slice(x, 1, None)}], Pair(x, 1))
    mapped = fx.map_arg(tree, lambda n: n.name)
    return (
        str(mapped),
        type(mapped[1]).__name__,
        type(mapped[1][1]).__name__,
        type(mapped[2]).__name__,
        caught(lambda: fx.map_arg(tree, 3)),
    )


@case
def proxies_by_hand():
    graph = fx.Graph()
    x, y = (fx.Proxy(graph.placeholder(name)) for name in "xy")
    out = torch.relu(x) + y.size(0) * torch.nn.functional.softmax(y, dim=-1)
    graph.output((out.node, x.shape.node))
    other = fx.Proxy(fx.Graph().placeholder("z"))
    said = caught(lambda: torch.add(x, other))
    return (
        str(graph),
        repr(out),
        repr(x.attr),
        said[: said.index("[")],
        caught(lambda: list(x)),
        caught(lambda: bool(x)),
    )


@case
def operators_as_targets():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(torch.ops.aten.add.Tensor, (x, x), {"alpha": 2})
    b = graph.call_function(torch.ops.aten.relu, (a,))
    p = fx.Proxy(b)
    q = torch.ops.aten.mul.Tensor(p, p)
    graph.output((q.node, torch.ops.aten.sum(p).node))
    module = fx.GraphModule({}, graph)
    out = module(torch.ones(2))
    return both(module), out[0].tolist(), out[1].item()


# ---- graph modules ----


@case
def from_dict():
    graph = fx.Graph()
    x = graph.placeholder("x")
    w = graph.get_attr("deep.weight")
    graph.output(graph.call_module("act", (graph.call_function(torch.add, (x, w)),)))
    module = fx.GraphModule({"deep.weight": torch.tensor([1.0]), "act": nn.ReLU()}, graph, "Named")
    return (
        module(torch.tensor([-3.0])).tolist(),
        [name for name, _ in module.named_buffers()],
        type(module).__name__,
        str(module),
        caught(lambda: fx.GraphModule({}, graph)),
        caught(lambda: fx.GraphModule(3, graph)),
    )


@case
def reassigned_graph():
    traced = fx.symbolic_trace(lambda x: x + 1)
    traced.graph = fx.Tracer().trace(lambda x: x * 5)
    before = traced.code
    for node in traced.graph.nodes:
        if node.target is operator.mul:
            node.target = operator.sub
    stale = traced(torch.ones(1)).tolist()
    traced.recompile()

    def assign():
        traced.graph = 3

    return before, stale, traced(torch.ones(1)).tolist(), caught(assign).replace("mindtorch_v2", "torch")


@case
def submodules():
    traced = fx.symbolic_trace(Outer())
    said = [
        traced.add_submodule("new.deep.layer", nn.ReLU()),
        traced.add_submodule("one.param.layer", nn.ReLU()),
        traced.delete_submodule("two.1"),
        traced.delete_submodule("no.such"),
        traced.delete_submodule("one.param"),
        [name for name, _ in traced.named_modules()],
    ]
    traced.delete_all_unused_submodules()
    return said, [name for name, _ in traced.named_modules()]


@case
def pickled_and_copied():
    model = Block()
    traced = fx.symbolic_trace(model)
    traced.meta["note"] = "kept"
    x = torch.ones(3, 4)
    loaded = pickle.loads(pickle.dumps(traced))
    twin = copy.deepcopy(traced)
    twin.param.data.zero_()
    shallow = copy.copy(traced)
    return (
        torch.equal(loaded(x), traced(x)),
        loaded.code == traced.code,
        str(loaded.graph) == str(traced.graph),
        torch.equal(twin(x), traced(x)),
        torch.equal(traced(x), model(x)),
        twin.meta,
        shallow.param is traced.param,
        type(twin).__name__,
        sorted(loaded.state_dict()),
    )


@case
def readable():
    traced = fx.symbolic_trace(Outer())
    ShapeProp(traced).propagate(torch.ones(3, 4))
    text = traced.print_readable(print_output=False)
    graph = fx.Graph()
    x = graph.placeholder("x")
    inner = fx.symbolic_trace(lambda x: x + 1)
    y = graph.call_module("inner", (x,))
    y.meta["val"] = torch.ones(2, 3)[:, ::2]
    y.stack_trace = '  File "model.py", line 3, in forward\n    y = self.inner(x)\n'
    z = graph.call_function(torch.neg, (y,))
    z.meta.update(val=torch.ones(1, dtype=torch.int64), custom={"key": "v" * 50}, seq_nr=4)
    graph.output(z)
    nested = fx.GraphModule({"inner": inner}, graph)
    return (
        text,
        printed(nested.print_readable),
        nested.print_readable(False, include_stride=True, include_device=True, additional_meta=["seq_nr"]),
        nested.print_readable(False, colored=True),
        nested.print_readable(False, expanded_def=True),
        [node.format_node(include_tensor_metadata=True) for node in graph.nodes],
    )


@case
def hooks():
    heard = []
    traced = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    created, erased = (lambda n: heard.append(("created", n.name))), (lambda n: heard.append(("erased", n.name)))
    traced._register_create_node_hook(created)
    traced._register_erase_node_hook(erased)
    with traced._set_replace_hook(lambda old, new, user: heard.append((old.name, new, user.name))):
        x, relu, add, out = traced.graph.nodes
        with traced.graph.inserting_after(relu):
            new = traced.graph.call_function(torch.sigmoid, (x,))
        relu.replace_all_uses_with(new)
        traced.graph.erase_node(relu)
    traced._unregister_create_node_hook(created)
    traced.graph.call_function(torch.neg, (new,))
    return heard, caught(lambda: traced._register_erase_node_hook(3))


# ---- interpreters and passes ----


@case
def interpreting():
    class Log(fx.Interpreter):
        seen: list = []

        def run_node(self, n):
            self.seen.append((n.name, len(self.env)))
            return super().run_node(n)

    traced = fx.symbolic_trace(Outer())
    x = torch.ones(3, 4)
    run = Log(traced)
    out = run.run(x)
    nodes = list(traced.graph.nodes)
    skipped = fx.Interpreter(traced).run(x, initial_env={nodes[-2]: 7})
    return torch.equal(out, traced(x)), Log.seen, skipped, torch.equal(fx.Interpreter(traced).boxed_run([x, 2.0]), out)


@case
def interpreter_errors():
    traced = fx.symbolic_trace(lambda x, y: torch.relu(x) @ y)
    broken = fx.Graph()
    broken.output(broken.get_attr("no.such"))
    holder = nn.Module()
    said = (
        caught(lambda: fx.Interpreter(traced).run(torch.ones(2))),
        caught(lambda: fx.Interpreter(traced).run(torch.ones(2, 3), torch.ones(2, 3))),
        caught(lambda: fx.Interpreter(holder, graph=broken).run()),
        caught(lambda: fx.Interpreter(traced).boxed_run([1])),
    )
    return [text.partition("\nUse tlparse")[0] for text in said]


@case
def transforming():
    class Swap(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is operator.add:
                return torch.sub(*args, **kwargs)
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return super().call_method("clamp_min" if target == "clamp" else target, args[:1], {"min": 0})

    traced = fx.symbolic_trace(Block())
    return both(Swap(traced).transform())


@case
def shapes():
    traced = fx.symbolic_trace(lambda x: torch.max(x.transpose(1, 2), dim=1))
    ShapeProp(traced).propagate(torch.ones(2, 3, 4))
    broken = fx.symbolic_trace(lambda x: x @ x)
    return (
        [(n.name, str(n.meta.get("tensor_meta")), n.meta["type"].__name__) for n in traced.graph.nodes],
        caught(lambda: ShapeProp(broken).propagate(torch.ones(2, 3))).partition("\nUse tlparse")[0],
    )


@case
def patterns():
    def program(x, w1, w2):
        m1 = torch.cat([w1, w2]).sum()
        m2 = torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)

    traced = fx.symbolic_trace(program)
    matches = fx.replace_pattern(
        traced, lambda w1, w2: torch.cat([w1, w2]).sum(), lambda w1, w2: torch.stack([w1, w2]).sum()
    )
    return traced.code, [(m.anchor.name, {k.name: v.name for k, v in m.nodes_map.items()}) for m in matches]


@case
def patterns_of_many_kinds():
    def program(x, y):
        a = torch.relu(x + 1)
        b = torch.relu(a + 1)
        c = torch.neg(y)
        d = torch.relu(c + 2)
        e, f = torch.neg(b), torch.sigmoid(b)
        return a, d, e * f

    def replaced(pattern, replacement):
        traced = fx.symbolic_trace(program)
        matches = fx.replace_pattern(traced, pattern, replacement)
        traced.graph.lint()
        return len(matches), traced.code

    return (
        replaced(lambda x: torch.relu(x + 1), lambda x: torch.tanh(x)),
        replaced(lambda x, n: torch.relu(x + n), lambda x, n: torch.tanh(x) * n),
        replaced(lambda b: torch.neg(b) * torch.sigmoid(b), lambda b: b),
        replaced(lambda b: (torch.neg(b), torch.sigmoid(b)), lambda b: (b, torch.exp(b))),
        replaced(lambda b: torch.exp(b), lambda b: b),
        replaced(lambda x: x + 2, lambda x: x),
    )


@case
def patterns_with_modules():
    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 5)

        def forward(self, x):
            return self.linear(x).clamp(min=0.0, max=1.0)

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.other = nn.Linear(4, 5)

        def forward(self, x):
            return self.other(x)

    traced = fx.symbolic_trace(Block())
    fx.replace_pattern(traced, Pattern(), fx.symbolic_trace(Replacement()))
    return both(traced), [name for name, _ in traced.named_modules()]


@case
def patterns_with_filters():
    traced = fx.symbolic_trace(lambda x: torch.relu(x + 1) + torch.relu(x + 3))
    done = fx.subgraph_rewriter.replace_pattern_with_filters(
        traced,
        lambda x: torch.relu(x + 1),
        lambda x: torch.neg(x),
        [lambda match, graph, pattern: True],
        ignore_literals=True,
    )
    return traced.code, [[n.name for n in each.replacements] for each in done]


@case
def splitting():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.linear = nn.Linear(4, 5)
            self.p = nn.Parameter(torch.ones(3, 4))

        def forward(self, x, y):
            a = self.linear(x + self.p).relu()
            b = a + self.linear(y)
            return a.sum(), torch.tanh(b) * b

    model = M()
    traced = fx.symbolic_trace(model)
    count = iter(range(100))
    split = split_module(traced, model, lambda node: min(next(count) // 3, 2))
    x, y = torch.ones(3, 4), torch.ones(3, 4)
    same = [torch.equal(a, b) for a, b in zip(split(x, y), model(x, y))]
    return split.code, [(name, child.code) for name, child in split.named_children()], same
