"""`torch.while_loop`: a function that is called on its own results as long as a tensor says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.exc import UncapturedHigherOrderOpError
from mindtorch_v2._higher_order_ops.operators import recording, while_loop_op
from mindtorch_v2._higher_order_ops.utils import (
    check_same_form,
    flat_function,
    is_single,
    only_computes,
    outputs_on_fakes,
)
from mindtorch_v2._subclasses.fake_tensor import FakeTensor
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["while_loop", "while_loop_op"]


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> Any:
    """`values = body_fn(*values)` while `cond_fn(*values)`, from `carried_inputs` on; the last values.

    `carried_inputs` is a tuple of tensors and ints, which may be nested. `cond_fn` gives a bool or a tensor of one element.
    `body_fn` gives as many values, of the same shapes and dtypes, and writes to none.

    Raises RuntimeError for arguments that cannot be called or are no tuple, AssertionError for other values,
    `torch._dynamo.exc.UncapturedHigherOrderOpError` (a RuntimeError) for functions that do not fit.

    >>> import mindtorch_v2 as torch
    >>> torch.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or a list, but got {carried_inputs}.")
    leaves = pytree.tree_leaves(carried_inputs)
    if not all(isinstance(each, (torch.Tensor, int, torch.SymInt)) for each in leaves):
        kinds = torch.Tensor, int, torch.SymInt
        raise AssertionError(f"{leaves} can only be of {kinds} but got {tuple(map(type, leaves))}")
    values: Any = tuple(carried_inputs)
    if recording() is not None:
        return _recorded(cond_fn, body_fn, values)
    outputs_on_fakes("torch.while_loop", lambda *values: (cond_fn(*values), None)[1], values)
    checked = False
    while True:
        going = cond_fn(*values)
        if not is_single(going):
            raise UncapturedHigherOrderOpError(
                f"torch.while_loop: Expected cond_fn to return a scalar tensor or a bool, but got {going}."
            )
        if isinstance(going, FakeTensor):  # it has no value: what the body gives looks like what it is given
            found = only_computes("torch.while_loop", body_fn, values)
            found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
            check_same_form("torch.while_loop", found, values, "body_fn_output and carried_inputs")
            return found
        if not going:
            return values
        if not checked:
            outputs_on_fakes("torch.while_loop", body_fn, values)
            checked = True
        found = body_fn(*values)
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        check_same_form("torch.while_loop", found, values, "body_fn_output and carried_inputs")
        values = found


def _recorded(cond_fn, body_fn, values):
    leaves, form = pytree.tree_flatten(values)
    if not all(isinstance(each, torch.Tensor) for each in leaves):
        raise NotImplementedError(
            "torch.while_loop: in a graph carried_inputs have to be tensors (torch.tensor(0) for a count)"
        )

    def body(*values: Any) -> Any:
        found = body_fn(*values)
        return tuple(found) if isinstance(found, (tuple, list)) else (found,)

    specs: list[Any] = []
    results = while_loop_op(flat_function(cond_fn, form, []), flat_function(body, form, specs), tuple(leaves), ())
    if any(spec != form for spec in specs):
        raise UncapturedHigherOrderOpError(
            "torch.while_loop: Expected body_fn_output and carried_inputs to have the same pytree structure."
        )
    return pytree.tree_unflatten(results, form)
