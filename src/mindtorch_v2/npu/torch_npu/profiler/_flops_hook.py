"""While installed, calls that a formula counts are ranges of the profile: `<operations>-<name>`."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
import threading
from typing import Any

from mindtorch_v2.npu.mstx import mstx

from ._flops_registry import get_flop_func, get_npu_flop_targets

__all__ = ["FlopsHookManager"]

logger = logging.getLogger(__name__)
_DOMAIN = "mfu_flops"
_HERE = __name__.partition(".")[0]


def _targets() -> dict[str, tuple[Any, str]]:
    """The owner and the attribute of each function that has a formula, by name; those that are not there are left out."""
    importlib.import_module("._flops_formulas", __package__)
    found: dict[str, tuple[Any, str]] = {}
    for name, target in get_npu_flop_targets().items():
        module, _, path = target.partition(":")
        *outer, attribute = path.split(".")
        try:
            owner: Any = _module(module)
            for each in outer:
                owner = getattr(owner, each)
        except (ImportError, AttributeError) as error:
            logger.warning("Operations of %s are not counted, as %s is not there: %s", name, target, error)
            continue
        if hasattr(owner, attribute):  # torch_npu's operators need not all be here
            found[name] = owner, attribute
    return found


def _module(name: str) -> Any:
    """A module by its name; ours where `torch` and `torch_npu` stand for it."""
    root, _, rest = name.partition(".")
    own = {"torch": _HERE, "torch_npu": f"{_HERE}.npu.torch_npu"}.get(root, root)
    return importlib.import_module(f"{own}.{rest}" if rest else own)


class FlopsHookManager:
    """Put what counts in the place of functions, wherever a module holds them, and take it away again."""

    _thread = threading.local()
    _undo: list[tuple[Any, str, Any]] = []

    @classmethod
    def install(cls, target_ops: dict[str, tuple[Any, str]] | None = None) -> None:
        """Begin to count calls of `target_ops` (name: owner, attribute), of all that have formulas by default."""
        if cls._undo:
            return
        for name, (owner, attribute) in (_targets() if target_ops is None else target_ops).items():
            plain = getattr(owner, attribute, None)
            if plain is None:
                logger.warning("Operations of %s are not counted, as %s has none", name, owner)
                continue
            counted = cls._counted(name, plain)
            for holder in [owner, *(m for m in list(sys.modules.values()) if _holds(m, attribute, plain))]:
                if getattr(holder, attribute) is plain:
                    cls._undo.append((holder, attribute, plain))
                    setattr(holder, attribute, counted)

    @classmethod
    def uninstall(cls) -> None:
        """End it."""
        while cls._undo:
            holder, attribute, plain = cls._undo.pop()
            setattr(holder, attribute, plain)

    @classmethod
    def is_installed(cls) -> bool:
        """Whether calls are counted."""
        return bool(cls._undo)

    @classmethod
    def _counted(cls, name: str, plain: Any) -> Any:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            if getattr(cls._thread, "within", False):  # of a call that is counted as a whole
                return plain(*args, **kwargs)
            cls._thread.within = True
            number = _operations(name, args, kwargs)
            mark = 0 if number is None else mstx.range_start(f"{number}-{name}", domain=_DOMAIN)
            try:
                return plain(*args, **kwargs)
            finally:
                cls._thread.within = False
                if mark:
                    mstx.range_end(mark, domain=_DOMAIN)

        return call


def _operations(name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    formula = get_flop_func(name)
    try:
        return formula(*args, **kwargs) if formula is not None else None
    except Exception:  # a formula is no reason for a call to fail
        logger.warning("The operations of a call of %s could not be counted", name, exc_info=True)
        return None


def _holds(module: Any, attribute: str, plain: Any) -> bool:
    return getattr(module, "__dict__", {}).get(attribute) is plain
