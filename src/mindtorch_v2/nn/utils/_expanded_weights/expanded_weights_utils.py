"""Checks of calls with expanded weights, and the place for the gradients of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "forward_helper",
    "is_batch_first",
    "maybe_scale_by_batch_size",
    "set_grad_sample_if_exists",
    "standard_kwargs",
    "sum_over_all_but_batch_and_last_n",
    "unpack_expanded_weight_or_tensor",
]


def _is_expanded(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and hasattr(value, "orig_weight")


def is_batch_first(expanded_args_and_kwargs: Sequence[Any]) -> bool:
    """Whether the expanded weights among these take the first dimension of inputs as the batch; RuntimeError if they differ."""
    said = {value.batch_first for value in expanded_args_and_kwargs if _is_expanded(value)}
    if len(said) > 1:
        raise RuntimeError("Got conflicting batch_first arguments in the same layer")
    return said.pop() if said else True


def standard_kwargs(kwarg_names: Sequence[str], expanded_args: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments of a list that ends with the values of the names."""
    several = len(expanded_args) - len(kwarg_names)
    return tuple(expanded_args[:several]), dict(zip(kwarg_names, expanded_args[several:], strict=True))


def forward_helper(func: Callable[..., Any], expanded_args: Sequence[Any], expanded_kwargs: dict[str, Any]) -> Any:
    """`func` of the weights behind the expanded ones; RuntimeError for an input without samples, or with others."""
    args, kwargs = _check_and_unexpand_args(func, expanded_args, expanded_kwargs)
    return func(*args, **kwargs)


def _check_and_unexpand_args(func: Any, expanded_args: Sequence[Any], expanded_kwargs: dict[str, Any]) -> Any:
    input = expanded_args[0]
    name = getattr(func, "__name__", str(func))
    if _is_expanded(input):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. "
            f"Input must be a Tensor, got {type(input).__name__} in function {name}"
        )
    if not isinstance(input, torch.Tensor):
        raise RuntimeError(
            "Expanded Weights requires a Tensor as the first input to get the batch dimension, "
            f"got {type(input).__name__} in function {name}"
        )
    if input.dim() == 0:
        raise RuntimeError(f"Expanded Weights requires a batch dimension but got an input of size 0 in function {name}")
    everything = [*expanded_args, *expanded_kwargs.values()]
    size = input.shape[0 if is_batch_first(everything) or input.dim() < 2 else 1]
    if size == 0:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got input tensor of {input} in function {name}"
        )
    for value in everything:
        if _is_expanded(value) and not (
            value.batch_size == size or value.allow_smaller_batches and size < value.batch_size
        ):
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got input batch size of "
                f"{size} with ExpandedWeight of batch size {value.batch_size}"
            )

    def plain(value: Any) -> Any:
        return value.orig_weight if _is_expanded(value) else value

    return tuple(map(plain, expanded_args)), {key: plain(value) for key, value in expanded_kwargs.items()}


def maybe_scale_by_batch_size(grad_sample: torch.Tensor, expanded_weight: Any) -> torch.Tensor:
    """Gradients of samples of a loss that is a mean over the batch are as many times larger."""
    return grad_sample * expanded_weight.batch_size if expanded_weight.loss_reduction == "mean" else grad_sample


def set_grad_sample_if_exists(
    maybe_expanded_weight: Any, per_sample_grad_fn: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Add `per_sample_grad_fn(weight)` to the attribute `grad_sample` of the weight behind an expanded one."""
    weight = unpack_expanded_weight_or_tensor(maybe_expanded_weight)
    if not _is_expanded(maybe_expanded_weight):
        return
    found = maybe_scale_by_batch_size(per_sample_grad_fn(weight), maybe_expanded_weight)
    missing = maybe_expanded_weight.batch_size - found.shape[0]
    if missing > 0 and maybe_expanded_weight.allow_smaller_batches:
        found = torch.cat([found, found.new_zeros([missing, *found.shape[1:]])])
    before = getattr(weight, "grad_sample", None)
    weight.grad_sample = found if before is None else before + found


def unpack_expanded_weight_or_tensor(
    maybe_expanded_weight: Any, func: Callable[[torch.Tensor], Any] = lambda weight: weight
) -> Any:
    """`func` of the weight behind an expanded one, or of a tensor without gradient; None for what is no tensor."""
    if _is_expanded(maybe_expanded_weight):
        return func(maybe_expanded_weight.orig_weight)
    if isinstance(maybe_expanded_weight, torch.Tensor):
        if maybe_expanded_weight.requires_grad:
            raise RuntimeError(
                "ExpandedWeights currently does not support a mixture of ExpandedWeight parameters and normal Parameters. "
                "Give all of them to call_for_per_sample_grads, or let the others not require gradients."
            )
        return func(maybe_expanded_weight)
    return None


def sum_over_all_but_batch_and_last_n(tensor: torch.Tensor, n_dims: int) -> torch.Tensor:
    """The sum over the dimensions between the first and the last `n_dims`."""
    between = list(range(1, tensor.dim() - n_dims))
    return tensor.sum(between) if between else tensor
