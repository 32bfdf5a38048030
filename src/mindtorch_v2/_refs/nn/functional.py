"""`torch._refs.nn.functional`: the functions of `torch.nn.functional`, see `torch._refs`."""

from __future__ import annotations

import functools
from typing import Any

import mindtorch_v2 as torch

__all__ = (
    "alpha_dropout celu celu_ channel_shuffle dropout elu elu_ gelu glu group_norm hardshrink hardtanh "
    "hinge_embedding_loss huber_loss l1_loss layer_norm leaky_relu log_softmax margin_ranking_loss mish mish_ "
    "mse_loss nll_loss pairwise_distance pdist poisson_nll_loss prelu relu relu6 selu selu_ smooth_l1_loss softmax "
    "softmin softplus softshrink tanhshrink threshold threshold_ triplet_margin_loss "
).split()


def __getattr__(name: str) -> Any:
    if name.endswith("_") and not name.startswith("_") and not hasattr(torch.nn.functional, name):
        return functools.partial(getattr(torch.nn.functional, name[:-1]), inplace=True)
    return getattr(torch.nn.functional, name)
