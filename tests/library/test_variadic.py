"""`...` in schemas: arguments and results of whatever number, parsed, bound and called.

PyTorch parses these schemas and refuses their calls with more arguments than the schema names; the design document of operator
registration asks for the calls too.
"""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.schema import parse_schema
from mindtorch_v2.func import functionalize, vmap
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


@pytest.fixture
def library():
    made = torch.library.Library("variadic", "FRAGMENT")
    yield made
    made._destroy()


def _define(library, schema, kernel, key="CPU", meta=None):
    name = library.define(schema)
    library.impl(name, kernel, key)
    if meta is not None:
        library.impl(name, meta, "Meta")
    return getattr(torch.ops.variadic, name)


@pytest.mark.parametrize(
    ("text", "arguments", "results", "vararg", "varret"),
    [
        ("f(...) -> ...", 0, 0, True, True),
        ("f(Tensor x, ...) -> Tensor", 1, 1, True, False),
        ("f(Tensor x, *, int k, ...) -> (Tensor, ...)", 2, 1, True, True),
        ("f(Tensor(a!) x) -> ...", 1, 0, False, True),
    ],
)
def test_is_parsed_and_printed(library, text, arguments, results, vararg, varret):
    for schema in (parse_schema(text), getattr(torch.ops.variadic, library.define(text)).default._schema):
        assert (len(schema.arguments), len(schema.returns)) == (arguments, results)
        assert (schema.is_vararg, schema.is_varret) == (vararg, varret)
        assert str(schema).removeprefix("variadic::") == text


@pytest.mark.parametrize("text", ["f(..., Tensor x) -> ()", "f() -> (..., Tensor)", "f(int k=1, ...) -> ()"])
def test_stands_last_and_without_defaults(text):
    with pytest.raises(RuntimeError):
        parse_schema(text)


def test_arguments_come_behind_those_of_the_schema(library):
    got = []
    f = _define(library, "f(Tensor x, *, int k, ...) -> ()", lambda *args, **kwargs: got.append((args, kwargs)))
    x, y = torch.ones(2), torch.zeros(1)
    marker = object()
    f(x, k=1)
    f(x, 2, "three", y, [4, y], None, marker, k=5)
    assert got[0] == ((x,), {"k": 1})
    args, kwargs = got[1]
    assert args[0] is x and args[1:3] == (2, "three") and args[3] is y and args[5:] == (None, marker)
    assert args[4][1] is y and kwargs == {"k": 5}


def test_a_hundred_arguments(library):
    f = _define(library, "f(...) -> int", lambda *args: len(args), "CompositeExplicitAutograd")
    assert f() == 0 and f(*range(100)) == 100


def test_rules_of_the_named_arguments_hold(library):
    f = _define(library, "f(Tensor x, *, int k, ...) -> ()", lambda *args, **kwargs: None)
    x = torch.ones(2)
    for call, said in (
        (lambda: f(k=1), "missing value for argument 'x'"),
        (lambda: f(x, 2), "missing value for argument 'k'"),
        (lambda: f(x, k=1, more=2), "Unknown keyword argument 'more'"),
        (lambda: f(1, k=1), "Expected a value of type 'Tensor' for argument 'x'"),
        (lambda: f(x, x=x, k=1), "argument 'x' specified twice"),
    ):
        with pytest.raises(RuntimeError, match=said):
            call()


def test_tensors_among_them_take_part_in_dispatch(library):
    f = _define(library, "f(str how, ...) -> Tensor", lambda how, *more: more[-1] + 1)
    assert f("any", 3, torch.ones(1)).tolist() == [2]
    with pytest.raises(NotImplementedError, match="There were no tensor arguments"):
        f("any", 3)


@pytest.mark.parametrize(
    ("gives", "comes"), [(None, None), (3, 3), ((), None), ((1,), 1), ((1, "two"), (1, "two")), ([1, 2], (1, 2))]
)
def test_results_come_as_they_are(library, gives, comes):
    f = _define(library, "f() -> ...", lambda: gives, "CompositeExplicitAutograd")
    assert f() == comes


def test_results_behind_those_of_the_schema(library):
    f = _define(library, "f(Tensor x) -> (Tensor, ...)", lambda x: (x + 1, "more", 2))
    first, *more = f(torch.ones(1))
    assert first.tolist() == [2] and more == ["more", 2]


def test_too_few_or_wrong_results(library):
    f = _define(library, "f(Tensor x, int n) -> (Tensor, int, ...)", lambda x, n: (x, "no int")[:n])
    with pytest.raises(RuntimeError, match="must return at least 2 values, as its schema says, but returned 1"):
        f(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="expected a value of type 'int' as result but the kernel returned 'str'"):
        f(torch.ones(1), 2)


def _sum(library):
    def total(x, *more):
        return x + sum(each for each in more if isinstance(each, torch.Tensor))

    return _define(library, "total(Tensor x, ...) -> Tensor", total, meta=lambda x, *more: torch.empty_like(x))


def test_gradients_go_through_the_kernels_own_operators(library):
    total = _sum(library)
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="variadic::total: an autograd kernel was not registered"):
        total(x, 1, y, y).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad.tolist() == [2, 2]


def test_in_graphs(library):
    total = _sum(library)
    x, y = torch.ones(2), torch.full((2,), 2.0)
    traced = make_fx(lambda x, y: total(x, "text", y, y))(x, y)
    assert traced(x, y).tolist() == [5, 5] and "'text'" in traced.code
    for backend in ("eager", "aot_eager"):
        assert torch.compile(lambda x, y: total(x * 2, y, 3), backend=backend)(x, y).tolist() == [4, 4]


def test_functionalized(library):
    total = _sum(library)
    assert functionalize(lambda x, y: total(x.add_(1), y, 3))(torch.ones(2), torch.ones(2)).tolist() == [3, 3]

    def write(x, *more):
        x.add_(more[0])

    write = _define(library, "write(Tensor(a!) x, ...) -> ()", write, meta=lambda x, *more: None)

    def program(x, y):
        write(x, y, "text")
        return x * 2

    x = torch.ones(2)
    assert functionalize(program)(x, torch.ones(2)).tolist() == [4, 4] and x.tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="what it writes overlaps with other arguments"):
        functionalize(lambda x: write(x[:2], x[1:]))(torch.ones(3))
    unnamed = _define(library, "unnamed(Tensor(a!) x) -> ...", lambda x: 3)
    with pytest.raises(NotImplementedError, match="Name the results in its schema"):
        functionalize(lambda x: unnamed(x))(torch.ones(3))


def test_mapped_over(library):
    total = _sum(library)

    @torch.library.register_vmap("variadic::total", lib=library)
    def rule(info, in_dims, *args):
        return total(*args), 0

    assert vmap(lambda x, y: total(x, y))(torch.ones(3, 2), torch.ones(3, 2)).tolist() == [[2, 2]] * 3


def test_compiled_graphs_differ_by_what_is_given(library):
    total = _sum(library)
    compiled = torch.compile(lambda x, *more: total(x, *more), backend="aot_eager")
    x = torch.ones(2)
    assert compiled(x).tolist() == [1, 1]
    assert compiled(x, x).tolist() == [2, 2]
    assert compiled(x, x, x).tolist() == [3, 3]


def test_tuples_of_tensors_say_which_device(library):
    """PyTorch looks for tensors in lists, and refuses this call for want of one."""
    blend = _define(
        library,
        "blend((Tensor, Tensor) inputs, float alpha=0.5) -> Tensor",
        lambda xs, alpha=0.5: xs[0] + alpha * xs[1],
    )
    assert blend((torch.ones(1), torch.ones(1)), alpha=2.0).tolist() == [3]
    named = _define(library, "named(Dict(str, Tensor) inputs) -> Tensor", lambda inputs: inputs["x"] + 1)
    assert named({"x": torch.ones(1)}).tolist() == [2]
