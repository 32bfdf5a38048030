"""NVIDIA GPUs: memory, streams and operators of the device `cuda`, by CUDA's driver and kernels that are compiled at first use.

Nothing of CUDA is needed to install or import this package; docs/cuda.md is the guide.
"""

from __future__ import annotations

from ... import _C
from ..common.loading import Loading
from . import libraries as libraries


def _start() -> None:
    from . import chains, state

    chains.offer()
    made = state.get()
    _C._register_device("cuda", made.allocate, made.release, made.transfer, made.copy, made.fill)
    made.make_generators("cuda")


_loading = Loading(__name__, _start)
load, when_loaded = _loading.load, _loading.when_loaded
register_kernels, is_loaded = _loading.register_kernels, _loading.is_loaded
