"""One function run by both libraries on the same float64 numbers: results, gradients and second derivatives compared."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy
from recording import answer, matched

import mindtorch_v2


def array(*shape: int, seed: int = 0) -> numpy.ndarray:
    """Normal numbers that depend on the shape and the seed only."""
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape)


def _tensors_of(result: Any) -> list[Any]:
    return [x for x in (result if isinstance(result, (tuple, list)) else (result,)) if hasattr(x, "shape")]


def run(library: ModuleType, function: Callable, shapes: list, *, dtype: str, order: int) -> list[Any]:
    """Results of `function(library, *tensors)`, then gradients of a weighted sum, then those of the gradients' squares."""
    leaves = [
        library.from_numpy(array(*shape, seed=i)).to(getattr(library, dtype)).requires_grad_(order > 0)
        for i, shape in enumerate(shapes)
    ]
    results = _tensors_of(function(library, *leaves))
    found = list(results)
    if order == 0:
        return found
    total = 0
    for i, x in enumerate(results):
        if x.requires_grad:
            weight = library.from_numpy(numpy.array(array(*x.shape, seed=50 + i))).to(x.real.dtype)
            x = x.abs() if x.is_complex() else x
            # Squares, where second derivatives are asked for: even a linear function then has some.
            total = total + ((x * x if order > 1 else x) * weight).sum()
    if not hasattr(total, "shape"):  # nothing is differentiable
        return found
    grads = library.autograd.grad(total, leaves, create_graph=order > 1, allow_unused=True)
    found += [g for g in grads if g is not None]
    if order > 1:
        squares = sum((g * g).sum() for g in grads if g is not None)
        found += [g for g in library.autograd.grad(squares, leaves, allow_unused=True) if g is not None]
    return found


def plain(results: list[Any]) -> list[numpy.ndarray]:
    """Tensors as arrays; the half formats as float32."""
    halves = ("float16", "bfloat16")
    arrays = (x.detach().float() if str(x.dtype).rpartition(".")[2] in halves else x.detach() for x in results)
    return [numpy.asarray(x.numpy()) for x in arrays]


def compare(
    function: Callable, *shapes: tuple, dtype: str = "float64", order: int = 1, tolerance: float = 1e-9
) -> None:
    """Both libraries' results agree in number, shape and value."""
    ours = plain(run(mindtorch_v2, function, list(shapes), dtype=dtype, order=order))
    theirs = answer(lambda torch: plain(run(torch, function, list(shapes), dtype=dtype, order=order)))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        numpy.testing.assert_allclose(*matched(mine, other), rtol=tolerance, atol=tolerance)
