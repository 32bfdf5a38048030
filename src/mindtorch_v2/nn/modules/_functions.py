"""Autograd functions that layers use and that are no operators."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch


class BackwardHookFunction(torch.autograd.Function):
    """The identity on several tensors: one node through which all gradients of a module's inputs or outputs go."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple[torch.Tensor, ...]:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> tuple[torch.Tensor, ...]:
        return args


class CrossMapLRN2d(torch.autograd.Function):
    """Local response normalization over channels of `(N, C, H, W)`.

    The windows are those of PyTorch's implementation, not of the formula in its documentation: forward, the first
    channel stays in every window once it has been in one; backward, the window reaches further down than up.
    """

    @staticmethod
    def _window_sum(x, before, after) -> torch.Tensor:
        """The sum over channels `c - before` to `c + after`, those outside counted as zero."""
        channels = x.size(1)
        total = torch.zeros_like(x)
        for offset in range(-before, after + 1):
            low, high = max(0, -offset), min(channels, channels - offset)
            if low < high:
                total[:, low:high] += x[:, low + offset : high + offset]
        return total

    @staticmethod
    def forward(
        ctx: Any, input: torch.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1
    ) -> torch.Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        half = (size - 1) // 2
        square = input.pow(2)
        total = CrossMapLRN2d._window_sum(square, half, half)
        total[:, half + 1 :] += square[:, :1]
        scale = total.mul(alpha / size).add(k)
        output = input * scale.pow(-beta)
        ctx.save_for_backward(input, output, scale)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple:
        input, output, scale = ctx.saved_tensors
        before = (ctx.size + 1) // 2
        summed = CrossMapLRN2d._window_sum(grad_output * output / scale, before, ctx.size - 1 - before)
        grad_input = grad_output * scale.pow(-ctx.beta)
        grad_input -= 2 * ctx.alpha * ctx.beta / ctx.size * input * summed
        return grad_input, None, None, None, None
