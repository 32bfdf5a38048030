"""Pickles of strangers inside of good archives: what mutated archives, whose sums do not hold, do not reach."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections.abc import Iterator

import mindtorch_v2 as torch
from fuzz.targets import torch_load

MODULES = ("mindtorch_v2.serialization", "mindtorch_v2._weights_only_unpickler", "mindtorch_v2._utils")


def one(data: bytes) -> None:
    """Load an archive whose pickle is `data`, with two storages beside."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/byteorder", "little")
        archive.writestr("a/data/0", bytes(range(48)))
        archive.writestr("a/data/1", bytes(8))
        archive.writestr("a/version", "3\n")
    stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = torch.load(stream, weights_only=True)
        except (RuntimeError, pickle.UnpicklingError) as error:
            torch_load.refuse_mistakes(error)
            return
        torch_load.read(made)


def seeds() -> Iterator[bytes]:
    """The pickles of the small archives."""
    for data in torch_load.seeds():
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                yield archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
        except zipfile.BadZipFile:
            continue
