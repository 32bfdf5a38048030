"""Numerical checks of gradients: the slope of a function against what backward says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from .backward import grad


class GradcheckError(RuntimeError):
    """A gradient that is not the slope of its function."""


def _tensors(value: Any) -> tuple:
    return (value,) if isinstance(value, _C.TensorBase) else tuple(v for v in value if isinstance(v, _C.TensorBase))


def _numerical(fn: Callable, inputs: Sequence, which: int, eps: float) -> list:
    """d output / d inputs[which] by central differences, one matrix (input elements x output elements) per output."""
    x = inputs[which].detach()
    flat = x.view(-1) if x.is_contiguous() else None
    if flat is None:
        raise ValueError("gradcheck expects all tensor inputs to be contiguous in memory")
    rows: list[list] = []
    for i in range(flat.numel()):
        value = flat[i].item()
        steps = (eps, eps * 1j) if x.dtype.is_complex else (eps,)
        for step in steps:
            sides = []
            for sign in (1, -1):
                flat[i] = value + sign * step
                sides.append([o.detach().clone().reshape(-1) for o in _tensors(fn(*inputs))])
            flat[i] = value
            rows.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    return rows


def _analytical(output: Any, x: Any, element: int, part: complex) -> Any:
    seed = output.detach().clone().zero_()
    seed.view(-1)[element] = part
    (g,) = grad(output, x, seed, retain_graph=True, allow_unused=True)
    return g


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

    Every output element is checked against every input element. Raises :class:`GradcheckError` (False with
    ``raise_exception=False``) at the first gradient that differs by more than ``atol + rtol * |slope|``.
    """
    for name, wanted in (
        ("check_batched_grad", check_batched_grad),
        ("check_batched_forward_grad", check_batched_forward_grad),
        ("check_forward_ad", check_forward_ad),
    ):
        if wanted:
            raise NotImplementedError(f"gradcheck({name}=True) is not built yet")
    arguments = (inputs,) if isinstance(inputs, _C.TensorBase) else tuple(inputs)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, _C.TensorBase) and a.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    try:
        for which in checked:
            x = arguments[which]
            with_grad = _C.is_grad_enabled()
            _C._set_grad_enabled(False)
            try:
                slopes = _numerical(lambda *a: [o for o in _tensors(func(*a))], arguments, which, eps)
            finally:
                _C._set_grad_enabled(with_grad)
            all_outputs = _tensors(func(*arguments))
            for n, output in enumerate(all_outputs):
                if output.requires_grad:
                    _compare(output, x, n, which, slopes, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _compare(output: Any, x: Any, n: int, which: int, slopes: list, atol: float, rtol: float) -> None:
    columns = 2 if x.dtype.is_complex else 1
    parts = (1, 1j) if output.dtype.is_complex else (1,)
    for element in range(output.numel()):
        for part in parts:
            g = _analytical(output, x, element, part)
            flat = None if g is None else g.reshape(-1)
            for i in range(x.numel()):
                for column in range(columns):
                    slope = slopes[i * columns + column][n][element].item()
                    # The gradient of the real part of conj(part) * output along this direction of the input.
                    want = (
                        (slope * complex(part).conjugate()).real
                        if isinstance(slope, complex)
                        else slope * complex(part).real
                    )
                    have = 0.0 if flat is None else flat[i].item()
                    have = (have.imag if column else have.real) if isinstance(have, complex) else have
                    if not abs(have - want) <= atol + rtol * abs(want):
                        raise GradcheckError(
                            f"Jacobian mismatch for output {n} with respect to input {which},\n"
                            f"numerical:{want}\nanalytical:{have}\n(output element {element}, input element {i})"
                        )


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """:func:`gradcheck` of the gradient of ``func``: second derivatives."""
    arguments = (inputs,) if isinstance(inputs, _C.TensorBase) else tuple(inputs)
    checked = [i for i, a in enumerate(arguments) if isinstance(a, _C.TensorBase) and a.requires_grad]
    outputs = [o for o in _tensors(func(*arguments)) if o.requires_grad]
    seeds = (
        [o.detach().clone().normal_().requires_grad_() for o in outputs]
        if grad_outputs is None
        else _tensors(grad_outputs)
    )

    def first_derivative(*everything: Any) -> Any:
        given, weights = everything[: len(arguments)], everything[len(arguments) :]
        made = [o for o in _tensors(func(*given)) if o.requires_grad]
        return tuple(
            g
            for g in grad(made, [given[i] for i in checked], weights, create_graph=True, allow_unused=True)
            if g is not None
        )

    options.pop("gen_non_contig_grad_outputs", None)
    return gradcheck(_with_grad(first_derivative), (*arguments, *seeds), **options)


def _with_grad(fn: Callable) -> Callable:
    def run(*args: Any) -> Any:
        before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        try:
            return fn(*args)
        finally:
            _C._set_grad_enabled(before)

    return run
