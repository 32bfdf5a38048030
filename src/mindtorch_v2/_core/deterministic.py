"""Deterministic algorithms, as far as there is a choice: what programs asked for, and memory that is filled."""

from collections.abc import Callable

from .. import _C

_state = {"on": False, "warn": False, "fill": True}
listeners: list[Callable[[bool], None]] = []  # back ends that have a choice; each is given whether it is on


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Have operators refused (or warned of) whose results may differ from run to run, new memory filled, so that reading
    it gives the same each time, and NPU operators deterministic.

    On the CPU these are ``put_`` without ``accumulate`` and ``max_unpool``, as in PyTorch: RuntimeError, or UserWarning with
    ``warn_only``. All others give the same numbers each time (docs/determinism.md).
    ``torch.empty`` and its kin then give NaN or the largest number, unless
    ``torch.utils.deterministic.fill_uninitialized_memory`` is False.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    for name, value in (("mode' (position 1)", mode), ("warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name} must be bool, not {type(value).__name__}"
            )
    _state["on"], _state["warn"] = mode, warn_only
    _C._set_deterministic(0 if not mode else 1 if warn_only else 2)
    _C._fill_uninitialised(_state["on"] and _state["fill"])
    for listener in listeners:
        listener(_state["on"])


def set_fill_uninitialized_memory(fill: bool) -> None:
    """Whether ``use_deterministic_algorithms(True)`` has new memory filled."""
    _state["fill"] = fill
    _C._fill_uninitialised(_state["on"] and fill)


def fills_uninitialized_memory() -> bool:
    """The value that ``set_fill_uninitialized_memory`` was last given; True at first."""
    return _state["fill"]


def fills_new_memory() -> bool:
    """Whether new memory is filled at present."""
    return _state["on"] and _state["fill"]


def are_deterministic_algorithms_enabled() -> bool:
    """The value that ``use_deterministic_algorithms`` was last given.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _state["on"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The value that ``use_deterministic_algorithms(warn_only=)`` was last given.

    >>> torch.use_deterministic_algorithms(True, warn_only=True)
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    return _state["warn"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """0 or "default", 1 or "warn", 2 or "error".

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode("default")
    """
    level = (
        {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode) if isinstance(debug_mode, str) else debug_mode
    )
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, 2, default, warn, error but got {debug_mode}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """The mode set by ``set_deterministic_debug_mode``.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not _state["on"] else 1 if _state["warn"] else 2
