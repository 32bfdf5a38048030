"""Back ends that count and keep, and what tests of compiled programs compare."""

from __future__ import annotations

import functools
import re
import sys
import threading
import unittest
import unittest.mock
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import config
from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.utils import counters, same

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = [
    "AotEagerAndRecordGraphs",
    "CompileCounter",
    "CompileCounterWithBackend",
    "EagerAndRecordGraphs",
    "check_dynamic_shape_capture",
    "empty_line_normalizer",
    "expectedFailureDynamic",
    "make_test_cls_with_patches",
    "normalize_gm",
    "rand_strided",
    "remove_trailing_space",
    "reset_counters",
    "same",
    "skipIfNotPy311",
    "skipIfNotPy312",
    "skipIfOnlyNotPy312",
    "skipIfPy312",
    "skipIfPy313",
    "standard_test",
    "strip_comment",
    "unsupported",
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


class AotEagerAndRecordGraphs:
    """A back end that lowers graphs, runs them operator by operator, and keeps `graphs`, `fw_graphs` and `bw_graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        from mindtorch_v2._dynamo.backends.common import aot_autograd

        self.graphs.append(gm)
        keep = [functools.partial(self._kept, graphs) for graphs in (self.fw_graphs, self.bw_graphs)]
        return aot_autograd(fw_compiler=keep[0], bw_compiler=keep[1])(gm, example_inputs)

    @staticmethod
    def _kept(graphs: list[Any], gm: GraphModule, example_inputs: Any) -> GraphModule:
        graphs.append(gm)
        return gm


def unsupported(a: Any, b: Any) -> Any:
    """`b`, after the end of the graph that is being made: for tests of what becomes of the rest."""
    torch._dynamo.graph_break("unsupported()")
    return b


def check_dynamic_shape_capture() -> bool:
    """Whether sizes are left open from a function's first graph on."""
    return not config.assume_static_by_default


def strip_comment(prog: str) -> str:
    """A program's text without the lines that are a comment."""
    return re.sub(r"(?m)^ *#.*\n?", "", str(prog))


def remove_trailing_space(code: str) -> str:
    """A text without spaces at the ends of its lines."""
    return "\n".join(line.rstrip() for line in code.split("\n"))


def normalize_gm(gm_str: str) -> str:
    """The text of a graph without what differs from place to place: comments, and spaces at the ends of lines.

    >>> torch._dynamo.testing.normalize_gm("def forward(self):  \\n    # File: x.py\\n    return 1")
    'def forward(self):\\n    return 1'
    """
    return remove_trailing_space(strip_comment(gm_str))


def empty_line_normalizer(code: str) -> str:
    """A text without empty lines."""
    return re.sub(r"[\r\n]+", "\n", code)


def expectedFailureDynamic(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test that is expected to fail where sizes are left open."""
    vars(fn)["_expected_failure_dynamic"] = True
    return fn


skipIfNotPy311 = unittest.skipIf(sys.version_info < (3, 11), "needs Python 3.11 or later")
skipIfNotPy312 = unittest.skipIf(sys.version_info < (3, 12), "needs Python 3.12 or later")
skipIfOnlyNotPy312 = unittest.skipIf(sys.version_info[:2] != (3, 12), "needs Python 3.12")
skipIfPy312 = unittest.skipIf(sys.version_info >= (3, 12), "not with Python 3.12 or later")
skipIfPy313 = unittest.skipIf(sys.version_info >= (3, 13), "not with Python 3.13 or later")


def standard_test(
    self: Any,
    fn: Callable[..., Any],
    nargs: int,
    expected_ops: int | None = None,
    expected_ops_dynamic: int | None = None,
    expected_frame_count: int = 1,
) -> None:
    """Let a test case `self` see that a function of `nargs` tensors compiled gives the same, by so many graphs and calls."""
    if config.assume_static_by_default is False and expected_ops_dynamic is not None:
        expected_ops = expected_ops_dynamic
    counter = CompileCounter()
    all_args = [[torch.randn(10, 10) for _ in range(nargs)] for _ in range(2)]
    expected = [fn(*args) for args in all_args]
    torch._dynamo.reset()
    compiled = torch._dynamo.optimize(counter)(fn)
    found = [compiled(*args) for args in [*all_args, *all_args]]
    for mine, theirs in zip(found, [*expected, *expected], strict=True):
        self.assertTrue(same(mine, theirs))
    self.assertEqual(counter.frame_count, expected_frame_count)
    if expected_ops is not None:
        self.assertEqual(counter.op_count, expected_ops)


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
