"""The greatest elements of windows of quantized images."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._behaviours.quantized.pool import greatest

from .table import operator


def _max_pool(dims: int) -> None:
    def run(qx: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool) -> Any:
        return greatest(qx, dims, kernel_size, stride, padding, dilation, ceil_mode)

    operator(
        f"max_pool{dims}d(Tensor qx, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) "
        "-> Tensor"
    )(run)


for _dims in (1, 2):
    _max_pool(_dims)
