"""A weight that stands for one copy of itself for each sample of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .sample_gradients import SampleGradients, takes_a_list_of_weights

__all__ = ["ExpandedWeight"]

F = torch.nn.functional


class ExpandedWeight(torch.Tensor):
    """`orig_weight`, whose attribute `grad_sample` gets a gradient for each of `batch_size` samples in a backward pass.

    The functions of layers take it, those in `torch.nn.functional` and recurrent ones; others raise RuntimeError. `loss_reduction` is
    "sum" or "mean": how the loss is made of those of the samples.

    >>> from mindtorch_v2.nn.utils._expanded_weights import ExpandedWeight
    >>> weight = torch.ones(2, 3, requires_grad=True)
    >>> out = torch.nn.functional.linear(torch.ones(4, 3), ExpandedWeight(weight, 4, "sum"))
    >>> out.sum().backward()
    >>> weight.grad_sample.shape, weight.grad
    (torch.Size([4, 2, 3]), None)
    """

    orig_weight: torch.Tensor

    def __new__(cls, orig_weight: Any, batch_size: int, loss_reduction: str) -> Any:
        if not isinstance(orig_weight, torch.Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that require_grad")
        return torch.Tensor._make_subclass(cls, orig_weight.detach(), True)

    def __init__(self, orig_weight: torch.Tensor, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction
        self.batch_first, self.allow_smaller_batches = True, False

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        if takes_a_list_of_weights(args) or getattr(F, name, None) is func:
            return SampleGradients.call(func, args, kwargs)
        if name in _PLAIN:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        raise RuntimeError(f"Expanded Weights encountered but cannot handle function {name}")

    def set_allow_smaller_batches(self, is_allow_smaller_batches: bool) -> None:
        """Whether inputs may have fewer samples, as the later steps of packed sequences do."""
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first: bool = True) -> None:
        """Whether the samples lie along the first dimension of inputs, or along the second."""
        self.batch_first = is_batch_first


_PLAIN = frozenset(
    "__get__ size dim stride numel is_contiguous data_ptr get_device is_floating_point is_complex element_size _is_view "
    "untyped_storage storage_offset has_names is_same_size __repr__ __deepcopy__".split()
)
