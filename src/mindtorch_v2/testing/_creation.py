"""`make_tensor`: random inputs for tests."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["make_tensor"]

_INTEGERS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")


def make_tensor(
    *shape: Any,
    dtype: torch.dtype,
    device: Device,
    low: int | None = None,
    high: int | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """A tensor of the given shape with values drawn uniformly from [low, high).

    Without limits: [0, 2) for bool, [0, 10) for uint8, [-9, 10) for the other integers, [-9, 9) for floating point
    and complex dtypes. `exclude_zero` replaces zeros by the smallest positive value (1 for integers);
    `noncontiguous` spreads the elements over twice the memory. `requires_grad` needs a floating point or complex
    dtype: else ValueError. `noncontiguous` with `memory_format`, or a range that is empty or not finite: ValueError.

    >>> make_tensor(2, 3, dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous=True "
            f"and memory_format={memory_format!r}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}"
        )
    drawn = (*shape[:-1], shape[-1] * 2) if noncontiguous and shape and math.prod(shape) > 1 else shape
    result = _draw(drawn, dtype, device, low, high)
    if drawn != tuple(shape):
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = torch.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        result[result == 0] = smallest
    if requires_grad:
        result.requires_grad = True
    return result


def _draw(shape, dtype, device, low, high) -> torch.Tensor:
    name = str(dtype).rpartition(".")[2]
    if name == "bool":
        low, high = _limits(low, high, 0, 2, 0, 2, dtype)
        return torch.randint(int(low), int(math.ceil(high)), shape, device=device, dtype=torch.int64).to(dtype)
    if name in _INTEGERS:
        info: Any = torch.iinfo(dtype)
        defaults = (0, 10) if info.min == 0 else (-9, 10)
        low, high = _limits(low, high, *defaults, info.min, info.max + (0 if info.bits == 64 else 1), dtype)
        return torch.randint(math.ceil(low), math.ceil(high), shape, device=device, dtype=torch.int64).to(dtype)
    info = torch.finfo(dtype)
    low, high = _limits(low, high, -9, 9, info.min, info.max, dtype)
    if dtype.is_complex:
        made = torch.empty(shape, dtype=dtype, device=device)  # no view of real numbers: programs ask
        torch.view_as_real(made).uniform_(low, high)
        return made
    if name.startswith("float8"):  # no numbers are drawn in them
        return torch.empty(shape, dtype=torch.float32, device=device).uniform_(low, high).to(dtype)
    made = torch.empty(shape, dtype=dtype, device=device)
    if high - low >= info.max:  # more than the dtype holds
        return made.uniform_(low / 2, high / 2).mul_(2)
    return made.uniform_(low, high)


def _limits(low, high, default_low, default_high, smallest, greatest, dtype) -> tuple:
    """The interval that numbers are drawn from; ValueError where it is none, or has none of the dtype's numbers."""
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(limit, float) and math.isnan(limit) for limit in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and (dtype.is_floating_point or dtype.is_complex):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and "
            "will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=4,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < smallest or low >= greatest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{smallest}, {greatest})"
        )
    return min(max(low, smallest), greatest), min(max(high, smallest), greatest)
