"""`torch._refs.special`: the functions of `torch.special`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = (
    "bessel_j0 bessel_j1 entr erfcx expit i0e i1 i1e log_ndtr logit log_softmax multigammaln ndtr ndtri softmax "
    "spherical_bessel_j0 xlog1py zeta "
).split()


def __getattr__(name: str) -> Any:
    return getattr(torch.special, name)
