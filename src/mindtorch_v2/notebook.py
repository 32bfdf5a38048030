"""Tensors as notebooks show them: off by default, on by one line.

`%load_ext mindtorch_v2.notebook` in IPython and Jupyter, or `mindtorch_v2.notebook.enable()` anywhere; `%unload_ext`
and `disable()` undo it. A tensor is then shown by its shape, dtype and device, the range of its values with a small
histogram, as a picture where it looks like one, and by its usual text, folded.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import mindtorch_v2 as torch

__all__ = ["disable", "enable", "html_of"]

_SAMPLE = 100_000  # values that are looked at, at most
_BINS = 24
_SMALLEST, _LARGEST = 8, 2048  # sides of what may be a picture, in pixels
_SHOWN = 192  # pixels that a picture's longer side takes, at least


def enable() -> None:
    """Show tensors as HTML where a front end asks for it."""
    torch.Tensor._repr_html_ = html_of  # type: ignore[attr-defined]  # (absent unless asked for: libraries look for it)


def disable() -> None:
    """Show tensors as text again."""
    if "_repr_html_" in torch.Tensor.__dict__:
        del torch.Tensor._repr_html_  # type: ignore[attr-defined]  # (see enable)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext mindtorch_v2.notebook`."""
    enable()


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext mindtorch_v2.notebook`."""
    disable()


def html_of(tensor: torch.Tensor) -> str:
    """The tensor as a piece of HTML.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import notebook
    >>> "<b>Tensor</b> [2, 3] float32 cpu" in notebook.html_of(torch.ones(2, 3))
    True
    """
    shape = ", ".join(map(str, tensor.shape))
    name = html.escape(type(tensor).__name__)
    head = f"<b>{name}</b> [{shape}] {str(tensor.dtype).removeprefix('torch.')} {html.escape(str(tensor.device))}"
    if tensor.grad_fn is not None:
        head += f" of {html.escape(type(tensor.grad_fn).__name__)}"
    elif tensor.requires_grad:
        head += " requires_grad"
    parts = [f"<div>{head}</div>"]
    values = _sample(tensor)
    if values is not None:
        parts.append(_statistics(values, tensor.numel()))
        picture = _picture(tensor)
        if picture:
            parts.append(picture)
    text = html.escape(repr(tensor))
    parts.append(f"<details><summary>values</summary><pre>{text}</pre></details>")
    return f'<div style="font-family:monospace;line-height:1.4">{"".join(parts)}</div>'


def _sample(tensor: torch.Tensor) -> torch.Tensor | None:
    """Some of the values as float64 on the CPU; None where there are none to be had: no values, or no plain ones."""
    plain = tensor.layout == torch.strided and tensor.device.type != "meta" and not tensor.is_quantized
    if not plain or tensor.numel() == 0 or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return None
    if torch._C._batched_parts(tensor) is not None or torch._C._functional_parts(tensor) is not None:
        return None
    with torch.no_grad():
        flat = tensor.detach().resolve_conj().reshape(-1)
        flat = flat[:: -(-flat.numel() // _SAMPLE)].cpu()
        return (flat.abs() if flat.is_complex() else flat).double()


def _statistics(values: torch.Tensor, numel: int) -> str:
    finite = values[values.isfinite()]
    said = []
    if finite.numel():
        low, high, mean = finite.min().item(), finite.max().item(), finite.mean().item()
        said.append(f"{low:.4g} to {high:.4g}, mean {mean:.4g}")
    nans, infinite = int(values.isnan().sum()), int(values.isinf().sum())
    said += [f"{count} {word}" for count, word in ((nans, "nan"), (infinite, "inf")) if count]
    if values.numel() < numel:
        said.append(f"of {values.numel()} values")
    bars = ""
    if finite.numel() > 1 and low < high:
        counts = torch.histc(finite, _BINS, low, high).tolist()
        most = max(counts)
        bars = "".join(
            f'<rect x="{place * 5}" y="{30 - count / most * 30:.1f}" width="4" height="{count / most * 30:.1f}" fill="#4a7fb5"/>'
            for place, count in enumerate(counts)
            if count
        )
        bars = f'<svg width="{_BINS * 5}" height="30" style="vertical-align:middle;margin-right:8px">{bars}</svg>'
    return f"<div>{bars}{'; '.join(said)}</div>"


def _picture(tensor: torch.Tensor) -> str:
    """An image, if the sizes are those of one (1, 3 or 4 channels first, or none) and the values: bytes, or from 0 to 1."""
    sizes = list(tensor.shape)
    if len(sizes) == 2:
        sizes = [1, *sizes]
    if len(sizes) != 3 or sizes[0] not in (1, 3, 4) or not all(_SMALLEST <= side <= _LARGEST for side in sizes[1:]):
        return ""
    if tensor.dtype != torch.uint8 and not tensor.dtype.is_floating_point:
        return ""
    with torch.no_grad():
        image = tensor.detach().cpu().reshape(sizes)
        if image.dtype != torch.uint8:
            image = image.float()
            # (a comparison with nan is False)
            if not (image.min().item() >= 0 and image.max().item() <= 1):
                return ""
            image = (image * 255).round().to(torch.uint8)
        rows = image.permute(1, 2, 0).contiguous()
    channels, height, width = sizes
    data = base64.b64encode(_png(rows, channels)).decode()
    scale = max(1, _SHOWN // max(height, width))
    return (
        f'<img src="data:image/png;base64,{data}" width="{width * scale}" height="{height * scale}" '
        'style="image-rendering:pixelated;margin:4px 0" alt="the tensor as an image"/>'
    )


def _png(rows: torch.Tensor, channels: int) -> bytes:
    """An image file (PNG, RFC 2083) of bytes (height, width, channels)."""
    height, width = rows.shape[:2]
    data = rows.reshape(height, -1).numpy()
    lines = b"".join(b"\0" + line.tobytes() for line in data)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    color = {1: 0, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
