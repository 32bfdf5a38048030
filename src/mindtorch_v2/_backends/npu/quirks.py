"""Faults of operators on some SoCs and versions of CANN, as data, and what is called in their place.

A row says where an operator must not be used as the interface describes it: `operator`, `soc` and `cann` (patterns; CANN's
version as ACL states it), `symptom` in words, and `replacement`, a function with the operator's own parameters. Rows apply when an operator
is first called. `python -m mindtorch_v2.npu doctor` names those that apply to a host.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._operators.table import aten


@dataclass(frozen=True)
class Quirk:
    """One fault, and the way around it. `source` says who reported it."""

    operator: str
    soc: str
    cann: str
    symptom: str
    replacement: Callable[..., None]
    source: str


def _max_pool2d(
    self: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Any, indices: Any
) -> None:
    """The maximum of each window as the maximum along rows: the windows lie over a padded copy."""
    kernel, stride, padding, dilation = (_pair(numbers) for numbers in (kernel, stride or kernel, padding, dilation))
    height, width = self.shape[-2:]
    sizes = out.shape[-2:]
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(sizes, stride, kernel, dilation, strict=True)]
    rows, columns = (max(r - n - p, 0) for r, n, p in zip(reach, (height, width), padding, strict=True))
    padded = aten.constant_pad_nd(self, [padding[1], columns, padding[0], rows], -math.inf)
    *planes, row, column = padded.stride()
    windows = padded.as_strided(
        [*out.shape, *kernel],
        [*planes, row * stride[0], column * stride[1], row * dilation[0], column * dilation[1]],
    )
    values, place = windows.reshape([*out.shape, -1]).max(-1)
    aten.copy_(out, values)
    below = aten.arange(sizes[0], device=self.device).unsqueeze(-1) * stride[0] - padding[0]
    right = aten.arange(sizes[1], device=self.device) * stride[1] - padding[1]
    y = below + place.floor_divide(kernel[1]) * dilation[0]
    x = right + place.remainder(kernel[1]) * dilation[1]
    # Where all are -inf it is the first inside the image.
    y, x = (aten.where(at < 0, at.remainder(step), at) for at, step in zip((y, x), dilation, strict=True))
    aten.copy_(indices, y * width + x)


def _max_pool2d_backward(
    grad: Any, self: Any, indices: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, out: Any
) -> None:
    """Each gradient added where its maximum was."""
    planes = aten.new_zeros(self, [*self.shape[:-2], self.shape[-2] * self.shape[-1]])
    places = indices.reshape([*indices.shape[:-2], -1])
    aten.copy_(out, planes.scatter_add(-1, places, grad.reshape(places.shape)).view(self.shape))


def _pair(numbers: Any) -> Any:
    return numbers if len(numbers) == 2 else [numbers[0]] * 2


# What CANN's own documents say, or users have reported; nothing here was seen on hardware by us.
_A2 = "CANN's notes on aclnnMaxPool2dWithIndices: for A2, A3 and 950"
_MISSING = "there is no kernel for it on chips before A2"
QUIRKS: list[Quirk] = [
    Quirk(operator, soc, "*", _MISSING, replacement, _A2)
    for soc in ("Ascend910[!B_]*", "Ascend310*")
    for operator, replacement in (
        ("aclnnMaxPool2dWithIndices", _max_pool2d),
        ("aclnnMaxPool2dWithIndicesBackward", _max_pool2d_backward),
    )
]


def applying(soc: str, version: tuple[int, int, int]) -> dict[str, Quirk]:
    """The rows for a SoC and a version, by operator. Of several rows for one operator the last decides."""
    named = ".".join(map(str, version))
    return {
        quirk.operator: quirk
        for quirk in QUIRKS
        if fnmatch.fnmatchcase(soc, quirk.soc) and fnmatch.fnmatchcase(named, quirk.cann)
    }
