"""Convolutions: plain, and with places of their own for each number that they read."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import composite, no_gradient, require, wide

npu = namespace("npu")
_INT64 = DTYPES["int64"]


@composite(
    "npu::npu_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
    "groups) -> Tensor",
    "The two-dimensional convolution.",
    samples=[S(T(2, 3, 5, 5), T(4, 3, 3, 3), T(4), [1, 1], [1, 1], [1, 1], 1)],
)
def npu_conv2d(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return aten.convolution(input, weight, bias, stride, padding, dilation, False, [0, 0], groups)


class _Window(NamedTuple):
    """Where a deformable convolution reads: of four numbers those of the image's dimensions, and of padding the first of each."""

    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int  # of channels that are read at the same places

    @staticmethod
    def of(
        operator: str,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        deformable_groups: int,
        modulated: bool,
    ) -> _Window:
        for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation)):
            require(len(value) == 4, operator, f"{name} must be four numbers, but it is {list(value)}")
        require(modulated, operator, "modulated must be True")
        return _Window(
            tuple(kernel_size), tuple(stride[2:]), (padding[0], padding[2]), tuple(dilation[2:]), deformable_groups
        )


def _places(operator, window, x, offset) -> tuple:
    """Row and column that each number is read at, and its factor: (N, groups, KH, KW, Ho, Wo) each."""
    kh, kw = window.kernel
    n, channels, height, width = offset.shape
    require(
        channels == 3 * window.groups * kh * kw,
        operator,
        f"offset must have {3 * window.groups * kh * kw} channels: columns, rows and factors of {window.groups} groups of "
        f"{kh} x {kw} places; it has {channels}",
    )
    columns, rows, factors = aten.unbind(wide(offset).reshape(n, 3, window.groups, kh, kw, height, width), 1)

    def own(count: int, size: int, stride: int, padding: int, dilation: int) -> Any:
        start = aten.arange(count, device=x.device) * stride - padding
        return (aten.arange(size, device=x.device) * dilation).unsqueeze(-1) + start

    of_rows = own(height, kh, window.stride[0], window.padding[0], window.dilation[0]).reshape(kh, 1, height, 1)
    of_columns = own(width, kw, window.stride[1], window.padding[1], window.dilation[1]).reshape(1, kw, 1, width)
    return rows + of_rows, columns + of_columns, factors


def _corners(x, rows, columns) -> list:
    """Of the four numbers around each place: index into the image, weight, and the weight's slopes by row and column."""
    height, width = x.shape[-2:]
    top, left = aten.floor(rows), aten.floor(columns)
    down, across = rows - top, columns - left
    found = []
    for below in (0, 1):
        for right in (0, 1):
            i, j = (top + below).to(_INT64), (left + right).to(_INT64)
            inside = ((i >= 0) & (i < height) & (j >= 0) & (j < width)).to(rows.dtype)
            index = i.clamp(0, height - 1) * width + j.clamp(0, width - 1)
            by_row, by_column = (down if below else 1 - down), (across if right else 1 - across)
            slopes = (1 if below else -1) * by_column * inside, (1 if right else -1) * by_row * inside
            found.append((index, by_row * by_column * inside, *slopes))
    return found


def _read(x, groups, index) -> Any:
    """Numbers of an image (N, C, H, W) by places (N, groups, ...): (N, groups, C / groups, places)."""
    n, channels = x.shape[:2]
    flat = x.reshape(n, groups, channels // groups, -1)
    places = index.reshape(n, groups, 1, -1)
    return aten.gather(flat, 3, places.expand([n, groups, channels // groups, places.shape[-1]]))


def _laid(values, window, height, width) -> Any:
    """(N, groups, C / groups, KH KW Ho Wo) as (N, C, Ho KH, Wo KW)."""
    n, groups, channels, _ = values.shape
    kh, kw = window.kernel
    apart = values.reshape(n, groups * channels, kh, kw, height, width)
    return apart.permute([0, 1, 4, 2, 5, 3]).reshape(n, groups * channels, height * kh, width * kw)


def _picked_up(columns, window) -> Any:
    """The reverse of `_laid`."""
    n, channels, rows, wide_rows = columns.shape
    kh, kw = window.kernel
    apart = columns.reshape(n, channels, rows // kh, kh, wide_rows // kw, kw).permute([0, 1, 3, 5, 2, 4])
    return apart.reshape(n, window.groups, channels // window.groups, -1)


def _gradients(
    grad, input, weight, offset, bias, kernel_size, stride, padding, dilation, groups, deformable_groups, modulated, result1
) -> tuple:  # fmt: skip
    made = npu.npu_deformable_conv2dbk(
        input,
        grad,
        result1,
        weight,
        offset,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        deformable_groups,
        modulated,
    )
    return *made[:3], made[3] if bias is not None else None


@composite(
    "npu::npu_deformable_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor? bias, int[2] kernel_size, int[] "
    "stride, int[] padding, int[4] dilation=[1,1,1,1], int groups=1, int deformable_groups=1, bool modulated=True) "
    "-> (Tensor, Tensor)",
    "Convolution whose numbers are read at places moved by `offset` (columns, then rows) times its factors; and "
    "those numbers, (N, C, Ho KH, Wo KW).",
    explicit=True,
    grad={("input", "weight", "offset", "bias"): _gradients},
    nondiff=(1,),
    samples=[
        S(
            T(2, 4, 5, 5),
            T(3, 4, 3, 3),
            T(2, 54, 5, 5, low=0.1, high=0.4),
            T(3),
            [3, 3],
            [1, 1, 1, 1],
            [1, 1, 1, 1],
            deformable_groups=2,
        )
    ],
)
def npu_deformable_conv2d(
    input: Any, weight: Any, offset: Any, bias: Any, kernel_size: Any, stride: Any, padding: Any,
    dilation: Any = (1,1,1,1), groups: int = 1, deformable_groups: int = 1, modulated: bool = True,
) -> tuple:  # fmt: skip
    operator = "npu_deformable_conv2d"
    window = _Window.of(operator, kernel_size, stride, padding, dilation, deformable_groups, modulated)
    rows, columns, factors = _places(operator, window, input, offset)
    values = 0.0
    for index, share, _, _ in _corners(input, rows, columns):
        n = input.shape[0]
        values = values + _read(wide(input), window.groups, index) * (share * factors).reshape(n, window.groups, 1, -1)
    read = _laid(values, window, *offset.shape[-2:]).to(input.dtype)
    return aten.convolution(read, weight, bias, list(kernel_size), [0, 0], [1, 1], False, [0, 0], groups), read


@composite(
    "npu::npu_deformable_conv2dbk(Tensor input, Tensor grad_output, Tensor offset_out, Tensor weight, Tensor offset, "
    "int[2] kernel_size, int[] stride, int[] padding, int[4] dilation=[1,1,1,1], int groups=1, int "
    "deformable_groups=1, bool modulated=True) -> (Tensor, Tensor, Tensor, Tensor)",
    "Gradients of npu_deformable_conv2d by its input, weight, offset and bias.",
    explicit=True,
    grad=no_gradient("npu_deformable_conv2dbk", "input", "grad_output", "weight", "offset"),
)
def npu_deformable_conv2dbk(
    input: Any, grad_output: Any, offset_out: Any, weight: Any, offset: Any, kernel_size: Any, stride: Any,
    padding: Any, dilation: Any = (1,1,1,1), groups: int = 1, deformable_groups: int = 1, modulated: bool = True,
) -> tuple:  # fmt: skip
    operator = "npu_deformable_conv2dbk"
    window = _Window.of(operator, kernel_size, stride, padding, dilation, deformable_groups, modulated)
    by_read, by_weight, by_bias = aten.convolution_backward(
        grad_output, offset_out, weight, [weight.shape[0]], list(kernel_size), [0, 0], [1, 1], False, [0, 0], groups,
        [True, True, True],
    )  # fmt: skip
    rows, columns, factors = _places(operator, window, input, offset)
    n, channels = input.shape[:2]
    g = wide(_picked_up(by_read, window))
    by_input = aten.zeros(
        [n, window.groups, channels // window.groups, input.shape[2] * input.shape[3]], dtype=g.dtype, device=g.device
    )
    by_column, by_row, by_factor = (aten.zeros_like(factors) for _ in range(3))
    for index, share, row_slope, column_slope in _corners(input, rows, columns):
        shape = [n, window.groups, 1, -1]
        places = index.reshape(shape).expand(g.shape)
        by_input = by_input.scatter_add(3, places, g * (share * factors).reshape(shape))
        told = (g * _read(wide(input), window.groups, index)).sum([2]).reshape(factors.shape)
        by_factor = by_factor + told * share
        by_row = by_row + told * row_slope * factors
        by_column = by_column + told * column_slope * factors
    by_offset = aten.stack([by_column, by_row, by_factor], 1).reshape(offset.shape)
    return by_input.reshape(input.shape).to(input.dtype), by_weight, by_offset.to(offset.dtype), by_bias
