"""The files that TensorBoard's projector reads: vectors, labels, small images, and where they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

__all__ = ["entry", "write_labels", "write_sprite", "write_vectors"]


def write_vectors(matrix: Any, folder: Path) -> None:
    """Write the rows of a matrix, a line each."""
    lines = ("\t".join(str(each) for each in row) for row in matrix.tolist())
    (folder / "tensors.tsv").write_text("".join(line + "\n" for line in lines))


def write_labels(labels: Sequence[Any], folder: Path, header: Sequence[str] | None) -> None:
    """Write a label, or a list of them with a header, for each row."""
    rows = (
        [str(each) for each in labels]
        if not header
        else ["\t".join(header), *("\t".join(str(part) for part in each) for each in labels)]
    )
    (folder / "metadata.tsv").write_text("".join(row + "\n" for row in rows), encoding="utf-8")


def write_sprite(images: Any, folder: Path) -> None:
    """Write images (n, c, h, w) of numbers from 0 to 1 as one square picture of them."""
    from PIL import Image  # only where there are images

    count, channels, height, width = images.shape
    side = math.ceil(math.sqrt(count))
    square = np.zeros((side * side, channels, height, width), np.float32)
    square[:count] = images.detach().cpu().numpy()
    picture = square.reshape(side, side, channels, height, width).transpose(0, 3, 1, 4, 2)
    pixels = (picture.reshape(side * height, side * width, channels) * 255).clip(0, 255).astype(np.uint8)
    below = max(0, side * (width - height))  # as wide as high: the projector reads nothing else
    pixels = np.pad(pixels, ((0, below), (0, 0), (0, 0)))[: side * width]
    Image.fromarray(pixels if channels > 1 else pixels[..., 0]).save(folder / "sprite.png")


def entry(labels: Any, images: Any, place: str, tag: str) -> str:
    """The lines of the projector's list for one set of vectors; `place` is its folder within the log's."""
    info = EmbeddingInfo(tensor_name=tag, tensor_path=f"{place}/tensors.tsv")
    if labels is not None:
        info.metadata_path = f"{place}/metadata.tsv"
    if images is not None:
        info.sprite.image_path = f"{place}/sprite.png"
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
    lines = text_format.MessageToString(info).rstrip("\n").replace("\n", "\n  ")
    return f"embeddings {{\n  {lines}\n}}\n"
