"""Assertions as operators, so that a captured program keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2._operators.table import S, composite

if TYPE_CHECKING:
    from mindtorch_v2.types import Number


@composite(
    "_assert_async(Tensor self) -> ()",
    "Raise RuntimeError unless the one element is nonzero.",
    bind="function",
    explicit=True,
    raises_by_values=True,
    samples=[S(1)],
)
def _assert_async(self) -> None:
    if self.device.type == "meta":
        return
    if self.numel() != 1:
        kind = "more than one value" if self.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    if not self.item():
        raise RuntimeError("Expected Tensor with single nonzero value, but got zero")


@composite(
    "_assert_async.msg(Tensor self, str assert_msg) -> ()",
    "Raise RuntimeError(assert_msg) unless nonzero.",
    bind="function",
    explicit=True,
    raises_by_values=True,
)
def _assert_async_msg(self, assert_msg) -> None:
    if self.device.type != "meta" and not self.item():
        raise RuntimeError(assert_msg)


@composite(
    "_assert_scalar(Scalar self, str assert_msg) -> ()",
    "Raise RuntimeError(assert_msg) if the number is zero.",
    raises_by_values=True,
)
def _assert_scalar(self, assert_msg) -> None:
    if not self:
        raise RuntimeError(assert_msg)


@composite(
    "_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, "
    "Device? device=None, Layout? layout=None) -> ()",
    "Raise RuntimeError unless the tensor has the sizes, strides, dtype, device and layout that are given.",
    bind="function",
)
def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None) -> None:
    for name, actual, expected in (
        ("sizes", tuple(a.shape), None if size is None else tuple(size)),
        ("strides", a.stride(), None if stride is None else tuple(stride)),
        ("dtype", a.dtype, dtype),
        ("device", a.device, device),
        ("layout", a.layout, layout),
    ):
        if expected is not None and actual != expected:
            raise RuntimeError(f"Tensor {name} mismatch! Expected: {expected}, Got: {actual}")


@composite(
    "sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    "Raise RuntimeError unless min <= size <= max.",
)
def sym_constrain_range(size: Number, *, min: int | None = None, max: int | None = None) -> None:
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


@composite(
    "sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
    "Raise RuntimeError unless size is a size between min and max.",
)
def sym_constrain_range_for_size(size: Number, *, min: int | None = None, max: int | None = None) -> None:
    sym_constrain_range(size, min=0 if min is None else min, max=max)
