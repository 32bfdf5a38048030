"""Pooling over two and three dimensions. A stride that is not given is the size of the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from .. import copies
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_POOL, _BACKWARD = Source("pool.cuh", "pool"), Source("pool.cuh", "pool_backward")


def _three(sizes: Sequence[int], one: int) -> list[int]:
    return [one] * (3 - len(sizes)) + list(sizes)


class _Window:
    """The windows of one pooling: of `dims` dimensions, or adaptive ones, which need nothing more."""

    def __init__(self, dims: int, window: Any = None, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> None:
        self.dims, self.adaptive = dims, window is None

        def every(sizes: Any, one: int) -> list[int]:
            sizes = [sizes] if isinstance(sizes, int) else list(sizes)
            return _three(sizes * dims if len(sizes) == 1 else sizes, one)

        window = 1 if window is None else window
        self.window, self.stride = every(window, 1), every(stride or window, 1)
        self.padding, self.dilation = every(padding, 0), every(dilation, 1)

    def launch(
        self,
        source: Source,
        given: Tensor,
        result: Tensor,
        input: Tensor,
        output: Tensor,
        indices: Tensor | None,
        count_padding: bool = True,
        divisor: int | None = None,
    ) -> None:
        """One launch from `given` to `result`; `input` and `output` are those of the pooling."""
        if not result.numel():
            return
        if not given.numel():
            copies.fill(result, 0)
            return
        size, out_size = (_three(list(t.shape)[-self.dims :], 1) for t in (input, output))
        planes = [a * b * c for a, b, c in (size, out_size)]
        words = (
            ("IN", element(given.dtype)), ("ADAPTIVE", str(int(self.adaptive))),
            ("MAXIMUM", str(int(indices is not None))),
        )  # fmt: skip
        arguments = pack(
            result.numel(), *planes, given, result, indices, size, out_size, self.window, self.stride, self.padding,
            self.dilation, count_padding, divisor or 0,
        )  # fmt: skip
        source.launch(result.device.index, words, (blocks(result.numel(), 256),), (256,), arguments)


def _pooling(dims: int) -> None:
    @kernel(f"avg_pool{dims}d", flags=CONTIGUOUS)
    def average(
        self: Tensor, size: Any, stride: Any, padding: Any, ceil_mode: bool, count: bool, divisor: Any, out: Tensor
    ) -> None:
        x = aten.contiguous(self)
        _Window(dims, size, stride, padding).launch(_POOL, x, out, x, out, None, count, divisor)

    @kernel(f"avg_pool{dims}d_backward", flags=CONTIGUOUS)
    def average_backward(
        grad: Tensor, self: Tensor, size: Any, stride: Any, padding: Any, ceil_mode: bool, count: bool, divisor: Any,
        out: Tensor,
    ) -> None:  # fmt: skip
        g = aten.contiguous(grad)
        _Window(dims, size, stride, padding).launch(_BACKWARD, g, out, self, grad, None, count, divisor)

    @kernel(f"max_pool{dims}d_with_indices", flags=CONTIGUOUS)
    def maximum(
        self: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Tensor, indices: Tensor
    ) -> None:
        x = aten.contiguous(self)
        _Window(dims, size, stride, padding, dilation).launch(_POOL, x, out, x, out, indices)

    @kernel(f"max_pool{dims}d_with_indices_backward", flags=CONTIGUOUS)
    def maximum_backward(
        grad: Tensor, self: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
        indices: Tensor, out: Tensor,
    ) -> None:  # fmt: skip
        g, places = aten.contiguous(grad), aten.contiguous(indices)
        _Window(dims, size, stride, padding, dilation).launch(_BACKWARD, g, out, self, grad, places)

    @kernel(f"_adaptive_avg_pool{dims}d", flags=CONTIGUOUS)
    def adaptive_average(self: Tensor, output_size: Any, out: Tensor) -> None:
        x = aten.contiguous(self)
        _Window(dims).launch(_POOL, x, out, x, out, None)

    @kernel(f"_adaptive_avg_pool{dims}d_backward", flags=CONTIGUOUS)
    def adaptive_average_backward(grad: Tensor, self: Tensor, out: Tensor) -> None:
        _Window(dims).launch(_BACKWARD, aten.contiguous(grad), out, self, grad, None)

    @kernel(f"adaptive_max_pool{dims}d", flags=CONTIGUOUS)
    def adaptive_maximum(self: Tensor, output_size: Any, out: Tensor, indices: Tensor) -> None:
        x = aten.contiguous(self)
        _Window(dims).launch(_POOL, x, out, x, out, indices)

    @kernel(f"adaptive_max_pool{dims}d_backward", flags=CONTIGUOUS)
    def adaptive_maximum_backward(grad: Tensor, self: Tensor, indices: Tensor, out: Tensor) -> None:
        g, places = aten.contiguous(grad), aten.contiguous(indices)
        _Window(dims).launch(_BACKWARD, g, out, self, grad, places)


_pooling(2)
_pooling(3)
