"""Casts and copies that are made of other operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Number


def _tensor(value: Tensor | Number) -> Tensor:
    """A number of a call of torch.ops as the tensor that it stands for there."""
    if not isinstance(value, (bool, int, float, complex)):
        return value
    kind = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}[type(value)]
    return aten.scalar_tensor(value, dtype=DTYPES[kind])


@composite(
    "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
    "The elements of `src`, broadcast and cast to the sizes and dtype of `self`, in a new tensor.",
    bind="generated_out",
    tags="core",
    takes_numbers=True,
)
def copy(self: Tensor | Number, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    return aten.copy_(aten.empty_like(_tensor(self)), _tensor(src), non_blocking)


@composite(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    "A tensor of the same size filled with `value`.",
    bind="function generated_out",
    tags="core",
    samples=[S(T(3, 4), 2)],
)
def fill_number(self: Tensor, value: Number) -> Tensor:
    return aten.fill_(aten.clone(self), value)


@composite(
    "fill.Tensor(Tensor self, Tensor value) -> Tensor",
    "A tensor of the same size filled with `value`.",
    bind="function generated_out",
    samples=[S(T(3, 4), T())],
)
def fill_tensor(self: Tensor, value: Tensor) -> Tensor:
    return aten.fill_(aten.clone(self), value)


@composite(
    "zero(Tensor self) -> Tensor",
    "A tensor of the same size filled with 0.",
    bind="generated_out",
    tags="generated",
    samples=[S(3, 4)],
)
def zero(self: Tensor) -> Tensor:
    return aten.zero_(aten.clone(self))


def _cast_to(name):
    return lambda self, non_blocking=False: aten.to(self, DTYPES[name], non_blocking)


for _kind, _name in {
    "Byte": "uint8",
    "Char": "int8",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}.items():
    composite(
        f"_cast_{_kind}(Tensor self, bool non_blocking=False) -> Tensor",
        f"The elements as {_name}.",
        bind="function",
        gives_back=True,
        samples=[S(T(3, 4))],
    )(_cast_to(_name))


@composite(
    "_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, ScalarType cuda_dtype,"
    " ScalarType cpu_dtype) -> Tensor(a)",
    "float32 as the dtype that autocast computes with on the tensor's device.",
    bind="method",
    gives_back=True,
    samples=None,
)
def _autocast_to_reduced_precision(
    self: Tensor, cuda_enabled: bool, cpu_enabled: bool, cuda_dtype: dtype, cpu_dtype: dtype
) -> Tensor:
    on, wanted = (cuda_enabled, cuda_dtype) if self.is_cuda else (cpu_enabled and self.is_cpu, cpu_dtype)
    return self.to(wanted) if on and self.dtype == DTYPES["float32"] else self


@composite(
    "_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)",
    "float16 and bfloat16 as float32, where autocast is on for the tensor's device.",
    bind="method",
    gives_back=True,
    samples=None,
)
def _autocast_to_full_precision(self: Tensor, cuda_enabled: bool, cpu_enabled: bool) -> Tensor:
    on = cuda_enabled if self.is_cuda else cpu_enabled and self.is_cpu
    lower = self.dtype in (DTYPES["float16"], DTYPES["bfloat16"])
    return self.to(DTYPES["float32"]) if on and lower else self
