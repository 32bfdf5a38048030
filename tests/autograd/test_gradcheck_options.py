"""gradcheck and gradgradcheck: each option, right functions and wrong ones."""

import importlib
import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.autograd import GradcheckError, gradcheck, gradgradcheck


def _function(
    value: Callable[..., Any], slope: Callable[..., Any], tangent: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function of one tensor with the gradient, and the tangent, that is given."""

    class Stated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return value(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return slope(ctx.saved_tensors[0], *grads)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            assert tangent is not None
            return tangent(ctx.saved_tensors[0], t)

    return Stated.apply


def _x(*values: float, dtype: Any = torch.float64) -> Any:
    return torch.tensor(values or (0.3, 0.7), dtype=dtype, requires_grad=True)


RIGHT: dict[str, tuple[Callable[..., Any], Callable[[], Any], dict[str, Any]]] = {
    "one tensor": (torch.sin, _x, {}),
    "a list": (lambda x, y: x * y, lambda: [_x(), _x(2.0)], {}),
    "several outputs": (lambda x: (x * x, x.exp()), _x, {}),
    "an output that is no tensor": (lambda x: (x * x, 3), _x, {}),
    "an output of whole numbers": (lambda x: (x * x, (x > 0.5).long()), _x, {}),
    "an output without a gradient": (lambda x: (x * x, torch.ones(2)), _x, {}),
    "an input without a gradient": (
        lambda x, y: x * y,
        lambda: (_x(), torch.tensor([2.0, 3.0], dtype=torch.float64)),
        {},
    ),
    "a number": (lambda x, n: x * n, lambda: (_x(), 3), {}),
    "no element": (lambda x: x * 2, lambda: torch.zeros(0, dtype=torch.float64, requires_grad=True), {}),
    "an output of no element": (lambda x: (x[:0] * 2, x * 2), _x, {}),
    "no dimension": (lambda x: x * x, lambda: torch.tensor(2.0, dtype=torch.float64, requires_grad=True), {}),
    "a matrix": (lambda x: x @ x, lambda: torch.eye(2, dtype=torch.float64).add(0.5).requires_grad_(), {}),
    "not contiguous": (
        lambda x: x @ x,
        lambda: torch.rand(2, 2, dtype=torch.float64).t().detach().requires_grad_(),
        {},
    ),
    "unused": (lambda x, y: x * 2, lambda: (_x(), _x()), {}),
    "independent": (lambda x: torch.ones(2, dtype=torch.float64), _x, {}),
    "complex": (lambda x: x * x.conj() * x, lambda: _x(0.5 + 1j, 2 - 1j, dtype=torch.complex128), {}),
    "complex to real": (lambda x: x.abs() ** 2, lambda: _x(0.5 + 1j, 2 - 1j, dtype=torch.complex128), {}),
    "real to complex": (lambda x: x * (1 + 2j), _x, {}),
    "forward": (torch.sin, _x, {"check_forward_ad": True}),
    "forward alone": (torch.sin, _x, {"check_forward_ad": True, "check_backward_ad": False}),
    "forward of complex": (lambda x: x * x, lambda: _x(1j, dtype=torch.complex128), {"check_forward_ad": True}),
    "forward, one constant": (lambda x: (x * 2, x.detach() * 0 + 1), _x, {"check_forward_ad": True}),
    "forward, no element": (
        lambda x, y: x * 2,
        lambda: (_x(), torch.zeros(0, dtype=torch.float64, requires_grad=True)),
        {"check_forward_ad": True},
    ),
    "batched": (lambda x: (x * x, x.exp()), _x, {"check_batched_grad": True}),
    "batched, unused": (lambda x, y: (x * x, torch.ones(2)), lambda: (_x(), _x()), {"check_batched_grad": True}),
    "dtypes": (torch.sin, _x, {"check_grad_dtypes": True}),
    "fast": (torch.sin, _x, {"fast_mode": True}),
    "rough": (_function(lambda x: x * 2, lambda x, g: g * 2.1), _x, {"atol": 0.2}),
    "roughly": (_function(lambda x: x * 2, lambda x, g: g * 2.1), _x, {"rtol": 0.06, "atol": 0.0}),
    "a large step": (lambda x: x * 3, _x, {"eps": 0.5}),
    "undefined": (lambda x: (x * 2, x * 3, x * 4), _x, {"check_undefined_grad": True}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    function, inputs, options = RIGHT[name]
    assert gradcheck(function, inputs(), **options) is True
    assert gradcheck(function, inputs(), raise_exception=False, **options) is True


_calls = [0]


def _changing(x: Any, g: Any) -> Any:
    _calls[0] += 1
    return g * (2 + 1e-7 * (_calls[0] % 3))


class _Undefined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if g is None:
            raise RuntimeError("the gradient is absent")
        return g


class _NoBatch(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2 if float(g.sum()) else g * 2


WRONG: dict[str, tuple[Callable[..., Any], Callable[[], Any], dict[str, Any], str]] = {
    "slope": (
        _function(lambda x: x * 2, lambda x, g: g),
        _x,
        {},
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
    "second output": (
        lambda x: (x * 2, _function(lambda x: x * 2, lambda x, g: g)(x)),
        _x,
        {},
        "for output 1 with respect to input 0",
    ),
    "second input": (
        lambda x, y: x * 2 + _function(lambda y: y * 2, lambda y, g: g)(y),
        lambda: (_x(), _x()),
        {},
        "for output 0 with respect to input 1",
    ),
    "one element": (
        _function(lambda x: x * 2, lambda x, g: g * torch.tensor([2.0, 2.01], dtype=torch.float64)),
        _x,
        {},
        "Jacobian .*mismatch",
    ),
    "beyond atol": (
        _function(lambda x: x * 2, lambda x, g: g * 2.1),
        _x,
        {"atol": 0.09, "rtol": 0.0},
        "Jacobian .*mismatch",
    ),
    "beyond rtol": (
        _function(lambda x: x * 2, lambda x, g: g * 2.1),
        _x,
        {"atol": 0.0, "rtol": 0.04},
        "Jacobian .*mismatch",
    ),
    "default tolerance": (_function(lambda x: x * 2, lambda x, g: g * 2.003), _x, {}, "Jacobian .*mismatch"),
    "imaginary part": (
        _function(lambda x: x * 2, lambda x, g: g * (2 + 0.1j)),
        lambda: _x(1j, dtype=torch.complex128),
        {},
        "Jacobian .*mismatch",
    ),
    "complex conjugate": (
        _function(lambda x: x * 2j, lambda x, g: g * 2j),
        lambda: _x(1j, dtype=torch.complex128),
        {},
        "Jacobian .*mismatch",
    ),
    "tangent": (
        _function(lambda x: x * 2, lambda x, g: g * 2, lambda x, t: t * 3),
        _x,
        {"check_forward_ad": True},
        "Jacobian .*mismatch",
    ),
    "tangent alone": (
        _function(lambda x: x * 2, lambda x, g: g * 3, lambda x, t: t * 3),
        _x,
        {"check_forward_ad": True, "check_backward_ad": False},
        "Jacobian .*mismatch",
    ),
    "changing": (_function(lambda x: x * 2, _changing), _x, {}, "Backward is not reentrant"),
    "independent": (lambda x: x.detach() * 2, _x, {}, "Numerical gradient for function expected to be zero"),
    "undefined": (_Undefined.apply, _x, {}, "handle undefined output grads"),
    "batched": (_NoBatch.apply, _x, {"check_batched_grad": True}, "While computing batched gradients"),
    "slope at a large step": (lambda x: x**3, _x, {"eps": 0.5}, "Jacobian .*mismatch"),
}


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    function, inputs, options, message = WRONG[name]
    with pytest.raises(GradcheckError, match=message):
        gradcheck(function, inputs(), **options)
    assert gradcheck(function, inputs(), raise_exception=False, **options) is False


def test_what_is_asked_for_is_checked_and_nothing_else() -> None:
    changing = _function(lambda x: x * 2, _changing)
    assert gradcheck(changing, _x(), nondet_tol=1e-3)
    assert gradcheck(_Undefined.apply, _x(), check_undefined_grad=False)
    assert gradcheck(_NoBatch.apply, _x())
    assert gradcheck(
        _function(lambda x: x * 2, lambda x, g: g, lambda x, t: t * 2),
        _x(),
        check_forward_ad=True,
        check_backward_ad=False,
    )
    assert gradcheck(_function(lambda x: x * 2, lambda x, g: g * 2, lambda x, t: t), _x())


def test_inputs_are_left_as_they_were() -> None:
    x, z = _x(), _x(1 + 2j, dtype=torch.complex128)
    before = x.tolist(), z.tolist()
    assert gradcheck(lambda x, z: (x * 2, z * x), (x, z), check_forward_ad=True, check_batched_grad=True)
    assert (x.tolist(), z.tolist()) == before
    assert x.grad is None and z.grad is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "check_batched_grad=True requires",
        ),
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        gradcheck(torch.sin, _x(), **options)


def test_inputs_that_cannot_be_checked() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x, n: x, (torch.ones(2), 3))
    wide = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(torch.sin, wide)
    assert gradcheck(torch.sin, torch.ones(1, dtype=torch.float64).expand(1, 1).requires_grad_())
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double precision"):
        gradcheck(
            lambda x, y: (x * 2, y * 1),
            (_x(), _x(dtype=torch.float32)),
            eps=1e-2,
            atol=1e-2,
            check_undefined_grad=False,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x, y: x * y, (_x(), torch.ones(2)))


SECOND: dict[str, tuple[Callable[..., Any], Callable[[], Any], dict[str, Any]]] = {
    "cube": (lambda x: x**3, _x, {}),
    "several": (lambda x, y: (x * y, y.exp(), 3), lambda: (_x(), _x()), {}),
    "not contiguous": (
        lambda x: x**3,
        lambda: torch.rand(2, 3, dtype=torch.float64, requires_grad=True),
        {"gen_non_contig_grad_outputs": True},
    ),
    "forward over reverse": (lambda x: x**3, _x, {"check_fwd_over_rev": True}),
    "forward alone": (
        lambda x: x**3,
        _x,
        {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False},
    ),
    "batched": (lambda x: x**3, _x, {"check_batched_grad": True}),
    "given": (lambda x: x**3, _x, {"grad_outputs": torch.tensor([0.5, 2.0], dtype=torch.float64)}),
    "given with history": (
        lambda x: x**3,
        _x,
        {"grad_outputs": [torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)]},
    ),
    "complex": (lambda x: x**3, lambda: _x(1 + 1j, dtype=torch.complex128), {}),
    "complex, not contiguous": (
        lambda x: x**3,
        lambda: _x(1 + 1j, 2j, dtype=torch.complex128),
        {"gen_non_contig_grad_outputs": True},
    ),
    "an input without a gradient": (
        lambda x, y, n: x * y * n,
        lambda: (_x(), torch.ones(2, dtype=torch.float64), 3),
        {},
    ),
    "no dimension": (
        lambda x: x**3,
        lambda: torch.tensor(2.0, dtype=torch.float64, requires_grad=True),
        {"gen_non_contig_grad_outputs": True},
    ),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_order(name: str) -> None:
    function, inputs, options = SECOND[name]
    assert gradgradcheck(function, inputs(), **options) is True


def test_second_order_that_is_wrong() -> None:
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x.detach() ** 2

    assert gradcheck(First.apply, _x())
    with pytest.raises(GradcheckError):
        gradgradcheck(First.apply, _x())
    assert gradgradcheck(First.apply, _x(), raise_exception=False) is False
    assert gradgradcheck(First.apply, _x(), atol=100.0)
    assert gradgradcheck(First.apply, _x(), rtol=100.0, atol=100.0)
    with pytest.raises(AssertionError, match="at least one of check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(torch.sin, _x(), check_rev_over_rev=False)


def test_gradients_put_in_are_spread_where_asked() -> None:
    seen: list[tuple[int, ...]] = []

    def cube(v: Any) -> Any:
        made = v**3
        if made.requires_grad:
            made.register_hook(lambda g: seen.append(tuple(g.stride())))
        return made

    matrix = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(cube, matrix, gen_non_contig_grad_outputs=True)
    assert (6, 2) in seen


def test_slopes_by_small_steps() -> None:
    """At 1 the cube has the slope 3 + eps²."""
    from mindtorch_v2.autograd.gradcheck import _get_numerical_jacobian

    x = _x(1.0)
    for options, eps in (({}, 1e-3), ({"eps": 0.1}, 0.1)):
        ((slopes,),) = _get_numerical_jacobian(lambda v: v**3, x, **options)
        assert slopes.shape == (1, 1)
        assert abs(slopes.item() - (3 + eps * eps)) < 1e-9
    first, second = _get_numerical_jacobian(lambda a, b: (a * 2, a * b), (_x(1.0, 2.0), _x(3.0, 4.0)))
    expected = [[[2, 0], [0, 2]], [[3, 0], [0, 4]]], [[[0, 0], [0, 0]], [[1, 0], [0, 2]]]
    for found, values in zip((first, second), expected, strict=True):
        for matrix, value in zip(found, values, strict=True):
            torch.testing.assert_close(matrix, torch.tensor(value, dtype=torch.float64))
    (only,) = _get_numerical_jacobian(lambda a, b: a * b, (_x(1.0), _x(3.0)), target=_x(1.0))
    assert only[0].item() == 0  # the target is another tensor than the function reads
    assert _get_numerical_jacobian(lambda a: a, torch.ones(2)) == []


def test_batched_gradients_are_compared() -> None:
    class Scaled(torch.autograd.Function):
        """Backward is right, but for several gradients at once, where it is wrong by `factor`."""

        factor = 1.0

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return _Doubled.apply(g)

    class _Doubled(Scaled):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * (2 if _C._batched_parts(x) is None else 2 * Scaled.factor)

    assert gradcheck(Scaled.apply, _x(), check_batched_grad=True)
    Scaled.factor = 1.01
    assert gradcheck(Scaled.apply, _x())
    with pytest.raises(GradcheckError, match="failed while testing batched gradient"):
        gradcheck(Scaled.apply, _x(), check_batched_grad=True)


def _wrong_by_a_hook(x: Any) -> Any:
    y = x.clone()
    y.register_hook(lambda g: g * 1.01)
    return y.to_dense()


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("masked", [False, True])
def test_sparse_inputs(layout: str, fast_mode: bool, masked: bool) -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.5]], dtype=torch.float64).to_sparse(layout=getattr(torch, layout))
    x.requires_grad_()
    options = {"masked": masked, "fast_mode": fast_mode}
    assert gradcheck(lambda x: x.to_dense(masked_grad=masked) ** 2, x, **options)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(_wrong_by_a_hook, x, **options)
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        gradcheck(lambda x: x * 1, x, **options)


def test_what_a_sparse_gradient_looks_like() -> None:
    def other_dimensions(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g.to_dense().to_sparse(1))
        return y.to_dense()

    x = torch.ones(2, 2, dtype=torch.float64).to_sparse().requires_grad_()
    with pytest.raises(GradcheckError, match="grad is sparse tensor, but has incorrect sparse_dim 1, expected 2"):
        gradcheck(other_dimensions, x, masked=True)
    with pytest.raises(GradcheckError, match="grad is incorrect layout"):
        gradcheck(_function(lambda x: x * 1, lambda x, g: g.to_sparse()), _x())


@pytest.mark.parametrize(
    ("function", "inputs", "options"),
    [
        (_function(lambda x: x * 2, lambda x, g: g * 2.1), _x, {}),
        (_function(lambda x: x * 2, lambda x, g: g * (2 + 0.1j)), lambda: _x(1j, 2.0, dtype=torch.complex128), {}),
        (_function(lambda x: x * 2j, lambda x, g: g * 2j), lambda: _x(1j, 2.0, dtype=torch.complex128), {}),
        (
            _function(lambda x: x * 2, lambda x, g: g * 2, lambda x, t: t * 3),
            _x,
            {"check_forward_ad": True},
        ),
    ],
)
def test_fast_mode_finds_what_is_wrong(function: Any, inputs: Any, options: dict[str, Any]) -> None:
    with pytest.raises(GradcheckError, match=r"(?s)Jacobian .*mismatch.*max per-element difference \(slow mode\) is"):
        gradcheck(function, inputs(), fast_mode=True, **options)


def test_fast_mode_takes_few_calls() -> None:
    calls = 0

    def function(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x.sin()

    x = torch.linspace(0, 1, 1000, dtype=torch.float64).requires_grad_()
    assert gradcheck(function, x, fast_mode=True)
    assert calls < 10


def test_tangents_of_several_at_once() -> None:
    options: dict[str, Any] = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert gradcheck(torch.sin, _x(), **options)
    assert gradcheck(_function(lambda x: x * 2, lambda x, g: g * 2, lambda x, t: t * 2), _x(), **options)

    def by_data(x: Any, tangent: Any) -> Any:
        return tangent * 2 if tangent.sum().item() > -1e9 else tangent

    with pytest.raises(GradcheckError, match="While computing batched gradients, got: "):
        gradcheck(_function(lambda x: x * 2, lambda x, g: g * 2, by_data), _x(), **options)


def test_matrices_by_their_old_names() -> None:
    module = importlib.import_module("mindtorch_v2.autograd.gradcheck")
    x = _x()
    with pytest.warns(FutureWarning, match="part of PyTorch's private API"):
        (slopes,) = module.get_numerical_jacobian(lambda given: given[0] * 2, (x,), eps=1e-6)
    assert torch.allclose(slopes, 2 * torch.eye(2, dtype=torch.float64))
    with pytest.warns(FutureWarning, match="part of PyTorch's private API"):
        found = module.get_analytical_jacobian((x,), x * 2)
    assert found[0][0].tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert found[1:] == (True, True, True)


def test_the_tolerance_is_relative_to_the_slopes_by_steps() -> None:
    """As in allclose(found, steps): a tenth of 1.1 is enough where a tenth of 1.0 would not be."""

    class Short(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.1

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 1.0

    options: dict[str, Any] = {"check_forward_ad": True, "check_backward_ad": False, "atol": 0.0}
    assert gradcheck(Short.apply, _x(2.0), rtol=0.095, **options)
    assert not gradcheck(Short.apply, _x(2.0), rtol=0.09, raise_exception=False, **options)


def test_each_output_may_be_the_one_without_a_gradient() -> None:
    class Together(torch.autograd.Function):
        """Wrong where one gradient is absent and the other is nothing but zeros."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            if a is None and b is None:
                return None
            if a is not None and b is not None:
                return a * 2 + b * 3
            one = b * 3 if a is None else a * 2
            return one if one.any() else one + 1

    options: dict[str, Any] = {"check_batched_grad": False}
    assert gradcheck(Together.apply, _x(2.0), check_undefined_grad=False, **options)
    with (
        pytest.warns(UserWarning),
        pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero"),
    ):
        gradcheck(Together.apply, _x(2.0), check_undefined_grad=True, **options)


def test_blocked_layouts_have_no_tangents() -> None:
    x = torch.rand(2, 3).to_mkldnn().requires_grad_()
    known = pytest.warns(UserWarning, match="not a double precision")
    with known, pytest.raises(ValueError, match="MKLDNN inputs are not support for forward AD gradcheck"):
        gradcheck(lambda v: v.to_dense(), x, check_forward_ad=True, check_backward_ad=False, eps=1e-2, atol=1, rtol=1)


def test_backward_s_tolerance_is_relative_to_the_slopes_by_steps_too() -> None:
    short = _function(lambda x: x * 1.1, lambda x, g: g * 1.0)
    assert gradcheck(short, _x(2.0), rtol=0.095, atol=0.0, check_batched_grad=False)
    assert not gradcheck(short, _x(2.0), rtol=0.09, atol=0.0, check_batched_grad=False, raise_exception=False)


def test_fast_mode_shows_both_matrices_of_what_is_wrong() -> None:
    wrong = _function(lambda x: x * 2, lambda x, g: g * 3)
    with pytest.raises(GradcheckError) as real:
        gradcheck(wrong, _x(1.0, 2.0), fast_mode=True)
    shown = str(real.value).replace("\n", " ")
    steps, found = (
        float(re.search(rf"{word}:\s*(?:tensor\()?(-?[\d.]+)", shown)[1]) for word in ("numerical", "analytical")
    )
    assert abs(found / steps - 1.5) < 1e-4
    assert re.search(r"Numerical:.*\[\[2\.0+, 0\.0+\],\s+\[0\.0+, 2\.0+\]\]", shown), shown
    assert re.search(r"Analytical:.*\[\[3\., 0\.\],\s+\[0\., 3\.\]\]", shown), shown
    with pytest.raises(GradcheckError) as both:
        gradcheck(wrong, torch.tensor([1.0 + 2j], dtype=torch.complex128, requires_grad=True), fast_mode=True)
    shown = str(both.value).replace("\n", " ")
    # The imaginary part of the output comes first; it changes along the imaginary step.
    assert "imaginary part of complex outputs only" in shown
    assert re.search(r"Numerical:\s*tensor\(\[\[2\.0+\]\], dtype=torch.float64\)", shown), shown
    assert re.search(r"Analytical:\s*tensor\(\[\[3\.\]\], dtype=torch.float64\)", shown), shown


def test_fast_mode_s_absolute_tolerance_grows_with_what_is_added_up() -> None:
    """A hundred elements, each wrong by 0.02: within 0.01 of each as it is added up, and not within a hundredth of it."""
    off = _function(lambda x: x * 1.0, lambda x, g: g * 1.02)
    x = torch.linspace(1, 2, 100, dtype=torch.float64).requires_grad_()
    options: dict[str, Any] = {"fast_mode": True, "rtol": 0.0, "check_batched_grad": False, "raise_exception": False}
    assert gradcheck(off, x, atol=1e-2, **options)
    assert not gradcheck(off, x, atol=1e-6, **options)


@pytest.mark.parametrize(("factor", "part"), [(1.5, "real"), (1.5j, "imaginary")])
def test_tangents_of_complex_inputs_are_told_apart(factor: complex, part: str) -> None:
    def tangent(x: Any, t: Any) -> Any:
        wrong = t.imag if part == "imaginary" else t.real
        return t + 0.5 * wrong

    stated = _function(lambda x: x * 1.0, lambda x, g: g, tangent)
    x = torch.tensor([1.0 + 2j], dtype=torch.complex128, requires_grad=True)
    with pytest.raises(GradcheckError, match=f"While considering the {part} part of complex inputs only"):
        gradcheck(stated, x, check_forward_ad=True, check_backward_ad=False)


def test_tangents_of_sparse_inputs_into_an_output_of_another_size() -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.5]], dtype=torch.float64).to_sparse_csr().requires_grad_()
    weight = torch.arange(1.0, 4, dtype=torch.float64)
    options: dict[str, Any] = {"masked": True, "check_batched_grad": False}
    assert gradcheck(lambda x: (x.to_dense(masked_grad=True).unsqueeze(-1) * weight).sum((0, 1)), x, **options)


def test_an_output_that_an_input_does_not_reach_has_a_matrix_of_zeros() -> None:
    module = importlib.import_module("mindtorch_v2.autograd.gradcheck")
    x, y = _x(), _x()
    with pytest.warns(FutureWarning, match="part of PyTorch's private API"):
        found = module.get_analytical_jacobian((x, y), x * 2)
    assert found[0][0].tolist() == [[2.0, 0.0], [0.0, 2.0]] and found[0][1].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found[1:] == (True, True, True)


def test_second_gradients_may_differ_from_call_to_call_as_far_as_allowed() -> None:
    calls = itertools.count()
    unsteady = _function(lambda x: x**2, lambda x, g: g * 2 * x + (g * x).detach() * 0, None)

    def noisy(x: Any) -> Any:
        y = unsteady(x)
        y.register_hook(lambda g: None if g is None else g + 1e-4 * (next(calls) % 2))
        return y

    options: dict[str, Any] = {"atol": 1e-2, "check_batched_grad": False, "raise_exception": False}
    assert gradcheck(noisy, _x(2.0), nondet_tol=1.0, **options)
    assert not gradcheck(noisy, _x(2.0), nondet_tol=0.0, **options)
