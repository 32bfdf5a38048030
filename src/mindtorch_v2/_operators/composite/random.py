"""Random operators that are made of the in-place ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..native.random import _no_gradient
from ..table import aten, composite

if TYPE_CHECKING:
    from ..._C import Generator
    from ..._tensor import Tensor


def _shaped(*tensors):
    sizes = aten.broadcast_tensors(list(tensors))[0].shape
    return tensors[0].new_empty(sizes)


@composite(
    "bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor",
    "1 with the probabilities of `p`, else 0, shaped like `self`.",
    bind="generated_out",
    tags="nondeterministic_seeded generated",
)
def bernoulli_tensor(self: Tensor, p: Tensor, *, generator: Generator | None = None) -> Tensor:
    return aten.empty_like(self).bernoulli_(p, generator=generator)


def _functional(name, arguments) -> None:
    """`name`: what `name_` writes, into a new tensor."""
    base = name.partition(".")[0]

    @composite(
        f"{name}(Tensor self, {arguments}) -> Tensor",
        f"What `{base}_` gives, as a new tensor.",
        bind="generated_out",
        tags="nondeterministic_seeded generated",
    )
    def functional(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(aten, base + "_")(aten.empty_like(self), *args, **kwargs)


for _name, _arguments in (
    ("cauchy", "float median=0., float sigma=1., *, Generator? generator=None"),
    ("exponential", "float lambd=1., *, Generator? generator=None"),
    ("geometric", "float p, *, Generator? generator=None"),
    ("log_normal", "float mean=1., float std=2., *, Generator? generator=None"),
    ("random", "*, Generator? generator=None"),
    ("random.from", "int from, int? to, *, Generator? generator=None"),
    ("random.to", "int to, *, Generator? generator=None"),
    ("uniform", "float from=0., float to=1., *, Generator? generator=None"),
):
    _functional(_name, _arguments)


@composite(
    "normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
    "What `normal_` gives, as a new tensor.",
    tags="nondeterministic_seeded",
)
def normal_functional(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    return aten.empty_like(self).normal_(mean, std, generator=generator)


def _row_major_like(x) -> Tensor:
    """Memory in which the numbers that are drawn one after another lie in the order of the elements."""
    return aten.empty_like(x, memory_format=_C.contiguous_format)


def _check_deviation(std) -> None:
    if std.is_meta:
        return
    if std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.numel():
        aten._assert_async(std.min() >= 0, "normal expects all elements of std >= 0.0")


@composite(
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
    "Normal numbers, each with its own mean and deviation.",
    bind="function",
    tags="nondeterministic_seeded",
    explicit=True,
    grad={"mean": _no_gradient, "std": _no_gradient},
    node="NormalBackward3",
)
def normal_tensor_tensor(mean: Tensor, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    _check_deviation(std)
    return _shaped(mean, std).normal_(generator=generator).mul_(std).add_(mean)


@composite(
    "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
    "Normal numbers, each with its own mean.",
    bind="function",
    tags="nondeterministic_seeded",
    explicit=True,
    grad={"mean": _no_gradient},
    node="NormalBackward1",
)
def normal_tensor_float(mean: Tensor, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    return _row_major_like(mean).normal_(0.0, std, generator=generator).add_(mean)


@composite(
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
    "Normal numbers, each with its own deviation.",
    bind="function",
    tags="nondeterministic_seeded",
    explicit=True,
    grad={"std": _no_gradient},
    node="NormalBackward2",
)
def normal_float_tensor(mean: float, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    _check_deviation(std)
    return _row_major_like(std).normal_(0.0, 1.0, generator=generator).mul_(std).add_(mean)
