"""Slopes of a function at a point: by differences, by backward and by forward mode.

A Jacobian is read along *directions* of an input and *weights* of an output. A slow check takes every element of either in
turn, a fast one a single random direction and weight, so that one number stands for the whole matrix. A complex input has
directions with a real and with an imaginary step, a complex output weights for its real and for its imaginary part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch

from . import forward_ad

_SPARSE = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def layout_of(x: Any) -> str:
    """The name of a tensor's layout."""
    return str(x.layout).rpartition(".")[2]


def is_sparse(x: Any) -> bool:
    """Whether a tensor holds some of its elements only."""
    return layout_of(x) in _SPARSE


def is_differentiable(value: Any) -> bool:
    """Whether a value is a tensor of numbers that have slopes."""
    return isinstance(value, torch.Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Results of a function, as a tuple."""
    if isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list) else (value,)


def dense(x: Any) -> Any:
    """A tensor with all its numbers side by side, whatever its layout was."""
    return x if layout_of(x) == "strided" else x.to_dense()


def with_every_element(x: Any) -> Any:
    """A sparse tensor that has the elements which `x` leaves out too, as zeros; any other as it is."""
    if not (isinstance(x, torch.Tensor) and x.requires_grad and is_sparse(x)):
        return x
    kind, full = layout_of(x), x.detach().to_dense()
    if kind == "sparse_coo":
        pattern = torch.ones_like(full).to_sparse(x.sparse_dim())
        values = full[tuple(pattern.indices())]
        made = torch.sparse_coo_tensor(pattern.indices(), values, x.shape, is_coalesced=True)
    elif kind in ("sparse_csr", "sparse_csc"):
        pattern = torch.ones_like(full).to_sparse(layout=x.layout)
        by_rows = kind == "sparse_csr"
        outer, inner = (
            (pattern.crow_indices(), pattern.col_indices())
            if by_rows
            else (pattern.ccol_indices(), pattern.row_indices())
        )
        values = (full if by_rows else full.transpose(-1, -2)).reshape(pattern.values().shape)
        made = torch.sparse_compressed_tensor(outer, inner, values, x.shape, layout=x.layout)
    else:
        return x
    return made.requires_grad_()


class Place:
    """An input that is differentiated by: the elements of it that can be moved, each with its place in the dense tensor."""

    def __init__(self, x: Any, number: int) -> None:
        self.x, self.number = x, number
        kind = layout_of(x)
        self.in_place = kind != "_mkldnn"
        if kind in _SPARSE:
            memory = x.detach()
            self.memory = memory._values() if kind == "sparse_coo" else memory.values()
            self.flat: Any = _places_of_values(x)
        else:
            self.memory = x.detach() if self.in_place else x.detach().to_dense()
            self.flat = None
        self.steps: tuple[complex, ...] = (1, 1j) if x.dtype.is_complex else (1,)

    def spread(self, direction: Any) -> Any:
        """A vector of the elements that can be moved as one of all elements of the dense tensor."""
        if self.flat is None:
            return direction
        return torch.zeros(self.x.numel(), dtype=direction.dtype).index_add_(0, self.flat, direction)

    def like_input(self, direction: Any) -> Any:
        """A tensor of the input's layout that holds `direction` in the elements that can be moved."""
        kind = layout_of(self.x)
        with torch.no_grad():
            if kind == "_mkldnn":
                return direction.reshape(self.memory.shape).to_mkldnn()
            made = self.x.detach().clone() if kind in _SPARSE else torch.zeros_like(self.x.detach())
            inside = made._values() if kind == "sparse_coo" else made.values() if kind in _SPARSE else made
            inside.copy_(direction.reshape(inside.shape))
            return made

    @contextlib.contextmanager
    def moved(self, by: Any) -> Iterator[Any]:
        """The input with its elements moved by a vector, until the context ends."""
        if not self.in_place:
            yield (self.memory + by.reshape(self.memory.shape)).to_mkldnn().requires_grad_()
            return
        before = self.memory.clone()
        try:
            self.memory.copy_(before + by.to(before.device).reshape(before.shape))
            yield self.x
        finally:
            self.memory.copy_(before)


def _places_of_values(x: Any) -> Any:
    """For each number that a sparse tensor holds, its place among the elements of the dense tensor."""
    x = x.detach().cpu()
    if layout_of(x) == "sparse_coo":
        indices, values, many = x._indices(), x._values(), x.sparse_dim()
        inner = 1
        for size in x.shape[many:]:
            inner *= size
        outer = torch.zeros(indices.shape[1], dtype=torch.int64)
        for row in range(many):
            outer = outer * x.shape[row] + indices[row]
        return (outer[:, None] * inner + torch.arange(inner)).reshape(-1)[: values.numel()]
    numbered = x.clone().to(torch.float64)
    numbered.values().copy_(torch.arange(1.0, x.values().numel() + 1).reshape(x.values().shape))
    flat = numbered.to_dense().reshape(-1)
    places = flat.nonzero().reshape(-1)
    return places[flat[places].argsort()]


class Slopes:
    """A function at a point, and its slopes there."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float) -> None:
        self.func, self.inputs, self.eps = func, inputs, eps
        self.places = [Place(x, i) for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]

    def outputs(self) -> tuple[Any, ...]:
        """The results that have slopes, computed anew."""
        return tuple(o for o in as_tuple(self.func(*self.inputs)) if is_differentiable(o))

    def numerical(self, place: Place, direction: Any) -> list[Any]:
        """For each output the central difference along a direction, as a vector."""
        sides = []
        for sign in (1, -1):
            with place.moved(direction * (sign * self.eps)) as moved:
                given = [moved if i == place.number else x for i, x in enumerate(self.inputs)]
                made = [o for o in as_tuple(self.func(*given)) if is_differentiable(o)]
                sides.append([dense(o.detach()).clone().cpu() for o in made])
        for number, (above, below) in enumerate(zip(*sides, strict=True)):
            for what, one, other in (("shape", above.shape, below.shape), ("dtype", above.dtype, below.dtype)):
                if one != other:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed on index {number}, "
                        f"but got:\n {what}s {one} and {other}."
                    )
        return [(above - below).reshape(-1) / (2 * self.eps) for above, below in zip(*sides, strict=True)]

    def numerical_matrix(self, place: Place, step: complex) -> list[Any]:
        """For each output the matrix of central differences: a row for each element of the dense input."""
        many = place.memory.numel()
        rows = [self.numerical(place, _one_of(many, i, step, place.memory.dtype)) for i in range(many)]
        if not rows:
            return [torch.zeros(place.x.numel(), dense(o.detach()).numel(), dtype=o.dtype) for o in self.outputs()]
        matrices = [torch.stack([row[n] for row in rows]) for n in range(len(rows[0]))]
        if place.flat is None:
            return matrices
        return [torch.zeros(place.x.numel(), m.shape[1], dtype=m.dtype).index_add_(0, place.flat, m) for m in matrices]

    def gradient(self, output: Any, place: Place, weight: Any) -> Any:
        """The gradient of an input for a weight of an output, as a vector of the dense input's elements; None if it has none."""
        (found,) = torch.autograd.grad(output, place.x, weight, retain_graph=True, allow_unused=True)
        return found

    def pushed(self, place: Place, direction: Any) -> list[Any]:
        """The tangents of the outputs for a tangent of one input, the other inputs' tangents being zeros."""
        with forward_ad.dual_level():
            given = list(self.inputs)
            for each in self.places:
                if layout_of(each.x) == "_mkldnn":
                    raise ValueError("MKLDNN inputs are not support for forward AD gradcheck.")
                tangent = each.like_input(
                    direction if each is place else torch.zeros(each.memory.numel(), dtype=each.memory.dtype)
                )
                given[each.number] = forward_ad.make_dual(each.x.detach(), tangent)
            made = []
            for output in as_tuple(self.func(*given)):
                if is_differentiable(output):
                    value, tangent = forward_ad.unpack_dual(output)
                    made.append(
                        dense(torch.zeros_like(value) if tangent is None else tangent).detach().reshape(-1).cpu()
                    )
            return made


def _one_of(many: int, place: int, value: complex, dtype: Any) -> Any:
    vector = torch.zeros(many, dtype=dtype)
    vector[place] = value
    return vector


def each_direction(place: Place, step: complex) -> list[Any]:
    """A vector for each element of an input that can be moved, `step` in this element."""
    many = place.memory.numel()
    return [_one_of(many, i, step, place.memory.dtype) for i in range(many)]


def random_vector(many: int, dtype: Any, generator: Any) -> Any:
    """A vector of length one whose elements are random and positive, so that no two cancel."""
    made = torch.rand(many, dtype=torch.float64, generator=generator)
    return (made / made.norm()).to(dtype) if many else made.to(dtype)
