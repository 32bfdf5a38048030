"""Parts of a program that the graph engine is to run in a way of their own: `with` blocks inside of what is compiled.

A GE graph has what they say as attributes of its operators, by torchair's names. Where operators run one by one they do nothing.

>>> import mindtorch_v2 as torch
>>> from mindtorch_v2 import torchair
>>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
>>> def program(x):
...     with torchair.scope.npu_stream_switch("side"):
...         y = torch.relu(x)
...     return torchair.scope.npu_wait_tensor(x * 2, y)
>>> traced = make_fx(program, tracing_mode="fake")(torch.ones(2))
>>> [(op.type, "_user_stream_label" in op.attr) for op in torchair.lower(traced).model.graph[0].op]
[('Data', False), ('Relu', True), ('Const', False), ('Mul', False), ('Identity', False), ('NetOutput', False)]
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.ge.converters import scopes

__all__ = [
    "data_dump",
    "deterministic",
    "limit_core_num",
    "npu_stream_switch",
    "npu_wait_tensor",
    "op_never_timeout",
    "super_kernel",
]


class _Scope:
    """A `with` block whose operators have some attributes."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes

    def __enter__(self) -> None:
        scopes.enter(self.attributes)

    def __exit__(self, *_: object) -> None:
        scopes.leave()


def npu_stream_switch(stream_tag: str, stream_priority: int = 0, enable_inner_parallel: bool = True) -> Any:
    """Run what is within on the stream of this name, beside what does not wait for it.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.npu_stream_switch("side"):
    ...     pass
    """
    return _Scope(
        {
            "_user_stream_label": stream_tag,
            "_user_stream_priority": str(stream_priority),
            "_enable_inner_parallel": str(enable_inner_parallel),
        }
    )


def npu_wait_tensor(self: torch.Tensor, dependency: torch.Tensor) -> torch.Tensor:
    """`self`, to be used not before `dependency` is there: an edge of control in a GE graph, a copy where operators run one by one.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> torchair.scope.npu_wait_tensor(torch.ones(2), torch.zeros(1))
    tensor([1., 1.])
    """
    return scopes.wait(self, dependency)


def super_kernel(scope: str | None, options: str = "") -> Any:
    """Make one kernel of what is within.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.super_kernel("decode"):
    ...     pass
    """
    return _Scope({"_super_kernel_scope": scope or "", "_super_kernel_options": options})


def limit_core_num(op_aicore_num: int, op_vectorcore_num: int) -> Any:
    """Let what is within use so many cores of each kind.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.limit_core_num(4, 8):
    ...     pass
    """
    return _Scope({"_op_aicore_num": str(op_aicore_num), "_op_vectorcore_num": str(op_vectorcore_num)})


def deterministic(level: int) -> Any:
    """Have the same numbers at each run within: 0 no, 1 to 3 more and more so. ValueError for another level.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.deterministic(1):
    ...     pass
    """
    if level not in (0, 1, 2, 3):
        raise ValueError(f"deterministic level must be 0, 1, 2, or 3, got {level}")
    return _Scope({"_deterministic": str(int(level > 0)), "_deterministic_level": str(level)})


def op_never_timeout(enable: bool = True) -> Any:
    """Let what is within take any time. TypeError for what is no bool.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.op_never_timeout():
    ...     pass
    """
    if not isinstance(enable, bool):
        raise TypeError(f"op_never_timeout() argument 'enable' must be bool, but got {type(enable).__name__}.")
    return _Scope({"_op_exec_never_timeout": str(enable)})


def data_dump() -> Any:
    """Write down what is computed within.

    >>> from mindtorch_v2 import torchair
    >>> with torchair.scope.data_dump():
    ...     pass
    """
    return _Scope({"torchair_enable_data_dump": "True"})
