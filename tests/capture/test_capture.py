"""`capture`: graphs of whole functions, and the guards under which they hold."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._capture import Uncapturable, capture

FLAG = 3


class Settings:
    rounds = 2


SETTINGS = Settings()


def scaled(x, k=2):
    return x * k


def program(x, y, *, s=1.0):
    z = torch.relu(x) + y
    if FLAG > 2:
        z = z * s
    for i in range(SETTINGS.rounds):
        z += scaled(z, k=i + 1)
    a, (b, c) = z.shape[0], z.split(1)[:2]
    d = {"a": z, "n": [a, b.sum()]}
    with torch.no_grad():
        d["q"] = c.detach() + 1
    return d


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected) and found.requires_grad == expected.requires_grad
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            same(f, e)
    else:
        assert found == expected


def test_a_function_with_containers_and_state(monkeypatch):
    args, kwargs = (torch.randn(2, 3, requires_grad=True), torch.ones(3)), {"s": 2.0}
    captured = capture(program, args, kwargs)
    same(captured.run(captured.graph, args, kwargs), program(*args, **kwargs))
    assert captured.guards.check(args, kwargs)
    assert not captured.guards.check(args, {"s": 2})
    monkeypatch.setattr(SETTINGS, "rounds", 3, raising=False)
    assert not captured.guards.check(args, kwargs)
    monkeypatch.undo()
    assert captured.guards.check(args, kwargs)
    monkeypatch.setattr(f"{__name__}.FLAG", 1)
    assert not captured.guards.check(args, kwargs)
    assert "FLAG" in captured.guards.failures(args, kwargs)[0]


def test_what_depends_on_values_is_refused_with_its_line():
    def branches(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(Uncapturable) as caught:
        capture(branches, (torch.ones(2),), {})
    assert caught.value.kind == "data_dependent"
    assert caught.value.location[0] == __file__
    assert caught.value.location[2].strip() == "if x.sum() > 0:"


def test_what_programs_tell_the_compiler():
    @torch.compiler.disable
    def disabled(x):
        return x + 1

    with pytest.raises(Uncapturable) as caught:
        capture(lambda x: disabled(x) * 2, (torch.ones(2),), {})
    assert caught.value.kind == "disabled"

    @torch.compiler.allow_in_graph
    def allowed(x):
        return torch.sin(x) + 1

    captured = capture(lambda x: allowed(x) * 2, (torch.ones(2),), {})
    assert [node.target for node in captured.graph.graph.nodes if node.op == "call_function"][0] is allowed

    inner = torch.compile(lambda x: x.sin() + 1, backend="eager")
    captured = capture(lambda x: inner(x) * 2, (torch.ones(2),), {})
    assert any(node.target == "sin" for node in captured.graph.graph.nodes)
    assert capture(lambda x: x if torch.compiler.is_compiling() else -x, (torch.ones(2),), {}).example_inputs == []


def test_sizes_that_change_become_dynamic_once():
    def f(x, y):
        b, n = x.shape
        parts = x.view(b, n // 2, 2).split(1, dim=-1)
        scale = 1 / b if n % 2 == 0 else 1.0
        return (parts[0].squeeze(-1) * scale).sum(dim=1) @ torch.ones(b, y.shape[0]), b * 2, x.shape, list(range(n))

    captures = []
    for b, n in ((2, 4), (3, 4), (7, 4), (9, 4), (7, 4)):
        args = (torch.randn(b, n), torch.randn(5))
        found = [c for c in captures if c.guards.check(args, {})]
        if not found:
            captures.append(capture(f, args, {}, previous=captures))
            found = captures[-1:]
            assert found[0].guards.check(args, {})
        same(found[0].run(found[0].graph, args, {}), f(*args))
    assert len(captures) == 2
    assert not captures[-1].guards.check((torch.randn(1, 4), torch.randn(5)), {})  # 1 is special
    assert not captures[-1].guards.check((torch.randn(3, 6), torch.randn(5)), {})  # this one was always 4


def test_a_decision_by_a_dynamic_size_is_kept():
    def f(x):
        return x * 2 if x.shape[0] > 4 else x - x.shape[0]

    captured = capture(f, (torch.ones(3),), {}, dynamic=True)
    for n in (2, 4):
        assert captured.guards.check((torch.ones(n),), {})
        same(captured.run(captured.graph, (torch.ones(n),), {}), f(torch.ones(n)))
    assert not captured.guards.check((torch.ones(5),), {})
    assert "decides" in captured.guards.failures((torch.ones(5),), {})[0]


def test_marks_of_sizes():
    x = torch.ones(3, 4)
    torch._dynamo.mark_dynamic(x, 0)
    captured = capture(lambda x: x * x.shape[0], (x,), {})
    assert captured.guards.check((torch.ones(5, 4),), {})
    assert not captured.guards.check((torch.ones(3, 5),), {})
    torch._dynamo.mark_static(x, 0)
    assert not capture(lambda x: x * 2, (x,), {}, dynamic=True).guards.check((torch.ones(5, 4),), {})


def test_a_graph_reads_well():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 3)

        def forward(self, x):
            with torch.no_grad():
                return torch.relu(self.linear(x))

    captured = capture(Net(), (torch.ones(1, 2),), {})
    nodes = captured.graph.graph.nodes
    assert [node.name for node in nodes if node.op == "placeholder"] == [
        "l_x_",
        "l_self_modules_linear_parameters_weight_",
        "l_self_modules_linear_parameters_bias_",
    ]
    assert "F.linear" in captured.graph.code or "linear(" in captured.graph.code
    assert "return torch.relu(self.linear(x))" in next(n for n in nodes if n.name == "relu").stack_trace
    assert any("L['self'].linear.weight is a Parameter" in line for line in captured.guards.lines)
    captured.graph.graph.lint()


def test_nothing_is_computed_or_changed_by_a_capture():
    net = torch.nn.BatchNorm1d(3)
    x = torch.randn(4, 3)
    state = torch.get_rng_state()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    capture(lambda x: torch.nn.functional.dropout(net(x)).add_(1), (x,), {})
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])
    assert torch.is_grad_enabled() and x._version == 0


def test_a_capture_under_a_mode_is_refused():
    x = torch.ones(2)
    with torch.overrides.TorchFunctionMode(), pytest.raises(Uncapturable) as caught:
        capture(lambda x: x, (x,), {})
    assert caught.value.kind == "mode"


def test_functions_without_source_are_refused():
    space = {"ITEMS": [1]}
    exec("def f(x): return x + ITEMS[0]", space)
    with pytest.raises(Uncapturable) as caught:
        capture(space["f"], (torch.ones(2),), {})
    assert caught.value.kind == "no_source"


def test_functions_within_others_on_one_line_are_told_apart():
    def made(make):
        return make()

    within = [
        made(lambda: lambda x: x * 2),
        made(lambda: lambda x: (lambda y: y * 2)(x)),
        made(lambda: lambda *x: (lambda x: x * 2)(*x)),
        made(lambda: lambda x, k=2: (lambda *, x, k: x * k)(x=x, k=k)),
    ]
    assert [torch.compile(f, fullgraph=True)(torch.ones(1)).item() for f in within] == [2] * 4


def test_a_tensor_made_of_a_dynamic_size_has_no_known_value():
    def f(x):
        return x * torch.tensor(x.shape[0]).item()

    assert capture(f, (torch.ones(3),), {}, dynamic=False).guards.check((torch.ones(3),), {})
    with pytest.raises(Uncapturable) as caught:
        capture(f, (torch.ones(3),), {}, dynamic=True)
    assert caught.value.kind == "data_dependent"
