"""Instance normalization layers."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Device


__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    """The forward of instance normalization, with or without a batch dimension."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, bias=bias
        )

    def _check_input_dim(self, input):
        raise NotImplementedError

    def _get_no_batch_dim(self):
        raise NotImplementedError

    def _handle_no_batch_input(self, input) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        version = local_metadata.get("version", None)
        # Before 0.4 these layers kept running statistics by default.
        if version is None and not self.track_running_stats:
            stats_keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if stats_keys:
                names = " and ".join(f'"{k}"' for k in stats_keys)
                klass = self.__class__.__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {klass} "
                    "with track_running_stats=False. If state_dict is a "
                    "checkpoint saved before 0.4.0, this may be expected "
                    f"because {klass} does not track running stats by default "
                    "since 0.4.0. Please remove these keys from state_dict. If "
                    "the running stats are actually needed, instead set "
                    f"track_running_stats=True in {klass} to enable them. See "
                    f"the documentation of {klass} for details."
                )
                for key in stats_keys:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features"
                    f" ({self.num_features}), but got: {input.size(feature_dim)}."
                )
            warnings.warn(
                f"input's size at dim={feature_dim} does not match num_features. "
                "You can silence this warning by not passing in num_features, "
                "which is not used because affine=False",
                stacklevel=2,
            )
        if input.dim() == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


def _check(input, low, high) -> None:
    if input.dim() not in (low, high):
        raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sample: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.InstanceNorm1d(3)(torch.ones(2, 3, 8)).shape
    torch.Size([2, 3, 8])
    """

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input) -> None:
        _check(input, 2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each sample: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.InstanceNorm2d(3)(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 8, 8])
    """

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input) -> None:
        _check(input, 3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each sample: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.InstanceNorm3d(3)(torch.ones(2, 3, 8, 8, 8)).shape
    torch.Size([2, 3, 8, 8, 8])
    """

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input) -> None:
        _check(input, 4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm1d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyInstanceNorm1d()
    >>> layer(torch.ones(2, 3, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4]), 3)
    """

    cls_to_become = InstanceNorm1d

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input) -> None:
        _check(input, 2, 3)


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm2d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyInstanceNorm2d()
    >>> layer(torch.ones(2, 3, 4, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input) -> None:
        _check(input, 3, 4)


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """An `InstanceNorm3d` that takes `num_features` from its first input.

    >>> layer = torch.nn.LazyInstanceNorm3d()
    >>> layer(torch.ones(2, 3, 4, 4, 4)).shape, layer.num_features
    (torch.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input) -> None:
        _check(input, 4, 5)
