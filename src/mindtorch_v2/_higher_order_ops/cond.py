"""`torch.cond`: one of two functions, chosen by a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.exc import UncapturedHigherOrderOpError
from mindtorch_v2._higher_order_ops.operators import cond_op, recording
from mindtorch_v2._higher_order_ops.utils import (
    check_same_form,
    flat_function,
    is_single,
    only_computes,
    outputs_on_fakes,
)
from mindtorch_v2._subclasses.fake_tensor import FakeTensor
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["cond", "cond_op"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """`true_fn(*operands)` if `pred` is true, else `false_fn(*operands)`.

    `pred` is a number or a tensor of one element, `operands` a tuple of tensors, which may be nested. Where `pred` is a
    tensor, both functions are run, on tensors without values if not chosen: they have to give the same structure, shapes
    and dtypes, and must neither write to operands nor give them back.

    Raises RuntimeError for other arguments, `torch._dynamo.exc.UncapturedHigherOrderOpError` (a RuntimeError) for
    functions that do not fit together.

    >>> import mindtorch_v2 as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x.abs(), (x,))
    tensor([-2.,  4.])
    """
    if not is_single(pred):
        what = "single-element tensor" if isinstance(pred, torch.Tensor) else "tensor"
        raise RuntimeError(f"Expected pred to be bool or {what}, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    leaves = pytree.tree_leaves(operands)
    if not isinstance(operands, (tuple, list)) or not all(isinstance(each, torch.Tensor) for each in leaves):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    if isinstance(pred, torch.Tensor) and recording() is not None:
        leaves, form = pytree.tree_flatten(tuple(operands))
        specs: list[Any] = []
        functions = [flat_function(each, form, specs) for each in (true_fn, false_fn)]
        results = cond_op(pred, *functions, tuple(leaves))
        if any(spec != specs[0] for spec in specs):
            raise UncapturedHigherOrderOpError(
                "torch.cond: Expected the outputs of true_fn and false_fn to have the same pytree structure."
            )
        return pytree.tree_unflatten(results, specs[0])
    if isinstance(pred, FakeTensor):  # it has no value: what both give looks the same
        first, second = (only_computes("torch.cond", function, operands) for function in (true_fn, false_fn))
        check_same_form("torch.cond", first, second, "the outputs of true_fn and false_fn")
        return first
    if isinstance(pred, torch.Tensor):
        first, second = (outputs_on_fakes("torch.cond", function, operands) for function in (true_fn, false_fn))
        check_same_form("torch.cond", first, second, "the outputs of true_fn and false_fn")
    return true_fn(*operands) if pred else false_fn(*operands)
