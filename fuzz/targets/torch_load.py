"""Whole files for `torch.load`: archives, and the older format."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Iterator

import mindtorch_v2 as torch

MODULES = ("mindtorch_v2.serialization", "mindtorch_v2._weights_only_unpickler", "zipfile")


def one(data: bytes) -> None:
    """Load a file as strangers' files are loaded; what it holds is read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = torch.load(io.BytesIO(data), weights_only=True)
        except (RuntimeError, pickle.UnpicklingError) as error:
            refuse_mistakes(error)
            return
        read(made)


def refuse_mistakes(error: BaseException) -> None:
    """Let through what is a RuntimeError by class only: a mistake of ours."""
    if isinstance(error, (RecursionError, NotImplementedError)):
        raise error


def read(made: object) -> None:
    """Go through what was loaded, and read each tensor, which must lie within its storage."""
    waiting, seen = [made], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or len(seen) > 10_000:
            continue
        seen.add(id(each))
        if isinstance(each, torch.Tensor):
            if each.device.type == "cpu" and each.layout == torch.strided and each.numel() < 1 << 20:
                each.detach().clone()
        elif isinstance(each, dict):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, (list, tuple, set)):
            waiting += each


def seeds() -> Iterator[bytes]:
    """Small files of both formats."""
    values: list[object] = [
        1,
        {"a": torch.arange(3.0), "b": [1, 2.5, None, "x", (True, b"y")]},
        torch.arange(6).view(2, 3).t(),
        torch.nn.Linear(2, 1).state_dict(),
        torch.tensor([1 + 2j]),
        torch.eye(2).to_sparse(),
        torch.empty(2, device="meta"),
        torch.nn.Parameter(torch.ones(1)),
    ]
    for value in values:
        for zipped in (True, False):
            stream = io.BytesIO()
            torch.save(value, stream, _use_new_zipfile_serialization=zipped)
            yield stream.getvalue()
