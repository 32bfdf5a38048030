"""Operators that write to several tensors of the caller's: torch_npu takes them as `out=[a, b]`, beside each by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch_v2._ops import OpOverload, OpOverloadPacket

__all__ = ["with_outputs"]


def _written(handle: Any) -> list[str]:
    """The keywords by which an operator takes its results' tensors; none where there is but one, which is called `out`."""
    names = [a["name"] for a in handle.arguments if a["kwarg_only"] and a["is_write"] and not a["has_default"]]
    return [] if "out" in names else names


def _by_name(operator: Any, names: Sequence[str], out: Any) -> dict[str, Any]:
    if not isinstance(out, (list, tuple)) or len(out) != len(names):
        came = f"{len(out)} of them" if isinstance(out, (list, tuple)) else type(out).__name__
        raise RuntimeError(f"{operator}(): out must be a list of {len(names)} tensors ({', '.join(names)}), not {came}")
    return dict(zip(names, out, strict=True))


class _Overload(OpOverload):
    """An overload whose results' tensors may be given together."""

    def __init__(self, packet: OpOverloadPacket, handle: Any) -> None:
        super().__init__(packet, handle)
        self._written = _written(handle)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            kwargs |= _by_name(self, self._written, kwargs.pop("out"))
        return super().__call__(*args, **kwargs)


class _Packet(OpOverloadPacket):
    """An operator with an overload of that kind, which is what a call with `out` means."""

    def __getattr__(self, name: str) -> Any:
        overload = super().__getattr__(name)
        if len(_written(overload._handle)) > 1:
            overload = self.__dict__[name] = _Overload(self, overload._handle)
        return overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if "out" not in kwargs:
            return super().__call__(*args, **kwargs)
        written = next(handle for handle in self._handles if len(_written(handle)) > 1)
        return getattr(self, written.overload)(*args, **kwargs)


def with_outputs(packet: OpOverloadPacket) -> OpOverloadPacket:
    """The operator, as one that takes `out=[...]` where it writes to several tensors."""
    if any(len(_written(handle)) > 1 for handle in packet._handles):
        return _Packet(packet._qualified_op_name.partition("::")[0], packet.__name__, packet._handles)
    return packet
