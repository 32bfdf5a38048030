"""Shifts as Python's operators spell them."""

from ..table import S, T, aten, composite

_INT = {"dtype": "int64", "low": 0, "high": 8}


def _left(self, other):
    return aten.bitwise_left_shift(self, other)


def _right(self, other):
    return aten.bitwise_right_shift(self, other)


for _name, _body in (("lshift", _left), ("rshift", _right)):
    for _overload in ("Tensor", "Scalar"):
        composite(
            f"__{_name}__.{_overload}(Tensor self, {_overload} other) -> Tensor",
            f"Python's {'<<' if _name == 'lshift' else '>>'}.",
            bind="function generated_out",
            tags="pointwise",
            samples=[S(T(3, 4, **_INT), 2 if _overload == "Scalar" else T(4, **_INT))],
            dtypes="integer",
        )(_body)
