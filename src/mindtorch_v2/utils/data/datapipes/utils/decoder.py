"""Decoders of files by the endings of their names: texts, numbers, JSON, pickles, tensors, images and MATLAB's matrices."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch

from .common import StreamWrapper

__all__ = [
    "Decoder",
    "ImageHandler",
    "MatHandler",
    "basichandlers",
    "extension_extract_fn",
    "handle_extension",
    "imagehandler",
    "mathandler",
]

Handler = Callable[[str, Any], Any]

# Name of a form -> what it is kept in, the numbers of that, the colours.
imagespecs: dict[str, tuple[str, str | None, str]] = {
    f"{kind}{colours}{'8' if small else ''}": (where, "uint8" if small else "float", colours)
    for kind, where in (("", "numpy"), ("torch", "torch"))
    for small in (True, False)
    for colours in ("l", "rgb", "rgba")
}
imagespecs["torch"] = imagespecs["torchrgb"]
imagespecs |= {name: ("pil", None, name[3:] or "rgb") for name in ("pill", "pil", "pilrgb", "pilrgba")}


def basichandlers(extension: str, data: bytes) -> Any:
    """The object that a file of this ending holds: text, a whole number, JSON, a pickle, a file of `torch.save`; None for others.

    Pickles run code: only decode those of a source that you trust.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import basichandlers
    >>> basichandlers("txt", b"two words"), basichandlers("cls", b"3"), basichandlers("json", b"[1]")
    ('two words', 3, [1])
    """
    if extension in ("txt", "text", "transcript"):
        return data.decode("utf-8")
    if extension in ("cls", "cls2", "class", "count", "index", "inx", "id"):
        try:
            return int(data)
        except ValueError:
            return None
    if extension in ("json", "jsn"):
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    if extension == "pt":
        return torch.load(io.BytesIO(data))
    return None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Handler:
    """A handler that gives `f(data)` for names with one of the endings, which stand in a text with spaces between.

    Endings may have dots, and may be written in capitals or not.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import handle_extension
    >>> count = handle_extension("bin seg.raw", len)
    >>> count("a.BIN", b"123"), count("a.seg.raw", b"12"), count("a.raw", b"1")
    (3, 2, None)
    """
    endings = [ending.split(".") for ending in extensions.lower().split()]

    def handler(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        return f(data) if any(parts[-len(ending) :] == ending for ending in endings) else None

    return handler


class ImageHandler:
    """A handler of images: `imagespec` is one of the names in `imagespecs`, such as "rgb", "torchrgb8" or "pil".

    Numbers are bytes with "8", and else floats from 0 to 1; tensors have the colours in front. It needs Pillow.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import ImageHandler
    >>> ImageHandler("torchrgb")("txt", b"no image") is None
    True
    """

    def __init__(self, imagespec: str) -> None:
        if imagespec not in imagespecs:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec.lower()

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension.lower() not in ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm"):
            return None
        import numpy
        from PIL import Image

        where, kind, colours = imagespecs[self.imagespec]
        image = Image.open(io.BytesIO(data)).convert(colours.upper())
        if where == "pil":
            return image
        pixels = numpy.asarray(image)
        if where == "numpy":
            return pixels if kind == "uint8" else pixels.astype("f") / 255.0
        tensor = torch.tensor(pixels.transpose(2, 0, 1))
        return tensor if kind == "uint8" else tensor / 255.0


def imagehandler(imagespec: str) -> ImageHandler:
    """An `ImageHandler`.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import imagehandler
    >>> imagehandler("rgb8").imagespec
    'rgb8'
    """
    return ImageHandler(imagespec)


class MatHandler:
    """A handler of MATLAB's matrices; it needs SciPy, whose `loadmat` gets the arguments.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import mathandler
    >>> mathandler.__name__
    'mathandler'
    """

    def __init__(self, **loadmat_kwargs: Any) -> None:
        try:
            from scipy import io as matrices
        except ImportError as error:
            raise ModuleNotFoundError(
                "Package `scipy` is required to be installed for mat file.Please use `pip install scipy` "
                "or `conda install scipy`to install the package"
            ) from error
        self.sio = matrices
        self.loadmat_kwargs = loadmat_kwargs

    def __call__(self, extension: str, data: bytes) -> Any:
        if extension != "mat":
            return None
        return self.sio.loadmat(io.BytesIO(data), **self.loadmat_kwargs)


def mathandler(**loadmat_kwargs: Any) -> MatHandler:
    """A `MatHandler`.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import mathandler
    >>> mathandler.__name__
    'mathandler'
    """
    return MatHandler(**loadmat_kwargs)


def extension_extract_fn(pathname: str) -> str:
    """The ending of a name, without its dot.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import extension_extract_fn
    >>> extension_extract_fn("folder/a.txt")
    'txt'
    """
    return os.path.splitext(pathname)[1][1:]


class Decoder:
    """Names and contents of files decoded by the first of several handlers that knows the ending, bytes where none does.

    `key_fn` gives the ending of a name.

    >>> from mindtorch_v2.utils.data.datapipes.utils.decoder import Decoder, basichandlers
    >>> Decoder(basichandlers)([("a.txt", b"one"), ("b.bin", b"1")])
    {'a.txt': 'one', 'b.bin': b'1'}
    """

    def __init__(self, *handler: Handler, key_fn: Callable[[str], str] = extension_extract_fn) -> None:
        self.handlers: list[Handler] = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Handler) -> None:
        """Add handlers behind those that are there."""
        self.handlers += handler

    def decode1(self, key: str, data: Any) -> Any:
        """The object that the contents `data` (bytes, or a stream, which is read and closed) stand for."""
        if isinstance(data, (io.BufferedIOBase, io.RawIOBase, StreamWrapper)):
            stream, data = data, data.read()
            stream.close()
        for handler in self.handlers:
            found = handler(key, data)
            if found is not None:
                return found
        return data

    def decode(self, data: tuple[str, Any] | Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
        """The objects by the names of their files, from a pair of name and contents or several; names with "_" keep text."""
        found: dict[str, Any] = {}
        for name, contents in [data] if isinstance(data, tuple) else data or ():
            if name[0] == "_" and isinstance(contents, bytes):
                found[name] = contents.decode("utf-8")
            else:
                found[name] = self.decode1(self.key_fn(name), contents)
        return found

    def __call__(self, data: tuple[str, Any] | Iterable[tuple[str, Any]] | None) -> dict[str, Any]:
        return self.decode(data)
