"""Tensors that are shown or saved where a program has them, within recorded graphs too: at each replay."""

from __future__ import annotations

import datetime
import itertools
import os
from collections import defaultdict
from typing import Any

from ...._core.above import above
from ...._operators.table import aten
from .. import host_functions, state
from ..runtime import D2H
from ..stream import current_stream
from .checks import composite

_saved: defaultdict[str, itertools.count] = defaultdict(itertools.count)  # path without a number -> the next number


def _host_copy(tensor: Any) -> Any:
    """A pinned tensor of the host, to which the current stream copies when it comes here."""
    dense = aten.contiguous(tensor)
    made = state.get()
    host = made.pinned.copy_of(aten.empty(tuple(tensor.shape), dtype=tensor.dtype))
    if tensor.numel():
        nbytes, stream = tensor.numel() * tensor.element_size(), current_stream()
        made.runtime.copy(host.data_ptr(), dense.data_ptr(), nbytes, D2H, stream.device_index, stream.npu_stream)
    return host


def _show(told: tuple[Any, str | None]) -> None:
    tensor, name = told
    text = repr(tensor) if name is None else f"{name}={tensor!r}"
    print(f"{text}, shape={tuple(tensor.shape)}, dtype={tensor.dtype}", flush=True)


def _save(told: tuple[Any, str]) -> None:
    above.save(*told)


def _path(save_path: str | None, device: Any, overwrite: bool) -> str:
    """The file for one call: the device's number, and that of the call unless it overwrites, go before the ending."""
    if save_path is None:
        save_path = f"tensor_{datetime.datetime.now():%Y%m%d_%H%M%S_%f}.pt"
    stem, ending = os.path.splitext(save_path)
    if not os.path.basename(stem):
        raise ValueError(f"save_npugraph_tensor(): save_path must name a file, but it is {save_path!r}")
    if device.type == "npu":
        stem += f"_device_{device.index}"
    ending = ending or ".pt"
    return f"{stem}{ending}" if overwrite else f"{stem}_{next(_saved[stem + ending])}{ending}"


@composite(
    "npu::print_npugraph_tensor(Tensor input, *, str? tensor_name=None) -> ()",
    "Shows a tensor, its sizes and dtype when its stream comes here; in a recorded graph at each replay.",
    explicit=True,
)
def print_npugraph_tensor(input: Any, *, tensor_name: str | None = None) -> None:
    if input.device.type == "cpu":
        _show((input, tensor_name))
    elif input.device.type == "npu":
        host_functions.launch(current_stream(), _show, (_host_copy(input), tensor_name))


@composite(
    "npu::save_npugraph_tensor(Tensor input, *, str? save_path=None, bool overwrite=False) -> ()",
    "torch.save of a tensor when its stream comes here; in a recorded graph at each replay, to the file of the recording.",
    explicit=True,
    samples=None,  # made from the schema it would write into the folder of whoever runs it
)
def save_npugraph_tensor(input: Any, *, save_path: str | None = None, overwrite: bool = False) -> None:
    if input.device.type == "cpu":
        _save((input, _path(save_path, input.device, overwrite)))
    elif input.device.type == "npu":
        told = _host_copy(input), _path(save_path, input.device, overwrite)
        host_functions.launch(current_stream(), _save, told)


@composite(
    "npu::save_npugraph_tensor.tensor_list(Tensor[] input, *, str? save_path=None, bool overwrite=False) -> ()",
    "save_npugraph_tensor of a list of tensors, which one file holds.",
    explicit=True,
    samples=None,  # made from the schema it would write into the folder of whoever runs it
)
def save_npugraph_tensor_list(input: Any, *, save_path: str | None = None, overwrite: bool = False) -> None:
    if not input:
        raise ValueError("save_npugraph_tensor(): a list of tensors was expected, but it is empty")
    device = input[0].device
    if device.type == "cpu":
        _save((list(input), _path(save_path, device, overwrite)))
    elif device.type == "npu":
        told = [_host_copy(tensor) for tensor in input], _path(save_path, device, overwrite)
        host_functions.launch(current_stream(), _save, told)
