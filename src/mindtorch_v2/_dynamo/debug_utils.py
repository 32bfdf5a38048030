"""Comparisons of two forms of a program."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.utils import clone_input, preserve_rng_state, same

__all__ = ["clone_inputs_retaining_gradness", "run_fwd_maybe_bwd", "same_two_models"]


def clone_inputs_retaining_gradness(example_inputs: Sequence[Any]) -> list[Any]:
    """Copies of inputs, whose tensors want gradients where the originals do."""
    return [clone_input(each) if isinstance(each, torch.Tensor) else each for each in example_inputs]


def run_fwd_maybe_bwd(
    gm: Callable[..., Any], args: Sequence[Any], only_fwd: bool = False, disable_clone: bool = False
) -> list[Any]:
    """The results of a module on copies of its arguments and, where they want any, the gradients of it and of the arguments."""
    gm = copy.deepcopy(gm)
    args = args if disable_clone else clone_inputs_retaining_gradness(args)
    if isinstance(gm, torch.nn.Module):
        gm.zero_grad(True)
    out = gm(*args)
    results = [out]
    tensors = [each for each in torch.utils._pytree.tree_leaves(out) if isinstance(each, torch.Tensor)]
    wanted = [each for each in tensors if each.requires_grad]
    if only_fwd or not wanted:
        return results
    torch.autograd.backward([(each.real if each.is_complex() else each).sum() for each in wanted])
    parameters = gm.parameters() if isinstance(gm, torch.nn.Module) else ()
    return [*results, [p.grad for p in parameters], [a.grad for a in args if isinstance(a, torch.Tensor)]]


def same_two_models(
    gm: Callable[..., Any],
    opt_gm: Callable[..., Any],
    example_inputs: Sequence[Any],
    only_fwd: bool = False,
    *,
    require_fp64: bool = False,
    ignore_non_fp: bool = False,
) -> bool:
    """Whether two modules give the same on these inputs, gradients included.

    >>> from mindtorch_v2._dynamo.debug_utils import same_two_models
    >>> same_two_models(torch.sin, torch.compile(torch.sin, backend="eager"), [torch.ones(2)])
    True
    """
    with preserve_rng_state():
        ref = run_fwd_maybe_bwd(gm, example_inputs, only_fwd)
    with preserve_rng_state():
        res = run_fwd_maybe_bwd(opt_gm, example_inputs, only_fwd)
    return same(ref, res, tol=1e-3, equal_nan=True)
