"""Numerical checks of gradients: the slope of a function against what backward and forward mode say."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _C
from .._core.autograd import tangents
from .._core.autograd.backward import grad
from ..func._vmap import vmap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors of nested iterables, in their order."""
    if isinstance(x, _C.TensorBase):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, Iterable) and not isinstance(x, str):
        for each in x:
            yield from _iter_tensors(each, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    outputs: Any = None,
    target: Any = None,
    eps: float = 1e-3,
    is_forward_ad: bool = False,
) -> list[tuple[Any, ...]]:
    """For each differentiable tensor of `target`, by default of the inputs: the matrices of slopes, one for each output.

    A matrix has a row for each element of the tensor and a column for each of the output. Test suites call it; `gradcheck`
    takes its own steps.
    """
    jacobians = []
    for x in _iter_tensors(inputs if target is None else target, only_requiring_grad=True):
        values = x.data
        rows = []
        for index in _places(values.shape):
            value = values[index].item()
            sides = []
            for place in (value + eps, value - eps):
                values[index] = place
                found = fn(*inputs) if isinstance(inputs, tuple) else fn(inputs)
                sides.append([each.detach().clone().reshape(-1) for each in _iter_tensors(found)])
            values[index] = value
            rows.append([(above - below) / (2 * eps) for above, below in zip(*sides, strict=True)])
        jacobians.append(tuple(_op("stack")(list(column), 0) for column in zip(*rows, strict=True)))
    return jacobians


class GradcheckError(RuntimeError):
    """A gradient that is not the slope of its function."""


def _op(name: str, overload: str = "") -> Any:
    return _C._find_operator(f"aten::{name}", overload)


def _differentiable(value: Any) -> bool:
    return isinstance(value, _C.TensorBase) and (value.dtype.is_floating_point or value.dtype.is_complex)


def _tensors(value: Any) -> tuple:
    return (value,) if isinstance(value, _C.TensorBase) else tuple(v for v in value if isinstance(v, _C.TensorBase))


class _Check:
    """One function at one point: its Jacobians by differences, by backward and by forward mode, and their comparison.

    Jacobians are matrices of (elements of the input, elements of the output). A complex input or output has a matrix for
    its real and one for its imaginary direction.
    """

    def __init__(self, func: Callable, inputs: tuple, eps: float, atol: float, rtol: float) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.checked = [i for i, x in enumerate(inputs) if isinstance(x, _C.TensorBase) and x.requires_grad]

    def outputs(self) -> tuple:
        return tuple(o for o in _tensors(self.func(*self.inputs)) if _differentiable(o))

    # ---- by differences ----

    def numerical(self, which: int, step: complex) -> list:
        """For each output the matrix of central differences along every element of input ``which`` times ``step``."""
        x = self.inputs[which].detach()
        rows: list[list] = []
        for index in _places(x.shape):
            value = x[index].item()
            sides = []
            for sign in (1, -1):
                x[index] = value + sign * self.eps * step
                sides.append([o.detach().clone().reshape(-1) for o in self.outputs()])
            x[index] = value
            rows.append([(a - b) / (2 * self.eps) for a, b in zip(*sides, strict=True)])
        return [_op("stack")([row[n] for row in rows], 0) if rows else None for n in range(len(self.outputs()))]

    # ---- by backward ----

    def analytical(self, output: Any, which: int, seed: complex) -> Any:
        """The matrix of gradients of input ``which``: a column for each element of ``output``, weighted with ``seed``."""
        x = self.inputs[which]
        columns = []
        for place in range(output.numel()):
            weight = _op("zeros_like")(output.detach()).contiguous()
            weight.view(-1)[place] = seed
            columns.append(self._gradient(output, x, weight))
        if not columns:
            return None
        return _op("stack")([c.reshape(-1) for c in columns], 1)

    @staticmethod
    def _gradient(output: Any, x: Any, weight: Any) -> Any:
        (g,) = grad(output, x, weight.view(output.shape), retain_graph=True, allow_unused=True)
        if g is None:
            return _op("zeros_like")(x.detach())
        if tuple(g.shape) != tuple(x.shape):
            raise GradcheckError("Analytical gradient has incorrect size")
        return g

    # ---- the checks ----

    def backward(self, check_grad_dtypes: bool, nondet_tol: float) -> None:
        # All steps first: they write to the inputs, which the graph of the outputs must not see.
        all_slopes = {
            which: {
                step: self.numerical(which, step) for step in ((1, 1j) if self.inputs[which].dtype.is_complex else (1,))
            }
            for which in self.checked
        }
        outputs = self.outputs()
        for which, slopes in all_slopes.items():
            x, steps = self.inputs[which], tuple(slopes)
            for number, output in enumerate(outputs):
                if not output.requires_grad:
                    if any(slopes[s][number] is not None and slopes[s][number].ne(0).any() for s in steps):
                        raise GradcheckError("Numerical gradient for function expected to be zero")
                    continue
                if not x.numel() or not output.numel():
                    continue
                self._compare_backward(output, number, which, slopes, check_grad_dtypes, nondet_tol)

    def _compare_backward(
        self, output: Any, number: int, which: int, slopes: dict, check_grad_dtypes: bool, nondet_tol: float
    ) -> None:
        x = self.inputs[which]
        for seed in (1, 1j) if output.dtype.is_complex else (1,):
            found = self.analytical(output, which, seed)
            if check_grad_dtypes and found.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            again = self.analytical(output, which, seed)
            if (found - again).abs().max().item() > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {nondet_tol}."
                )
            # Backward gives, for a weight w, the gradient of Re(conj(w) * output): its real part along the real direction
            # of the input, its imaginary part along the imaginary one.
            for step in (1, 1j) if x.dtype.is_complex else (1,):
                slope = slopes[step][number]
                if output.dtype.is_complex:
                    slope = slope.real if seed == 1 else slope.imag
                part = (found.real if step == 1 else found.imag) if found.dtype.is_complex else found
                label = ""
                if output.dtype.is_complex or x.dtype.is_complex:
                    label = f"\n({'imaginary' if seed == 1j else 'real'} part of the output, {'imaginary' if step == 1j else 'real'} direction of the input)"
                self._close(part, slope, number, which, label)

    def _close(self, found: Any, slope: Any, number: int, which: int, label: str = "") -> None:
        if not _op("allclose")(found.to(slope.dtype), slope, self.rtol, self.atol):
            raise GradcheckError(
                f"Jacobian mismatch for output {number} with respect to input {which},\nnumerical:{slope}\n"
                f"analytical:{found}\n{label}"
            )

    def forward(self) -> None:
        for which in self.checked:
            x = self.inputs[which]
            if not x.numel():
                continue
            for step in (1, 1j) if x.dtype.is_complex else (1,):
                slopes = self.numerical(which, step)
                columns = [self.pushed(which, index, step) for index in _places(x.shape)]
                for number, slope in enumerate(slopes):
                    found = _op("stack")([column[number] for column in columns], 0)
                    if slope.numel():
                        self._close(found, slope, number, which)

    def pushed(self, which: int, index: tuple, step: complex) -> list:
        """The tangents of the outputs for one element of one input, by forward mode."""
        level = _C._enter_forward_level()
        try:
            direction = _op("zeros_like")(self.inputs[which].detach())
            direction[index] = step
            given = list(self.inputs)
            given[which] = tangents.make_dual(given[which], direction, level)
            made = []
            for output in _tensors(self.func(*given)):
                if _differentiable(output):
                    value, tangent = tangents.unpack_dual(output, level)
                    made.append(
                        _op("zeros_like")(value.detach()).reshape(-1)
                        if tangent is None
                        else tangent.detach().reshape(-1)
                    )
            return made
        finally:
            _C._exit_forward_level(level)

    def undefined(self) -> None:
        """Backward takes absent gradients for zeros."""
        outputs = [o for o in self.outputs() if o.requires_grad]
        if len(outputs) < 2:
            return
        inputs = [self.inputs[i] for i in self.checked]
        for skipped in range(len(outputs)):
            used = [o for i, o in enumerate(outputs) if i != skipped]
            with_none = grad(
                used, inputs, [_op("ones_like")(o.detach()) for o in used], retain_graph=True, allow_unused=True
            )
            weights = [
                _op("ones_like")(o.detach()) if i != skipped else _op("zeros_like")(o.detach())
                for i, o in enumerate(outputs)
            ]
            with_zeros = grad(outputs, inputs, weights, retain_graph=True, allow_unused=True)
            for a, b in zip(with_none, with_zeros, strict=True):
                a = 0 if a is None else a
                b = 0 if b is None else b
                if _op("ne", "Scalar")(abs(a - b), 0).any() if isinstance(a - b, _C.TensorBase) else False:
                    raise GradcheckError(
                        'Expected backward function to handle undefined output grads. Please look at "Notes about undefined '
                        'output gradients" in "tools/autograd/derivatives.yaml"'
                    )

    def batched(self) -> None:
        """Backward of several gradients at once gives what one after the other does."""
        for number, output in enumerate(self.outputs()):
            if not output.requires_grad:
                continue
            inputs = [self.inputs[i] for i in self.checked]

            def back(weight: Any, output: Any = output, inputs: list = inputs) -> tuple:
                made = grad(output, inputs, weight, retain_graph=True, allow_unused=True)
                return tuple(
                    _op("zeros_like")(x.detach()) if g is None else g for g, x in zip(made, inputs, strict=True)
                )

            weights = [_op("randn_like")(output.detach()) for _ in range(2)]
            try:
                together = vmap(back)(_op("stack")(weights, 0))
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\ngradcheck or gradgradcheck failed while testing "
                    "batched gradient computation."
                ) from error
            for place, weight in enumerate(weights):
                for which, one, all_of_them in zip(self.checked, back(weight), together, strict=True):
                    self._close(all_of_them[place], one, number, which)


def _places(shape: Any) -> list:
    places: list[tuple] = [()]
    for n in shape:
        places = [(*p, i) for p in places for i in range(n)]
    return places


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether backward of ``func`` gives its numerical slope at ``inputs`` (float64 inputs that require grad).

    Every output element is checked against every input element (with ``fast_mode`` too). ``check_forward_ad`` checks
    forward mode the same way, ``check_batched_grad`` backward under vmap. Raises :class:`GradcheckError` (False with
    ``raise_exception=False``) at the first gradient that differs by more than ``atol + rtol * |slope|``.

    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    arguments = (inputs,) if isinstance(inputs, _C.TensorBase) else tuple(inputs)
    try:
        _check_inputs(arguments, eps)
        check = _Check(func, arguments, eps, atol, rtol)
        if not any(o.requires_grad for o in check.outputs()):
            _check_independent(check)
            return True
        if check_forward_ad:
            check.forward()
        if check_backward_ad:
            check.backward(check_grad_dtypes, nondet_tol)
            if check_undefined_grad:
                check.undefined()
            if check_batched_grad:
                check.batched()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: tuple, eps: float) -> None:
    any_checked = False
    for place, x in enumerate(inputs):
        if not (isinstance(x, _C.TensorBase) and x.requires_grad):
            continue
        any_checked = True
        if x.dtype not in (_C._dtypes["float64"], _C._dtypes["complex128"]):
            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if x.layout != _C.strided:
            raise NotImplementedError(
                f"gradcheck(): input {place} has the layout {x.layout}, only strided inputs are checked; check the function of "
                "its values instead"
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                "passing it to gradcheck."
            )
    if not any_checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )


def _check_independent(check: _Check) -> None:
    for which in check.checked:
        for slope in check.numerical(which, 1):
            if slope is not None and slope.ne(0).any():
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _drawn_like(output: Any, spread: bool) -> Any:
    """Numbers from [-1, 1) in the shape of `output`: the draws of `torch.testing.make_tensor`. `spread`: not contiguous."""
    twice = spread and output.numel() > 1
    shape = (*output.shape[:-1], 2 * output.shape[-1]) if twice else output.shape
    made = _op("new_empty")(output.detach(), shape)
    _op("uniform_")(_op("view_as_real")(made) if made.dtype.is_complex else made, -1.0, 1.0)
    return made[..., ::2] if twice else made


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """:func:`gradcheck` of the gradient of ``func``: second derivatives.

    ``grad_outputs`` are the gradients of the outputs at which it is checked; random ones unless given.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = (inputs,) if isinstance(inputs, _C.TensorBase) else tuple(inputs)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, _C.TensorBase) and a.requires_grad]
    outputs = [o for o in _tensors(func(*arguments)) if o.requires_grad]
    if grad_outputs is None:
        seeds = [_drawn_like(o, gen_non_contig_grad_outputs).requires_grad_() for o in outputs]
    else:
        seeds = list(_tensors(grad_outputs))  # differentiated by only where they require it

    def first_derivative(*everything: Any) -> Any:
        given, weights = everything[: len(arguments)], everything[len(arguments) :]
        made = [o for o in _tensors(func(*given)) if o.requires_grad]
        found = grad(made, [given[i] for i in checked], weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        _with_grad(first_derivative),
        (*arguments, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
    )


def _with_grad(fn: Callable) -> Callable:
    def run(*args: Any) -> Any:
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            return fn(*args)
        finally:
            _C._set_grad_enabled(before)

    return run
