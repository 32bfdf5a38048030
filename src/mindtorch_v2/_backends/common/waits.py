"""Reports of operators that let the host wait for the device, such as `item`: `set_sync_debug_mode`."""

from __future__ import annotations

import warnings

_MODES = {"default": 0, "warn": 1, "error": 2}


class Waits:
    """Whether such a wait is told: not (0), by a warning (1) or an error (2).

    Args:
        device, setter: in the sentence.
    """

    def __init__(self, device: str, setter: str) -> None:
        self.mode = 0
        self._text = f"an operator lets the host wait for the {device} ({setter})"

    def set(self, mode: int | str) -> None:
        """Set the mode by its number or word. RuntimeError for what is none."""
        known = _MODES.get(mode) if isinstance(mode, str) else mode if mode in _MODES.values() else None
        if known is None:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`"
                if isinstance(mode, str)
                else "invalid value of debug_mode, expected one of 0,1,2"
            )
        self.mode = known

    def tell(self) -> None:
        """Warn of a wait, or raise RuntimeError, where that was asked for."""
        if self.mode == 2:
            raise RuntimeError(self._text)
        if self.mode:
            warnings.warn(self._text, stacklevel=4)
