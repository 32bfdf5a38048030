"""Calls that a mode sees below autograd, of the calls of PyTorch's operator database: for PyTorch and for us the same."""

from __future__ import annotations

import gzip
import importlib
import json
import pathlib
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from operator_calls import function
from weighed import decode

SNAPSHOTS = pathlib.Path(__file__).parents[1] / "snapshots"
_DTYPES = ("float64", "float32", "int64", "bool")
_MOST = 5  # calls of an entry


def shown(torch: ModuleType, value: Any) -> Any:
    """An argument as data: what is compared of it."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if isinstance(value, list | tuple):
        return [*(["tuple"] if isinstance(value, tuple) else []), *(shown(torch, each) for each in value)]
    return value if isinstance(value, bool | int | str | None) else str(value)


def watcher(torch: ModuleType) -> Any:
    """A mode that keeps what it sees in `seen`."""
    mode = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Watcher(mode):  # type: ignore[valid-type,misc]  # (ours or PyTorch's)
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[Any] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
            said = {name: shown(torch, value) for name, value in sorted((kwargs or {}).items())}
            self.seen.append([str(func).removeprefix("aten."), [shown(torch, each) for each in args], said])
            return func(*args, **(kwargs or {}))

    return Watcher()


def recordings(torch: ModuleType) -> Iterator[tuple[str, int, list[Any]]]:
    """Of each entry up to five calls: the entry, the call's number in it, what a mode sees of it."""
    with gzip.open(SNAPSHOTS / "operator_database.jsonl.gz", "rt") as lines:
        for line in lines:
            entry = json.loads(line)
            numbers = [n for n, call in enumerate(entry["calls"]) if any(d in json.dumps(call["a"]) for d in _DTYPES)]
            for number in numbers[:_MOST]:
                found = recording(torch, entry["calls"][number])
                if found is not None:
                    yield entry["name"], number, found


def recording(torch: ModuleType, call: dict[str, Any]) -> list[Any] | None:
    """The calls that a mode sees of one call; None where it raises."""
    mode = watcher(torch)
    try:
        args = decode(torch, call["a"], lambda tensor: tensor)
        kwargs = {name: decode(torch, value, lambda tensor: tensor) for name, value in call.get("k", {}).items()}
        torch.manual_seed(0)
        made = function(torch, call["p"])
        with warnings.catch_warnings(), mode:
            warnings.simplefilter("ignore")
            made(*args, **kwargs)
    except Exception:  # noqa: BLE001  (a call that a mode cannot be asked about is none of this comparison)
        return None
    return mode.seen
