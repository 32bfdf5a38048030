"""`torch.utils`: what programs use beside tensors; its parts are loaded when first asked for."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import importlib
import weakref

from mindtorch_v2 import _C

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.utils import deterministic as deterministic, hooks as hooks


__all__ = ["set_module", "swap_tensors"]

_PARTS = frozenset(
    "_contextlib _foreach_utils _mode_utils _python_dispatch _pytree _sympy _triton backend_registration benchmark checkpoint collect_env cpp_extension data deterministic dlpack flop_counter hooks "
    "model_zoo module_tracker weak".split()
)


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"mindtorch_v2.utils.{name}")
    if name in ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"):
        return getattr(importlib.import_module("mindtorch_v2.utils.backend_registration"), name)
    if name == "ThroughputBenchmark":
        return getattr(importlib.import_module("mindtorch_v2.utils.throughput_benchmark"), name)
    if name == "cmake_prefix_path":  # the files are made when somebody builds with them
        return str(importlib.import_module("mindtorch_v2.utils._cpp_headers").cmake_prefix_path())
    raise AttributeError(f"module 'mindtorch_v2.utils' has no attribute {name!r}")


def set_module(obj: Any, mod: str) -> None:
    """Set the `__module__` of an object, so that it shows where users find it.

    >>> class Layer:
    ...     pass
    >>> torch.utils.set_module(Layer, "mine.layers")
    >>> Layer.__module__
    'mine.layers'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange two tensors: every reference to the one then means what the other was.

    Raises RuntimeError if one of them has weak references, or if one is a slotted class unlike the other's.

    >>> a, b = torch.tensor([1.0]), torch.tensor([2.0])
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([2.]), tensor([1.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    base: Any = _C.TensorBase
    base._swap_contents(t1, t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
