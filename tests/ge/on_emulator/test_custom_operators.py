"""Users' operators in GE graphs: converters written, derived, and wrong ones; the order in which operators run."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import torchair
from mindtorch_v2._backends.ge import execute, graph
from mindtorch_v2._backends.ge.lower import Output, Program
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.library import Library
from mindtorch_v2.torchair import ge
from mindtorch_v2.torchair.ge import attr

OPS = torch.ops.ge_tests


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("ge_tests", "FRAGMENT")
    yield made
    made._destroy()


def _nothing(*_: Any, **__: Any) -> None:
    """The Meta kernel of an operator without results."""


def _given(*values: list[float]) -> list[torch.Tensor]:
    return [torch.tensor(value).npu() for value in values]


def _types(compiled: Any) -> list[str]:
    return [op.type for op in compiled.program.model.graph[0].op]


def _define(library: Library, schema: str, kernel: Callable, meta: Callable = _nothing) -> None:
    library.define(schema)
    name = schema.partition("(")[0]
    library.impl(name, kernel, "PrivateUse1")
    library.impl(name, meta, "Meta")


def test_nothing_but_schema_and_kernel(library: Library, converted: Callable) -> None:
    def grow(x: torch.Tensor, y: torch.Tensor, by: float = 2.0) -> torch.Tensor:
        total = x.sum()
        x.add_(y)
        y.mul_(by)
        return total

    _define(
        library,
        "grow(Tensor(a!) x, Tensor(b!) y, float by=2.) -> Tensor",
        grow,
        lambda x, y, by=2.0: x.new_empty([]),
    )

    def program(x: torch.Tensor, y: torch.Tensor) -> tuple:
        before = x * 3
        total = OPS.grow(x, y)
        return before, total, OPS.grow(x[1:], y[1:], 0.5), x + y

    eager, inputs = _given([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), _given([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    expected = program(*eager)
    compiled = converted(program, *inputs)
    found = compiled(*inputs)
    for mine, theirs in zip([*found, *inputs], [*expected, *eager], strict=True):
        assert torch.equal(mine, theirs)
    assert _types(compiled).count("Grow") == 2
    assert _types(compiled).count("TensorMove") >= 4


def test_attributes_and_lists_arrive(library: Library, converted: Callable) -> None:
    def mix(parts: list, weights: Any, dims: Any, name: str, sure: bool, *, dtype: Any = None) -> torch.Tensor:
        assert (list(dims), name, sure, dtype) == ([1, 2], "mean", True, torch.float32)
        return sum(part * weight for part, weight in zip(parts, weights, strict=True))

    _define(
        library,
        "mix(Tensor[] parts, float[] weights, int[] dims, str name, bool sure, *, ScalarType? dtype=None) -> Tensor",
        mix,
        lambda parts, *_, **__: torch.empty_like(parts[0]),
    )
    x, y = _given([1.0, 2.0], [10.0, 20.0])
    compiled = converted(lambda x, y: OPS.mix([x, y], [0.5, 2.0], [1, 2], "mean", True, dtype=torch.float32), x, y)
    assert compiled(x, y).tolist() == [20.5, 41.0]


def test_a_converter_of_ones_own(library: Library, converted: Callable) -> None:
    _define(
        library,
        "swish_twice(Tensor x, float scale) -> Tensor",
        lambda x, scale: x,
        lambda x, scale: torch.empty_like(x),
    )

    @torchair.register_fx_node_ge_converter(OPS.swish_twice.default)
    def convert(x: ge.Tensor, scale: float, meta_outputs: Any = None) -> ge.Tensor:
        assert meta_outputs.shape == (3,) and x.dtype == ge.DataType.DT_FLOAT and x.shape == [3]
        half = ge.Cast(x, dst_type=ge.DataType.DT_FLOAT16)
        return ge.Add(ge.Cast(half, dst_type=ge.DataType.DT_FLOAT), ge.Const(scale))

    (x,) = _given([1.0, 2.0, 3.0])
    compiled = converted(lambda x: OPS.swish_twice(x, 0.5), x)
    assert compiled(x).tolist() == [1.5, 2.5, 3.5]
    assert _types(compiled) == ["Data", "Cast", "Cast", "Const", "Add", "NetOutput"]


# ---- order ----


def _both_orders(converted: Callable, write: Callable) -> None:
    def reader_first(x: torch.Tensor) -> tuple:
        before = x * 3
        write(x)
        return before, x * 1

    def writer_first(x: torch.Tensor) -> tuple:
        write(x)
        return x * 3, x * 1

    for program in (reader_first, writer_first):
        for _ in range(8):  # each run takes the operators in another order
            (eager,), (given,) = _given([1.0, 2.0]), _given([1.0, 2.0])
            compiled = converted(program, given)
            expected = program(eager)
            for mine, theirs in zip([*compiled(given), given], [*expected, eager], strict=True):
                assert torch.equal(mine, theirs)


def test_both_orders_give_what_eager_gives(library: Library, converted: Callable) -> None:
    def bump(x: torch.Tensor) -> None:
        x.add_(10)

    _define(library, "bump(Tensor(a!) x) -> ()", bump)
    _both_orders(converted, lambda x: OPS.bump(x))


def test_a_write_without_functionalization_gives_wrong_results() -> None:
    """The emulator keeps to edges: a graph with a hazard, made past the checks, gives either result."""
    made = graph.Graph()
    with made:
        x = made.data(("input", 0), "x", ge.DataType.DT_FLOAT, [2])
        moved = ge.TensorMove(x)
        read = ge.Mul(moved, ge.Const(3.0))
        written = ge.custom_op("Assign", inputs={"ref": moved, "value": ge.Const([7.0, 8.0])}, outputs=["ref"])
        made.add("NetOutput", [("x0", read), ("x1", written)], [], {}, "NetOutput")
    found = _runs(made, [1.0, 2.0])
    assert found == {(3.0, 6.0), (21.0, 24.0)}

    made.ops[-2].after.append(read.op)  # the control edge that says what is meant
    assert made.ops[-2].type == "Assign"
    assert _runs(made, [1.0, 2.0]) == {(3.0, 6.0)}


def _runs(made: graph.Graph, value: list[float]) -> set[tuple[float, ...]]:
    described = Output(torch.float32, (2,), (1,), torch.device("npu"))
    program = Program(made.message(), made.feeds, [described, described], [], None, [], None, [], {})
    executable = execute.Executable(program)
    return {tuple(executable(_given(value))[0].tolist()) for _ in range(24)}


def test_a_lie_about_writes_is_found_in_the_graph(library: Library, converted: Callable) -> None:
    """Declared functional, converted to an operator that writes its input, which something else reads."""
    _define(library, "sly(Tensor x) -> Tensor", lambda x: x.add_(1), lambda x: torch.empty_like(x))

    @torchair.register_fx_node_ge_converter(OPS.sly.default)
    def convert(x: ge.Tensor) -> ge.Tensor:
        return ge.custom_op("Sly", inputs={"x": x}, outputs=["x"])

    (x,) = _given([1.0, 2.0])
    for program in (lambda x: (x * 3, OPS.sly(x * 2)), lambda x: (lambda y: (y * 3, OPS.sly(y)))(x * 2)):
        if program is not None:
            module = make_fx(program, tracing_mode="fake")(x)
    with pytest.raises(
        torchair.GEConversionError, match=r"ge_tests\.sly\.default \(node 'sly'\).*Sly, which writes its input 'x'"
    ) as said:
        torchair.ge_compile(module)
    assert "also read by Mul of node 'mul_1'" in str(said.value)
    assert "ge.TensorMove(x)" in str(said.value) and "Tensor(a!)" in str(said.value)
    with pytest.raises(torchair.GEConversionError, match="an input of the graph, which its caller keeps"):
        torchair.ge_compile(make_fx(lambda x: OPS.sly(x), tracing_mode="fake")(x))


def test_a_lie_about_writes_is_found_at_the_first_run(library: Library) -> None:
    """Declared functional, and its kernel writes."""

    def writes(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    _define(library, "quiet(Tensor x) -> Tensor", writes, lambda x: torch.empty_like(x))
    (x,) = _given([1.0, 2.0])
    compiled = torchair.ge_compile(make_fx(lambda x: OPS.quiet(x) + x, tracing_mode="fake")(x))
    with pytest.raises(RuntimeError, match=r"ge_tests::quiet: its kernel wrote to the argument 'x'.*Tensor\(a!\) x"):
        compiled(x)


@pytest.mark.parametrize("schema", ["same(Tensor x) -> Tensor", "same(Tensor(a!) x) -> Tensor"])
def test_an_operator_that_returns_its_argument(library: Library, schema: str, converted: Callable) -> None:
    """Found when the kernel first runs, in eager or in the graph, if the schema says that the result is new."""
    _define(library, schema, lambda x: x, lambda x: torch.empty_like(x))
    (x,) = _given([1.0, 2.0])
    with pytest.raises(
        RuntimeError, match=r"ge_tests::same.*(returned its argument 'x'|shares memory with the argument 'x')"
    ):
        converted(lambda x: OPS.same(x) * 2, x)(x)


# ---- what Meta kernels say ----


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        (lambda x: x.new_empty([3]), r"gives shape \[2\].*'y', the Meta kernel said \[3\]"),
        (lambda x: torch.empty_like(x, dtype=torch.float16), r"torch.float32 for the output 'y'.*torch.float16"),
    ],
    ids=["shape", "dtype"],
)
def test_a_meta_kernel_that_disagrees(library: Library, meta: Callable, said: str, converted: Callable) -> None:
    _define(library, "plus(Tensor x) -> Tensor", lambda x: x + 1, meta)
    (x,) = _given([1.0, 2.0])
    with pytest.raises(RuntimeError, match=said):
        converted(lambda x: OPS.plus(x), x)(x)


def test_a_meta_kernel_that_makes_tensors_elsewhere(library: Library, converted: Callable) -> None:
    _define(library, "plus(Tensor x) -> Tensor", lambda x: x + 1, lambda x: torch.empty(2))
    (x,) = _given([1.0, 2.0])
    with pytest.raises(
        AssertionError, match="ge_tests.plus.default: its Meta kernel returned a tensor on cpu.*new_empty"
    ):
        converted(lambda x: OPS.plus(x), x)(x)


# ---- converters that do not fit ----


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda x: None, "returned nothing, the operator has 2 results: add `return`"),
        (lambda x: x, "returned 1 value, the operator has 2 results"),
        (lambda x: (x, x, x), "returned 3 values, the operator has 2 results"),
        (lambda x: (x, 3), "result 1, returned 3, which is no ge.Tensor"),
        (
            lambda x: (x, ge.Cast(x, dst_type=ge.DataType.DT_INT64)),
            r"result 1, gives DT_INT64 where the Meta kernel says",
        ),
        (lambda x: (x, ge.Reshape(x, [1, 2])), r"result 1, gives the shape \[1, 2\] where the Meta kernel says \[2\]"),
        (lambda x: (x, ge.Add(x, ge.Const([1.0] * 3))), r"failed: Add .*do not broadcast"),
        (lambda x: (x, ge.Add(x)), "failed: ge.Add: the input 'x2' is missing"),
        (lambda x: (x, ge.NoSuchOperator(x)), "no prototype of the GE operator 'NoSuchOperator'"),
        (lambda x: (x, ge.custom_op("Mine", inputs={"x": 3}, outputs=["y"])), "'x' is no ge.Tensor but 3"),
        (lambda x: (x, ge.custom_op("Mine", inputs={"x": x}, outputs=["y"], attrs={"n": 3})), "needs its type"),
    ],
)
def test_a_converter_whose_results_do_not_fit(library: Library, made: Callable, said: str) -> None:
    two = lambda x: (torch.empty_like(x), torch.empty_like(x))
    _define(library, "two(Tensor x) -> (Tensor, Tensor)", lambda x: (x + 1, x + 2), two)
    torchair.register_fx_node_ge_converter(OPS.two.default)(made)
    module = make_fx(lambda x: OPS.two(x), tracing_mode="fake")(*_given([1.0, 2.0]))
    with pytest.raises(
        torchair.GEConversionError, match=rf"node 'two': the converter '.*' of ge_tests.two.default.*{said}"
    ):
        torchair.ge_compile(module)


def test_a_converter_that_cannot_be_called(library: Library) -> None:
    library.define("three(Tensor x, Tensor y, *, int n=1) -> Tensor")
    with pytest.raises(
        TypeError, match=r"the converter 'short' does not fit the operator ge_tests.three.default\(x, y, n\)"
    ):

        @torchair.register_fx_node_ge_converter(OPS.three.default)
        def short(x: ge.Tensor) -> ge.Tensor:
            return x

    with pytest.raises(TypeError, match=r"takes an operator overload.*name one of its overloads, .default"):
        torchair.register_fx_node_ge_converter(OPS.three)


def test_all_that_is_missing_is_told_at_once(library: Library) -> None:
    library.define("odd(Tensor x, Scalar s, Layout d) -> Tensor")
    library.impl("odd", lambda x, s, d: torch.empty_like(x), "Meta")

    def program(x: torch.Tensor) -> Any:
        y = torch.fft.fft(x).real
        x.add_(1)
        return y + OPS.odd(x, 2, torch.strided).erfinv()

    module = make_fx(program, tracing_mode="fake")(*_given([1.0, 2.0]))
    with pytest.raises(torchair.GEConversionError) as said:
        torchair.ge_compile(module)
    text = str(said.value)
    assert "aten.erfinv.default (nodes erfinv): no converter" in text
    assert "ge_tests.odd.default (nodes odd): no converter (none can be derived: its argument 's' is Scalar" in text
    assert "its argument 'd' is Layout" in text
    assert "aten.add_" in text and "functionalize the program" in text
    assert "@torchair.register_fx_node_ge_converter(torch.ops.ge_tests.odd.default)" in text


def test_no_kernel_for_a_ge_operator(library: Library, converted: Callable) -> None:
    _define(library, "known(Tensor x) -> Tensor", lambda x: x + 1, lambda x: torch.empty_like(x))

    @torchair.register_fx_node_ge_converter(OPS.known.default)
    def convert(x: ge.Tensor) -> ge.Tensor:
        return ge.custom_op("Unknown", inputs={"x": x}, outputs=["y"], attrs={"n": attr.Int(3)})

    with pytest.raises(torchair.GEConversionError, match="the emulator has no kernel for the GE operators Unknown"):
        converted(lambda x: OPS.known(x), *_given([1.0]))


# ---- written arguments that are optional, in lists, or overlap ----


def _same_as_eager(converted: Callable, program: Callable, *values: list[float]) -> Any:
    eager, inputs = _given(*values), _given(*values)
    expected = program(*eager)
    compiled = converted(program, *inputs)
    found = compiled(*inputs)
    for mine, theirs in zip([*found, *inputs], [*expected, *eager], strict=True):
        assert torch.equal(mine, theirs)
    return compiled


def test_an_optional_written_argument(library: Library, converted: Callable) -> None:
    def shift(x: torch.Tensor, y: torch.Tensor | None = None, by: float = 1.0) -> torch.Tensor:
        x.add_(by)
        if y is not None:
            y.mul_(2)
        return x.sum()

    _define(
        library,
        "shift(Tensor(a!) x, Tensor(b!)? y=None, float by=1.) -> Tensor",
        shift,
        lambda x, y=None, by=1.0: x.new_empty([]),
    )
    _same_as_eager(converted, lambda x, y: (OPS.shift(x, y), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0])
    _same_as_eager(converted, lambda x, y: (OPS.shift(x), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0])
    _same_as_eager(converted, lambda x, y: (OPS.shift(x, None, 5.0), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0])
    _same_as_eager(converted, lambda x, y: (OPS.shift(x, by=5.0), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0])


def test_an_optional_written_argument_before_another(library: Library, converted: Callable) -> None:
    def pair(x: torch.Tensor | None, y: torch.Tensor) -> None:
        if x is not None:
            x.add_(1)
        y.mul_(2)

    _define(library, "pair(Tensor(a!)? x, Tensor(b!) y) -> ()", pair)
    _same_as_eager(converted, lambda x, y: ((OPS.pair(x, y), x + 0)[1], y + 0), [1.0, 2.0], [3.0, 4.0])
    _same_as_eager(converted, lambda x, y: ((OPS.pair(None, y), x + 0)[1], y + 0), [1.0, 2.0], [3.0, 4.0])


def test_a_list_of_written_arguments(library: Library, converted: Callable) -> None:
    def scale(xs: list, factor: float) -> torch.Tensor:
        for x in xs:
            x.mul_(factor)
        return xs[0].sum()

    _define(library, "scale(Tensor(a!)[] xs, float factor) -> Tensor", scale, lambda xs, factor: xs[0].new_empty([]))
    _same_as_eager(converted, lambda x, y: (OPS.scale([x, y], 3.0), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0, 5.0])
    _same_as_eager(converted, lambda x, y: (OPS.scale([y], 3.0), x + 0, y + 0), [1.0, 2.0], [3.0, 4.0, 5.0])


def test_a_list_of_written_arguments_and_nothing_else(library: Library, converted: Callable) -> None:
    def scale_all(xs: list, y: torch.Tensor) -> None:
        for x in xs:
            x.mul_(2)
        y.add_(1)

    _define(library, "scale_all(Tensor(a!)[] xs, Tensor(b!) y) -> ()", scale_all)
    program = lambda x, y, z: ((OPS.scale_all([x, z], y), x + 0)[1], y + 0, z + 0)
    _same_as_eager(converted, program, [1.0, 2.0], [3.0, 4.0, 5.0], [6.0])


def test_written_arguments_that_overlap_are_refused(library: Library, converted: Callable) -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> None:
        x.add_(1)
        y.mul_(2)

    _define(library, "both(Tensor(a!) x, Tensor(b!) y) -> ()", both)
    with pytest.raises(Exception, match="overlap"):
        converted(lambda x: (OPS.both(x[:2], x[1:]), x + 0)[1], *_given([1.0, 2.0, 3.0]))
