"""Reading trusted pickles: PyTorch's global names lead to our functions and classes."""

from __future__ import annotations

import contextlib
import functools
import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler

if TYPE_CHECKING:
    from mindtorch_v2.storage import TypedStorage


class StorageType:
    """Stand-in for a storage class that a file names: its dtype is all that loading needs.

    >>> from mindtorch_v2.serialization import StorageType
    >>> StorageType("HalfStorage").dtype
    torch.float16
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.untyped = name == "UntypedStorage"
        self.dtype = torch.uint8 if self.untyped else torch.storage._get_dtype_from_pickle_storage_type(name)

    def __repr__(self) -> str:
        return f"StorageType(dtype={self.dtype})"

    __str__ = __repr__


def text(value: str) -> str:
    """A word of a file, which Python 2 wrote as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def word(value: Any, meaning: str) -> str:
    """A name in a file; UnpicklingError for anything that is none."""
    if isinstance(value, (str, bytes)):
        with contextlib.suppress(UnicodeDecodeError):
            return text(value)  # type: ignore[arg-type]  # (bytes come from Python 2)
    raise pickle.UnpicklingError(f"{meaning} must be a word, got {value!r}")


def length(value: Any) -> int:
    """A count of elements in a file; UnpicklingError for anything that is none."""
    if isinstance(value, int) and 0 <= value < 1 << 62:
        return value
    raise pickle.UnpicklingError(f"a storage's length must be a number, got {value!r}")


def is_storage_name(module: str, name: str) -> bool:
    """Whether a global names a storage class."""
    return module in ("torch", "torch.storage", "torch.cuda") and name in (
        "UntypedStorage",
        *torch.storage._storage_type_to_dtype_map(),
    )


class TrustingUnpickler:
    """Make unpickler classes over a pickle module (`pickle` unless the caller brings another)."""

    @staticmethod
    @functools.cache
    def over(pickle_module: Any) -> type:
        """A class `(file, persistent_load, **arguments)` that resolves `torch` to this package."""

        base: Any = (pickle_module or pickle).Unpickler

        class Unpickler(base):
            def __init__(self, file: Any, persistent_load: Callable[..., Any], **arguments: Any) -> None:
                super().__init__(file, **arguments)
                self._load_storage = persistent_load

            def persistent_load(self, pid: Sequence[Any]) -> TypedStorage:
                return self._load_storage(pid)

            def find_class(self, module: str, name: str) -> Any:
                if is_storage_name(module, name):
                    return StorageType(name)
                path = _weights_only_unpickler._normalized(module, name)
                known = _weights_only_unpickler._get_allowed_globals().get(path) if path.startswith("torch") else None
                if known is not None:
                    return known
                if module == "torch" or module.startswith("torch."):
                    module = "mindtorch_v2" + module[len("torch") :]
                return super().find_class(module, name)

        return Unpickler
