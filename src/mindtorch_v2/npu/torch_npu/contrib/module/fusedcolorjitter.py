"""Random changes of an image's colours, all of them in one product by a matrix of 3 by 3."""

from __future__ import annotations

import math
import random
import warnings
from typing import Any

import numpy as np

from mindtorch_v2 import nn

__all__ = ["FusedColorJitter"]

# Luma and the two axes of chroma (NTSC's YIQ) of a colour in red, green and blue.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.5959, -0.2746, -0.3213], [0.2115, -0.5227, 0.3112]])
_HALF = 127.5


class FusedColorJitter(nn.Module):
    """Change brightness, contrast, saturation and hue by random factors: the colour times a matrix, plus a number.

    A number x asks for factors between max(0, 1 - x) and 1 + x (`hue`: turns between -x and x, at most half of one); a pair
    gives both ends.

    Shape:
        An image of Pillow's, which comes back as one, or an array (height, width, channels) of 1, 3 or 4 channels from 0 to 255, of
        which a fourth is left out: (height, width, 3) in its dtype.

    Raises:
        ValueError: a range that is negative, turned or too large; an image of other sizes.
        TypeError: a range that is neither a number nor a pair.
    """

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        warnings.warn(
            "torch_npu.contrib.module.FusedColorJitter is deprecated; use torchvision.transforms.ColorJitter",
            FutureWarning,
            stacklevel=2,
        )
        self.brightness = _ends("brightness", brightness)
        self.contrast = _ends("contrast", contrast)
        self.saturation = _ends("saturation", saturation)
        self.hue = _ends("hue", hue, center=0.0, bound=(-0.5, 0.5))

    def forward(self, img: Any) -> Any:
        """The changed image."""
        array = np.asarray(img)
        if array.ndim == 2 and array is not img:  # grey images of Pillow
            array = array[:, :, None]
        if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
            raise ValueError(
                f"FusedColorJitter: (height, width, 1, 3 or 4) was expected, but the image is {array.shape}"
            )
        colours = np.broadcast_to(array[:, :, :3], (*array.shape[:2], 3)).astype(np.float32)
        brightness, contrast, saturation = (
            1.0 if ends is None else random.uniform(*ends) for ends in (self.brightness, self.contrast, self.saturation)
        )
        turn = 0.0 if self.hue is None else 2 * math.pi * random.uniform(*self.hue)
        cos, sin = saturation * math.cos(turn), saturation * math.sin(turn)
        chroma = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        matrix = np.linalg.inv(_YIQ) @ chroma @ _YIQ * (brightness * contrast)
        changed = colours @ matrix.T.astype(np.float32) + (1 - contrast) * brightness * _HALF
        whole = np.issubdtype(array.dtype, np.integer)
        result = (np.rint(changed) if whole else changed).clip(0, 255).astype(array.dtype)
        return _like(img, result)

    def __repr__(self) -> str:
        ranges = ", ".join(f"{name}={getattr(self, name)}" for name in ("brightness", "contrast", "saturation", "hue"))
        return f"FusedColorJitter({ranges})"


def _like(img: Any, colours: np.ndarray) -> Any:
    """An array, or an image of Pillow's where one came."""
    if isinstance(img, np.ndarray):
        return colours
    from PIL import Image

    return Image.fromarray(colours)


def _ends(
    name: str, value: Any, center: float = 1.0, bound: tuple[float, float] = (0.0, math.inf)
) -> list[float] | None:
    """The ends of a range; None for one in which nothing changes."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"FusedColorJitter: {name} must not be negative, but it is {value}")
        ends = [center - float(value), center + float(value)]
        if center:
            ends[0] = max(ends[0], 0.0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        ends = [float(each) for each in value]
    else:
        raise TypeError(f"FusedColorJitter: {name} must be a number or a pair of numbers, but it is {value!r}")
    if not bound[0] <= ends[0] <= ends[1] <= bound[1]:
        raise ValueError(f"FusedColorJitter: {name} must lie within {bound} in order, but it is {value}")
    return None if ends[0] == ends[1] == center else ends
