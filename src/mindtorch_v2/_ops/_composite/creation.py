"""New tensors made by other operators: ranges between tensors, windows, Vandermonde matrices."""

import math

from .._table import S, T, aten, composite

_FACTORY = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _number(x):
    return x.item() if hasattr(x, "dim") else x


def _check_ends(name, start, end):
    dims = {which: x.dim() for which, x in (("start", start), ("end", end)) if hasattr(x, "dim")}
    if any(dims.values()):
        came = " and ".join(f"{which} with {n} dimension(s)" for which, n in dims.items())
        wanted = " and ".join(dims) + (" tensors" if len(dims) > 1 else " tensor")
        raise RuntimeError(f"{name} only supports 0-dimensional {wanted}, but got {came}.")


def _spaced(name, tail):
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
        def spaced(start, end, steps, *rest, **options):
            _check_ends(name, start, end)
            return getattr(aten, name)(_number(start), _number(end), steps, *rest, **options)


_spaced("linspace", "")
_spaced("logspace", ", float base=10.")


@composite(f"_efficientzerotensor(SymInt[] size, {_FACTORY}) -> Tensor", "Zeros.")
def _efficientzerotensor(size, **options):
    return aten.zeros(size, **options)


@composite(f"range(Scalar start, Scalar end, {_FACTORY}) -> Tensor", "`start`, `start + 1`, ... up to and with `end`.")
def range_(start, end, **options):
    return aten.range(start, end, 1, **options)


@composite(
    f"range.step(Scalar start, Scalar end, Scalar step=1, {_FACTORY}) -> Tensor",
    "`start`, `start + step`, ... up to and with `end`.",
    bind="function",
)
def range_step(start, end, step=1, *, dtype=None, **options):
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    dtype = aten.scalar_tensor(0.0).dtype if dtype is None else dtype
    count = math.floor((end - start) / step) + 1
    return (aten.arange(count, dtype=aten.empty([0], dtype=dtype).dtype, **options) * step + start).to(dtype)


@composite(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    "Powers of the elements, one column each.",
    bind="function",
    samples=[S(4), S(T(4), 3, True)],
)
def vander(x, N=None, increasing=False):
    count = x.size(0) if N is None else N
    powers = aten.arange(count, device=x.device)
    columns = aten.pow(x.unsqueeze(-1), powers)
    return columns if increasing else columns.flip([-1])
