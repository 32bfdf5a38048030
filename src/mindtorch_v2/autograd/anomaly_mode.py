"""Anomaly mode: a failing backward shows the forward line that made its node."""

from __future__ import annotations

import warnings

from .. import _C


class detect_anomaly:
    """Within this block backward checks for NaN and shows where the forward of a failing node ran.

    >>> import warnings
    >>> x = torch.tensor([0.0], requires_grad=True)
    >>> try:
    ...     with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
    ...         (x.sqrt() * 0).sum().backward()
    ... except RuntimeError as error:
    ...     print(error)
    Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.prev = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _C.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _C.set_anomaly_enabled(*self.prev)


class set_detect_anomaly:
    """Switch anomaly mode on or off, at once; undone when used as a context manager.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    >>> torch.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = (_C.is_anomaly_enabled(), _C.is_anomaly_check_nan_enabled())
        _C.set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _C.set_anomaly_enabled(*self.prev)


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off, with the search for NaN or without; `torch.autograd.set_detect_anomaly` does it for a block.

    >>> torch.set_anomaly_enabled(True, check_nan=False)
    >>> torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    (True, False)
    >>> torch.set_anomaly_enabled(False)
    """
    _C.set_anomaly_enabled(mode, check_nan)
