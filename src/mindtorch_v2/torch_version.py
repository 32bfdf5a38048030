"""`TorchVersion`: a version string that compares as a version."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.version import __version__ as _version

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A `str` whose comparisons follow PEP 440, against strings, `Version` objects and tuples of parts.

    A string that is no version is compared as text, as `str` does.

    >>> TorchVersion("2.13.0") > "2.9"
    True
    >>> TorchVersion("2.13.0") >= (2, 13)
    True
    """

    def _compared(self, other, method) -> bool:
        # Imported at the first comparison: it costs milliseconds that `import torch` need not spend.
        from packaging.version import InvalidVersion, Version

        if isinstance(other, (tuple, list)):
            text = ".".join(str(part) for part in other)
        elif isinstance(other, (str, Version)):
            text = str(other)
        else:
            return NotImplemented
        try:
            return getattr(Version(self), method)(Version(text))
        except InvalidVersion:
            return getattr(str, method)(self, other)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, "__gt__")

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, "__lt__")

    def __eq__(self, other: Any) -> bool:
        return self._compared(other, "__eq__")

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, "__ge__")

    def __le__(self, other: Any) -> bool:
        return self._compared(other, "__le__")

    __hash__ = str.__hash__


__version__ = TorchVersion(_version)
