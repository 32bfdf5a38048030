"""New tensors made by other operators: ranges between tensors, windows, Vandermonde matrices."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite, fill

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Number


_FACTORY = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _number(x):
    return x.item() if hasattr(x, "dim") else x


def _check_ends(name, start, end) -> None:
    dims = {which: x.dim() for which, x in (("start", start), ("end", end)) if hasattr(x, "dim")}
    if any(dims.values()):
        came = " and ".join(f"{which} with {n} dimension(s)" for which, n in dims.items())
        wanted = " and ".join(dims) + (" tensors" if len(dims) > 1 else " tensor")
        raise RuntimeError(f"{name} only supports 0-dimensional {wanted}, but got {came}.")


def _between(start, end, steps, dtype, base) -> Any:
    """Evenly spaced numbers, or powers of `base`, made of the ends by operators."""
    tensor = start if hasattr(start, "dim") else end
    place = aten.arange(steps, dtype=DTYPES["float64"], device=tensor.device)
    spaced = start + (end - start) * place / max(steps - 1, 1)
    spaced = spaced if base is None else base**spaced
    return spaced.to(DTYPES["float32"] if dtype is None else dtype)


def _spaced(name, tail) -> None:
    """linspace or logspace with ends that are 0-dim tensors."""
    for overload, first, second in (
        ("Scalar_Tensor", "Scalar", "Tensor"),
        ("Tensor_Scalar", "Tensor", "Scalar"),
        ("Tensor_Tensor", "Tensor", "Tensor"),
    ):

        @composite(
            f"{name}.{overload}({first} start, {second} end, int steps{tail}, {_FACTORY}) -> Tensor",
            "Evenly spaced between ends given as tensors.",
            bind="function",
        )
        def spaced(start: complex | Tensor, end: complex | Tensor, steps: int, *rest: Any, **options: Any) -> Any:
            _check_ends(name, start, end)
            try:
                numbers = _number(start), _number(end)
            except RuntimeError:  # they hold no numbers that could be read: on meta, fake or mapped over
                base = (rest or (10.0,))[0] if name == "logspace" else None
                return _between(start, end, steps, options.get("dtype"), base)
            return getattr(aten, name)(*numbers, steps, *rest, **options)


_spaced("linspace", "")
_spaced("logspace", ", float base=10.")


def _spaced_into(name, tail) -> None:
    """linspace or logspace between ends in tensors, into `out`."""
    for overload, first, second in (
        ("Scalar_Tensor", "Scalar", "Tensor"),
        ("Tensor_Scalar", "Tensor", "Scalar"),
        ("Tensor_Tensor", "Tensor", "Tensor"),
    ):

        @composite(
            f"{name}.{overload}_out({first} start, {second} end, int steps{tail}, *, Tensor(a!) out) -> Tensor(a!)",
            f"`{name}` between ends in tensors, into `out`.",
            bind="function",
        )
        def into(start: Number | Tensor, end: Number | Tensor, steps: int, *rest: Any, out: Tensor) -> Tensor:
            made = getattr(aten, name)(start, end, steps, *rest, dtype=out.dtype, device=out.device)
            return fill(out, made, warn=False)


_spaced_into("linspace", "")
_spaced_into("logspace", ", float base=10.")


@composite(f"_efficientzerotensor(SymInt[] size, {_FACTORY}) -> Tensor", "Zeros.", bind="generated_out")
def _efficientzerotensor(size, **options):
    return aten.zeros(size, **options)


@composite(f"range(Scalar start, Scalar end, {_FACTORY}) -> Tensor", "`start`, `start + 1`, ... up to and with `end`.")
def range_(start: Number, end: Number, **options: Any) -> Tensor:
    return aten.range(start, end, 1, **options)


@composite(
    f"range.step(Scalar start, Scalar end, Scalar step=1, {_FACTORY}) -> Tensor",
    "`start`, `start + step`, ... up to and with `end`.",
    bind="function",
)
def range_step(start: Any, end: Any, step: Any = 1, *, dtype: dtype | None = None, **options: Any) -> Tensor:
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = aten.scalar_tensor(0.0).dtype if dtype is None else dtype
    count = math.floor((end - start) / step) + 1
    # In 16-bit floats only the result is rounded.
    wide = DTYPES["float32"] if dtype in (DTYPES["float16"], DTYPES["bfloat16"]) else dtype
    return (aten.arange(count, dtype=wide, **options) * step + start).to(dtype)


@composite(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    "Powers of the elements, one column each.",
    bind="function",
    samples=[S(4), S(T(4), 3, True)],
)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    if x.dim() != 1:
        raise RuntimeError(f"vander(): x must have one dimension, but it has {x.dim()}")
    count = x.size(0) if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    first = aten.ones([x.size(0), min(count, 1)], dtype=x.dtype, device=x.device)
    rest = x.unsqueeze(-1).expand([x.size(0), max(count - 1, 0)])
    columns = aten.cumprod(aten.cat([first, rest], -1), -1)
    return columns if increasing else columns.flip([-1])


# ---- windows ----


def _window(name, length, periodic, options, shape):
    """`shape` gives the window from the positions and the last position; periodic ones lack their last point."""
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    options = {key: value for key, value in options.items() if value is not None}
    dtype = options.setdefault("dtype", aten.zeros([]).dtype)
    if not dtype.is_floating_point:
        kind = str(dtype).rpartition(".")[2]
        class_name = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte"}.get(
            kind, kind
        )
        raise RuntimeError(f"{name} expects floating point dtypes, got: {class_name}")
    if length <= 1:
        return aten.ones([length], **options)
    last = length if periodic else length - 1
    return shape(aten.arange(last + 1, **options), last).narrow(0, 0, length)


def _cosine(alpha, beta):
    return lambda at, last: (at * (2 * math.pi / last)).cos() * -beta + alpha


def _blackman(at, last):
    at = at * (math.pi / last)
    return (at * 4).cos() * 0.08 - (at * 2).cos() * 0.5 + 0.42


def _bartlett(at, last):
    rising = at * (2.0 / last)
    return aten.where(at <= last // 2, rising, 2 - rising)


def _kaiser(beta):
    def shape(at: Tensor, last: int) -> Tensor:
        x = at * (2.0 / last) - 1
        return aten.i0(beta * (1 - x * x).clamp_min(0).sqrt()) / aten.i0(aten.full([], beta, dtype=at.dtype))

    return shape


def _windows(name, doc, shape, overloads) -> None:
    """The overloads of one window, each with more of the parameters after `window_length`."""
    for overload, parameters in overloads:
        schema = f"{name}{overload}(int window_length{parameters}, {_FACTORY}) -> Tensor"

        @composite(schema, doc, bind="function generated_out")
        def window(window_length: int, periodic: bool = True, *parameters: Any, **options: Any) -> Any:
            return _window(name, window_length, periodic, options, shape(*parameters))


_PLAIN = (("", ""), (".periodic", ", bool periodic"))
_windows("bartlett_window", "A triangle from zero to one and back.", lambda: _bartlett, _PLAIN)
_windows("blackman_window", "Three terms of a cosine series, zero at the ends.", lambda: _blackman, _PLAIN)
_windows(
    "hamming_window",
    "`alpha - beta * cos`: a cosine on a pedestal.",
    lambda alpha=0.54, beta=0.46: _cosine(alpha, beta),
    (
        *_PLAIN,
        (".periodic_alpha", ", bool periodic, float alpha"),
        (".periodic_alpha_beta", ", bool periodic, float alpha, float beta"),
    ),
)
_windows("hann_window", "A raised cosine.", lambda: _cosine(0.5, 0.5), _PLAIN)
_windows(
    "kaiser_window",
    "The window of the modified Bessel function of order zero.",
    lambda beta=12.0: _kaiser(beta),
    (*_PLAIN, (".beta", ", bool periodic, float beta")),
)


@composite(
    "_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor",
    "Zeros of `other`'s dtype, laid out in memory as `other`, behind the first `self_num_batch_dims` dimensions of `self`.",
    bind="function method generated_out",
)
def _new_zeros_with_same_feature_meta(self, other, *, self_num_batch_dims=0):
    step = _C._storage_numel(other)
    strides: list[int] = []
    for size in reversed(self.shape[:self_num_batch_dims]):
        strides.insert(0, step)
        step *= size
    zeros = self.new_zeros([step], dtype=other.dtype)
    shape = [*self.shape[:self_num_batch_dims], *other.shape]
    return zeros.as_strided(shape, [*strides, *other.stride()], other.storage_offset())
