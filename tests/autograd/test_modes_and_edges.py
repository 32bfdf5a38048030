"""Modes of recording, levels of forward mode, anomaly mode, graph utilities, arguments of backward, contexts of Functions."""

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.autograd import forward_ad, graph

pytestmark = pytest.mark.no_torch


def _leaf(*values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0), dtype=torch.float64, requires_grad=True)


@pytest.fixture(autouse=True)
def _modes_are_left_as_they_were() -> Iterator[None]:
    torch.set_grad_enabled(True)
    yield
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()
    assert not _C.is_anomaly_enabled()
    assert not forward_ad._current


# ---- modes of recording ----

MODES: dict[str, tuple[Callable[[], Any], bool, bool, bool]] = {
    # makes the mode; whether gradients were on before, are on inside, and inference mode inside
    "no_grad": (lambda: torch.no_grad(), True, False, False),
    "no_grad when off": (lambda: torch.no_grad(), False, False, False),
    "enable_grad": (lambda: torch.enable_grad(), False, True, False),
    "enable_grad when on": (lambda: torch.enable_grad(), True, True, False),
    "set_grad_enabled(True)": (lambda: torch.set_grad_enabled(True), False, True, False),
    "set_grad_enabled(False)": (lambda: torch.set_grad_enabled(False), True, False, False),
    "inference_mode": (lambda: torch.inference_mode(), True, False, True),
    "inference_mode when off": (lambda: torch.inference_mode(), False, False, True),
    "inference_mode(False)": (lambda: torch.inference_mode(False), False, True, False),
    "set_multithreading_enabled": (lambda: torch.autograd.set_multithreading_enabled(False), True, True, False),
    "set_multithreading_enabled when off": (
        lambda: torch.autograd.set_multithreading_enabled(True),
        False,
        False,
        False,
    ),
}


def _now() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@pytest.mark.parametrize("name", MODES)
def test_modes(name: str) -> None:
    make, before, inside, inference = MODES[name]

    def plain() -> tuple[bool, bool]:
        """Say the modes."""
        return _now()

    def generator() -> Any:
        got = yield _now()
        try:
            yield got, _now()
        except KeyError:
            yield "caught", _now()
        return _now()

    torch.set_grad_enabled(before)
    try:
        with make() as entered:
            assert entered is None
            assert _now() == (inside, inference)
        assert _now() == (before, False)
        with pytest.raises(ValueError, match="here"), make():
            raise ValueError("here")
        assert _now() == (before, False)
        decorated = make()(plain)
        assert _now() == (before, False)
        assert decorated() == (inside, inference)
        assert decorated() == (inside, inference)
        assert (decorated.__name__, decorated.__doc__) == ("plain", "Say the modes.")
        assert _now() == (before, False)
        for function in (generator, functools.partial(generator)):
            if isinstance(function, functools.partial):
                functools.update_wrapper(function, generator)
            made = make()(function)()
            assert next(made) == (inside, inference)
            assert _now() == (before, False)
            assert made.send(5) == (5, (inside, inference))
            assert made.throw(KeyError()) == ("caught", (inside, inference))
            with pytest.raises(StopIteration) as stop:
                next(made)
            assert stop.value.value == (inside, inference)
            assert _now() == (before, False)
    finally:
        torch.set_grad_enabled(True)


def test_generators_are_closed_within_the_mode() -> None:
    seen: list[Any] = []

    @torch.no_grad()
    def generator() -> Any:
        try:
            yield 1
        finally:
            seen.append(_now())

    made = generator()
    next(made)
    made.close()
    assert seen == [(False, False)]

    @torch.no_grad()
    def failing() -> Any:
        yield 1
        raise ValueError("here")

    made = failing()
    next(made)
    with pytest.raises(ValueError, match="here"):
        next(made)


def test_modes_as_plain_decorators_and_calls() -> None:
    @torch.no_grad
    def off() -> Any:
        return _now()

    @torch.inference_mode
    def inferred() -> Any:
        return _now()

    @torch.enable_grad
    def on() -> Any:
        return _now()

    assert off() == (False, False)
    assert inferred() == (False, True)
    with torch.no_grad():
        assert on() == (True, False)
        with torch.inference_mode(), torch.inference_mode(False):
            assert _now() == (True, False)
    torch.set_grad_enabled(False)
    assert _now() == (False, False)
    torch.set_grad_enabled(mode=True)
    kept = torch.no_grad()
    with kept:
        with kept:
            assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert (_leaf() * 2).requires_grad
    with torch.inference_mode():
        made = torch.ones(2)
        assert made.is_inference() and not (_leaf() * 2).requires_grad
    with pytest.raises(RuntimeError, match="inference tensor outside InferenceMode"):
        made.requires_grad_() * made


# ---- anomaly mode ----


def test_anomaly_mode_goes_on_and_off() -> None:
    def now() -> tuple[bool, bool]:
        return _C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled()

    before = now()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly(check_nan=False)
    assert now() == before
    with mode:
        assert now() == (True, False)
        with torch.autograd.set_detect_anomaly(False):
            assert now() == (False, True)
        assert now() == (True, False)
        with torch.autograd.set_detect_anomaly(True, check_nan=True) as entered:
            assert entered is None
            assert now() == (True, True)
    assert now() == before
    torch.autograd.set_detect_anomaly(True, False)
    assert now() == (True, False)
    torch.autograd.set_detect_anomaly(False)
    assert now() == (False, True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            assert now() == (True, True)
            with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
                (torch.zeros(1, requires_grad=True) * float("nan")).sqrt().backward()
        with torch.autograd.detect_anomaly(check_nan=False):
            x = torch.zeros(1, requires_grad=True)
            (x * float("nan")).sqrt().backward()
    assert x.grad.isnan().all()


# ---- levels of forward mode ----


def test_levels() -> None:
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    for refused in (lambda: forward_ad.make_dual(x, t), lambda: forward_ad.exit_dual_level()):
        with pytest.raises(RuntimeError, match="no level exists|must be a positive number"):
            refused()
    assert forward_ad.unpack_dual(x) == (x, None)
    assert forward_ad.enter_dual_level() == 0
    dual = forward_ad.make_dual(x, t)
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        forward_ad.enter_dual_level()
    assert forward_ad.unpack_dual(dual * dual).tangent.tolist() == [6.0, 16.0]
    assert forward_ad.unpack_dual(dual).primal.tolist() == [1.0, 2.0]
    assert forward_ad.unpack_dual(x * 2).tangent is None
    assert forward_ad.unpack_dual(x).primal is x
    forward_ad.exit_dual_level()
    assert forward_ad.unpack_dual(dual) == (dual, None)
    with forward_ad.dual_level() as level:
        assert level == 0
        assert forward_ad.unpack_dual(dual).tangent is None
    with pytest.raises(ValueError, match="here"), forward_ad.dual_level():
        raise ValueError("here")


def test_duals_that_cannot_be_made() -> None:
    whole = torch.tensor([1, 2])
    with forward_ad.dual_level():
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
            forward_ad.make_dual(whole, torch.ones(2))
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: torch.int64"):
            forward_ad.make_dual(torch.ones(2), whole)
        with pytest.raises(RuntimeError, match=r"of size \[2\] while the given forward gradient is of size \[3\]"):
            forward_ad.make_dual(torch.ones(2), torch.ones(3))
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            forward_ad.make_dual(dual, torch.ones(2))
        z = forward_ad.make_dual(torch.tensor([1j]), torch.tensor([2 + 0j]))
        assert forward_ad.unpack_dual(z * z).tangent.tolist() == [4j]


def test_tangents_are_switched_off() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        with forward_ad._set_fwd_grad_enabled(False):
            assert forward_ad.unpack_dual(dual * 2).tangent is None
            with forward_ad._set_fwd_grad_enabled(True):
                assert forward_ad.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]
            again = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        assert forward_ad.unpack_dual(again * 2).tangent.tolist() == [2.0, 2.0]
        assert forward_ad.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]


def test_tangents_of_writes() -> None:
    with forward_ad.dual_level():
        x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
        dual = forward_ad.make_dual(x.clone(), t.clone())
        dual.mul_(2)
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [6.0, 8.0]
        dual[0] = 5.0
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [0.0, 8.0]
        dual.zero_()
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [0.0, 0.0]
        plain = torch.zeros(2)
        plain[1] = forward_ad.make_dual(torch.tensor(1.0), torch.tensor(7.0))
        assert forward_ad.unpack_dual(plain).tangent.tolist() == [0.0, 7.0]
        plain = torch.zeros(2)
        plain.add_(forward_ad.make_dual(x.clone(), t.clone()), alpha=2)
        assert forward_ad.unpack_dual(plain).tangent.tolist() == [6.0, 8.0]
        wide = torch.zeros(2, 2)
        wide.add_(forward_ad.make_dual(x.clone(), t.clone()))
        assert forward_ad.unpack_dual(wide).tangent.tolist() == [[3.0, 4.0], [3.0, 4.0]]


def test_keywords_go_to_tangents_too() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.tensor([3.0, 4.0]))
        for made in (dual.to(torch.float64), dual.cumsum(0, dtype=torch.float64), dual.sum(dtype=torch.float64)):
            assert forward_ad.unpack_dual(made).tangent.dtype == torch.float64
        three = torch.add(torch.ones(2), dual, alpha=3)
        assert forward_ad.unpack_dual(three).tangent.tolist() == [9.0, 12.0]
        assert forward_ad.unpack_dual(torch.roll(dual, 1)).tangent.tolist() == [4.0, 3.0]


def test_operators_without_a_forward_formula_say_so() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.rand(3, 2), torch.rand(3, 2))
        with pytest.raises(
            NotImplementedError, match="Trying to use forward AD with _pdist_forward that does not support it"
        ):
            torch.nn.functional.pdist(dual)
        assert forward_ad.unpack_dual(dual.argmax(1)).tangent is None
        assert forward_ad.unpack_dual(dual > 0).tangent is None


# ---- graph utilities ----


def test_hooks_of_saved_tensors() -> None:
    packed: list[Any] = []

    def pack(tensor: Any) -> int:
        packed.append(tensor)
        return len(packed) - 1

    x = _leaf()
    with graph.saved_tensors_hooks(pack, lambda place: packed[place] * 10) as entered:
        assert entered is None
        y = x.exp()
    z = x.exp()
    y.sum().backward()
    assert len(packed) == 1
    assert torch.allclose(x.grad, x.detach().exp() * 10)
    x.grad = None
    z.sum().backward()
    assert torch.allclose(x.grad, x.detach().exp())


def test_hooks_of_saved_tensors_may_be_forbidden() -> None:
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        with graph.disable_saved_tensors_hooks("nor here"):
            with pytest.raises(RuntimeError, match="nor here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
        with pytest.raises(RuntimeError, match="not here"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_saved_on_the_cpu() -> None:
    x = _leaf()
    with graph.save_on_cpu(pin_memory=False):
        y = (x.exp() * x).sum()
    y.backward()
    assert torch.allclose(x.grad, (x * x.exp() + x.exp()).detach())


def test_edges() -> None:
    x = _leaf()
    y = x * 2
    edge = graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 0)
    assert torch.autograd.grad(y.sum(), edge)[0].tolist() == [1.0, 1.0]
    low, high = torch.unbind(y)
    assert graph.get_gradient_edge(high).output_nr == 1
    assert torch.autograd.grad(graph.get_gradient_edge(low), x, torch.tensor(3.0, dtype=torch.float64))[0].tolist() == [
        6.0,
        0.0,
    ]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(torch.ones(1))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(edge, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(edge, x, torch.ones(3, dtype=torch.float64))
    scalar = graph.get_gradient_edge(y.sum())
    assert torch.autograd.grad(scalar, x)[0].tolist() == [2.0, 2.0]


def test_versions() -> None:
    x, y = torch.ones(2), torch.ones(2)
    graph.increment_version(x)
    assert (x._version, y._version) == (1, 0)
    graph.increment_version([x, y])
    assert (x._version, y._version) == (2, 1)
    graph.increment_version(iter((y,)))
    assert (x._version, y._version) == (2, 2)


def test_hooks_on_several_gradients() -> None:
    a, b, c = _leaf(), _leaf(), _leaf()
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook((a, b, c), seen.append)
    (a * b).sum().backward()
    assert [None if g is None else g.tolist() for g in seen[0]] == [[1.0, 2.0], [1.0, 2.0], None]
    (a * b * c).sum().backward()
    assert len(seen) == 2 and seen[1][2].tolist() == [1.0, 4.0]
    torch.autograd.grad((a * b).sum(), b)
    assert len(seen) == 3 and seen[2][0] is None and seen[2][2] is None
    handle.remove()
    (a * b).sum().backward()
    assert len(seen) == 3
    first: list[Any] = []
    with graph.register_multi_grad_hook(iter((a, b, torch.ones(2))), first.append, mode="any") as entered:
        assert entered is not None
        (a * b * 3).sum().backward()
        assert len(first) == 1
        assert first[0].tolist() == [3.0, 6.0]
        (a * 2).sum().backward()
        assert len(first) == 2
    (a * b).sum().backward()
    assert len(first) == 2
    with pytest.raises(ValueError, match="Expects mode to be one of .* but got some"):
        graph.register_multi_grad_hook((a,), seen.append, mode="some")
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.register_multi_grad_hook((a, torch.ones(1)), seen.append)


def test_saved_tensors_may_be_written_to() -> None:
    with graph.allow_mutation_on_saved_tensors() as entered:
        assert isinstance(entered, graph.allow_mutation_on_saved_tensors)
        a = _leaf()
        b = a.clone()
        out = (b**2).sum()
        again = (b**3).sum()
        b.sin_()
        last = (b**2).sum()
        torch.mul(b.detach(), 2, out=b.detach())
        torch._foreach_add_([b.detach()], 1.0)
        out.backward(retain_graph=True)
        assert a.grad.tolist() == [2.0, 4.0]
        a.grad = None
        again.backward()
        assert a.grad.tolist() == [3.0, 12.0]
        a.grad = None
        last.backward()
        assert torch.allclose(a.grad, (2 * a.sin() * a.cos()).detach())
    b = _leaf().clone()
    out = (b**2).sum()
    b.sin_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_variables() -> None:
    x = torch.ones(2)
    made = torch.autograd.Variable(x, requires_grad=True)
    assert made.requires_grad and made.data_ptr() == x.data_ptr() and not x.requires_grad
    assert not torch.autograd.Variable(x).requires_grad
    assert torch.autograd.Variable().shape == (0,)
    assert isinstance(x, torch.autograd.Variable) and not isinstance(3, torch.autograd.Variable)
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        torch.autograd.Variable(3)
    with pytest.raises(ValueError, match="can't be volatile and require_grad"):
        torch.autograd.Variable(x, True, True)
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not torch.autograd.Variable(x, volatile=True).requires_grad


# ---- arguments of backward and grad ----


def test_arguments_of_backward() -> None:
    x = _leaf()
    one = torch.ones(2, dtype=torch.float64)
    torch.autograd.backward((x * 2).sum())
    torch.autograd.backward([x * 2, (x * 3).sum()], [one, None])
    assert x.grad.tolist() == [7.0, 7.0]
    x.grad = None
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torch.autograd.backward(x * 2, grad_variables=one)
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="arguments both passed to `backward"):
        torch.autograd.backward(x * 2, one, grad_variables=one)
    for arguments, kind, message in (
        (
            ((x * 2,), None, None, False, None, ()),
            RuntimeError,
            "`inputs` argument to `backward\\(\\)` cannot be empty",
        ),
        ((x * 2,), RuntimeError, "grad can be implicitly created only for scalar outputs"),
        ((x * 2, torch.ones(3)), RuntimeError, r"grad_output\[0\] has a shape of torch.Size\(\[3\]\) and output\[0\]"),
        (([x.sum(), x * 2], [None, torch.ones(3)]), RuntimeError, r"grad_output\[1\] has a shape"),
        ((x * 2, one * 1j), RuntimeError, r"grad_output\[0\] has a dtype of torch.complex128"),
        (((x * 2j).sum(),), RuntimeError, "only for real scalar outputs but got torch.complex128"),
        ((x * 2, 3), TypeError, "'int' object is not iterable"),
        ((x * 2, ["a"]), TypeError, "gradients can be either Tensors or None, but got str"),
    ):
        with pytest.raises(kind, match=message):
            torch.autograd.backward(*arguments)
    y = x * 2
    total = (y * y).sum()
    total.backward(inputs=[y], retain_graph=True)
    assert y.grad.tolist() == [4.0, 8.0] and x.grad.tolist() == [2.0, 2.0]
    total.backward(inputs=x, create_graph=False)
    assert x.grad.tolist() == [10.0, 18.0]
    with pytest.raises(RuntimeError, match="second time"):
        total.backward()


def test_arguments_of_grad() -> None:
    x, y = _leaf(), _leaf()
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.requires_grad
    assert torch.autograd.grad(g.sum(), [x], retain_graph=True)[0].tolist() == [6.0, 12.0]
    assert torch.autograd.grad((x * 2).sum(), (x, y), allow_unused=True)[1] is None
    assert torch.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)[1].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad((x * 2).sum(), (x, y))
    with pytest.raises(ValueError, match="allow_unused"):
        torch.autograd.grad((x * 2).sum(), (x, y), allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(x.sum(), torch.ones(1))
    rows = torch.autograd.grad(x * x, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)[0]
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    both = torch.autograd.grad(
        [x * x, x * 3], [x, y], [torch.eye(2, dtype=torch.float64)] * 2, is_grads_batched=True, allow_unused=True
    )
    assert both[0].tolist() == [[5.0, 0.0], [0.0, 7.0]] and both[1] is None
    z = x * x
    for _ in range(2):
        torch.autograd.grad(z, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True, retain_graph=True)
    torch.autograd.grad(z, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(z, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    with pytest.raises(ValueError, match="sizes .2, 3. for the mapped"):
        torch.autograd.grad(
            [x * x, x * 3], x, [torch.ones(2, 2).double(), torch.ones(3, 2).double()], is_grads_batched=True
        )
    with pytest.raises(ValueError, match="Got in_dim=0 for some input"):
        torch.autograd.grad(x.sum(), x, is_grads_batched=True)
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.autograd.grad(x.sum(), x, torch.tensor(1.0).double(), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`|has a shape"):
        torch.autograd.grad(x * x, x, torch.ones(2, 3).double(), is_grads_batched=True)


# ---- contexts of Functions ----


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, n: Any = 2, *, unused: Any = None) -> Any:
        ctx.n = n
        return x * n

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.n, None


class _New(torch.autograd.Function):
    @staticmethod
    def forward(x: Any, n: Any = 2, m: Any = 1) -> Any:
        return x * n * m

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.inputs = inputs

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        _, n, m = ctx.inputs
        return g * n * m, None, None

    @staticmethod
    def jvp(ctx: Any, t: Any, *_: Any) -> Any:
        _, n, m = ctx.inputs
        return t * n * m


def test_arguments_of_functions_by_name() -> None:
    x = _leaf()
    assert torch.autograd.grad(_Twice.apply(x, n=3).sum(), x)[0].tolist() == [3.0, 3.0]
    assert torch.autograd.grad(_Twice.apply(x=x, n=3).sum(), x)[0].tolist() == [3.0, 3.0]
    assert torch.autograd.grad(_New.apply(x, m=3).sum(), x)[0].tolist() == [6.0, 6.0]
    assert torch.autograd.grad(_New.apply(x).sum(), x)[0].tolist() == [2.0, 2.0]
    assert torch.autograd.grad(_New.apply(m=5, x=x).sum(), x)[0].tolist() == [10.0, 10.0]
    for call, message in (
        (lambda: _Twice.apply(x, k=1), "forward\\(\\) got an unexpected keyword argument 'k'"),
        (lambda: _Twice.apply(x, unused=1), "unexpected keyword argument 'unused'"),
        (lambda: _Twice.apply(x, x=1), "forward\\(\\) got multiple values for argument 'x'"),
        (lambda: _Twice.apply(n=1), "forward\\(\\) missing required argument: 'x' \\(position 0\\)"),
        (lambda: _New.apply(x, k=1), "unexpected keyword argument 'k'"),
        (lambda: _New.apply(), "missing a required argument: 'x'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_functions_that_lack_something() -> None:
    x = _leaf()
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        torch.autograd.Function.apply(x)

    class NoBackward(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        NoBackward.apply(x).sum().backward()
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        NoBackward.apply(forward_ad.make_dual(x.detach(), torch.ones(2, dtype=torch.float64)))

    class Both(NoBackward):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(x).sum().backward()

    class ByVjp(NoBackward):
        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    ByVjp.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(NotImplementedError, match="setup_context is not implemented"):
        torch.autograd.Function.setup_context(None, (), None)
    with pytest.raises(NotImplementedError, match="override the vmap static method or set generate_vmap_rule=True"):
        torch.autograd.Function.vmap(None, ())
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = NoBackward()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        made(x)
    assert NoBackward._backward_cls.__name__ == "NoBackwardBackward"
    assert NoBackward._backward_cls.__module__ == "torch.autograd.function"
    assert NoBackward._backward_cls._autograd_function_id < ByVjp._backward_cls._autograd_function_id


def test_gradients_in_one_list() -> None:
    class Boxed(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            assert type(grads) is list
            a, b = grads
            return a * 2 + b * 3

    x = _leaf()
    a, b = Boxed.apply(x)
    one = torch.ones(2, dtype=torch.float64)
    assert a.grad_fn.apply(one, one).tolist() == [5.0, 5.0]
    assert a.grad_fn.apply_boxed([one, one]).tolist() == [5.0, 5.0]
    assert _Twice.apply(x, 4).grad_fn.apply(one)[0].tolist() == [4.0, 4.0]
    (a + b * 2).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


def _jvp(name: str) -> Any:
    class Stated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: Any = None) -> Any:
            if name == "in place":
                ctx.mark_dirty(x)
                return x.mul_(2)
            return (x * 2, x * 3) if name in ("two", "one for two") else x * 2

        @staticmethod
        def jvp(ctx: Any, t: Any, n: Any = None) -> Any:
            return {
                "two": lambda: (t * 2, None),
                "one for two": lambda: t * 2,
                "two for one": lambda: (t, t),
                "no tensor": lambda: 3,
                "shape": lambda: t[:1],
                "none": lambda: None,
                "in place": lambda: t * 2,
                "right": lambda: t * 2,
            }[name]()

    return Stated.apply


def test_tangents_of_functions() -> None:
    with forward_ad.dual_level():
        x, t = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

        def dual() -> Any:
            return forward_ad.make_dual(x.clone(), t.clone())

        assert forward_ad.unpack_dual(_jvp("right")(dual())).tangent.tolist() == [6.0, 8.0]
        assert forward_ad.unpack_dual(_jvp("right")(dual(), 3)).tangent.tolist() == [6.0, 8.0]
        a, b = _jvp("two")(dual())
        assert forward_ad.unpack_dual(a).tangent.tolist() == [6.0, 8.0]
        assert forward_ad.unpack_dual(b).tangent is None
        assert forward_ad.unpack_dual(_jvp("none")(dual())).tangent is None
        assert forward_ad.unpack_dual(_New.apply(dual(), 3)).tangent.tolist() == [9.0, 12.0]
        for name, message in (
            ("one for two", r"invalid number of forward gradients \(expected 2 but got 1\)"),
            ("two for one", r"invalid number of forward gradients \(expected 1 but got 2\)"),
            ("no tensor", r"expected Variable or None \(got int\) for grad output 0"),
            ("shape", "to have shape"),
            ("in place", "not modifying the forward mode gradients inplace"),
        ):
            with pytest.raises(RuntimeError, match=message):
                _jvp(name)(dual())


def test_once_differentiable() -> None:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x + y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            """Slopes."""
            assert not torch.is_grad_enabled()
            (x,) = ctx.saved_tensors
            return g * 2 * x, None

    x = _leaf()
    assert torch.autograd.grad(Once.apply(x, 1).sum(), x)[0].tolist() == [2.0, 4.0]
    (g,) = torch.autograd.grad((Once.apply(x, 1) * x).sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        g.sum().backward()
    (g,) = torch.autograd.grad(Once.apply(x, 1).sum(), x, create_graph=True)
    assert not g.requires_grad
    assert Once.backward.__doc__ == "Slopes."


def test_other_kinds_of_functions() -> None:
    with pytest.warns(DeprecationWarning):
        assert torch.autograd.function.InplaceFunction().inplace is False
    with pytest.warns(DeprecationWarning):
        assert torch.autograd.function.InplaceFunction(inplace=True).inplace is True


def test_programs_see_whether_a_forward_level_is_open():
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
    assert forward_ad._current_level == -1


def test_a_jvp_applies_its_own_function():
    """Tangents of saved tensors stay out of what it computes."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            ctx.save_for_backward(x, a)
            ctx.save_for_forward(x, a)
            return x * a

        @staticmethod
        def jvp(ctx, x_tangent, a_tangent):
            x, a = ctx.saved_tensors
            return Product.apply(x_tangent, a) + Product.apply(x, a_tangent)

    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        a = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(5.0))
        primal, tangent = forward_ad.unpack_dual(Product.apply(x, a))
    assert (primal.item(), tangent.item()) == (6.0, 17.0)


def test_forward_over_reverse_of_a_function_that_saves_its_output():
    """The saved output has the tangent of the output, though it was saved before `jvp` told it."""

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y

        @staticmethod
        def jvp(ctx, tangent):
            (y,) = ctx.saved_tensors
            return tangent * y

    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(
            torch.tensor(0.5, dtype=torch.float64, requires_grad=True), torch.ones((), dtype=torch.float64)
        )
        (gradient,) = torch.autograd.grad(Exp.apply(x), x)
        primal, tangent = forward_ad.unpack_dual(gradient)
    assert primal.item() == tangent.item() == pytest.approx(1.6487212707001282, rel=1e-15)
    y = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(Exp.apply, (y,), check_fwd_over_rev=True)


def test_attributes_that_are_operators_are_asked_for_by_their_getters() -> None:
    asked = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(torch.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 2)
    with Mode():
        _ = x.T, x.mT, x.H, x.mH, x.real
    assert asked == [f"torch.Tensor.{name}.__get__" for name in ("T", "mT", "H", "mH", "real")]
