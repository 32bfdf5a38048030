"""Which devices have multi-tensor kernels, and the grouping of tensor lists by device and dtype."""

from typing import Any

import mindtorch_v2 as torch

__all__: list[str] = []

_foreach_supported_types = [torch.Tensor]


def _get_foreach_kernels_supported_devices() -> list:
    """Devices on which the multi-tensor form is preferred when nobody asks for a form."""
    return ["cuda", "xpu", "mtia", "npu"]


def _get_fused_kernels_supported_devices() -> list:
    """Devices that have fused optimizer kernels."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "npu"]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Split parallel lists of tensors into groups that share device and dtype.

    `tensorlistlist` is a list of lists of equal length; the first decides (entries of the others may be None or, for
    step counters, live elsewhere). Return `{(device, dtype): (lists, indices)}`, in order of first appearance.
    `indices` are the positions in the given lists, empty unless `with_indices`.
    """
    keys = [(first.device, first.dtype) for first in tensorlistlist[0]]
    if keys and keys.count(keys[0]) == len(keys):  # as nearly always: spared the loop over tensors
        indices = list(range(len(keys))) if with_indices else []
        return {keys[0]: ([list(tensors) for tensors in tensorlistlist], indices)}
    groups: dict[Any, tuple[list[list[Any]], list[int]]] = {}
    count = len(tensorlistlist)
    for position, key in enumerate(keys):
        group = groups.get(key)
        if group is None:
            group = groups[key] = ([[] for _ in range(count)], [])
        for column, tensors in zip(group[0], tensorlistlist, strict=True):
            if tensors:
                column.append(tensors[position])
        if with_indices:
            group[1].append(position)
    return groups


def _device_has_foreach_support(device) -> bool:
    """Whether `device` runs the `_foreach_` functions natively."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors, device):
    """Whether all `tensors` (None allowed) are plain tensors on a `device` with `_foreach_` functions."""
    return _device_has_foreach_support(device) and all(
        t is None or type(t) in _foreach_supported_types for t in tensors
    )
