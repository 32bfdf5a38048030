"""Reading the pickles of packages: their globals come from the package and from what it says it needs of the environment."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import IO, Any

from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2.serialization._unpickler import StorageType, is_storage_name

from .importer import Importer


class PackageUnpickler(pickle.Unpickler):
    """Unpickler with an importer's modules. It runs the code that the pickle names.

    >>> import io
    >>> import pickle
    >>> from mindtorch_v2.package.package_importer import PackageUnpickler
    >>> file = io.BytesIO(pickle.dumps({"answer": 42}))
    >>> PackageUnpickler(torch.package.sys_importer, file, persistent_load=str).load()
    {'answer': 42}
    """

    def __init__(
        self, importer: Importer, file: IO[bytes], persistent_load: Callable[[Any], Any], **arguments: Any
    ) -> None:
        super().__init__(file, **arguments)
        self._importer = importer
        self.persistent_load = persistent_load  # type: ignore[method-assign]  # (one for each file)

    def find_class(self, module: str, name: str) -> Any:
        if is_storage_name(module, name):
            return StorageType(name)
        path = _weights_only_unpickler._normalized(module, name)
        known = _weights_only_unpickler._get_allowed_globals().get(path) if path.startswith("torch.") else None
        if known is not None:
            return known
        return functools.reduce(getattr, name.split("."), self._importer.import_module(module))
