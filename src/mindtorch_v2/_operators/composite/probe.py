"""Operators that PyTorch keeps for tests of its own machinery: each shows one behaviour and computes next to nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch_v2._operators.table import S, T, aten, composite

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


def _warned(grad: Any) -> Any:
    warnings.warn("Warn from backward", UserWarning, stacklevel=2)
    return grad.clone()


@composite(
    "_debug_has_internal_overlap(Tensor self) -> int",
    "Whether elements share memory: 0 for no, 1 for yes, 2 where the strides do not tell.",
    bind="function",
    batching="whole",
    gives_value=True,
)
def _debug_has_internal_overlap(self: Tensor) -> int:
    # Dense in some order, dimensions of one element aside.
    expected = 1
    pairs = sorted((stride, size) for size, stride in zip(self.shape, self.stride(), strict=True) if size != 1)
    dense = True
    for stride, size in pairs:
        dense = dense and stride == expected
        expected *= size
    if dense:
        return 0
    return 1 if any(stride == 0 and size > 1 for stride, size in pairs) else 2


@composite(
    "_test_autograd_multiple_dispatch.fullcoverage(Tensor self) -> Tensor",
    "A copy, with a formula of its own.",
    bind="function generated_out",
    explicit=True,
    linear="self",
    batching="whole",
    grad={"self": lambda grad: grad + 1},  # which is no slope: a test sees by it whose formula ran
)
def _test_autograd_multiple_dispatch(self):
    return aten.clone(self)


@composite(
    "_test_autograd_multiple_dispatch.ntonly(Tensor self, bool b) -> Tensor",
    "A copy, which autograd sees through.",
    bind="function",
    samples=[S(T(3, 4), True)],
)
def _test_autograd_multiple_dispatch_ntonly(self, b):
    return aten.clone(self)


@composite(
    "_test_autograd_multiple_dispatch_view(Tensor(a) self) -> Tensor(a)",
    "The elements in a row, as a view.",
    bind="function",
    samples=[S(T(3, 4))],
)
def _test_autograd_multiple_dispatch_view(self):
    return aten.view(self, [-1])


@composite(
    "_test_autograd_multiple_dispatch_view_copy(Tensor self) -> Tensor",
    "The elements in a row, as a copy.",
    bind="function out",
    tags="view_copy",
    out_tags="view_copy generated",
    samples=[S(T(3, 4))],
)
def _test_autograd_multiple_dispatch_view_copy(self):
    return aten.clone(aten.view(self, [-1]))


@composite(
    "_test_check_tensor(Tensor self) -> Tensor",
    "A copy; RuntimeError unless all elements are true.",
    bind="function",
    raises_by_values=True,
    samples=[S(T(3, dtype="bool", data=[True, True, True]))],
)
def _test_check_tensor(self):
    if not aten.all(self):
        raise RuntimeError("Test message for TORCH_CHECK_TENSOR_ALL")
    return aten.clone(self)


@composite(
    "_test_warn_in_autograd(Tensor self) -> Tensor",
    "A copy, whose gradient comes with a warning.",
    bind="nn generated_out",
    explicit=True,
    linear="self",
    batching="whole",
    grad={"self": _warned},
)
def _test_warn_in_autograd(self):
    return aten.clone(self)
