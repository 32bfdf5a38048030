"""Quantizers: what the whole numbers of a quantized tensor stand for."""

from __future__ import annotations

from typing import Any

from .qscheme import per_channel_affine, per_channel_affine_float_qparams, per_tensor_affine, qscheme


class PerTensor:
    """One scale and one zero point."""

    __slots__ = ("scale", "zero_point")
    axis: int | None = None

    def __init__(self, scale: float, zero_point: int) -> None:
        self.scale, self.zero_point = float(scale), int(zero_point)

    @property
    def scheme(self) -> qscheme:
        """`torch.per_tensor_affine`."""
        return per_tensor_affine

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerTensor) and (self.scale, self.zero_point) == (other.scale, other.zero_point)

    __hash__ = None  # type: ignore[assignment]  # (what is equal by value is no key)


class PerChannel:
    """A scale and a zero point for each index of the dimension `axis`; zero points that are floating are added first."""

    __slots__ = ("axis", "scales", "zero_points")

    def __init__(self, scales: Any, zero_points: Any, axis: int) -> None:
        self.scales, self.zero_points, self.axis = scales, zero_points, axis

    @property
    def floating(self) -> bool:
        """Whether zero points are floating numbers."""
        return bool(self.zero_points.is_floating_point())

    @property
    def scheme(self) -> qscheme:
        """`torch.per_channel_affine`, or with floating zero points `torch.per_channel_affine_float_qparams`."""
        return per_channel_affine_float_qparams if self.floating else per_channel_affine

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PerChannel)
            and self.axis == other.axis
            and self.floating == other.floating
            and self.scales.equal(other.scales)
            and self.zero_points.equal(other.zero_points)
        )

    __hash__ = None  # type: ignore[assignment]  # (what is equal by value is no key)
