"""Files of `torch.jit.load`: the archive as it is, or a Module's source or pickle inside of a good one."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections.abc import Iterator

import mindtorch_v2 as torch
from fuzz.targets.torch_load import refuse_mistakes

MODULES = ("mindtorch_v2.jit._load", "mindtorch_v2.jit._script_source", "mindtorch_v2.jit._script_text")


class _Small(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)

    def forward(self, x):
        y = self.linear(x).relu() * 2
        return y + x.sum(), {"a": (y, [x, x[0]])}


_PICKLE = "archive/data.pkl"
_RECORDS: dict[str, bytes] = {}


def _records() -> dict[str, bytes]:
    """The records of a good archive; the last source is that of the whole Module."""
    if not _RECORDS:
        stream = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.jit.save(torch.jit.trace(_Small(), torch.ones(1, 2), strict=False), stream)
        with zipfile.ZipFile(stream) as archive:
            _RECORDS.update((name, archive.read(name)) for name in archive.namelist())
    return _RECORDS


def _sources() -> list[str]:
    return [name for name in _records() if name.endswith(".py")]


def one(data: bytes) -> None:
    """Load a Module, whose methods are compiled, and none of them run."""
    stream = io.BytesIO(data)
    if not data.startswith(b"PK"):
        replaced = _PICKLE if data.startswith(b"\x80") else _sources()[-1]
        with zipfile.ZipFile(stream, "w") as archive:
            for name, record in _records().items():
                archive.writestr(name, data if name == replaced else record)
        stream.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = torch.jit.load(stream)
        except (RuntimeError, pickle.UnpicklingError) as error:
            refuse_mistakes(error)
            return
        repr(made)


def seeds() -> Iterator[bytes]:
    """A whole archive, its sources and its pickle."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, record in _records().items():
            archive.writestr(name, record)
    yield stream.getvalue()
    for name in _sources():
        yield _records()[name]
    yield _records()[_PICKLE]
    yield (
        b"class Module(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        b"  def forward(self, x: Tensor, y: Optional[int]=None) -> Tensor:\n    if torch.__is__(y, None):\n      a = x\n"
        b"    else:\n      a = torch.add(x, 1, alpha=2)\n    for i in range(2):\n      a = torch.mul(a, i)\n    return a\n"
    )
