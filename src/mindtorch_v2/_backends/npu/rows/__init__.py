"""The operators of Ascend's own namespaces: `torch.ops.npu.npu_rms_norm` and its kin, one row each.

A row's Python body is the operator's meaning. It runs on every device, so that a program written for an NPU runs, and is
tested, where there is none. `_backends/npu/fused` says which ACLNN operator does the same work on the device.
"""

import importlib
import pkgutil

from .. import fused

for _package in (__name__, fused.__name__):
    for _module in pkgutil.iter_modules(importlib.import_module(_package).__path__):
        importlib.import_module(f"{_package}.{_module.name}")
