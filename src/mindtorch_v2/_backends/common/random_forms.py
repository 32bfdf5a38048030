"""The operators that draw random numbers, as forms of four draws that a back end has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._C import Generator
    from ..._tensor import Tensor

Draw = Callable[..., Any]


def check_positive(what: str, value: float, name: str) -> None:
    """RuntimeError for a parameter of a distribution that has to be above 0."""
    if value <= 0:
        raise RuntimeError(f"{what} > 0.0, but found {name}={value}")


def check_range(low: Any, high: Any) -> None:
    """RuntimeError for an empty range of integers."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


def register_floating(kernel: Callable[..., Any], normal: Draw, uniform: Draw) -> None:
    """Register the normal and the uniform operators.

    Args:
        kernel: states a function as the kernel of rows.
        normal: (out, mean, std, generator) fills a tensor and returns it.
        uniform: (out, low, high, generator) likewise, of numbers from low to below high.
    """

    @kernel("normal_")
    def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
        return normal(self, mean, std, generator)

    @kernel("normal.float_float")
    def normal_of_size(mean: float, std: float, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
        normal_(rest[-1], mean, std, generator=generator)

    @kernel("randn", "randn_like")
    def randn(shape: Any, *rest: Any) -> None:
        normal(rest[-1], 0.0, 1.0, None)

    @kernel("randn.generator", "randn_like.generator")
    def randn_generator(shape: Any, generator: Generator | None, *rest: Any) -> None:
        normal(rest[-1], 0.0, 1.0, generator)

    @kernel("uniform_")
    def uniform_(self: Tensor, low: Any = 0.0, high: Any = 1.0, *, generator: Generator | None = None) -> Tensor:
        if low > high:
            raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
        return uniform(self, low, high, generator)

    @kernel("rand", "rand_like")
    def rand(shape: Any, *rest: Any) -> None:
        uniform(rest[-1], 0.0, 1.0, None)

    @kernel("rand.generator", "rand_like.generator")
    def rand_generator(shape: Any, generator: Generator | None, *rest: Any) -> None:
        uniform(rest[-1], 0.0, 1.0, generator)


def register_bernoulli(kernel: Callable[..., Any], bernoulli: Draw) -> None:
    """Register the operators that draw ones with a probability.

    Args:
        kernel: states a function as the kernel of rows.
        bernoulli: (out, p, generator) fills a tensor and returns it; p is a number, or a tensor of them.
    """

    @kernel("bernoulli_.float")
    def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
        if not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
        return bernoulli(self, float(p), generator)

    @kernel("bernoulli_.Tensor")
    def bernoulli_tensor_(self: Tensor, p: Any, *, generator: Generator | None = None) -> Tensor:
        return bernoulli(self, p.to(self.device), generator)

    @kernel("bernoulli")
    def bernoulli_of(self: Tensor, generator: Generator | None, out: Tensor) -> None:
        bernoulli(out, self, generator)

    @kernel("bernoulli.p")
    def bernoulli_p(self: Tensor, p: Any, generator: Generator | None, out: Tensor) -> None:
        bernoulli(out, float(p), generator)


def register_integers(kernel: Callable[..., Any], integers: Draw, top: Callable[[Any], int]) -> None:
    """Register the operators that draw integers of a range, but for `random_` without one.

    Args:
        kernel: states a function as the kernel of rows.
        integers: (out, low, high, generator) fills a tensor with numbers from low to below high and returns it.
        top: one more than the largest number that is drawn of a dtype.
    """

    @kernel("random_.from")
    def random_from_(self: Tensor, low: Any, high: Any, *, generator: Generator | None = None) -> Tensor:
        high = top(self.dtype) if high is None else high
        check_range(low, high)
        return integers(self, low, high, generator)

    @kernel("random_.to")
    def random_to_(self: Tensor, high: Any, *, generator: Generator | None = None) -> Tensor:
        return random_from_(self, 0, high, generator=generator)

    @kernel("randint")
    def randint(high: Any, size: Sequence[int], *rest: Any) -> None:
        random_from_(rest[-1], 0, high)

    @kernel("randint.generator")
    def randint_generator(high: Any, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
        random_from_(rest[-1], 0, high, generator=generator)

    @kernel("randint.low")
    def randint_low(low: Any, high: Any, size: Sequence[int], *rest: Any) -> None:
        random_from_(rest[-1], low, high)

    @kernel("randint.low_generator")
    def randint_low_generator(
        low: Any, high: Any, size: Sequence[int], generator: Generator | None, *rest: Any
    ) -> None:
        random_from_(rest[-1], low, high, generator=generator)

    @kernel("randint_like")
    def randint_like(self: Tensor, high: Any, *rest: Any) -> None:
        random_from_(rest[-1], 0, high)

    @kernel("randint_like.low_dtype")
    def randint_like_low(self: Tensor, low: Any, high: Any, *rest: Any) -> None:
        random_from_(rest[-1], low, high)

    @kernel("randint_like.generator", "randint_like.Tensor_generator")
    def randint_like_generator(self: Tensor, high: Any, generator: Generator | None, *rest: Any) -> None:
        random_from_(rest[-1], 0, int(high), generator=generator)

    @kernel("randint_like.low_generator_dtype")
    def randint_like_low_generator(self: Tensor, low: Any, high: Any, generator: Generator | None, *rest: Any) -> None:
        random_from_(rest[-1], low, high, generator=generator)

    @kernel("randint_like.Tensor")
    def randint_like_tensor(self: Tensor, high: Tensor, *rest: Any) -> None:
        random_from_(rest[-1], 0, int(high))


def register_permutations(kernel: Callable[..., Any], permute: Draw) -> None:
    """Register `randperm`.

    Args:
        kernel: states a function as the kernel of rows.
        permute: (out, generator) fills a vector with a permutation of its places.
    """

    @kernel("randperm")
    def randperm(n: int, *rest: Any) -> None:
        permute(rest[-1], None)

    @kernel("randperm.generator")
    def randperm_generator(n: int, generator: Generator | None, *rest: Any) -> None:
        permute(rest[-1], generator)


def register_transformed(
    kernel: Callable[..., Any], exponential: Draw, log_normal: Draw, cauchy: Draw, geometric: Draw
) -> None:
    """Register the operators that fill a tensor by a distribution with one or two numbers as parameters.

    Args:
        kernel: states a function as the kernel of rows.
        exponential, geometric: (out, parameter, generator) fill a tensor and return it.
        log_normal, cauchy: (out, first parameter, second parameter, generator) likewise.
    """

    @kernel("exponential_")
    def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
        check_positive("exponential_ expects lambda", lambd, "lambda")
        return exponential(self, lambd, generator)

    @kernel("log_normal_")
    def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
        check_positive("log_normal_ expects std", std, "std")
        return log_normal(self, mean, std, generator)

    @kernel("cauchy_")
    def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
        check_positive("cauchy_ expects sigma", sigma, "sigma")
        return cauchy(self, median, sigma, generator)

    @kernel("geometric_")
    def geometric_(self: Tensor, p: Any, *, generator: Generator | None = None) -> Tensor:
        if not 0 < p < 1:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
        return geometric(self, p, generator)
