"""Files of `torch.export.load`: the archive as it is, or the program's JSON inside of a good one."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator

import mindtorch_v2 as torch

MODULES = ("mindtorch_v2.export._archive", "mindtorch_v2.utils._pytree", "mindtorch_v2._sizes")


class _Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)

    def forward(self, x, y):
        return {"a": self.linear(x) * 2 + y, "b": x.view(-1, x.shape[0])}


def _archive(dynamic: bool) -> bytes:
    shapes = ({0: torch.export.Dim("batch", min=2, max=64)}, None) if dynamic else None
    program = torch.export.export(_Small(), (torch.ones(4, 2), 1.5), dynamic_shapes=shapes)
    stream = io.BytesIO()
    torch.export.save(program, stream)
    return stream.getvalue()


_PARTS: dict[str, bytes] = {}


def one(data: bytes) -> None:
    """Load a program; its text is made."""
    if not _PARTS:
        with zipfile.ZipFile(io.BytesIO(_archive(False))) as archive:
            _PARTS.update((name, archive.read(name)) for name in archive.namelist() if name.endswith(".pt"))
    stream = io.BytesIO(data)
    if not data.startswith(b"PK"):
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("program.json", data)
            for name, part in _PARTS.items():
                archive.writestr(name, part)
        stream.seek(0)
    try:
        program = torch.export.load(stream)
    except (RuntimeError, pickle.UnpicklingError) as error:
        if isinstance(error, (RecursionError, NotImplementedError)):
            raise
        return
    str(program)


def seeds() -> Iterator[bytes]:
    """Two programs, as archives and as JSON."""
    for dynamic in (False, True):
        data = _archive(dynamic)
        yield data
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive.read("program.json")
