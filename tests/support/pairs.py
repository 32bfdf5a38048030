"""One function run by both libraries on the same float64 numbers: results, gradients and second derivatives compared."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy
import pytest
from reference import pytorch

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


def compare(
    function: Callable, *shapes: tuple, dtype: str = "float64", order: int = 1, tolerance: float = 1e-9
) -> None:
    """Both libraries' results agree in number, shape and value."""
    ours = run(mindtorch_v2, function, list(shapes), dtype=dtype, order=order)
    theirs = run(pytorch(), function, list(shapes), dtype=dtype, order=order)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert tuple(mine.shape) == tuple(other.shape)
        a, b = mine.detach(), other.detach()
        if str(a.dtype).rpartition(".")[2] in ("float16", "bfloat16"):
            a, b = a.float(), b.float()
        numpy.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)


def same_error(function: Callable) -> None:
    """`function(library)` raises the same class with the same text in both."""
    with pytest.raises(Exception) as theirs:
        function(pytorch())
    expected = type(theirs.value)
    with pytest.raises(Exception) as ours:
        function(mindtorch_v2)
    assert [c.__name__ for c in type(ours.value).__mro__] == [c.__name__ for c in expected.__mro__]
    assert str(ours.value) == str(theirs.value)
