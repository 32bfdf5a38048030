"""Starting a back end when its device is first asked for, and registering its kernels."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable


class Loading:
    """The start of a back end.

    Args:
        package: the back end's package; its `ops` hold the kernels.
        start: starts the runtime and registers the device; raises where there is none.
        finish: what remains once the kernels are registered.
    """

    def __init__(self, package: str, start: Callable[[], None], finish: Callable[[], None] = lambda: None) -> None:
        self._package, self._start, self._finish = package, start, finish
        self._loaded = False
        self._waiting: list[Callable[[], None]] = []

    def load(self) -> None:
        """Start the runtime and register memory and kernels, if that was not done. Raises where there is no device."""
        if self._loaded:
            return
        self._start()
        self._loaded = True
        self.register_kernels()
        self._finish()
        while self._waiting:
            self._waiting.pop(0)()

    def when_loaded(self, callback: Callable[[], None], *, alone: bool = False) -> None:
        """Call a function once the device is asked for: now, if it was. `alone`: in the place of all that waits."""
        if self._loaded:
            callback()
            return
        if alone:
            self._waiting.clear()
        self._waiting.append(callback)

    def register_kernels(self) -> None:
        """Register the kernels of the rows. Nothing is called or compiled yet: this needs neither a library nor a device."""
        ops = importlib.import_module(f"{self._package}.ops")
        for module in sorted(m.name for m in pkgutil.iter_modules(ops.__path__)):
            importlib.import_module(f"{ops.__name__}.{module}")

    def is_loaded(self) -> bool:
        """Whether the device was asked for in this process."""
        return self._loaded
