"""Functionalization held against fake tensors: each call that is carried out without a write also runs as it was written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional._call import watched
from mindtorch_v2._behaviours.functional._levels import below
from mindtorch_v2._behaviours.functional._values import is_functional, value_of
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2.utils import _pytree as pytree

from .fake_tensor import FakeTensorMode

__all__ = ["enable_crossref_functionalize"]


@contextlib.contextmanager
def enable_crossref_functionalize() -> Iterator[None]:
    """Within the block each functionalized call runs on fake tensors too: AssertionError where sizes, dtype or strides differ.

    >>> from mindtorch_v2._dispatch.python import enable_crossref_functionalize
    >>> with enable_crossref_functionalize():
    ...     torch.func.functionalize(lambda x: x.clone().add_(1))(torch.ones(2))
    tensor([2., 2.])
    """
    with watched(_beside):
        yield


def _beside(op: Any, args: tuple, kwargs: dict, carry_out: Callable[..., Any]) -> Any:
    if facts_of(op).lifts:  # its argument is no tensor of the program yet
        return carry_out(op, args, kwargs)
    mode = FakeTensorMode()
    shown = pytree.tree_map_only(torch.Tensor, _shown, (args, kwargs))  # what this computes is part of the program
    with _torch_dispatch.no_modes(), below(1):
        fakes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, shown)
        with mode:
            expected = op(*fakes[0], **fakes[1])
    result = carry_out(op, args, kwargs)
    _compare(op, expected, result)
    return result


def _shown(x: Any) -> Any:
    """The value of a functional tensor, which has to lie in memory as the tensor says."""
    if not is_functional(x):
        return x
    value = value_of(x)
    for what, one, other in (("size", x.shape, value.shape), ("stride", x.stride(), value.stride())):
        if one != other:
            raise AssertionError(f"{what} mismatch: {one} != {other}")
    return value


def _compare(op: Any, expected: Any, result: Any) -> None:
    expected, result = pytree.tree_leaves(expected), pytree.tree_leaves(result)
    if len(expected) != len(result):
        raise AssertionError(f"{op.namespace}::{op.name}: {len(result)} results for {len(expected)}")
    for place, (fake, real) in enumerate(zip(expected, result, strict=True)):
        if not isinstance(real, torch.Tensor):
            continue
        steps = [
            [step for size, step in zip(each.shape, each.stride(), strict=True) if size > 1 and each.numel()]
            for each in (fake, real)
        ]
        for what, one, other in (
            ("sizes", fake.shape, real.shape),
            ("dtype", fake.dtype, real.dtype),
            ("strides", *steps),
        ):
            if one != other:
                raise AssertionError(f"{op.namespace}::{op.name} output {place}: {what} {one} != {other}")
