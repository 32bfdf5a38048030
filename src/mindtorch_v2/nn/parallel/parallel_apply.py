"""Modules called beside each other, each on its device and in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import ExceptionWrapper, _get_device_index

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: torch.Tensor | list[Any] | tuple[Any, ...] | dict[Any, Any]) -> torch.Tensor | None:
    """The first tensor in nested lists, tuples and dicts, or None.

    >>> from mindtorch_v2.nn.parallel.parallel_apply import get_a_var
    >>> get_a_var([3, {"a": torch.ones(1)}])
    tensor([1.])
    """
    if isinstance(obj, torch.Tensor):
        return obj
    items = obj.items() if isinstance(obj, dict) else obj if isinstance(obj, (list, tuple)) else ()
    return next((found for found in map(get_a_var, items) if found is not None), None)


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[int | torch.device | None] | None = None,
) -> list[Any]:
    """The outputs of `modules`, each called with its part of `inputs` and `kwargs_tup` while its device is the current one.

    A device that is not given is that of the first tensor among the module's inputs. The callers' grad mode and autocast hold in
    the threads too; an error of one of them is raised here. RuntimeError without an accelerator.

    >>> torch.nn.parallel.parallel_apply([torch.nn.Identity()], [torch.ones(1)])
    Traceback (most recent call last):
    RuntimeError: Cannot access accelerator device when none is available.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    named = kwargs_tup if kwargs_tup is not None else [{} for _ in modules]
    given = devices if devices is not None else [None for _ in modules]
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    module_of_device = getattr(torch, kind.type)
    places = [None if each is None else _get_device_index(each, True) for each in given]
    results: dict[int, Any] = {}
    grad, cast, dtype = (
        torch.is_grad_enabled(),
        torch.is_autocast_enabled(kind.type),
        torch.get_autocast_dtype(kind.type),
    )

    def call(place: int, module: Module, args: Any, kwargs: dict[str, Any], index: int | None) -> None:
        try:
            if index is None:
                found = get_a_var(args)
                if found is None:
                    raise ValueError(f"no device was given for module {place}, and no tensor is among its inputs")
                index = found.get_device()
            with (
                torch.set_grad_enabled(grad),
                module_of_device.device(index),
                torch.autocast(kind.type, dtype=dtype, enabled=cast),
            ):
                results[place] = module(*(args if isinstance(args, (list, tuple)) else (args,)), **kwargs)
        except Exception:  # noqa: BLE001  (it is raised again in the caller's thread)
            results[place] = ExceptionWrapper(where=f"in replica {place} on device {index}")

    work = list(zip(range(len(modules)), modules, inputs, named, places, strict=True))
    if len(work) == 1:
        call(*work[0])
    else:
        threads = [threading.Thread(target=call, args=each) for each in work]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    outputs = []
    for place in range(len(inputs)):
        if isinstance(results[place], ExceptionWrapper):
            results[place].reraise()
        outputs.append(results[place])
    return outputs
