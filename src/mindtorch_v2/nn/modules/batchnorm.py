"""Batch normalization layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup
    from mindtorch_v2.types import Device


__all__ = [
    "BatchNorm1d",
    "LazyBatchNorm1d",
    "BatchNorm2d",
    "LazyBatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


class _NormBase(Module):
    """Arguments, parameters and running statistics of batch and instance normalization."""

    # Version 2 added num_batches_tracked.
    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    # Tensors, or None where no statistics are tracked.
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = Parameter(torch.empty(num_features, **factory_kwargs))
        else:
            self.register_parameter("weight", None)
        if self.affine and bias:
            self.bias = Parameter(torch.empty(num_features, **factory_kwargs))
        else:
            self.register_parameter("bias", None)
        if self.track_running_stats:
            self.register_buffer("running_mean", torch.zeros(num_features, **factory_kwargs))
            self.register_buffer("running_var", torch.ones(num_features, **factory_kwargs))
            self.register_buffer("num_batches_tracked", torch.tensor(0, dtype=torch.long, device=device))
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running statistics to their initial values."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set the running statistics and the parameters to their initial values."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                own = self.num_batches_tracked
                usable = own is not None and own.device != torch.device("meta")
                state_dict[key] = own if usable else torch.tensor(0, dtype=torch.long)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    """The forward of batch normalization."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )

    def _average_factor(self) -> float:
        """The weight of the new statistics; counts the batch where statistics are tracked."""
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                # The cumulative moving average.
                factor = 1.0 / float(self.num_batches_tracked)
        return factor

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self._check_input_dim(input)
        factor = self._average_factor()
        # The batch's own statistics are used in training, and in evaluation where none are kept.
        bn_training = self.training or (self.running_mean is None and self.running_var is None)
        use_running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if use_running else None,
            self.running_var if use_running else None,
            self.weight,
            self.bias,
            bn_training,
            factor,
            self.eps,
        )


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """The base of the lazy normalization layers: `num_features` comes from dimension 1 of the first input."""

    weight: Any
    bias: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        # The parent makes nothing yet.
        super().__init__(0, eps, momentum, False, False, **factory_kwargs, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = UninitializedParameter(**factory_kwargs)
            if bias:
                self.bias = UninitializedParameter(**factory_kwargs)
        if self.track_running_stats:
            self.running_mean = UninitializedBuffer(**factory_kwargs)
            self.running_var = UninitializedBuffer(**factory_kwargs)
            self.num_batches_tracked = torch.tensor(0, dtype=torch.long, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: torch.Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        if self.affine:
            self.weight.materialize((self.num_features,))
            if self.bias is not None:
                self.bias.materialize((self.num_features,))
        if self.track_running_stats:
            self.running_mean.materialize((self.num_features,))
            self.running_var.materialize((self.num_features,))
        self.reset_parameters()


def _check_1d(input) -> None:
    if input.dim() not in (2, 3):
        raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


def _check_2d(input) -> None:
    if input.dim() != 4:
        raise ValueError(f"expected 4D input (got {input.dim()}D input)")


def _check_3d(input) -> None:
    if input.dim() != 5:
        raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    """Normalize each channel over the batch: `(N, C)` or `(N, C, L)` (Ioffe & Szegedy 2015).

    >>> torch.nn.BatchNorm1d(1, affine=False)(torch.tensor([[1.0], [3.0]]))
    tensor([[-1.0000],
            [ 1.0000]])
    """

    def _check_input_dim(self, input) -> None:
        _check_1d(input)


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyBatchNorm1d()
    >>> layer(torch.ones(2, 3, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4]), 3)
    """

    cls_to_become = BatchNorm1d

    def _check_input_dim(self, input) -> None:
        _check_1d(input)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel over the batch: `(N, C, H, W)`.

    >>> torch.nn.BatchNorm2d(3)(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def _check_input_dim(self, input) -> None:
        _check_2d(input)


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyBatchNorm2d()
    >>> layer(torch.ones(2, 3, 4, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = BatchNorm2d

    def _check_input_dim(self, input) -> None:
        _check_2d(input)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel over the batch: `(N, C, D, H, W)`.

    >>> torch.nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def _check_input_dim(self, input) -> None:
        _check_3d(input)


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyBatchNorm3d()
    >>> layer(torch.ones(2, 3, 4, 4, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = BatchNorm3d

    def _check_input_dim(self, input) -> None:
        _check_3d(input)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes of a group.

    In a program of one process it is `BatchNorm` for inputs of any dimension from 2 on.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8))
    >>> type(torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)[1]).__name__
    'SyncBatchNorm'
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        distributed = torch.distributed
        if self.training and distributed.is_available() and distributed.is_initialized():
            if distributed.get_world_size(self.process_group) > 1:
                raise NotImplementedError("SyncBatchNorm: synchronization between processes is not implemented")
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: ProcessGroup | None = None) -> Module:
        """Return `module` with every batch normalization layer replaced by a SyncBatchNorm of the same values."""
        output = module
        if isinstance(module, _BatchNorm):
            output = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with torch.no_grad():
                    output.weight = module.weight
                    if module.bias is not None:
                        output.bias = module.bias
            output.running_mean = module.running_mean
            output.running_var = module.running_var
            output.num_batches_tracked = module.num_batches_tracked
            output.training = module.training
            if hasattr(module, "qconfig"):
                output.qconfig = module.qconfig
        for name, child in module.named_children():
            output.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return output
