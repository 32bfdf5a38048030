"""Open sizes: symbolic numbers, ShapeEnv, and graphs of operators that serve other sizes.

Texts of expressions are PyTorch 2.13's, with s0 and s1 in the place of its names of symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._sizes.same_graph import NotOneGraph
from mindtorch_v2._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from mindtorch_v2.func import functionalize
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.fx.experimental.symbolic_shapes import (
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    StatelessSymbolicContext,
    free_symbols,
    guard_int,
    guard_or_false,
    is_symbolic,
    statically_known_true,
)
from mindtorch_v2.graph import verify

F = nn.functional


def _symbolic(*shapes: tuple) -> list:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    return [mode.from_tensor(torch.ones(shape)) for shape in shapes]


ARITHMETIC = {
    "torch.sym_min(a, 3)": "Min(3, s0)",
    "torch.sym_max(a, b)": "Max(s0, s1)",
    "a * b + 3 * a - 1": "s0*s1 + 3*s0 - 1",
    "a - b": "s0 - s1",
    "(a + 1) // 2": "((s0 + 1)//2)",
    "(a + 1) % 2": "Mod(s0 + 1, 2)",
    "a ** 2": "s0**2",
    "2 - a": "2 - s0",
    "-a": "-s0",
    "a // 1": "s0",
    "(2 * a * b) // b": "2*s0",
    "(4 * a) % 2": "0",
    "a * 2 + 1": "2*s0 + 1",
    "torch.sym_float(a)": "ToFloat(s0)",
    "torch.sym_int(a / 2)": "TruncToInt(IntTrueDiv(s0, 2))",
    "a / b": "IntTrueDiv(s0, s1)",
    "a * 1.5": "1.5*ToFloat(s0)",
    "torch.sym_sum([a, 2])": "s0 + 2",
    "a >= 3": "s0 >= 3",
    "3 < a": "s0 > 3",
    "a != 3": "Ne(s0, 3)",
    "a == b": "Eq(s0, s1)",
    "torch.sym_not(a == 5)": "Ne(s0, 5)",
}


@pytest.mark.parametrize("text", ARITHMETIC)
def test_numbers_are_expressions(text: str) -> None:
    x, _ = _symbolic((4, 5), (4, 5))
    a, b = x.shape
    assert isinstance(a, torch.SymInt) and not isinstance(a, int)
    result = eval(text, {"torch": torch, "a": a, "b": b})
    assert str(result) == ARITHMETIC[text]
    assert x.fake_mode.shape_env.guards == []
    expected = eval(text, {"torch": torch, "a": 4, "b": 5})
    if result is not expected:
        assert result.node.hint == expected and type(result.node.hint) is type(expected)


def test_decisions_are_guards() -> None:
    x, y = _symbolic((4, 5), (5, 1))
    env = x.fake_mode.shape_env
    assert y.shape[1] == 1 and type(y.shape[1]) is int  # 0 and 1 are never symbols
    assert y.shape[0] == x.shape[1]  # equal sizes are one symbol
    assert x.shape[0] >= 2 and statically_known_true(x.shape[0] > 1)
    assert env.guards == []
    assert x.shape[0] > 3
    assert not x.shape[1] > 7
    assert not statically_known_true(x.shape[1] > 4)
    assert x.shape[0] > 2  # follows
    assert min(x.shape[0], 100) is not None
    assert env.format_guards() == " - s0 > 3\n - s1 <= 7\n - s0 <= 100"
    assert f"{__file__}:" in env.format_guards(verbose=True)
    assert is_symbolic(x.shape[0]) and free_symbols(x) == {"s0", "s1"}
    assert list(range(x.shape[0])) == [0, 1, 2, 3]
    assert str(env.guards[-1].expr) == "Eq(s0, 4)"
    assert type(x.shape[0]) is int and not is_symbolic(x.shape[0])
    assert guard_int(x.shape[1]) == 5 and env.replacements == {"s0": 4, "s1": 5}
    with pytest.raises(TypeError, match="unhashable type: non-nested SymInt"):
        hash(_symbolic((3,))[0].shape[0])
    assert math.sqrt(_symbolic((4,))[0].shape[0]) == 2


def test_checks_are_guards() -> None:
    (x,) = _symbolic((4,))
    torch._check(x.shape[0] > 3)
    with pytest.raises(RuntimeError, match="mine"):
        torch._check(x.shape[0] > 30, lambda: "mine")
    assert x.fake_mode.shape_env.format_guards() == " - s0 > 3\n - s0 <= 30"


def test_sizes_of_results() -> None:
    x, z = _symbolic((4, 5), (5, 7))
    env = x.fake_mode.shape_env
    results = {
        "[s0, s2]": x @ z,
        "[2*s0, s1]": torch.cat([x, x]),
        "[s0*s1]": x.flatten(),
        "[s1, s0]": x.t(),
        "[s0 - 1, s1]": x[1:],
        "[3, s0, s1]": x.expand(3, -1, -1),
        "[s0 + s2, 2]": F.pad(x, (0, 0, 0, z.shape[1]))[:, :2],
        "[s0, 1, s1]": x.unsqueeze(1),
    }
    assert [str(list(r.shape)) for r in results.values()] == list(results)
    assert x.t().stride() == (1, x.shape[1]) and env.guards == []
    assert repr(x) == "FakeTensor(..., size=(s0, s1))"
    with x.fake_mode:
        assert str(torch.zeros(x.shape[0] * 2, 3).shape) == "torch.Size([2*s0, 3])"
        assert str(torch.arange(x.numel()).shape) == "torch.Size([s0*s1])"
        assert str(nn.Linear(5, 3).weight.shape) == "torch.Size([3, 5])"
    assert str(F.max_pool1d(x, 2).shape) == "torch.Size([s0, (s1//2)])"


def test_gradients_have_symbolic_sizes() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(torch.ones(4, 5, requires_grad=True))
    (x.sin() * 2).sum().backward()
    assert x.grad.shape == x.shape and str(x.grad.shape) == "torch.Size([s0, s1])"
    assert str(torch.autograd.grad(x.exp().sum(), x)[0].shape) == "torch.Size([s0, s1])"
    assert mode.shape_env.guards == []


def test_contexts_say_what_is_static() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.STATIC, DimDynamic.DYNAMIC, DimDynamic.DYNAMIC])
    assert str(mode.from_tensor(torch.ones(4, 4, 4), symbolic_context=context).shape) == "torch.Size([4, s0, s1])"
    assert mode.from_tensor(torch.ones(4, 4), static_shapes=True).shape == (4, 4)
    with pytest.raises(AssertionError, match="shape_env"):
        FakeTensorMode(static_shapes=False)


def test_values_of_data() -> None:
    x = _symbolic((4,))[0].long()
    count = x.sum().item()
    assert str(count) == "u0" and count.node.hint is None
    with pytest.raises(GuardOnDataDependentSymNode, match="Could not guard on data-dependent expression u0 > 3"):
        bool(count > 3)
    assert guard_or_false(count > 3) is False
    torch._check_is_size(count)
    env = x.fake_mode.shape_env
    assert [str(each.expr) for each in env.deferred_runtime_asserts] == ["u0 >= 0"]
    with x.fake_mode:
        assert str(torch.zeros(count, 3).shape) == "torch.Size([u0, 3])"
    for decided in (lambda: bool(x.sum() > 0), lambda: x.double().sum().item()):
        with pytest.raises(DataDependentOutputException):
            decided()


# ---- graphs ----


def _gradient(x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    loss = (x.sin().view(x.shape[0], -1).mean(0)[1:]).sum()
    return torch.autograd.grad(loss, x)[0]


def _writes(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[: x.shape[0] // 2].mul_(2)
    y.view(-1)[1:].add_(1)
    return y.sum(0)


def _attention(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-1, -2) / k.shape[1] ** 0.5
    mask = torch.ones(q.shape[1], k.shape[1]).tril()
    return F.softmax(scores.masked_fill(mask == 0, -1e9), -1) @ k


PROGRAMS: dict[str, tuple[Callable, list, list]] = {
    "views": (lambda x: x.view(x.shape[0] * x.shape[1], -1).t().reshape(-1, 2), [(4, 5, 6)], [(2, 3, 8), (7, 2, 4)]),
    "inferred": (lambda x: x.flatten(1).unflatten(1, (-1, 3)).transpose(0, 2), [(4, 5, 3)], [(6, 2, 3)]),
    "factories": (lambda x: torch.arange(x.shape[1]) + torch.zeros(x.shape) + x.new_ones(x.size(0), 1), [(4, 5)], [(2, 9)]),
    "gradient": (_gradient, [(4, 5, 6)], [(3, 2, 7), (9, 3, 2)]),
    "gradient of means": (
        lambda x: torch.func.grad(lambda y: (F.layer_norm(y, (6,)) ** 2).mean())(x), [(4, 6)], [(7, 6), (3, 6)],
    ),
    "matmul": (lambda x, y: x @ y + x.shape[1] * y.shape[0], [(4, 5), (5, 5)], [(2, 3), (3, 3)]),
    "attention": (_attention, [(2, 5, 4), (2, 5, 4)], [(3, 7, 6), (3, 7, 6)]),
    "convolution": (
        lambda x, w: F.conv2d(x, w, padding=1, stride=2).flatten(1), [(4, 3, 16, 11), (8, 3, 3, 3)], [(2, 3, 13, 9), (5, 3, 3, 3)],
    ),
    "writes": (_writes, [(4, 5)], [(7, 3), (2, 2)]),
    "functionalized": (functionalize(_writes), [(4, 5)], [(6, 3)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), [(2, 3, 4), (2, 4, 5)], [(3, 6, 7), (3, 7, 2)]),
    "halves": (lambda x: torch.cat(x.chunk(2), 1) * x.shape[0], [(4, 5)], [(8, 3), (2, 6)]),
    "numbers": (lambda x: (x.sum() / x.shape[0], x.shape[0] * 2 - 1, torch.sym_max(x.shape[0], 3)), [(4, 5)], [(2, 3)]),
}  # fmt: skip


def _same(first: object, second: object) -> bool:
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(_same, first, second))
    return torch.equal(first, second) if isinstance(first, torch.Tensor) else first == second


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_serves_other_sizes(name: str) -> None:
    function, seen, others = PROGRAMS[name]
    count = len(seen)
    module = make_fx(function, tracing_mode="symbolic")(*map(torch.rand, seen))
    verify(module)
    shown = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    assert "aten.sym_size.int" in module.code
    for start in range(0, len(others), count):
        shapes = [*others[start : start + count]]
        args = [torch.rand(shape) for shape in shapes]
        assert module.shape_env.evaluate_guards_for_args(shown, args)
        assert _same(module(*args), function(*args)), shapes
    assert _same(module(*(args := list(map(torch.rand, seen)))), function(*args))


def test_the_code_says_sizes_once() -> None:
    module = make_fx(lambda x: x.view(x.shape[0] * x.shape[1]) + x.shape[0], tracing_mode="symbolic")(torch.ones(4, 5))
    assert module.code.split("\n", 3)[3].strip() == (
        "def forward(self, x_1):\n"
        "    sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)\n"
        "    sym_size_int_1 = torch.ops.aten.sym_size.int(x_1, 1)\n"
        "    mul = sym_size_int * sym_size_int_1;  sym_size_int_1 = None\n"
        "    view = torch.ops.aten.view.default(x_1, [mul]);  x_1 = mul = None\n"
        "    add = torch.ops.aten.add.Tensor(view, sym_size_int);  view = sym_size_int = None\n"
        "    return add"
    )
    values = {node.name: str(node.meta["val"]) for node in module.graph.nodes if "val" in node.meta}
    assert values["mul"] == "s0*s1" and values["view"] == "FakeTensor(..., size=(s0*s1,))"


def test_guards_of_a_graph() -> None:
    def branches(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.shape[0] > 3 else x + 1

    module = make_fx(branches, tracing_mode="symbolic")(torch.ones(4))
    shown = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    assert module.shape_env.format_guards() == " - s0 > 3"
    assert [module.shape_env.evaluate_guards_for_args(shown, [torch.ones(n)]) for n in (9, 4, 3, 1)] == [
        True, True, False, False,
    ]  # fmt: skip


def test_sizes_that_kernels_compare_are_fixed() -> None:
    weight = torch.rand(5, 3)
    module = make_fx(lambda x: x @ weight, tracing_mode="symbolic", _allow_non_fake_inputs=True)(torch.ones(4, 5))
    assert module.shape_env.format_guards() == " - Eq(s1, 5)"
    x = torch.rand(7, 5)
    assert torch.equal(module(x), x @ weight)


def test_what_is_asked_below_torch_functions_is_seen() -> None:
    # The shapes of functional tensors are plain ints; the guard is found by running the program again.
    module = make_fx(functionalize(lambda x: x * 2 if x.shape[0] < 50 else x), tracing_mode="symbolic")(torch.ones(4))
    shown = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    assert module.shape_env.guards == []
    assert module.shape_env.evaluate_guards_for_args(shown, [torch.ones(49)])
    assert not module.shape_env.evaluate_guards_for_args(shown, [torch.ones(50)])


def test_loops_over_a_size_fix_it() -> None:
    module = make_fx(lambda x: sum(x[i] for i in range(x.shape[0])), tracing_mode="symbolic")(torch.ones(3, 2))
    assert module.shape_env.format_guards() == " - Eq(s0, 3)"
    assert torch.equal(module(torch.ones(3, 5)), torch.full((5,), 3.0))


def test_numbers_may_be_arguments() -> None:
    module = make_fx(lambda x, n: x.view(n, -1) * n, tracing_mode="symbolic")(torch.ones(4, 6), 4)
    assert torch.equal(module(torch.ones(4, 6), 3), torch.full((3, 8), 3.0))


def test_an_element_may_be_a_size() -> None:
    module = make_fx(lambda x: torch.ones(x.sum().item(), 3), tracing_mode="symbolic")(torch.tensor([2, 3]))
    assert module(torch.tensor([1, 1, 2])).shape == (4, 3)
    with pytest.raises(GuardOnDataDependentSymNode):
        make_fx(lambda x: x * 2 if x.sum().item() > 3 else x, tracing_mode="symbolic")(torch.tensor([2, 3]))


def test_programs_that_change_are_refused() -> None:
    calls = []

    def counts(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return x * len(calls) if len(calls) % 2 else x + x + x

    with pytest.raises(NotOneGraph, match="make_fx"):
        make_fx(counts, tracing_mode="symbolic")(torch.ones(4))


def test_no_mode_is_left_behind() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        make_fx(fails, tracing_mode="symbolic")(torch.ones(4))
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    assert torch.overrides._get_current_function_mode() is None
    assert type(torch.ones(2).shape[0]) is int


def test_opcheck_looks_at_other_sizes() -> None:
    with torch.library._scoped_library("open_sizes", "DEF") as lib:
        lib.define("half(Tensor x) -> Tensor")
        lib.impl("half", lambda x: x[: x.shape[0] // 2].clone(), "CPU")
        torch.library.register_fake("open_sizes::half", lambda x: x.new_empty(x.shape[0] // 2, *x.shape[1:]), lib=lib)
        assert torch.library.opcheck(torch.ops.open_sizes.half.default, (torch.rand(4, 3),))
        lib.define("fixed(Tensor x) -> Tensor")
        lib.impl("fixed", lambda x: x + torch.tensor(x.shape[0]), "CPU")
        torch.library.register_fake("open_sizes::fixed", lambda x: torch.empty_like(x), lib=lib)
        lib.define("user(Tensor x) -> Tensor")
        lib.impl("user", lambda x: torch.ops.open_sizes.fixed(x) * 4, "CompositeImplicitAutograd")
        assert torch.library.opcheck(torch.ops.open_sizes.user.default, (torch.rand(4, 3),))
        lib.define("lies(Tensor x) -> Tensor")
        lib.impl("lies", lambda x: x.repeat(2), "CPU")
        torch.library.register_fake("open_sizes::lies", lambda x: x.new_empty(8), lib=lib)
        lib.define("uses(Tensor x) -> Tensor")
        lib.impl(
            "uses",
            lambda x: x.new_zeros(torch.ops.open_sizes.lies(x).shape[0]) + torch.ops.open_sizes.lies(x),
            "CompositeImplicitAutograd",
        )
        assert torch.library.opcheck(
            torch.ops.open_sizes.uses.default, (torch.rand(4),), test_utils="test_aot_dispatch_static"
        )
        with pytest.raises(torch.library.OpCheckError, match="test_aot_dispatch_dynamic failed"):
            torch.library.opcheck(torch.ops.open_sizes.uses.default, (torch.rand(4),))


def test_a_number_below_zero_times_itself_is_not_at_least_its_square() -> None:
    u = ShapeEnv().create_unbacked_symint()
    torch._check(u >= -5)
    assert statically_known_true(u >= -5)
    assert not statically_known_true(u * u >= 25)


def test_a_division_by_zero_for_other_sizes_than_those_seen() -> None:
    for number in (*range(2, 7), *range(8, 40)):
        (x,) = _symbolic((7,))
        assert guard_int(100 // (x.shape[0] - number)) == 100 // (7 - number)
    (x,) = _symbolic((7,))
    with pytest.raises(ZeroDivisionError):
        100 // (x.shape[0] - x.shape[0])


def test_guards_that_other_sizes_divide_by_zero() -> None:
    (x,) = _symbolic((7,))
    assert 6 // (x.shape[0] - 4) == 2
    env = x.fake_mode.shape_env
    assert env.evaluate_guards_for_args([x], [torch.ones(7)])
    assert not env.evaluate_guards_for_args([x], [torch.ones(4)])
