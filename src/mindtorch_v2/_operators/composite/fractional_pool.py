"""Fractional max pooling: windows of one size at steps that vary, placed by a random number for each plane and dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _check(name, self, kernel_size, output_size, random_samples, dims) -> None:
    if len(kernel_size) != dims:
        what = "Ints" if dims == 2 else "three Ints"
        raise RuntimeError(f"{name}: kernel_size must either be a single Int or tuple of {what}")
    if len(output_size) != dims:
        what = "Ints" if dims == 2 else "three Ints"
        raise RuntimeError(f"{name}: output_size must either be a single Int or tuple of {what}")
    for place in range(1 if self.dim() == dims + 2 else 0, self.dim()):
        if self.size(place) == 0:
            where = name if dims == 2 else f"{name}_out"
            raise RuntimeError(
                f"{where}(): Expected input to have non-zero size for non-batch dimensions, but got{list(self.shape)} "
                f"with dimension {place} being empty."
            )
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got a tensor of sizes {list(self.shape)}"
        )
    if self.dtype != random_samples.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if random_samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {random_samples.dim()}")
    if random_samples.size(2) != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {random_samples.size(2)}.")
    if random_samples.size(0) < (self.size(0) if self.dim() == dims + 2 else 1):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if random_samples.size(1) != self.size(-dims - 1):
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    for i, letter in enumerate("hw" if dims == 2 else "thw"):
        size, kernel, wanted = self.size(i - dims), kernel_size[i % len(kernel_size)], output_size[i % len(output_size)]
        if wanted + kernel - 1 > size:
            word = {"h": "height", "w": "width", "t": "time"}[letter]
            where = name if dims == 2 else f"{name}_out"
            raise RuntimeError(f"{where}(): pool {word} {kernel} too large relative to input {word} {size}")


def _starts(samples, size, out, kernel):
    """Where the windows along one dimension begin: (planes, out)."""
    if out < 2:
        return aten.full(
            [samples.size(0), out], size - kernel, dtype=aten.empty([0]).long().dtype, device=samples.device
        )
    step = aten.full([], (size - kernel) / (out - 1), dtype=samples.dtype, device=samples.device)
    place = aten.arange(out - 1, device=samples.device).to(samples.dtype)
    u = samples.unsqueeze(-1)
    begin = ((place + u) * step).long() - (u * step).long()
    return aten.cat([begin, begin.new_full([samples.size(0), 1], size - kernel)], -1)


def _pool(self, kernel_size, output_size, random_samples, dims):
    spatial = list(self.shape[-dims:])
    kernel = [kernel_size[i % len(kernel_size)] for i in range(dims)]
    out = [output_size[i % len(output_size)] for i in range(dims)]
    planes = _product(self.shape[:-dims])
    # The last dimension goes by the first random number in two dimensions, the first by the first in three.
    numbers = random_samples.reshape(random_samples.size(0) * random_samples.size(1), dims)[:planes]
    order = range(dims) if dims == 3 else (1, 0)
    place: Any = None
    for i, which in enumerate(order):
        begin = _starts(numbers[:, which], spatial[i], out[i], kernel[i])
        positions = begin.unsqueeze(-1) + aten.arange(kernel[i], device=self.device)  # planes, out, kernel
        shape = [planes, *[1] * (2 * dims)]
        shape[1 + i], shape[1 + dims + i] = out[i], kernel[i]
        positions = positions.reshape(shape)
        place = positions if place is None else place * spatial[i] + positions
    place = place.expand([planes, *out, *kernel]).reshape(planes, _product(out), _product(kernel))
    flat = self.reshape(planes, _product(spatial))
    values = flat.gather(1, place.reshape(planes, _product(out) * _product(kernel))).reshape(place.shape)
    if 0 in kernel:  # nothing is the largest of nothing
        best = values.new_full(place.shape[:-1], -float("inf"))
        return best.reshape([*self.shape[:-dims], *out]), place.new_zeros([*self.shape[:-dims], *out])
    best, chosen = values.max(-1)
    indices = place.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
    sizes = [*self.shape[:-dims], *out]
    return best.reshape(sizes), indices.reshape(sizes)


def _product(numbers):
    total = 1
    for n in numbers:
        total *= n
    return total


def _grad(dims):
    def back(grads: tuple[Tensor, None], self_sizes: Sequence[int], result1: Tensor) -> Tensor:
        flat = aten.zeros(self_sizes, dtype=grads[0].dtype, device=grads[0].device).flatten(-dims)
        return flat.scatter_add(-1, result1.flatten(-dims), grads[0].flatten(-dims)).reshape(self_sizes)

    return back


@composite(
    "fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples)"
    " -> (Tensor, Tensor)",
    "Largest items of windows placed by random numbers, and where they stood.",
    bind="nn out",
    out_overload="output output indices",
    out_dtype="exact",
    autocast="float32",
    explicit=True,
    grad={"self": _grad(2)},
    nondiff=(1,),
    samples=[S(T(2, 3, 7, 8), [2, 3], [3, 4], T(2, 3, 2, low=0, high=1, grad=False))],
)
def fractional_max_pool2d(
    self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor
) -> tuple[Tensor, Tensor]:
    _check("fractional_max_pool2d", self, kernel_size, output_size, random_samples, 2)
    return _pool(self, kernel_size, output_size, random_samples, 2)


@composite(
    "fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples)"
    " -> (Tensor, Tensor)",
    "Largest items of windows placed by random numbers, and where they stood.",
    bind="nn out",
    out_overload="output output indices",
    out_dtype="exact",
    autocast="float32",
    explicit=True,
    grad={"self": _grad(3)},
    nondiff=(1,),
    samples=[S(T(2, 3, 5, 7, 6), [2, 3, 2], [3, 4, 2], T(2, 3, 3, low=0, high=1, grad=False))],
)
def fractional_max_pool3d(
    self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Tensor
) -> tuple[Tensor, Tensor]:
    _check("fractional_max_pool3d", self, kernel_size, output_size, random_samples, 3)
    return _pool(self, kernel_size, output_size, random_samples, 3)
