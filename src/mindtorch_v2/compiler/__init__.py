"""`torch.compiler`: compilation is asked for here, and programs ask here whether they are being compiled."""

from __future__ import annotations

from collections.abc import Sequence

from mindtorch_v2._dynamo import _control
from mindtorch_v2._dynamo._marks import (
    allow_in_graph,
    assume_constant_result,
    is_compiling,
    reset,
    set_stance,
    substitute_in_graph,
)
from mindtorch_v2._dynamo.backends.registry import (
    get_default_backend,
    list_backends as _list_backends,
    set_default_backend,
)
from mindtorch_v2._dynamo._compile import compile
from mindtorch_v2._dynamo.eval_frame import disable
from mindtorch_v2.compiler import config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
]


def is_dynamo_compiling() -> bool:
    """Whether the running code is being captured for a graph.

    >>> def f(x):
    ...     return x + 1 if torch.compiler.is_dynamo_compiling() else x
    >>> f(torch.ones(1)), torch.compile(f, backend="eager")(torch.ones(1))
    (tensor([1.]), tensor([2.]))
    """
    return _control.is_capturing()


def is_exporting() -> bool:
    """Whether the running code is being exported by `torch.export`.

    >>> class Model(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1 if torch.compiler.is_exporting() else x
    >>> x = torch.ones(1)
    >>> Model()(x), torch.export.export(Model(), (x,)).module()(x)
    (tensor([1.]), tensor([2.]))
    """
    return _control.thread.exporting > 0


def list_backends(exclude_tags: Sequence[str] = ("debug", "experimental")) -> list[str]:
    """The names of the back ends without any of these tags.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    return _list_backends(exclude_tags)


def cudagraph_mark_step_begin() -> None:
    """Mark the start of a step for CUDA graphs; there are none, so there is nothing that it could keep apart.

    >>> step = torch.compile(lambda x: x + 1, backend="eager")
    >>> for _ in range(2):
    ...     torch.compiler.cudagraph_mark_step_begin()
    ...     step(torch.ones(1))
    tensor([2.])
    tensor([2.])
    """
