"""A module whose parameters get a gradient for each sample of a batch, as differential privacy needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn.utils._expanded_weights import ExpandedWeight
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: torch.nn.Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function that calls `module`, and whose backward pass leaves `(batch_size, *shape)` gradients in `p.grad_sample`.

    The parameters' own gradients stay as they were. `batch_size` follows from the tensors that are passed where it is None;
    `loss_reduction` says whether the loss is the sum or the mean over samples; without `batch_first` these lie along the second
    dimension. Layers whose parameters go into one function of `torch.nn.functional`, and recurrent ones, take part; RuntimeError
    for others that have parameters, and where a `grad_sample` is there already.

    >>> from mindtorch_v2.nn.utils._per_sample_grad import call_for_per_sample_grads
    >>> model = torch.nn.Linear(4, 3)
    >>> call_for_per_sample_grads(model)(torch.ones(5, 4)).sum().backward()
    >>> model.weight.grad_sample.shape, model.weight.grad
    (torch.Size([5, 3, 4]), None)
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls without clearing "
                f"gradients. Set grad_sample to None first: there is one at a parameter of shape {tuple(weight.shape)}"
            )

    def call(*args: Any, **kwargs: Any) -> Any:
        size = batch_size if batch_size is not None else _batch_size(args, kwargs, batch_first)

        def expanded(weight: torch.Tensor) -> torch.Tensor:
            made = ExpandedWeight(weight, size, loss_reduction)
            made.set_batch_first(batch_first)
            return made

        given = {name: expanded(p) if p.requires_grad else p for name, p in module.named_parameters()}
        return torch.func.functional_call(module, given, args, kwargs)

    return call


def _batch_size(args: Any, kwargs: Any, batch_first: bool) -> int:
    dim = 0 if batch_first else 1
    sizes: list[int] = []
    for value in pytree.arg_tree_leaves(*args, **kwargs):
        data = value.batch_sizes if isinstance(value, torch.nn.utils.rnn.PackedSequence) else None
        if data is not None:
            sizes.append(int(data[0]))
        elif isinstance(value, torch.Tensor):
            sizes.append(value.shape[dim])
    for size in sizes:
        if size != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} and one with batch size {size}. "
                "Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads"
            )
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights cannot "
            "compute the batch size from the inputs. Please specify it explicitly"
        )
    return sizes[0]
