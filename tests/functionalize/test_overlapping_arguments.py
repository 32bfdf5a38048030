"""Operators that write to arguments which share memory: every way to run a program gives what PyTorch 2.13 gives eagerly."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

_library = torch.library


@_library.custom_op("overlapping::two", mutates_args={"x", "y"})
def two(x: Tensor, y: Tensor) -> None:
    x.add_(1)
    y.mul_(2)


@_library.custom_op("overlapping::with_result", mutates_args={"x", "y"})
def with_result(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    y.mul_(2)
    return x.sum() + y.sum()


@with_result.register_fake
def _(x, y):
    return x.new_empty(())


@_library.custom_op("overlapping::reads", mutates_args={"x"})
def reads(x: Tensor, y: Tensor) -> None:
    x.add_(1)
    x.mul_(y.sum())


@_library.custom_op("overlapping::of_list", mutates_args={"xs"})
def of_list(xs: list[Tensor], factor: float) -> None:
    for x in xs:
        x.mul_(factor).add_(1)


@_library.custom_op("overlapping::optional", mutates_args={"x", "y"})
def optional(x: Tensor, y: Tensor | None = None) -> None:
    x.add_(1)
    if y is not None:
        y.mul_(2)


@_library.custom_op("overlapping::by_hand", mutates_args={"x", "y"})
def by_hand(x: Tensor, y: Tensor) -> None:
    x.add_(1)
    y.mul_(2)


@_library.custom_op("overlapping::by_hand_functional", mutates_args=())
def by_hand_functional(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x + 1, y * 2


@by_hand_functional.register_fake
def _(x, y):
    return torch.empty_like(x), torch.empty_like(y)


_definitions = _library.Library("overlapping", "FRAGMENT")
_definitions.define("of_some(Tensor(a!)?[] xs) -> ()")


def _of_some(xs):
    for x in xs:
        if x is not None:
            x.mul_(3).add_(1)


_definitions.impl("of_some", _of_some, "CompositeExplicitAutograd")


def _after(write):
    """A program that writes to its input and returns it."""

    def program(b):
        result = write(b)
        return b.clone() if result is None else (b.clone(), result)

    return program


def _inside(b):
    c = b * 1
    view = c[1:]
    two(c[:3], view)
    return view + 0


def _of_parts(b):
    c = torch.complex(b, b)
    two(c.real, torch.view_as_real(c))
    return torch.view_as_real(c) + 0


_PROGRAMS = {
    "two slices": (_after(lambda b: two(b[:3], b[1:])), [1.0, 4.0, 6.0, 6.0]),
    "the same twice": (_after(lambda b: two(b, b)), [2.0, 4.0, 6.0, 8.0]),
    "another view of all": (_after(lambda b: two(b, b.view(-1))), [2.0, 4.0, 6.0, 8.0]),
    "parts that do not overlap": (_after(lambda b: two(b[:2], b[2:])), [1.0, 2.0, 4.0, 6.0]),
    "transposed": (_after(lambda b: two(b.view(2, 2).t(), b.view(2, 2))), [2.0, 4.0, 6.0, 8.0]),
    "all and a part": (_after(lambda b: two(b, b[1:])), [1.0, 4.0, 6.0, 8.0]),
    "steps": (_after(lambda b: two(b[::2], b[:3])), [2.0, 2.0, 6.0, 3.0]),
    "a result": (_after(lambda b: with_result(b[:3], b[1:])), [[1.0, 4.0, 6.0, 6.0], 27.0]),
    "one is read": (_after(lambda b: reads(b[:3], b[1:])), [8.0, 16.0, 24.0, 3.0]),
    "the same is read": (_after(lambda b: reads(b, b)), [10.0, 20.0, 30.0, 40.0]),
    "the same twice, written out of place by hand": (_after(lambda b: by_hand(b, b)), [2.0, 4.0, 6.0, 8.0]),
    "two parts, written out of place by hand": (_after(lambda b: by_hand(b[:2], b[2:])), [1.0, 2.0, 4.0, 6.0]),
    "a list": (_after(lambda b: of_list([b[:3], b[1:]], 3.0)), [1.0, 13.0, 22.0, 10.0]),
    "the same twice in a list": (_after(lambda b: of_list([b, b], 3.0)), [4.0, 13.0, 22.0, 31.0]),
    "a list, of which some are absent": (
        _after(lambda b: torch.ops.overlapping.of_some([b[:2], None])),
        [1.0, 4.0, 2.0, 3.0],
    ),
    "optional": (_after(lambda b: optional(b[:3], b[1:])), [1.0, 4.0, 6.0, 6.0]),
    "optional and absent": (_after(lambda b: optional(b[:3])), [1.0, 2.0, 3.0, 3.0]),
    "made inside": (_inside, [4.0, 6.0, 6.0]),
    "parts of complex numbers": (_of_parts, [[2.0, 0.0], [4.0, 2.0], [6.0, 4.0], [8.0, 6.0]]),
    "foreach": (_after(lambda b: (torch._foreach_add_([b[:3], b[1:]], 1.0), None)[1]), [1.0, 3.0, 4.0, 4.0]),
}


def _exported(program):
    class Program(torch.nn.Module):
        def forward(self, b):
            return program(b)

    return lambda b: torch.export.export(Program(), (b.clone(),)).run_decompositions().module()(b)


_WAYS = {
    "eager": lambda f: f,
    "compiled": lambda f: torch.compile(f, backend="eager"),
    "compiled whole": lambda f: torch.compile(f, backend="eager", fullgraph=True),
    "aot": lambda f: torch.compile(f, backend="aot_eager"),
    "functionalized": torch.func.functionalize,
    "functionalized, no views": lambda f: torch.func.functionalize(f, remove="mutations_and_views"),
    "traced": lambda f: lambda b: make_fx(f)(b.clone())(b),
    "functionalized and traced": lambda f: lambda b: make_fx(torch.func.functionalize(f))(b.clone())(b),
    "with open sizes": lambda f: lambda b: make_fx(torch.func.functionalize(f), tracing_mode="symbolic")(b.clone())(b),
    "exported and decomposed": _exported,
}


def _numbers(value):
    return [_numbers(v) for v in value] if isinstance(value, tuple) else value.tolist()


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("name", _PROGRAMS)
def test_the_same_as_eager(name, way):
    program, expected = _PROGRAMS[name]
    torch._dynamo.reset()
    b = torch.arange(4.0)
    result = _numbers(_WAYS[way](program)(b))
    assert result == expected
    if name not in ("made inside", "parts of complex numbers"):
        assert b.tolist() == (expected[0] if name == "a result" else expected)


@pytest.mark.parametrize("way", ["compiled", "aot", "functionalized", "functionalized, no views"])
def test_inputs_that_overlap(way):
    def program(x, y):
        two(x, y)
        return x + y

    torch._dynamo.reset()
    b = torch.arange(4.0)
    assert _WAYS[way](program)(b[:3], b[1:]).tolist() == [5.0, 10.0, 12.0]
    assert b.tolist() == [1.0, 4.0, 6.0, 6.0]


def test_the_graph_has_one_memory_and_its_views():
    graph = make_fx(torch.func.functionalize(_PROGRAMS["two slices"][0]))(torch.arange(4.0))
    (node,) = (n for n in graph.graph.nodes if "on_bases" in str(n.target))
    assert len(node.kwargs["_all_bases"]) == 1
    assert node.kwargs["_views"] == [0, 0, 1, 0, 1, 1]
    assert not any(n.target is torch.ops.overlapping.two.default for n in graph.graph.nodes)


def test_larger_programs_of_open_sizes():
    graph = make_fx(torch.func.functionalize(_PROGRAMS["two slices"][0]), tracing_mode="symbolic")(torch.arange(4.0))
    assert graph(torch.arange(6.0)).tolist() == _PROGRAMS["two slices"][0](torch.arange(6.0)).tolist()
