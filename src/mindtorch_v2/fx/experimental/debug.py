"""The debugger within graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2.fx as fx

__all__ = ["set_trace"]


def set_trace(gm: fx.GraphModule) -> fx.GraphModule:
    """Let the module's code stop in Python's debugger as it begins; the module, whose code is made anew.

    >>> traced = set_trace(fx.symbolic_trace(lambda x: x + 1))
    >>> "pdb.set_trace()" in traced.code
    True
    """

    def stopping(body: list[str]) -> list[str]:
        return ["import pdb; pdb.set_trace()\n", *body]

    def transformer(current: Callable[..., Any] | None) -> Callable[..., Any]:
        return lambda body: stopping(current(body) if current else body)

    with gm.graph.on_generate_code(transformer):
        gm.recompile()
    return gm
