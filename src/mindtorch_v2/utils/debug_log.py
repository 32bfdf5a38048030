"""Norms of gradients, logged when they have been computed."""

from __future__ import annotations

import logging

import mindtorch_v2 as torch

__all__ = ["debug_grad_log"]

_log = logging.getLogger("torch.utils.debug_log")


def debug_grad_log(*tensors: torch.Tensor) -> None:
    """Tell the log the norms of the gradients of `tensors` once backward has computed all of them, at the level INFO.

    The line has the rank of the process and "t0_grad_norm=..." and so on, in the order of those that require a gradient.

    >>> import logging
    >>> from mindtorch_v2.utils.debug_log import debug_grad_log
    >>> x = torch.ones(4, requires_grad=True)
    >>> y = x * 2
    >>> debug_grad_log(y)
    >>> y.sum().backward()  # logs "[rank 0][bwd] t0_grad_norm=2.0000"
    >>> x.grad
    tensor([2., 2., 2., 2.])
    """
    watched = [each for each in tensors if each.requires_grad]
    if watched:
        torch.autograd.graph.register_multi_grad_hook(watched, _show)


def _show(grads: tuple[torch.Tensor | None, ...]) -> None:
    norms = (f"t{i}_grad_norm={each.norm().item():.4f}" for i, each in enumerate(grads) if each is not None)
    distributed = torch.distributed
    rank = distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0
    _log.info("[rank %d][bwd] %s", rank, " ".join(norms))
