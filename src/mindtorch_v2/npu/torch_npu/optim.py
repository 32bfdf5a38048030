"""The fused optimizers by their names: PyTorch's, which step all parameters of a device and dtype in one operator each, and those
that PyTorch has none of (`_optimizers`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from ._optimizers import NpuFusedAdamP, NpuFusedBertAdam, NpuFusedLamb, NpuFusedOptimizerBase, NpuFusedRMSpropTF

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import ParamsT


__all__ = [
    "NpuFusedAdadelta",
    "NpuFusedAdam",
    "NpuFusedAdamP",
    "NpuFusedAdamW",
    "NpuFusedBertAdam",
    "NpuFusedLamb",
    "NpuFusedOptimizerBase",
    "NpuFusedRMSprop",
    "NpuFusedRMSpropTF",
    "NpuFusedSGD",
]


class NpuFusedAdadelta(NpuFusedOptimizerBase, torch.optim.Adadelta):
    """`torch.optim.Adadelta`."""

    def __init__(
        self, params: ParamsT, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0
    ) -> None:
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, foreach=True)


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


class NpuFusedRMSprop(NpuFusedOptimizerBase, torch.optim.RMSprop):
    """`torch.optim.RMSprop`."""

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            alpha=alpha,
            eps=eps,
            weight_decay=weight_decay,
            momentum=momentum,
            centered=centered,
            foreach=True,
        )
