"""Back ends that count."""

from __future__ import annotations

import functools
import threading
import unittest
import unittest.mock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.utils import counters

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = [
    "CompileCounter",
    "CompileCounterWithBackend",
    "make_test_cls_with_patches",
    "rand_strided",
    "reset_counters",
]


class CompileCounter:
    """A back end that runs graphs as they are: `frame_count` graphs, `op_count` calls in them.

    >>> counter = torch._dynamo.testing.CompileCounter()
    >>> torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2)).shape
    torch.Size([2])
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self) -> None:
        self.frame_count = 0
        self.op_count = 0
        self.graphs: list[Any] = []
        self._lock = threading.Lock()

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        with self._lock:
            self._count(gm)
        return gm.forward

    def _count(self, gm) -> None:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)

    def clear(self) -> None:
        """Start from zero."""
        self.frame_count = self.op_count = 0
        self.graphs = []


class CompileCounterWithBackend(CompileCounter):
    """The same, with another back end (a name or a callable) behind it; `graphs` keeps what it was given."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        with self._lock:
            self._count(gm)
            self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """A back end that runs graphs as they are and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


def reset_counters() -> None:
    """Empty `torch._dynamo.utils.counters`."""
    counters.clear()


def rand_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
    extra_size: int = 0,
) -> torch.Tensor:
    """A tensor of random numbers with these strides: normal ones, or small whole ones where the dtype has no others.

    Its memory has `extra_size` elements more than it needs.
    """
    reach = sum((length - 1) * step for length, step in zip(size, stride, strict=True)) + 1 + extra_size
    if dtype.is_floating_point or dtype.is_complex:
        memory = torch.randn(reach, dtype=torch.float32 if dtype.itemsize == 1 else dtype, device=device).to(dtype)
    else:
        memory = torch.randint(0, 5, (reach,), device=device).to(dtype)
    return torch.as_strided(memory, size, stride)


def make_test_cls_with_patches(
    cls: type,
    cls_prefix: str,
    fn_suffix: str,
    *patches: Any,
    xfail_prop: str | None = None,
    decorator: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function,
) -> type:
    """A class of tests made of another's: each runs with the patches, (module, name, value), and has the suffix in its name.

    Tests with an attribute called `xfail_prop` are expected to fail.
    """
    made = type(cls_prefix + cls.__name__, cls.__bases__, {})
    for name in dir(cls):
        found = getattr(cls, name)
        if name.startswith("test_") and callable(found):
            test = _patched(found, patches)
            test.__name__ = name + fn_suffix
            if xfail_prop is not None and hasattr(found, xfail_prop):
                test = unittest.expectedFailure(test)
            setattr(made, name + fn_suffix, decorator(test))
        elif not hasattr(made, name):
            setattr(made, name, found)
    return made


def _patched(function: Any, patches: Any) -> Any:
    @functools.wraps(function)
    def test(*args: Any, **kwargs: Any) -> Any:
        run = function
        for module, name, value in patches:
            run = unittest.mock.patch.object(module, name, value, create=True)(run)
        return run(*args, **kwargs)

    return test
