"""The programs behind `fx_graph_cases.json`: graphs made by hand, graph modules, interpreters and passes."""

import copy
import operator
import pickle
import warnings
from collections.abc import Callable
from typing import Any

from fx_cases import Block, Outer, Pair, both, caught, leaf_function, printed

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.split_module import split_module

CASES: dict[str, Callable[[], Any]] = {}


def case(program: Callable) -> Callable:
    CASES[program.__name__] = program
    return program


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
