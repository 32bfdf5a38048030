"""The operators of the ATB library. Lengths that they take as whole numbers may come as a tensor of the host as well."""

from collections.abc import Callable
from typing import Any

from mindtorch_v2 import Tensor as _Tensor
from mindtorch_v2 import ops as _ops
from mindtorch_v2._operators.table import rows_of

_ops.atb._npu_paged_attention  # noqa: B018  (defines the operators)
_ROWS = rows_of("atb").values()
__all__ = sorted({row.handle.name for row in _ROWS})


def _with_lengths(packet: Any, names: frozenset[str], places: frozenset[int]) -> Callable[..., Any]:
    """The operator with those arguments as lists."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [a.tolist() if i in places and isinstance(a, _Tensor) else a for i, a in enumerate(args)]
        named = {n: a.tolist() if n in names and isinstance(a, _Tensor) else a for n, a in kwargs.items()}
        return packet(*given, **named)

    call.__name__ = call.__qualname__ = packet.__name__
    return call


def _function(name: str) -> Any:
    rows = [row for row in _ROWS if row.handle.name == name]
    found = [
        (i, argument["name"])
        for row in rows
        for i, argument in enumerate(row.handle.arguments)
        if argument["type"].removesuffix("?") == "SymInt[]"
    ]
    packet = getattr(_ops.atb, name)
    return _with_lengths(packet, frozenset(n for _, n in found), frozenset(i for i, _ in found)) if found else packet


for _name in __all__:
    globals()[_name] = _function(_name)
