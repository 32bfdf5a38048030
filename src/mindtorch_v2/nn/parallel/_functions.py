"""Copies to devices, pieces on devices and their joining, each with its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import _get_device_index

from . import comm

__all__ = ["Broadcast", "Gather", "ReduceAddCoalesced", "Scatter"]


class Broadcast(torch.autograd.Function):
    """Copies of tensors for each device, those of one device after those of another; backward adds the copies' gradients."""

    @staticmethod
    def forward(ctx: Any, target_gpus: Sequence[Any], *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if not all(each.device.type != "cpu" for each in inputs):
            raise AssertionError("Broadcast function not implemented for CPU tensors")
        ctx.target_gpus = [_get_device_index(each, True) for each in target_gpus]
        ctx.num_inputs = len(inputs)
        if not inputs:
            return ()
        ctx.input_device = inputs[0].get_device()
        outputs = comm.broadcast_coalesced(inputs, ctx.target_gpus)
        unasked = [i for i, needed in enumerate(ctx.needs_input_grad[1:]) if not needed]
        ctx.mark_non_differentiable(*(copies[i] for copies in outputs for i in unasked))
        return tuple(copy for copies in outputs for copy in copies)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
        return None, *ReduceAddCoalesced.apply(ctx.input_device, ctx.num_inputs, *grad_outputs)


class ReduceAddCoalesced(torch.autograd.Function):
    """Sums of tensors of several devices on one, `num_inputs` of them; backward copies to each device."""

    @staticmethod
    def forward(ctx: Any, destination: int, num_inputs: int, *grads: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.target_gpus = [grads[place].get_device() for place in range(0, len(grads), num_inputs)]
        groups = [grads[place : place + num_inputs] for place in range(0, len(grads), num_inputs)]
        return tuple(comm.reduce_add_coalesced(groups, destination))

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
        return None, None, *Broadcast.apply(ctx.target_gpus, *grad_outputs)


class Gather(torch.autograd.Function):
    """Tensors of several devices joined on one along a dimension; backward gives each device its piece.

    >>> torch.nn.parallel.scatter_gather.Gather.apply(0, 0, torch.ones(2))
    Traceback (most recent call last):
    AssertionError: Gather function not implemented for CPU tensors
    """

    @staticmethod
    def forward(ctx: Any, target_device: Any, dim: int, *inputs: torch.Tensor) -> torch.Tensor:
        if not all(each.device.type != "cpu" for each in inputs):
            raise AssertionError("Gather function not implemented for CPU tensors")
        ctx.input_gpus = tuple(each.get_device() for each in inputs)
        ctx.unsqueezed = all(each.dim() == 0 for each in inputs) and dim == 0
        if ctx.unsqueezed:
            inputs = tuple(each.view(1) for each in inputs)
        ctx.dim = dim
        ctx.input_sizes = tuple(each.size(dim) for each in inputs)
        return comm.gather(inputs, dim, target_device)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
        pieces = Scatter.apply(ctx.input_gpus, ctx.input_sizes, ctx.dim, *grad_outputs)
        if ctx.unsqueezed:
            pieces = tuple(each[0] for each in pieces)
        return None, None, *pieces


class Scatter(torch.autograd.Function):
    """A tensor cut along a dimension, a piece for each device; backward joins the gradients where the tensor was.

    >>> torch.nn.parallel.scatter_gather.Scatter.apply(["cpu"], None, 0, torch.ones(2))
    Traceback (most recent call last):
    ValueError: Expected a non cpu device, but got: cpu
    """

    @staticmethod
    def forward(
        ctx: Any, target_gpus: Sequence[Any], chunk_sizes: Sequence[int] | None, dim: int, input: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.dim = dim
        ctx.input_device = -1 if input.device.type == "cpu" else input.get_device()
        return comm.scatter(input, [_get_device_index(each, True) for each in target_gpus], chunk_sizes, dim)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
        device = torch.device("cpu") if ctx.input_device == -1 else ctx.input_device
        return None, None, None, Gather.apply(device, ctx.dim, *grad_outputs)
