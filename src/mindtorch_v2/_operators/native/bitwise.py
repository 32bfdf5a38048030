"""Bitwise operators and shifts of integers and bool, greatest common divisor, least common multiple."""

from ..table import S, T, like, op, pointwise

_INT = {"dtype": "int64", "low": -8, "high": 8}

for _name in ("and", "or", "xor"):
    op(
        f"bitwise_{_name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"Bitwise {_name}; logical for bool.",
        bind="function method inplace out",
        out_overload="Tensor_out",
        tags="core pointwise",
        meta=pointwise("self", "other"),
        grad=None,
        samples=[S(T(3, 4, **_INT), T(4, **_INT))],
        dtypes="integer bool",
    )
    op(
        f"bitwise_{_name}.Scalar(Tensor self, Scalar other) -> Tensor",
        f"Bitwise {_name}; logical for bool.",
        bind="function method inplace out",
        tags="core pointwise",
        meta=pointwise("self", "other"),
        grad=None,
        samples=[S(T(3, 4, **_INT), 3)],
        dtypes="integer",
    )
    op(
        f"bitwise_{_name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        f"Bitwise {_name}; logical for bool.",
        bind="function out",
        out_dtype="exact",
        tags="pointwise",
        out_tags="generated",
        meta=pointwise("self", "other"),
        grad=None,
        samples=[S(3, T(3, 4, **_INT))],
        dtypes="integer",
    )

op(
    "bitwise_not(Tensor self) -> Tensor",
    "Bitwise complement; logical not for bool.",
    bind="function method inplace out",
    out_dtype="found",
    tags="core pointwise",
    meta=like("self"),
    grad=None,
    samples=[S(T(3, 4, **_INT))],
    dtypes="integer bool",
)

for _name in ("left", "right"):
    for _overload, _self, _other in (
        ("Tensor", "Tensor", "Tensor"),
        ("Tensor_Scalar", "Tensor", "Scalar"),
        ("Scalar_Tensor", "Scalar", "Tensor"),
    ):
        op(
            f"bitwise_{_name}_shift.{_overload}({_self} self, {_other} other) -> Tensor",
            f"Bits moved to the {_name} by `other` places.",
            bind="function out" if _self == "Scalar" else "function method inplace out",
            out_overload=f"{_overload}_out",
            out_dtype="exact" if _self == "Scalar" else "",
            tags="pointwise",
            out_tags="generated" if _self == "Scalar" else "pointwise",
            meta=pointwise("self", "other"),
            grad=None,
            samples=[
                S(
                    T(3, 4, **_INT) if _self == "Tensor" else 3,
                    T(4, dtype="int64", low=0, high=5) if _other == "Tensor" else 2,
                )
            ],
            dtypes="integer",
        )

op(
    "gcd(Tensor self, Tensor other) -> Tensor",
    "Greatest common divisor.",
    bind="function method inplace out",
    tags="pointwise",
    inplace_tags="",
    cheap=False,
    meta=pointwise("self", "other"),
    grad=None,
    samples=[S(T(3, 4, **_INT), T(4, **_INT))],
    dtypes="integer",
)

op(
    "lcm(Tensor self, Tensor other) -> Tensor",
    "Least common multiple.",
    bind="function method inplace out",
    tags="pointwise",
    inplace_tags="",
    cheap=False,
    meta=pointwise("self", "other"),
    grad=None,
    samples=[S(T(3, 4, **_INT), T(4, **_INT))],
    dtypes="integer",
)
