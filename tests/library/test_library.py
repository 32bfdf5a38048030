"""Operators of the user's: defined at run time, dispatched, differentiated, taken away."""

import itertools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

_numbers = itertools.count()


@pytest.fixture
def namespace():
    return f"test_library_{next(_numbers)}"


def test_schema_of_annotations():
    def f(x: Tensor, y: Tensor | None, ys: list[Tensor], n: int = 2, s: str = "a", *, flag: bool = True) -> Tensor:
        return x

    assert torch.library.infer_schema(f, mutates_args=()) == (
        '(Tensor x, Tensor? y, Tensor[] ys, SymInt n=2, str s="a", *, bool flag=True) -> Tensor'
    )

    def g(x: Tensor, y: Tensor) -> tuple[Tensor, int]:
        return x, 1

    assert torch.library.infer_schema(g, mutates_args={"y"}) == "(Tensor x, Tensor(a1!) y) -> (Tensor, SymInt)"
    assert torch.library.infer_schema(g, mutates_args="unknown") == (
        "(Tensor(a0!) x, Tensor(a1!) y) -> (Tensor, SymInt)"
    )


@pytest.mark.parametrize("text", ["must have a type annotation", "unsupported type", "No return type annotation"])
def test_schema_errors(text):
    def without(x) -> Tensor: ...

    def odd(x: dict) -> Tensor: ...

    def silent(x: Tensor): ...

    function = {"must have a type annotation": without, "unsupported type": odd, "No return type annotation": silent}[
        text
    ]
    with pytest.raises(ValueError, match=text):
        torch.library.infer_schema(function, mutates_args=())


def test_custom_op(namespace):
    @torch.library.custom_op(f"{namespace}::scaled", mutates_args=())
    def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
        return x * factor

    x = torch.ones(3, requires_grad=True)
    assert scaled(x.detach()).tolist() == [2, 2, 2]
    assert getattr(torch.ops, namespace).scaled(x.detach(), 3.0).tolist() == [3, 3, 3]
    assert getattr(torch.ops, namespace).scaled.default(x.detach()).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        scaled(x).sum().backward()

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup_context)
    scaled(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]
    x.grad = None
    scaled(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_custom_op_on_meta(namespace):
    @torch.library.custom_op(f"{namespace}::rows", mutates_args=(), device_types="cpu")
    def rows(x: Tensor) -> Tensor:
        return x.sum(1)

    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        rows(torch.ones(2, 3, device="meta"))
    rows.register_fake(lambda x: x.new_empty(x.shape[0]))
    assert rows(torch.ones(2, 3, device="meta")).shape == (2,)
    assert rows(torch.ones(2, 3)).tolist() == [3, 3]


def test_results_must_be_new(namespace):
    @torch.library.custom_op(f"{namespace}::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        same(torch.ones(2))


def test_mutation_bumps_the_version(namespace):
    @torch.library.custom_op(f"{namespace}::fill", mutates_args={"x"})
    def fill(x: Tensor, value: float) -> None:
        x.fill_(value)

    x = torch.zeros(2)
    version = x._version
    assert fill(x, 3.0) is None
    assert x.tolist() == [3, 3]
    assert x._version > version


def test_kernel_of_a_device(namespace):
    @torch.library.custom_op(f"{namespace}::twice", mutates_args=())
    def twice(x: Tensor) -> Tensor:
        return x * 2

    @twice.register_kernel("cpu")
    def _(x):
        return x * 20

    assert twice(torch.ones(1)).tolist() == [20]
    with twice.set_kernel_enabled("cpu", False):
        assert twice(torch.ones(1)).tolist() == [2]
    assert twice(torch.ones(1)).tolist() == [20]


def test_library_of_schemas_and_kernels(namespace):
    library = torch.library.Library(namespace, "DEF")
    assert library.define("half(Tensor x) -> Tensor") == "half"
    library.impl("half", lambda x: x / 2, "CPU")
    assert getattr(torch.ops, namespace).half(torch.ones(2)).tolist() == [0.5, 0.5]
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        torch.library.Library(namespace, "DEF")
    with pytest.warns(UserWarning, match="Overriding a previously registered kernel"):
        library.impl("half", lambda x: x / 4, "CPU")
    assert getattr(torch.ops, namespace).half(torch.ones(1)).tolist() == [0.25]
    library._destroy()
    with pytest.raises(AttributeError, match="object has no attribute 'half'"):
        _ = getattr(torch.ops, namespace).half


def test_kernel_before_the_operator(namespace):
    with torch.library._scoped_library(namespace, "FRAGMENT") as library:
        library.impl("late", lambda x: x + 1, "CompositeExplicitAutograd")
        library.define("late(Tensor x) -> Tensor")
        assert getattr(torch.ops, namespace).late(torch.zeros(1)).tolist() == [1]


def test_functions_define_and_impl(namespace):
    torch.library.define(f"{namespace}::plus", "(Tensor x, int n=1) -> Tensor")

    @torch.library.impl(f"{namespace}::plus", "default")
    def plus(x, n=1):
        return x + n

    assert getattr(torch.ops, namespace).plus(torch.zeros(1)).tolist() == [1]
    assert getattr(torch.ops, namespace).plus(torch.zeros(1), 5).tolist() == [5]
    torch.library.register_autograd(f"{namespace}::plus", lambda ctx, grad: (grad * 7, None))
    x = torch.zeros(1, requires_grad=True)
    getattr(torch.ops, namespace).plus(x).sum().backward()
    assert x.grad.tolist() == [7]


@pytest.mark.parametrize("name", ["no_namespace", "a::b::c", "::x"])
def test_names_have_one_namespace(name):
    with pytest.raises(ValueError, match='of the form "namespace::name"'):
        torch.library.custom_op(name, lambda x: x, mutates_args=())


def test_unknown_operator():
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'no_such_op'"):
        _ = torch.ops.aten.no_such_op
    assert str(torch.ops.aten.add.Tensor) == "aten.add.Tensor"
    assert repr(torch.ops.aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert torch.ops.aten.add.Tensor.name() == "aten::add.Tensor"
    assert "Tensor" in torch.ops.aten.add.overloads()


def test_torch_function_of_a_class_and_a_mode():
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Watched)
    seen.clear()
    assert type(torch.add(x, 1)) is Watched
    assert seen == ["add"]

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen.clear()
    with Mode():
        torch.mul(torch.ones(1), 2)
    assert "mul" in seen
    seen.clear()
    torch.mul(torch.ones(1), 2)
    assert not seen


def test_a_mode_may_replace_a_function():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) if func is not torch.sin else "replaced"

    with Mode():
        assert torch.sin(torch.ones(1)) == "replaced"
    assert torch.is_tensor(torch.sin(torch.ones(1)))


def test_vmap():
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    assert torch.vmap(torch.dot, in_dims=(0, None))(x, y).tolist() == [5, 14]
    assert torch.vmap(lambda a: a * 2, out_dims=1)(x).shape == (3, 2)
    nested = torch.vmap(torch.vmap(lambda a, b: a >= b, in_dims=(None, 0)), in_dims=(0, None))
    assert nested(torch.arange(2), torch.arange(2)).tolist() == [[True, False], [True, True]]
    with pytest.raises(ValueError, match="Expected all tensors to have the same size in the mapped dimension"):
        torch.vmap(torch.add)(x, y)


def test_what_a_mutating_operator_does_inside_is_not_recorded(namespace):
    @torch.library.custom_op(f"{namespace}::into", mutates_args=("out",))
    def into(xs: list[Tensor], out: Tensor) -> None:
        for x in xs:
            out.add_(x)

    weight = torch.ones(2, requires_grad=True)
    out = torch.zeros(2)
    into([weight, weight], out)
    assert out.tolist() == [2, 2]
    assert not out.requires_grad
    into([out], weight)  # a leaf, which no backward goes through
    assert weight.tolist() == [3, 3]
    between = weight * 2
    into([out], between)
    assert between.grad_fn.name() == "MulBackward0"


def test_results_of_a_mutating_operator_have_no_formula(namespace):
    @torch.library.custom_op(f"{namespace}::both", mutates_args=("count",))
    def both(count: Tensor, x: Tensor) -> Tensor:
        count.add_(1)
        return x * 2

    count, x = torch.zeros(1), torch.ones(1, requires_grad=True)
    result = both(count, x)
    assert count.tolist() == [1]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        result.backward()


def _of_list(namespace, gradients):
    @torch.library.custom_op(f"{namespace}::total", mutates_args=())
    def total(xs: list[Tensor], k: int = 2) -> Tensor:
        return sum(xs) * k

    total.register_autograd(lambda ctx, grad: gradients(grad))
    return total


@pytest.mark.parametrize("extra", [(), (2,)])
def test_a_gradient_for_each_tensor_of_a_list(namespace, extra):
    first, second = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    _of_list(namespace, lambda grad: ([grad, grad * 3], None))([first, second], *extra).backward()
    assert (first.grad.item(), second.grad.item()) == (1, 3)


@pytest.mark.parametrize(
    ("gradients", "got"),
    [
        (lambda grad: ([grad], None), r"\(list of 1, \*\)"),
        (lambda grad: (grad, None), r"\(\*, \*\)"),
        (lambda grad: grad, r"\(\*\)"),
        (lambda grad: ([grad, grad], [grad]), r"\(list of 2, list of 1\)"),
    ],
)
def test_gradients_have_the_structure_of_the_arguments(namespace, gradients, got):
    xs = [torch.ones(1, requires_grad=True), torch.ones(1)]
    result = _of_list(namespace, gradients)(xs, 3)
    expected = "Expected the return from backward to be of the same structure as the inputs. Got: " + got
    with pytest.raises(RuntimeError, match=expected):
        result.backward()


def test_a_fake_kernel_of_no_operator(namespace):
    with pytest.raises(RuntimeError, match=f"operator {namespace}::none does not exist"):
        torch.library.register_fake(f"{namespace}::none", lambda x: x)


def test_names_of_mutated_arguments_are_a_sequence():
    def f(x: Tensor) -> None: ...

    with pytest.raises(ValueError, match="must either be a sequence of the names of the arguments that are mutated"):
        torch.library.infer_schema(f, mutates_args="x")
