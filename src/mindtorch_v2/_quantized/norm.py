"""Normalizations of quantized tensors."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .table import operator, per_tensor

_BATCH = (
    "(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float output_scale, "
    "int output_zero_point) -> Tensor"
)
_DIMS = {"": (2, 3, 4, 5), "1d": (2, 3), "2d": (4,), "3d": (5,)}


def _batch_norm(name: str, relu: bool) -> None:
    said = f"quantized::batch_norm{name}"

    def run(
        qx: Any,
        weight: Any,
        bias: Any,
        mean: Any,
        var: Any,
        eps: float,
        output_scale: float,
        output_zero_point: int,
    ) -> Any:
        per_tensor(qx, f"batch_norm{name}")
        if qx.dim() not in _DIMS[name]:
            wanted = " or ".join(f"{each}D" for each in _DIMS[name])
            raise RuntimeError(f"{said}: expected an input of {wanted}, got {qx.dim()}D")
        if weight is not None and weight.numel() != qx.shape[1]:
            raise RuntimeError("Expect weight size to match C")
        made = torch.batch_norm(qx.dequantize(), weight, bias, mean, var, False, 0.0, eps, False)
        made = torch.relu(made) if relu else made
        if qx.dim() > 3:
            last = torch.channels_last if qx.dim() == 4 else torch.channels_last_3d
            made = made.contiguous(memory_format=last)
        return torch.quantize_per_tensor(made, output_scale, output_zero_point, qx.dtype)

    run.__name__ = f"batch_norm{name}{'_relu' if relu else ''}"
    operator(run.__name__ + _BATCH)(run)


for _name in _DIMS:
    for _relu in (False, True):
        _batch_norm(_name, _relu)


@operator(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, float output_scale, "
    "int output_zero_point) -> Tensor"
)
def _layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Any:
    per_tensor(input, "layer_norm")
    made = torch.layer_norm(input.dequantize(), normalized_shape, weight, bias, eps)
    return torch.quantize_per_tensor(made, output_scale, output_zero_point, input.dtype)


@operator(
    "group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, float output_scale, "
    "int output_zero_point) -> Tensor"
)
def _group_norm(
    input: Any, num_groups: int, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int
) -> Any:
    per_tensor(input, "group_norm")
    made = torch.group_norm(input.dequantize(), num_groups, weight, bias, eps)
    return torch.quantize_per_tensor(made, output_scale, output_zero_point, input.dtype)


@operator(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, float output_scale, int output_zero_point) "
    "-> Tensor"
)
def _instance_norm(input: Any, weight: Any, bias: Any, eps: float, output_scale: float, output_zero_point: int) -> Any:
    return _group_norm(input, input.shape[1], weight, bias, eps, output_scale, output_zero_point).contiguous()
