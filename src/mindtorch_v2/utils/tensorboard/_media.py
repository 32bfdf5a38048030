"""TensorBoard's records of sound, video, meshes, pictures with boxes, and of how scalars stand side by side."""

from __future__ import annotations

import io
import json
import warnings
import wave
from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

from .summary import _array, _pixels, _shape, _summary

__all__ = ["audio", "boxes", "custom_scalars", "mesh", "video"]

_FULL = 32767  # the largest amplitude of 16 bits
_CONTENT = {"VERTEX": MeshPluginData.VERTEX, "FACE": MeshPluginData.FACE, "COLOR": MeshPluginData.COLOR}


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Sound of one channel, (L,) or (1, L), from -1 to 1: louder is cut off, with a warning."""
    samples = _array(tensor).squeeze()
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    if np.abs(samples).max(initial=0) > 1:
        warnings.warn("add_audio: amplitudes beyond 1 are cut off", stacklevel=4)
        samples = samples.clip(-1, 1)
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * _FULL).astype("<i2").tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(samples), content_type="audio/wav",
        encoded_audio_string=stream.getvalue(),
    )  # fmt: skip
    return _summary(tag, audio=made)


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Moving pictures (N, T, C, H, W) side by side as GIF: bytes, or floats from 0 to 1. Needs the package `pillow`."""
    from PIL import Image  # an optional package

    frames = _array(tensor)
    if frames.ndim != 5:
        raise ValueError(f"add_video expects a tensor (N, T, C, H, W), got {frames.ndim} dimensions")
    pictures = [Image.fromarray(_pixels(frames[:, moment], "NCHW")) for moment in range(frames.shape[1])]
    if not pictures:
        raise ValueError("add_video expects at least one picture, got none")
    stream = io.BytesIO()
    pictures[0].save(
        stream, format="GIF", save_all=True, append_images=pictures[1:], duration=round(1000 / fps), loop=0
    )
    width, height = pictures[0].size
    made = Summary.Image(height=height, width=width, colorspace=3, encoded_image_string=stream.getvalue())
    return _summary(tag, image=made)


def boxes(
    tag: str, image: Any, places: Any, rescale: float = 1, dataformats: str = "CHW", labels: list[str] | None = None
) -> Any:
    """An image with rectangles (N, 4) of left, top, right and bottom, each with its label. Needs the package `pillow`."""
    from PIL import Image, ImageDraw  # an optional package

    pixels, corners = _pixels(image, dataformats), _array(places)
    height, width, channels = pixels.shape
    drawn = Image.fromarray(pixels)
    brush = ImageDraw.Draw(drawn)
    # Other numbers of labels than of boxes say nothing of any: none is drawn, as in PyTorch.
    texts = labels if labels is not None and len(labels) == len(corners) else [""] * len(corners)
    for (left, top, right, bottom), text in zip(corners.tolist(), texts):
        around = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        brush.line(around, width=2, fill="Red")
        if text:
            box = brush.textbbox((left, bottom), text, anchor="lb")
            brush.rectangle(box, fill="Red")
            brush.text((left, bottom), text, fill="black", anchor="lb")
    if rescale != 1:
        drawn = drawn.resize((round(width * rescale), round(height * rescale)), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    drawn.save(stream, format="PNG")
    made = Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=stream.getvalue())
    return _summary(tag, image=made)


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config: dict | None) -> Any:
    """Points (B, N, 3), their colors (B, N, 3) and triangles (B, N, 3) of them; colors and triangles may be None."""
    found = [
        (name, _array(x)) for name, x in (("VERTEX", vertices), ("FACE", faces), ("COLOR", colors)) if x is not None
    ]
    parts = 0
    for name, _ in found:
        parts |= 1 << _CONTENT[name]
    made = Summary()
    for name, array in found:
        content = MeshPluginData(
            version=0, name=tag, content_type=_CONTENT[name], json_config=json.dumps(config or {}, sort_keys=True),
            shape=array.shape, components=parts,
        )  # fmt: skip
        tensor = TensorProto(dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(array.shape))
        one = _summary(f"{tag}_{name}", "mesh", content.SerializeToString(), tensor=tensor)
        made.value.extend(one.value)
    return made


def custom_scalars(layout: dict[str, dict[str, Sequence]]) -> Any:
    """Charts of several scalars: category -> title -> ("Multiline", tags) or ("Margin", [value, lower, upper])."""
    categories = []
    for name, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags)))
        categories.append(layout_pb2.Category(title=name, chart=made))
    text = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(dtype="DT_STRING", string_val=[text], tensor_shape=TensorShapeProto())
    return _summary("custom_scalars__config__", "custom_scalars", tensor=tensor)
