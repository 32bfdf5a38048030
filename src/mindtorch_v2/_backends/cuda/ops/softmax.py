"""Softmax, its logarithm, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..rows import plan
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_FORWARD, _BACKWARD = Source("softmax.cuh", "softmax"), Source("softmax.cuh", "softmax_backward")


def _launch(source: Source, log: bool, given: Tensor, second: Tensor | None, dim: int, out: Tensor) -> None:
    """One launch along a dimension; `second` is the result that a gradient is of."""
    if not out.numel():
        return
    given = aten.contiguous(given)
    if second is not None:
        second = aten.contiguous(second)
    shape = list(given.shape) or [1]
    dim %= len(shape)
    n, inner = shape[dim], 1
    for size in shape[dim + 1 :]:
        inner *= size
    words: tuple[tuple[str, str], ...] = (
        ("IN", element(given.dtype)), ("SECOND", element((given if second is None else second).dtype)),
        ("OUT", element(out.dtype)), ("LOG", str(int(log))),
    )  # fmt: skip
    device, columns = out.device.index, given.numel() // n
    if inner == 1:
        p = plan(columns, n, (given,) if second is None else (given, second), out)
        arguments = pack(columns, n, given, second, out)
        source.launch(device, words + p.words, p.grid, p.block, arguments, p.shared)
        return
    height = min(16, 1 << max(0, n - 1).bit_length())
    words += (("COLUMNS", "1"), ("HEIGHT", str(height)))
    arguments = pack(columns, n, inner, given, second, out)
    source.launch(device, words, (blocks(columns, 32),), (32, height), arguments, 32 * height * 16)


def _rows(name: str, log: bool) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def forward(self: Tensor, dim: int, half_to_float: bool, out: Tensor) -> None:
        _launch(_FORWARD, log, self, None, dim, out)

    @kernel(f"{name}_backward_data", flags=CONTIGUOUS)
    def backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any, out: Tensor) -> None:
        _launch(_BACKWARD, log, grad_output, output, dim, out)


_rows("_softmax", log=False)
_rows("_log_softmax", log=True)
