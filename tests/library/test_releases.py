"""The registrations of a Library go with it, in any order, and what it covered counts again. Compared with PyTorch 2.13."""

import contextlib
import itertools
import warnings

import pytest
from reference import is_reference

import mindtorch_v2 as torch
from mindtorch_v2.library import Library
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

_numbers = itertools.count()

_BUILT_IN = {
    "sin": torch.sin,
    "add.Tensor": lambda x: x + x,
    "ones_like": torch.ones_like,
    "square": torch.square,
    "sigmoid": torch.sigmoid,
    "mul_.Tensor": lambda x: x.clone().mul_(x),
}
_KEYS = [
    "CPU",
    "AutogradCPU",
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "AutocastCPU",
    "ADInplaceOrView",
    "Functionalize",
    "FuncTorchBatched",
    "Python",
    "BackendSelect",
]


@pytest.fixture
def namespace():
    return f"test_releases_{next(_numbers)}"


@pytest.fixture(autouse=True)
def _overriding_is_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Warning only once for all operators|Overriding a previously registered kernel"
        )
        yield


def _seen(call):
    x = torch.full((2,), 0.5, requires_grad=True)
    y = call(x)
    vmapped = torch.vmap(call)(torch.ones(2, 2)).tolist()
    return y.tolist(), y.requires_grad, tuple(call(torch.ones(2, device="meta")).shape), vmapped


@pytest.mark.parametrize("key", _KEYS)
@pytest.mark.parametrize("name", _BUILT_IN)
def test_a_kernel_of_the_framework_counts_again(name, key):
    before = _seen(_BUILT_IN[name])
    library = Library("aten", "IMPL")
    library.impl(name, lambda x, *args, **kwargs: x.detach().clone() + 5, key)
    library._destroy()
    assert _seen(_BUILT_IN[name]) == before


def test_a_meta_kernel_of_the_framework_counts_again():
    library = Library("aten", "IMPL")
    library.impl("sin", lambda x: x.new_empty(7), "Meta")
    assert torch.sin(torch.ones(2, device="meta")).shape == (7,)
    library._destroy()
    assert torch.sin(torch.ones(2, device="meta")).shape == (2,)


def test_an_override_for_the_length_of_a_block():
    x = torch.zeros(1)
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("sin", lambda x: x.cos(), "CPU")
        assert torch.sin(x).item() == 1
    assert torch.sin(x).item() == 0


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_libraries_go_in_any_order(order):
    x = torch.zeros(1)
    libraries = [Library("aten", "IMPL") for _ in range(3)]
    for number, library in enumerate(libraries):
        library.impl("sin", lambda x, number=number: torch.full_like(x, number + 1.0), "CPU")
    alive = set(range(3))
    for gone in order:
        assert torch.sin(x).item() == max(alive) + 1
        libraries[gone]._destroy()
        alive.remove(gone)
    assert torch.sin(x).item() == 0


def test_one_library_that_registers_twice():
    library = Library("aten", "IMPL")
    library.impl("sin", lambda x: torch.full_like(x, 1.0), "CPU")
    library.impl("sin", lambda x: torch.full_like(x, 2.0), "CPU", allow_override=True)
    assert torch.sin(torch.zeros(1)).item() == 2
    library._destroy()
    assert torch.sin(torch.zeros(1)).item() == 0


def _fallback_of(value):
    return lambda op, *args, **kwargs: torch.full((1,), value)


@pytest.mark.skipif(is_reference(), reason="PyTorch takes one fallback a key, and refuses the second")
@pytest.mark.parametrize("first_goes_first", [True, False])
def test_fallbacks(namespace, first_goes_first):
    home = Library(namespace, "DEF")
    home.define("f(Tensor x) -> Tensor")
    x = torch.zeros(1)

    def call():
        try:
            return getattr(torch.ops, namespace).f(x).item()
        except NotImplementedError:
            return None

    first, second = Library("_", "IMPL"), Library("_", "IMPL")
    assert call() is None
    first.fallback(_fallback_of(1.0), "CPU")
    assert call() == 1
    second.fallback(_fallback_of(2.0), "CPU")
    assert call() == 2
    (first if first_goes_first else second)._destroy()
    assert call() == (2 if first_goes_first else 1)
    (second if first_goes_first else first)._destroy()
    assert call() is None


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.*an autograd kernel was not registered")
@pytest.mark.parametrize("first_goes_first", [True, False])
@pytest.mark.parametrize("kind", ["fake", "vmap", "autograd", "autocast"])
def test_other_registrations(namespace, kind, first_goes_first):
    home = Library(namespace, "DEF")
    home.define("f(Tensor x) -> Tensor")
    home.impl("f", lambda x: x + 1, "CPU")
    name, operator = f"{namespace}::f", getattr(torch.ops, namespace).f

    def register(library, number):
        if kind == "fake":
            torch.library.register_fake(name, lambda x: x.new_empty(number), lib=library, allow_override=True)
        elif kind == "vmap":
            torch.library.register_vmap(name, lambda info, dims, x: (x * 0 + number, dims[0]), lib=library)
        elif kind == "autograd":
            torch.library.register_autograd(name, lambda ctx, grad: grad * number, lib=library)
        else:
            dtype = {10: torch.float16, 20: torch.bfloat16}[number]
            torch.library.register_autocast(name, "cpu", dtype, lib=library)

    def seen():
        if kind == "fake":
            with contextlib.suppress(NotImplementedError):  # the rule is gone: 0
                return operator(torch.ones(2, device="meta")).shape[0]
            return 0
        if kind == "vmap":
            return torch.vmap(operator)(torch.zeros(2)).tolist()[0]
        if kind == "autograd":
            x = torch.zeros(1, requires_grad=True)
            operator(x).sum().backward()
            return x.grad.item()
        with torch.autocast("cpu"):
            return {torch.float16: 10, torch.bfloat16: 20}.get(operator(torch.zeros(1)).dtype, 0)

    before = seen()
    first, second = Library(namespace, "FRAGMENT"), Library(namespace, "FRAGMENT")
    register(first, 10)
    assert seen() == 10
    register(second, 20)
    assert seen() == 20
    (first if first_goes_first else second)._destroy()
    assert seen() == (20 if first_goes_first else 10)
    (second if first_goes_first else first)._destroy()
    assert seen() == before


def test_rules_for_modes(namespace):
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    home = Library(namespace, "DEF")
    home.define("f(Tensor x) -> Tensor")
    home.impl("f", lambda x: x + 1, "CPU")

    def call():
        with Mode():
            return getattr(torch.ops, namespace).f(torch.zeros(1)).item()

    library = Library(namespace, "FRAGMENT")
    rule = lambda mode, func, types, args, kwargs: torch.full((1,), 7.0)
    torch.library.register_torch_dispatch(f"{namespace}::f", Mode, rule, lib=library)
    assert call() == 7
    with pytest.raises(RuntimeError, match="already has a `__torch_dispatch__` rule registered"):
        torch.library.register_torch_dispatch(f"{namespace}::f", Mode, rule, lib=library)
    library._destroy()
    assert call() == 1


def test_kernels_wait_for_an_operator_that_is_defined_again(namespace):
    home, kernels = Library(namespace, "FRAGMENT"), Library(namespace, "IMPL")
    home.define("f(Tensor x) -> Tensor")
    kernels.impl("f", lambda x: x + 1, "CPU")
    home._destroy()
    home = Library(namespace, "FRAGMENT")
    home.define("f(Tensor x) -> Tensor")
    operator = getattr(torch.ops, namespace).f
    assert operator(torch.zeros(1)).item() == 1
    kernels._destroy()
    with pytest.raises(NotImplementedError):
        operator(torch.zeros(1))


@pytest.mark.filterwarnings("ignore:.*an autograd kernel was not registered")
def test_a_composition_under_a_key_that_falls_through(namespace):
    home = Library(namespace, "DEF")
    home.define("implicit(Tensor x) -> Tensor")
    home.define("explicit(Tensor x) -> Tensor")
    home.impl("implicit", lambda x: x + 1, "CompositeImplicitAutograd")
    home.impl("explicit", lambda x: x + 2, "CompositeExplicitAutograd")
    operators = getattr(torch.ops, namespace)
    for name in ("implicit", "explicit"):
        home.impl(name, torch.library.fallthrough_kernel, "CPU")
    assert operators.implicit(torch.zeros(1)).item() == 1
    assert operators.explicit(torch.zeros(1)).item() == 2
    x = torch.zeros(1, requires_grad=True)
    operators.implicit(x).backward()
    assert x.grad.item() == 1
    home.impl("implicit", lambda x: x + 5, "CompositeExplicitAutograd")
    assert operators.implicit(torch.zeros(1)).item() == 5


def test_a_kernel_that_was_asked_for_before_it_was_covered():
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    kernel = torch.library.get_kernel("aten::sin", "CPU")
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("sin", lambda x: kernel.call_boxed(keys, x) + 10, "CPU")
        assert torch.sin(torch.zeros(1)).item() == 10
        covering = torch.library.get_kernel("aten::sin", "CPU")
        assert covering.call_boxed(keys, torch.zeros(1)).item() == 10
    assert torch.sin(torch.zeros(1)).item() == 0
    with pytest.raises(RuntimeError, match="SafeKernelFunction has been invalidated"):
        covering.call_boxed(keys, torch.zeros(1))
