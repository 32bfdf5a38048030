"""Layer, root-mean-square, group and batch norm, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES, finfo
from ...._operators.table import aten
from .. import copies
from ..pointwise import Pointwise
from ..rows import plan
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_NORM, _BACKWARD = Source("norm.cuh", "normalize"), Source("norm.cuh", "norm_backward")
_MOMENTS, _PAIR_SUMS = Source("norm.cuh", "moments"), Source("norm.cuh", "pair_sums")
_WEIGHTS = Source("norm_weights.cuh", "norm_weights")
_APPLY = Pointwise("norm_apply", 1, ["x", "mean", "scale", "shift"], "(x - mean) * scale + shift")
_INTO_INPUT = Pointwise("norm_into_input", 1, ["g", "x", "slope", "along", "level"], "g * slope + x * along + level")
_RUNNING = Pointwise("norm_running", 1, ["held", "value", "momentum"], "(T(1) - momentum) * held + momentum * value")


def _math(like: Tensor, shape: Sequence[int]) -> Tensor:
    """A new tensor of the type that kernels compute in."""
    dtype = like.dtype if str(like.dtype) == "torch.float64" else DTYPES["float32"]
    return aten.empty(list(shape), dtype=dtype, device=like.device)


def _launch(
    source: Source,
    rows: int,
    n: int,
    x: Tensor,
    out: Tensor | None,
    mean: Tensor | None,
    scale: Tensor,
    *,
    grad: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 0.0,
    centred: bool = True,
    group: tuple[int, int, int] = (1, 1, 1),
) -> None:
    """One launch of norm.cuh; `group` is what a row is made of: neighbours of a channel, channels, and the rows of a sample."""
    parameter = weight if weight is not None else bias
    words = (
        ("IN", element(x.dtype)), ("OUT", element((x if out is None else out).dtype)),
        ("WEIGHT", element((x if parameter is None else parameter).dtype)), ("STATISTIC", element(scale.dtype)),
        ("CENTRED", str(int(centred))), ("HAS_WEIGHT", str(int(weight is not None))),
        ("HAS_BIAS", str(int(bias is not None))), ("GROUPED", str(int(group[2] > 1 or group[0] > 1))),
    )  # fmt: skip
    p = plan(rows, n, (x,) if grad is None else (grad, x), x if out is None else out)
    arguments = pack(rows, n, x, grad, weight, bias, out, mean, scale, float(eps), list(group))
    source.launch(x.device.index, words + p.words, p.grid, p.block, arguments, p.shared)


def _rows(x: Tensor, n: int) -> int:
    return x.numel() // n if n else 0


def _size(shape: Sequence[int]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _contiguous(t: Tensor | None) -> Tensor | None:
    return None if t is None else aten.contiguous(t)


def _alike(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Weight and bias, contiguous and of one dtype."""
    if weight is not None and bias is not None and weight.dtype != bias.dtype:
        weight, bias = weight.to(DTYPES["float32"]), bias.to(DTYPES["float32"])
    return _contiguous(weight), _contiguous(bias)


# ---- layer and root-mean-square norm ----


@kernel("native_layer_norm", flags=CONTIGUOUS)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
) -> None:
    n = _size(normalized_shape)
    if not out.numel():
        copies.fill(mean, 0)
        copies.fill(rstd, float("nan"))
        return
    weight, bias = _alike(input, weight, bias)
    x = aten.contiguous(input)
    _launch(_NORM, _rows(x, n), n, x, out, mean, rstd, weight=weight, bias=bias, eps=eps)


@kernel("_fused_rms_norm", flags=CONTIGUOUS)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None, out: Tensor, rstd: Tensor
) -> None:
    n = _size(normalized_shape)
    if not out.numel():
        return
    eps = finfo(input.dtype).eps if eps is None else eps
    x = aten.contiguous(input)
    _launch(_NORM, _rows(x, n), n, x, out, None, rstd, weight=_contiguous(weight), eps=eps, centred=False)


def _row_gradients(
    grad: Tensor,
    input: Tensor,
    n: int,
    mean: Tensor | None,
    rstd: Tensor,
    weight: Tensor | None,
    into: tuple[Tensor | None, Tensor | None, Tensor | None],
) -> None:
    into_input, into_weight, into_bias = into
    x, g, weight = aten.contiguous(input), aten.contiguous(grad), _contiguous(weight)
    mean, rstd = _contiguous(mean), aten.contiguous(rstd)
    rows, centred = _rows(x, n), mean is not None
    if not x.numel():
        for result in into:
            if result is not None:
                copies.fill(result, 0)
        return
    if into_input is not None:
        _launch(_BACKWARD, rows, n, x, into_input, mean, rstd, grad=g, weight=weight, centred=centred)
    if into_weight is None and into_bias is None:
        return
    across = blocks(n, 32)
    parts = max(1, min(blocks(rows, 64), 512 // across + 1))
    sums = _math(x, [2, parts, n])
    words = (("IN", element(x.dtype)), ("STATISTIC", element(rstd.dtype)), ("CENTRED", str(int(centred))))
    arguments = pack(rows, n, parts, x, g, mean, rstd, sums[0], sums[1])
    _WEIGHTS.launch(x.device.index, words, (across, parts), (32, 8), arguments, 512 * 8)
    totals = sums.sum(1) if parts > 1 else sums[:, 0]
    for result, total in ((into_weight, totals[0]), (into_bias, totals[1])):
        if result is not None:
            copies.copy(result, total.view(result.shape))


@kernel("native_layer_norm_backward", flags=CONTIGUOUS)
def layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: Sequence[bool],
    *into: Tensor | None,
) -> None:
    by_input, by_weight, by_bias = into
    _row_gradients(grad_out, input, _size(normalized_shape), mean, rstd, weight, (by_input, by_weight, by_bias))


@kernel("_fused_rms_norm_backward", flags=CONTIGUOUS)
def rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
    by_input: Tensor | None,
    by_weight: Tensor | None,
) -> None:
    _row_gradients(grad_out, input, _size(normalized_shape), None, rstd, weight, (by_input, by_weight, None))


# ---- group norm ----


@kernel("native_group_norm", flags=CONTIGUOUS)
def group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    out: Tensor,
    mean: Tensor,
    rstd: Tensor,
) -> None:
    if not out.numel():
        copies.fill(mean, 0)
        copies.fill(rstd, float("nan"))
        return
    weight, bias = _alike(input, weight, bias)
    x, channels = aten.contiguous(input), C // group
    shape = (HxW, channels, group)
    _launch(
        _NORM, N * group, channels * HxW, x, out, mean, rstd, weight=weight, bias=bias, eps=eps, group=shape
    )  # fmt: skip


def _pair_sums(g: Tensor, x: Tensor, rows: int, n: int, middle: Tensor, per: int) -> tuple[Tensor, Tensor]:
    """Sums over rows of g, and of g * (x - middle[row // per % len(middle)])."""
    level, along = _math(x, [rows]), _math(x, [rows])
    _launch(_PAIR_SUMS, rows, n, x, None, level, along, grad=g, weight=middle, group=(1, per, middle.numel()))
    return level, along


@kernel("native_group_norm_backward", flags=CONTIGUOUS)
def group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
    by_input: Tensor | None,
    by_weight: Tensor | None,
    by_bias: Tensor | None,
) -> None:
    if not input.numel():
        for result in (by_input, by_weight, by_bias):
            if result is not None:
                copies.fill(result, 0)
        return
    x, g, channels = aten.contiguous(input), aten.contiguous(grad_out), C // group
    middle, scale = (aten.contiguous(t).to(_math(x, []).dtype).view(N, group, 1) for t in (mean, rstd))
    level, along = (t.view(N, group, channels) for t in _pair_sums(g, x, N * C, HxW, middle.view(-1), channels))
    if by_weight is not None:
        copies.copy(by_weight, (along * scale).sum(0).view(C))
    if by_bias is not None:
        copies.copy(by_bias, level.sum(0).view(C))
    if by_input is None:
        return
    slope = scale.expand(N, group, channels)
    if weight is not None:
        gain = weight.to(slope.dtype).view(1, group, channels)
        slope, level, along = slope * gain, level * gain, along * gain
    share = 1.0 / (channels * HxW)
    tilt = along.sum(2, keepdim=True) * scale * scale * scale * -share
    rest = -tilt * middle - level.sum(2, keepdim=True) * scale * share
    given = [t.view(N, group, channels, HxW) for t in (by_input, g, x)]
    small = [t.expand(N, group, channels).unsqueeze(3) for t in (slope, tilt, rest)]
    _INTO_INPUT.launcher.run((given[0],), (*given[1:], *small))


# ---- batch norm ----


def _batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    out: Tensor,
    mean: Tensor,
    invstd: Tensor,
) -> None:
    if not out.numel():
        for result in (mean, invstd):
            copies.fill(result, 0)
        return
    x, samples, channels = aten.contiguous(input), input.shape[0], input.shape[1]
    n = x.numel() // (samples * channels)
    if training:
        means, squares = _math(x, [samples, channels]), _math(x, [samples, channels])
        _launch(_MOMENTS, samples * channels, n, x, None, means, squares)
        middle = means.mean(0)
        around = squares.sum(0) + (means - middle).square().sum(0) * n
        count = samples * n
        scale = (around / count + eps).rsqrt()
        if running_mean is not None:
            _RUNNING.launcher.run((running_mean,), (running_mean, middle, float(momentum)))
        if running_var is not None:
            _RUNNING.launcher.run((running_var,), (running_var, around / max(count - 1, 1), float(momentum)))
        copies.copy(mean, middle)
        copies.copy(invstd, scale)
    else:
        assert running_mean is not None and running_var is not None  # the operator's check
        dtype = _math(x, []).dtype
        middle, scale = running_mean.to(dtype), (running_var.to(dtype) + eps).rsqrt()
    gain = scale if weight is None else scale * weight.to(scale.dtype)
    shift = aten.zeros_like(middle) if bias is None else bias.to(middle.dtype)
    shape = (samples, channels, n)
    small = [t.view(1, channels, 1) for t in (middle, gain, shift)]
    _APPLY.launcher.run((out.view(shape),), (x.view(shape), *small))


kernel("native_batch_norm", "_native_batch_norm_legit", flags=CONTIGUOUS)(_batch_norm)


@kernel("_native_batch_norm_legit_no_training", flags=CONTIGUOUS)
def batch_norm_frozen(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    *out: Tensor,
) -> None:
    _batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps, *out)


@kernel("_native_batch_norm_legit.no_stats", flags=CONTIGUOUS)
def batch_norm_of_batch(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float, *out: Tensor
) -> None:
    _batch_norm(input, weight, bias, None, None, True, momentum, eps, *out)


@kernel("native_batch_norm_backward", flags=CONTIGUOUS)
def batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
    by_input: Tensor | None,
    by_weight: Tensor | None,
    by_bias: Tensor | None,
) -> None:
    if not input.numel():
        for result in (by_input, by_weight, by_bias):
            if result is not None:
                copies.fill(result, 0)
        return
    x, g = aten.contiguous(input), aten.contiguous(grad_out)
    samples, channels = x.shape[0], x.shape[1]
    n = x.numel() // (samples * channels)
    dtype = _math(x, []).dtype
    if train:
        assert save_mean is not None and save_invstd is not None
        middle, scale = save_mean.to(dtype), save_invstd.to(dtype)
    else:
        assert running_mean is not None and running_var is not None
        middle, scale = running_mean.to(dtype), (running_var.to(dtype) + eps).rsqrt()
    middle = aten.contiguous(middle)
    sums = _pair_sums(g, x, samples * channels, n, middle, 1)
    level, along = (t.view(samples, channels).sum(0) for t in sums)
    if by_weight is not None:
        copies.copy(by_weight, along * scale)
    if by_bias is not None:
        copies.copy(by_bias, level)
    if by_input is None:
        return
    slope = scale if weight is None else scale * weight.to(dtype)
    share = (1.0 if train else 0.0) / (samples * n)
    tilt = along * scale * scale * slope * -share
    rest = -tilt * middle - level * slope * share
    shape = (samples, channels, n)
    small = [t.view(1, channels, 1) for t in (slope, tilt, rest)]
    _INTO_INPUT.launcher.run((by_input.view(shape),), (g.view(shape), x.view(shape), *small))
