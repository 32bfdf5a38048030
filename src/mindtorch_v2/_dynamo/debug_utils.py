"""Comparisons of two forms of a program."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import config
from mindtorch_v2._dynamo.utils import clone_input, preserve_rng_state, same

_log = logging.getLogger("torch._dynamo")

__all__ = ["cast_to_fp64", "clone_inputs_retaining_gradness", "run_fwd_maybe_bwd", "same_two_models"]


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


def cast_to_fp64(model: Any, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A module, where it is one, and inputs with floating point numbers in double precision; also in the dtypes that a graph names.

    >>> from mindtorch_v2._dynamo.debug_utils import cast_to_fp64
    >>> cast_to_fp64(torch.sin, [torch.ones(1), 2])[1]
    [tensor([1.], dtype=torch.float64), 2]
    """
    if isinstance(model, torch.nn.Module):
        model = model.to(torch.float64)
    if isinstance(model, torch.fx.GraphModule):
        for node in model.graph.nodes:
            wanted = node.kwargs.get("dtype")
            if isinstance(wanted, torch.dtype) and wanted.is_floating_point:
                node.kwargs = {**node.kwargs, "dtype": torch.float64}
        model.recompile()

    def cast(each: Any) -> Any:
        if isinstance(each, torch.Tensor) and each.is_floating_point():
            return clone_input(each, dtype=torch.float64)
        return each

    return model, [torch.utils._pytree.tree_map(cast, each) for each in inputs]


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

    Results that differ by more than rounding are held to those of the first module in double precision, unless
    `torch._dynamo.config.same_two_models_use_fp64` is False; with `require_fp64` it is a RuntimeError where there are none.
    With `ignore_non_fp` whole numbers and truth values are not compared. True where the second module fails.

    >>> from mindtorch_v2._dynamo.debug_utils import same_two_models
    >>> same_two_models(torch.sin, torch.compile(torch.sin, backend="eager"), [torch.ones(2)])
    True
    """
    with preserve_rng_state():
        ref = run_fwd_maybe_bwd(gm, example_inputs, only_fwd)
    exact = None
    if config.same_two_models_use_fp64:
        try:
            with preserve_rng_state():
                exact = run_fwd_maybe_bwd(*cast_to_fp64(copy.deepcopy(gm), example_inputs), only_fwd)
        except Exception as error:
            if require_fp64:
                raise RuntimeError(
                    "Could not generate fp64 outputs, workaround with torch._dynamo.config.same_two_models_use_fp64 = False"
                ) from error
            _log.warning("Could not generate fp64 outputs")
    try:
        with preserve_rng_state():
            res = run_fwd_maybe_bwd(opt_gm, example_inputs, only_fwd)
    except Exception:  # noqa: BLE001  (it is not another result)
        _log.exception("While minifying the program in accuracy minification mode, ran into a runtime exception")
        return True
    return same(ref, res, exact, tol=config.repro_tolerance, equal_nan=True, ignore_non_fp=ignore_non_fp)
