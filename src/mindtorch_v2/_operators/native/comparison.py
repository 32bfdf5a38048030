"""Comparisons, tests of numbers, logical operators. Results are bool and have no gradient."""

from __future__ import annotations

from typing import Any

from ..table import S, T, op, pointwise

_COMPARISONS = {
    "eq": ("equal to", "all", ""),
    "ge": ("greater than or equal to", "real", "greater_equal"),
    "gt": ("greater than", "real", "greater"),
    "le": ("less than or equal to", "real", "less_equal"),
    "lt": ("less than", "real", "less"),
    "ne": ("not equal to", "all", "not_equal"),
}

for _name, (_words, _dtypes, _alias) in _COMPARISONS.items():
    op(
        f"{_name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"True where `self` is {_words} `other`.",
        bind="function method inplace out",
        out_overload="Tensor_out",
        tags="core pointwise",
        inplace_tags="",
        meta=pointwise("self", "other", to="bool"),
        grad=None,
        samples=[S(T(3, 4, grad=False), T(4, grad=False))],
        dtypes=_dtypes,
        alias=_alias,
    )
    op(
        f"{_name}.Scalar(Tensor self, Scalar other) -> Tensor",
        f"True where `self` is {_words} `other`.",
        bind="function method inplace out",
        tags="core pointwise",
        inplace_tags="",
        meta=pointwise("self", "other", to="bool"),
        grad=None,
        samples=[S(T(3, 4, grad=False), 1)],
        dtypes=_dtypes,
        alias=_alias,
    )

op(
    "equal(Tensor self, Tensor other) -> bool",
    "Whether the two tensors have the same size and the same elements.",
    bind="function method",
    tags="pointwise data_dependent_output",
    elementwise=False,
    grad=None,
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False))],
    dtypes="all",
)

op(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    "True where `|self - other| <= atol + rtol * |other|`.",
    bind="function method",
    elementwise=True,
    meta=pointwise("self", "other", to="bool"),
    grad=None,
    samples=[S(T(3, 4, grad=False), T(4, grad=False), rtol=0.1)],
    dtypes="all",
)


def _isclose(self: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    close = self == other
    if equal_nan and (self.dtype.is_floating_point or self.is_complex()):
        close = close | ((self != self) & (other != other))
    if rtol == 0 and atol == 0:
        return close
    allowed = atol + (rtol * other).abs()
    distance = (self - other).abs()
    return close | (distance.isfinite() & (distance <= allowed))


COMPOSED = {"isclose": _isclose}
"""Those that PyTorch composes of others, on a device of a program's own too."""

_TESTS = {
    "isfinite": ("neither infinite nor NaN", "function method", "all"),
    "isinf": ("positive or negative infinity", "function method generated_out", "all"),
    "isnan": ("NaN", "function method generated_out", "all"),
    "isneginf": ("negative infinity", "function method out", "real"),
    "isposinf": ("positive infinity", "function method out", "real"),
    "signbit": ("negative, the sign of zero and NaN included", "function method out", "real"),
}

for _name, (_words, _bind, _dtypes) in _TESTS.items():
    op(
        f"{_name}(Tensor self) -> Tensor",
        f"True where `self` is {_words}.",
        bind=_bind,
        out_dtype=f"{_name} does not support non-boolean outputs." if " out" in _bind else "",
        tags="core pointwise" if _name in ("isinf", "isnan") else "pointwise",
        keeps_zero=_name != "isfinite",
        meta=pointwise("self", to="bool"),
        grad=None,
        samples=[S(T(3, 4, grad=False))],
        dtypes=_dtypes,
    )

for _name, _words in {"and": "both are", "or": "either is", "xor": "exactly one is"}.items():
    op(
        f"logical_{_name}(Tensor self, Tensor other) -> Tensor",
        f"True where {_words} nonzero.",
        bind="function method inplace out",
        tags="core pointwise",
        meta=pointwise("self", "other", to="bool"),
        grad=None,
        samples=[S(T(3, 4, grad=False), T(4, grad=False))],
        dtypes="all",
    )

op(
    "logical_not(Tensor self) -> Tensor",
    "True where `self` is zero.",
    bind="function method inplace out",
    tags="core pointwise",
    meta=pointwise("self", to="bool"),
    grad=None,
    samples=[S(T(3, 4, grad=False))],
    dtypes="all",
)
