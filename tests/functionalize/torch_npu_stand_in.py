"""A stand-in for a machine with an NPU: the device as a second name for the CPU's memory, and the operator
`npu::my_inplace` as an operator package registers it. Written next to a program as `torch_npu.py`."""

import torch
from torch.library import Library, impl
from torch.utils import _pytree

_alias = torch._C._alias_on_device


def _moved(values, device):
    return _pytree.tree_map(lambda v: _alias(v, device) if isinstance(v, torch.Tensor) else v, values)


def _on_the_cpu(op, *args, **kwargs):
    if "device" in kwargs:
        kwargs["device"] = "cpu"
    result = op(*_moved(args, "cpu"), **_moved(kwargs, "cpu"))
    return args[0] if op._schema.is_mutable else _moved(result, "npu")


fallback = Library("_", "IMPL")
fallback.fallback(_on_the_cpu, "PrivateUse1")
kernels = Library("aten", "IMPL")
for name in ("clone", "copy_", "empty_like", "empty_strided"):
    overload = getattr(torch.ops.aten, name).default
    kernels.impl(name, lambda *args, op=overload, **kwargs: _on_the_cpu(op, *args, **kwargs), "PrivateUse1")

operators = Library("npu", "FRAGMENT")
operators.define("my_inplace(Tensor(a!) x, Tensor(b!) y) -> ()")


@impl(operators, "my_inplace", "PrivateUse1")
def my_inplace(x, y):
    x.add_(1)
    y.mul_(2)
