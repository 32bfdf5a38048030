"""Operators held against what fake tensors say of them, as they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedFakeTensorException,
)
from mindtorch_v2.utils import _pytree as pytree
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "CrossRefFakeMode",
    "MetadataMismatchError",
    "output_alias_each_other",
    "outputs_alias_inputs",
    "outputs_are_inputs",
]

_UNTOLD = (UnsupportedFakeTensorException, DynamicOutputShapeException, DataDependentOutputException)


def _storages(values: Any) -> list[int]:
    leaves = pytree.tree_leaves(values)
    return [
        each.untyped_storage()._cdata
        for each in leaves
        if isinstance(each, torch.Tensor) and each.layout == torch.strided
    ]


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result shares memory with an argument."""
    return bool(set(_storages(inputs)) & set(_storages(outputs)))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result is an argument itself."""
    known = {id(each) for each in pytree.tree_leaves(inputs) if isinstance(each, torch.Tensor)}
    return any(id(each) in known for each in pytree.tree_leaves(outputs))


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two results share memory."""
    found = _storages(outputs)
    return len(set(found)) < len(found)


class CrossRefFakeMode(TorchDispatchMode):
    """A context in which every operator runs on fake tensors first, whose results must be like the real ones.

    Results are compared by shape, dtype and device, by strides (`check_strides`) and by whether they share the memory of
    arguments (`check_aliasing`). `ignore_op_fn` says of an operator that it is left out. MetadataMismatchError names what
    differs.
    """

    def __init__(
        self,
        ignore_op_fn: Callable[[Any], bool] | None = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda op: False)
        self.check_strides = check_strides
        self.check_aliasing = check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        told: Any = None
        inputs: list[int] = []
        if not self.ignore_op_fn(func):
            try:
                with FakeTensorMode() as mode:
                    fakes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
                    inputs = _storages(fakes)
                    told = func(*fakes[0], **fakes[1])
            except (*_UNTOLD, NotImplementedError):
                told = None
        before = _storages((args, kwargs))
        result = func(*args, **kwargs)
        if told is not None:
            self._compare(func, told, result, inputs, before)
        return result

    def _compare(self, func: Any, told: Any, result: Any, inputs: list[int], before: list[int]) -> None:
        pairs = list(zip(pytree.tree_leaves(told), pytree.tree_leaves(result), strict=False))
        for place, (fake, real) in enumerate(pairs):
            if isinstance(fake, torch.Tensor) is not isinstance(real, torch.Tensor):
                raise MetadataMismatchError(f"{func}: result {place} is a tensor on one side only")
            if not isinstance(real, torch.Tensor) or real.layout != torch.strided:
                continue
            facts = ["shape", "dtype", "device"]
            for fact in facts:
                if getattr(fake, fact) != getattr(real, fact):
                    raise MetadataMismatchError(
                        f"{func}: result {place}: {fact} {getattr(real, fact)}, and {getattr(fake, fact)} of the fake"
                    )
            if self.check_strides and fake.stride() != real.stride():
                raise MetadataMismatchError(
                    f"{func}: result {place}: strides {real.stride()}, and {fake.stride()} of the fake"
                )
            if self.check_aliasing:
                shares = real.untyped_storage()._cdata in before, fake.untyped_storage()._cdata in inputs
                if shares[0] is not shares[1]:
                    raise MetadataMismatchError(
                        f"{func}: result {place} shares memory with an argument on one side only"
                    )
