"""Numerical checks of gradients: the slope of a function against what backward and forward mode say."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._vmap_internals import _vmap

from . import forward_ad
from ._slopes import (
    Place,
    Slopes,
    as_tuple,
    dense,
    each_direction,
    is_differentiable,
    is_sparse,
    layout_of,
    random_vector,
    with_every_element,
)

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]

_UNDEFINED = (
    'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"; a function for which that '
    "does not matter is checked with check_undefined_grad=False"
)
_FAST = (
    "\nThese numbers are products of the Jacobians with random vectors (fast_mode=True). Element by element they are:\n\n"
    "Numerical:\n {}\nAnalytical:\n{}\n\nThe max per-element difference (slow mode) is: {}.\n"
)


class GradcheckError(RuntimeError):
    """A gradient that is not the slope of its function.

    >>> class Wrong(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 3
    >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    >>> try:
    ...     torch.autograd.gradcheck(Wrong.apply, (x,))
    ... except RuntimeError as error:
    ...     print(type(error).__name__)
    GradcheckError
    """


class _Check:
    """A function at a point, and what is asked of its gradients there."""

    def __init__(
        self,
        func: Callable[..., Any],
        inputs: tuple[Any, ...],
        eps: float,
        atol: float,
        rtol: float,
        nondet_tol: float,
        check_grad_dtypes: bool,
        fast: bool,
        masked: bool,
    ) -> None:
        self.slopes = Slopes(func, inputs, eps)
        self.steps = Slopes(func, inputs if masked else tuple(with_every_element(x) for x in inputs), eps)
        self.func, self.inputs, self.atol, self.rtol = func, inputs, atol, rtol
        self.nondet_tol, self.check_grad_dtypes, self.fast, self.masked = nondet_tol, check_grad_dtypes, fast, masked
        self.generator = torch.Generator()
        self.generator.manual_seed(1)

    @property
    def checked(self) -> list[Place]:
        return self.slopes.places

    # ---- backward ----

    def backward(self) -> None:
        """Backward gives the slopes."""
        # All steps first: they write to the inputs, which the graph of the outputs must not see.
        (self._backward_fast if self.fast else self._backward_slow)()

    def _backward_slow(self) -> None:
        matrices = {
            (place.number, step): self.steps.numerical_matrix(place, step)
            for place in self.steps.places
            for step in place.steps
        }
        for number, output in enumerate(self.slopes.outputs()):
            if not output.requires_grad:
                continue
            for place in self.checked:
                slopes = {step: matrices[place.number, step][number] for step in place.steps}
                self._compare_matrices(output, number, place, slopes)

    def _compare_matrices(self, output: Any, number: int, place: Place, slopes: dict[complex, Any]) -> None:
        for seed in (1j, 1) if output.dtype.is_complex else (1,):
            columns = [self._twice(output, place, weight * seed) for weight in _each_weight(output)]
            if not columns:
                continue
            found = torch.stack(columns, 1)
            for step in place.steps:
                # Backward gives, for a weight w, the gradient of Re(conj(w) * output): its real part along the real step
                # of the input, its imaginary part along the imaginary one.
                slope = _part(slopes[step], seed) if output.dtype.is_complex else slopes[step]
                part = _part(found, step) if found.dtype.is_complex else found
                if not self._close(part, slope):
                    raise GradcheckError(_mismatch(part, slope, number, place, _outputs_part(output, seed)))

    def _backward_fast(self) -> None:
        directions = {place.number: self._direction(place) for place in self.steps.places}
        slopes = {
            (place.number, step): self.steps.numerical(place, directions[place.number] * step)
            for place in self.steps.places
            for step in place.steps
        }
        for number, output in enumerate(self.slopes.outputs()):
            if not output.requires_grad or not output.numel():
                continue
            weight = random_vector(output.numel(), output.dtype, self.generator)
            for place, stepped in zip(self.checked, self.steps.places, strict=True):
                if not place.memory.numel():
                    continue
                along = stepped.spread(directions[place.number])
                for seed in (1j, 1) if output.dtype.is_complex else (1,):
                    found = self._twice(output, place, weight * seed)
                    for step in place.steps:
                        slope = slopes[place.number, step][number]
                        slope = _part(slope, seed) if output.dtype.is_complex else slope
                        part = _part(found, step) if found.dtype.is_complex else found
                        self._compare_products(
                            _dot(part, along), _dot(slope, weight), number, place, along, weight,
                            _outputs_part(output, seed),
                            functools.partial(self._both_matrices, output, number, place, step, seed),
                        )  # fmt: skip

    def _both_matrices(self, output: Any, number: int, place: Place, step: complex, seed: complex) -> tuple[Any, Any]:
        columns = [self._twice(output, place, weight * seed) for weight in _each_weight(output)]
        found = torch.stack(columns, 1)
        slope = self.steps.numerical_matrix(self.steps.places[self.checked.index(place)], step)[number]
        return (
            _part(found, step) if found.dtype.is_complex else found,
            _part(slope, seed) if output.dtype.is_complex else slope,
        )

    def _compare_products(
        self,
        found: Any,
        slope: Any,
        number: int,
        place: Place,
        along: Any,
        weight: Any,
        label: str,
        matrices: Callable[[], tuple[Any, ...]],
        forward: bool = False,
    ) -> None:
        scale = float(along.abs().sum()) * float(weight.abs().sum())
        if torch.allclose(found.to(slope.dtype), slope, self.rtol, self.atol * scale):
            return
        text = _mismatch(found, slope, number, place, label, forward)
        analytical, numerical = matrices()
        off = (analytical - numerical).abs().max() if analytical.numel() else 0.0
        raise GradcheckError(text + _FAST.format(numerical, analytical, off))

    def _direction(self, place: Place) -> Any:
        return random_vector(place.memory.numel(), place.memory.dtype, self.generator)

    def _twice(self, output: Any, place: Place, weight: Any) -> Any:
        """The gradient as a vector of the dense input's elements, computed twice: it has to be the same."""
        found, again = (
            self._checked(self.slopes.gradient(output, place, _shaped(weight, output)), place) for _ in range(2)
        )
        if found.numel() and not float((found - again).abs().max()) <= self.nondet_tol:
            if not (found.isnan() | found.isinf()).any():
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    "different values, although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {self.nondet_tol}."
                )
        return found

    def _checked(self, found: Any, place: Place) -> Any:
        x = place.x
        if found is None:
            return torch.zeros(x.numel(), dtype=x.dtype)
        if tuple(found.shape) != tuple(x.shape):
            raise GradcheckError("Analytical gradient has incorrect size")
        if self.check_grad_dtypes and found.dtype != x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        return dense(found).reshape(-1).cpu()

    def _close(self, found: Any, slope: Any) -> bool:
        kind = torch.promote_types(found.dtype, slope.dtype)
        return bool(torch.allclose(found.to(kind), slope.to(kind), self.rtol, self.atol))

    # ---- forward ----

    def forward(self) -> None:
        """Forward mode gives the slopes."""
        for place, stepped in zip(self.checked, self.steps.places, strict=True):
            if not place.memory.numel():
                continue
            for step in reversed(place.steps):
                label = ""
                if len(place.steps) == 2:
                    label = (
                        f"While considering the {'imaginary' if step == 1j else 'real'} part of complex inputs only, "
                    )
                (self._forward_fast if self.fast else self._forward_slow)(place, stepped, step, label)

    def _forward_slow(self, place: Place, stepped: Place, step: complex, label: str) -> None:
        slopes = self.steps.numerical_matrix(stepped, step)
        rows = [self.slopes.pushed(place, direction) for direction in each_direction(place, step)]
        for number, slope in enumerate(slopes):
            found = torch.stack([row[number] for row in rows])
            if place.flat is not None:
                found = torch.zeros(place.x.numel(), found.shape[1], dtype=found.dtype).index_add_(0, place.flat, found)
                slope = slope[place.flat.unique()]
                found = found[place.flat.unique()]
            if slope.numel() and not self._close(found, slope):
                raise GradcheckError(_mismatch(found, slope, number, place, label, True))

    def _forward_fast(self, place: Place, stepped: Place, step: complex, label: str) -> None:
        direction = self._direction(place)
        full = direction
        if stepped.memory.numel() != place.memory.numel():  # elements that were left out stay where they are
            full = place.spread(direction)[stepped.flat]
        slopes = self.steps.numerical(stepped, full * step)
        tangents = self.slopes.pushed(place, direction * step)
        for number, (found, slope) in enumerate(zip(tangents, slopes, strict=True)):
            if not slope.numel():
                continue
            weight = random_vector(slope.numel(), slope.dtype, self.generator)
            self._compare_products(
                _dot(found, weight), _dot(slope, weight), number, place, direction, weight, label,
                functools.partial(tuple, (found, slope)), True,
            )  # fmt: skip

    def forward_undefined(self) -> None:
        """Forward mode gives the same for a tangent that is absent as for one of zeros."""
        with forward_ad.dual_level():
            given, primals = list(self.inputs), {}
            for place in self.checked:
                tangent = place.like_input(self._direction(place))
                given[place.number] = forward_ad.make_dual(place.x.detach(), tangent)
                primals[place.number] = place.x.detach()
            for number, primal in primals.items():
                kept = given[number]
                found = []
                for without in (forward_ad.make_dual(primal, torch.zeros_like(primal)), primal):
                    given[number] = without
                    made = [o for o in as_tuple(self.func(*given)) if is_differentiable(o)]
                    found.append([forward_ad.unpack_dual(o).tangent for o in made])
                given[number] = kept
                for output, (zeros, absent) in enumerate(zip(*found, strict=True)):
                    if zeros is not None and absent is not None and not torch.allclose(zeros, absent):
                        raise GradcheckError(
                            f"Mismatch in tangent values for output with index: {output} when input: {primal} has an undefined "
                            f"tangent value. Got: {zeros} but expected: {absent}"
                        )

    def forward_batched(self) -> None:
        """Forward mode of several tangents at once gives what one after the other does."""
        for place in self.checked:

            def push(tangent: Any, place: Place = place) -> tuple[Any, ...]:
                with forward_ad.dual_level():
                    given = list(self.inputs)
                    for each in self.checked:
                        given[each.number] = each.x.detach()
                    given[place.number] = forward_ad.make_dual(place.x.detach(), tangent)
                    made = []
                    for output in as_tuple(self.func(*given)):
                        if is_differentiable(output):
                            value, pushed = forward_ad.unpack_dual(output)
                            made.append(torch.zeros_like(value) if pushed is None else pushed)
                    return tuple(made)

            tangents = [torch.randn_like(place.x.detach()) for _ in range(2)]
            alone = [push(tangent) for tangent in tangents]
            self._compare_batched(push, tangents, alone, " with forward-mode AD")

    # ---- other properties of backward ----

    def batched(self) -> None:
        """Backward of several gradients at once gives what one after the other does."""
        inputs = [place.x for place in self.checked]
        for output in self.slopes.outputs():
            if not output.requires_grad:
                continue

            def back(weight: Any, output: Any = output) -> tuple[Any, ...]:
                made = torch.autograd.grad(output, inputs, weight, retain_graph=True, allow_unused=True)
                return tuple(
                    torch.zeros_like(x.detach()) if g is None else g for g, x in zip(made, inputs, strict=True)
                )

            weights = [torch.randn_like(output.detach()) for _ in range(2)]
            self._compare_batched(back, weights, [back(weight) for weight in weights], "")

    def _compare_batched(
        self, function: Callable[[Any], Any], given: list[Any], alone: list[tuple[Any, ...]], how: str
    ) -> None:
        failed = f"gradcheck or gradgradcheck failed while testing batched gradient computation{how}."
        try:
            together = _vmap(function)(torch.stack(given))
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{failed}") from error
        for place, one in enumerate(alone):
            for number, (apart, batch) in enumerate(zip(one, together, strict=True)):
                if not self._close(batch[place], apart):
                    raise GradcheckError(
                        f"For output {number}:\n\n{failed}\n\nGot:\n{batch[place]}\n\nExpected:\n{apart}"
                    )

    def multiplies(self) -> None:
        """Backward gives zeros for zeros, in the inputs' layouts, dtypes and sizes."""
        inputs = [place.x for place in self.checked]
        outputs = [output for output in self.slopes.outputs() if output.requires_grad]
        if not outputs:
            return
        zeros = [torch.zeros_like(output.detach()) for output in outputs]
        found = torch.autograd.grad(outputs, inputs, zeros, retain_graph=True, allow_unused=True)
        for gradient, x in zip(found, inputs, strict=True):
            if gradient is not None:
                self._check_zero(gradient, x)

    def _check_zero(self, gradient: Any, x: Any) -> None:
        if gradient.layout not in (torch.strided, x.layout):
            raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {x.layout})")
        kind = layout_of(x)
        if is_sparse(gradient):
            for what in ("sparse_dim", "dense_dim"):
                found, expected = getattr(gradient, what)(), getattr(x, what)()
                if found != expected:
                    name = "sparse" if kind == "sparse_coo" else kind
                    raise GradcheckError(
                        f"grad is {name} tensor, but has incorrect {what} {found}, expected {expected}"
                    )
        values = dense(gradient)
        zero = torch.allclose(values, torch.zeros_like(values)) if self.masked else not values.ne(0).any()
        if not zero:
            raise GradcheckError("backward not multiplied by grad_output")
        for what in ("dtype", "device", "shape"):
            if getattr(gradient, what) != getattr(x, what):
                said = {"dtype": "type", "shape": "size"}.get(what, what)
                raise GradcheckError(f"grad is incorrect {said}")

    def undefined(self) -> None:
        """Backward takes absent gradients for zeros."""
        outputs = [o for o in self.slopes.outputs() if o.requires_grad]
        if not outputs:
            return
        self._check_undefined([_Absent.apply(o) for o in outputs])
        for skipped in range(len(outputs) if len(outputs) > 1 else 0):
            made = [_Absent.apply(o) if i == skipped else o for i, o in enumerate(outputs)]
            self._check_undefined(made)

    def _check_undefined(self, outputs: list[Any]) -> None:
        inputs = [place.x for place in self.checked]
        try:
            found = torch.autograd.grad(
                outputs, inputs, [torch.zeros_like(o.detach()) for o in outputs], retain_graph=True, allow_unused=True
            )
        except RuntimeError as error:
            _warn_of_undefined()
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {_UNDEFINED}"
            ) from error
        for gradient in found:
            if gradient is not None and dense(gradient).ne(0).any():
                _warn_of_undefined()
                raise GradcheckError(
                    f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {_UNDEFINED}"
                )

    def independent(self) -> None:
        """Where no output requires a gradient, no output moves with an input."""
        for place in self.steps.places:
            for slope in self.steps.numerical_matrix(place, 1):
                if slope.ne(0).any():
                    raise GradcheckError("Numerical gradient for function expected to be zero")


class _Absent(torch.autograd.Function):
    """The same number, whose gradient is absent."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default; a function that does "
        "not take absent gradients is checked without with check_undefined_grad=False.",
        stacklevel=4,
    )


def _part(x: Any, of: complex) -> Any:
    return x.imag if of == 1j else x.real


def _dot(x: Any, y: Any) -> Any:
    kind = torch.promote_types(x.dtype, y.dtype)
    return (x.to(kind) * y.to(kind)).sum()


def _shaped(weight: Any, output: Any) -> Any:
    shaped = weight.to(output.device).reshape(output.shape)
    return shaped if layout_of(output) == "strided" else shaped.to_sparse(layout=output.layout)


def _each_weight(output: Any) -> Iterator[Any]:
    for place in range(output.numel()):
        weight = torch.zeros(output.numel(), dtype=output.dtype)
        weight[place] = 1
        yield weight


def _outputs_part(output: Any, seed: complex) -> str:
    if not output.dtype.is_complex:
        return ""
    return f"While considering the {'imaginary' if seed == 1j else 'real'} part of complex outputs only, "


def _mismatch(found: Any, slope: Any, number: int, place: Place, label: str, forward: bool = False) -> str:
    mode = "computed with forward mode " if forward else ""
    return (
        f"{label}Jacobian {mode}mismatch for output {number} with respect to input {place.number},\nnumerical:{slope}\n"
        f"analytical:{found}\n"
    )


def gradcheck(
    func: Callable[..., Any],
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

    Every output element is checked against every input element; with ``fast_mode`` the products of both Jacobians with
    random vectors are, which takes two calls an input in place of two an element. Inputs may be sparse: with ``masked`` only
    the elements that they hold are moved, else all. ``check_forward_ad`` checks forward mode the same way,
    ``check_batched_grad`` backward and ``check_batched_forward_grad`` forward mode under vmap. Raises
    :class:`GradcheckError` (False with ``raise_exception=False``) at the first gradient that differs by more than
    ``atol + rtol * |slope|``.

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
    arguments = as_tuple(inputs) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    try:
        _check_inputs(arguments)
        check = _Check(func, arguments, eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode, bool(masked))
        outputs = check.slopes.outputs()
        _check_outputs(outputs)
        if not any(o.requires_grad for o in outputs):
            check.independent()
            return True
        if check_backward_ad:
            check.backward()
        if check_forward_ad:
            check.forward()
            if check_undefined_grad:
                check.forward_undefined()
        if check_batched_forward_grad:
            check.forward_batched()
        if check_batched_grad:
            check.batched()
        if check_backward_ad:
            check.multiplies()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    any_checked = False
    for place, x in enumerate(inputs):
        if not (isinstance(x, torch.Tensor) and x.requires_grad):
            continue
        any_checked = True
        if x.dtype not in (torch.float64, torch.complex128):
            warnings.warn(
                f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if layout_of(x) != "strided":
            continue
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


def _check_outputs(outputs: tuple[Any, ...]) -> None:
    for output in outputs:
        kind = "Sparse" if is_sparse(output) else "MKLDNN" if layout_of(output) == "_mkldnn" else ""
        if kind and output.requires_grad:
            raise ValueError(
                f"{kind} output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn "
                "for gradcheck."
            )


def _drawn_like(output: Any, spread: bool) -> Any:
    """Numbers from [-1, 1) in the shape of `output`: the draws of `torch.testing.make_tensor`. `spread`: not contiguous."""
    twice = spread and output.numel() > 1
    shape = (*output.shape[:-1], 2 * output.shape[-1]) if twice else output.shape
    made = output.detach().new_empty(shape)
    (torch.view_as_real(made) if made.dtype.is_complex else made).uniform_(-1.0, 1.0)
    return made[..., ::2] if twice else made


def gradgradcheck(
    func: Callable[..., Any],
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

    >>> torch.autograd.gradgradcheck(torch.exp, torch.ones(2, dtype=torch.float64, requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    arguments = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor) and a.requires_grad]
    outputs = [o for o in as_tuple(func(*arguments)) if isinstance(o, torch.Tensor) and o.requires_grad]
    if grad_outputs is None:
        seeds = [_drawn_like(o, gen_non_contig_grad_outputs).requires_grad_() for o in outputs]
    else:
        seeds = list(as_tuple(grad_outputs))  # differentiated by only where they require it

    def first_derivative(*everything: Any) -> Any:
        given, weights = list(everything[: len(arguments)]), everything[len(arguments) :]
        for i in checked:  # forward mode hands in tensors that require none
            given[i] = given[i] if given[i].requires_grad else given[i].requires_grad_()
        made = [o for o in as_tuple(func(*given)) if isinstance(o, torch.Tensor) and o.requires_grad]
        found = torch.autograd.grad(made, [given[i] for i in checked], weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        torch.enable_grad()(first_derivative),
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
        fast_mode=fast_mode,
        masked=masked,
    )


# ---- what PyTorch once had in the open ----


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors of nested iterables, in their order."""
    if isinstance(x, torch.Tensor):
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
    call = (lambda: fn(*inputs)) if isinstance(inputs, tuple) else (lambda: fn(inputs))
    slopes = Slopes(lambda *_: tuple(_iter_tensors(call())), (), eps)
    wanted = _iter_tensors(inputs if target is None else target, only_requiring_grad=True)
    return [tuple(slopes.numerical_matrix(Place(x, -1), 1)) for x in wanted]


def _gone(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed; use torch.autograd.functional.jacobian.",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(
            f"Expected grad_out to be 1.0. {name} no longer supports other values of grad_out; multiply what it gives."
        )


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Any]:
    """The slopes of the first output of ``fn(inputs)``, a matrix for each tensor of `target`. Deprecated, as in PyTorch.

    >>> from mindtorch_v2.autograd.gradcheck import get_numerical_jacobian
    >>> import warnings
    >>> x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     get_numerical_jacobian(lambda inputs: inputs[0] ** 2, (x,))[0].round(decimals=3)
    tensor([[6., 0.],
            [0., 8.]], dtype=torch.float64)
    """
    _gone("get_numerical_jacobian", grad_out)
    found = _get_numerical_jacobian(lambda *given: fn(given), tuple(inputs), target=target, eps=eps)
    return [matrices[0] for matrices in found]


def get_analytical_jacobian(
    inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Any, ...], bool, bool, bool]:
    """The matrices that backward gives, and whether it is reentrant and gives the right sizes and dtypes. Deprecated.

    >>> from mindtorch_v2.autograd.gradcheck import get_analytical_jacobian
    >>> import warnings
    >>> x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     get_analytical_jacobian((x,), x * x)[0]
    (tensor([[6., 0.],
            [0., 8.]], dtype=torch.float64),)
    """
    _gone("get_analytical_jacobian", grad_out)
    slopes = Slopes(lambda *_: output, tuple(inputs), 1e-6)
    reentrant = sizes = dtypes = True
    matrices = []
    for place in slopes.places:
        columns = []
        for weight in _each_weight(output):
            one, other = (slopes.gradient(output, place, _shaped(weight, output)) for _ in range(2))
            if one is None:
                one = other = torch.zeros_like(place.x.detach())
            sizes = sizes and tuple(one.shape) == tuple(place.x.shape)
            dtypes = dtypes and one.dtype == place.x.dtype
            reentrant = reentrant and bool(((one - other).abs() <= nondet_tol).all())
            columns.append(dense(one).reshape(-1))
        matrices.append(torch.stack(columns, 1))
    return tuple(matrices), reentrant, sizes, dtypes
