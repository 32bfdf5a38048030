"""The pickles of packages: their globals are named as the exporter's importers have them."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import IO, Any

from mindtorch_v2.serialization._pickler import Pickler, public_name

from .importer import Importer, ObjMismatchError, ObjNotFoundError


class PackagePickler(Pickler):
    """Pickler of what importers have. `globals_` holds, afterwards, the modules that the pickle needs, and which of their names."""

    def __init__(self, file: IO[bytes], protocol: int, persistent_id: Callable[..., Any], importer: Importer) -> None:
        super().__init__(file, protocol, persistent_id)
        self.importer = importer
        self.globals_: dict[str, list[str]] = {}

    def save_global(self, obj: Any, name: str | None = None) -> None:
        try:
            module_name, path = self.importer.get_name(obj, name)
        except (ObjNotFoundError, ObjMismatchError) as error:
            raise pickle.PicklingError(f"Can't pickle {obj}: {error}") from error
        self.globals_.setdefault(module_name, []).append(path)
        if public_name(obj, name) is not None:
            super().save_global(obj, name)
            return
        parent, _, last = path.rpartition(".")
        if self.proto >= 4 or not parent:
            self.save_named(obj, module_name, path)
            return
        # Protocols below 4 have no names with dots.
        owner: Any = functools.reduce(getattr, parent.split("."), self.importer.import_module(module_name))
        self.save_reduce(getattr, (owner, last))  # type: ignore[attr-defined]  # (not in the stubs of the library)
        self.memoize(obj)
