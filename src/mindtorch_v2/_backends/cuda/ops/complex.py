"""Complex numbers."""

from __future__ import annotations

from ..pointwise import pointwise

pointwise("_conj_physical", "conj(self)")
pointwise("angle", "angle_of(self)", compute="self")
pointwise("complex", "T(real, imag)", raw="real imag")
pointwise("polar", "T(abs * cos(angle), abs * sin(angle))", raw="abs angle")
