"""The fused optimizers by their names: PyTorch's, which step all parameters of a device and dtype in one operator each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = ["NpuFusedAdam", "NpuFusedAdamW", "NpuFusedOptimizerBase", "NpuFusedSGD"]


class NpuFusedOptimizerBase:
    """The methods that the fused optimizers have beside PyTorch's."""

    param_groups: Any

    is_npu_fused_optimizer = True

    def npu_fused_clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Clip the norm of all gradients together, and return what it was."""
        parameters = [p for group in self.param_groups for p in group["params"]]
        return torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Set gradients to zero; to None only if asked to."""
        super().zero_grad(set_to_none=set_to_none)  # type: ignore[misc]  # (of the optimizer that it is mixed into)


class NpuFusedAdam(NpuFusedOptimizerBase, torch.optim.Adam):
    """`torch.optim.Adam`."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: int = 0,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, foreach=True)


class NpuFusedAdamW(NpuFusedOptimizerBase, torch.optim.AdamW):
    """`torch.optim.AdamW`."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, foreach=True)


class NpuFusedSGD(NpuFusedOptimizerBase, torch.optim.SGD):
    """`torch.optim.SGD`."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any,
        momentum: int = 0,
        dampening: int = 0,
        weight_decay: int = 0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            foreach=True,
        )
