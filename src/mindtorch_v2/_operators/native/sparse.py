"""The native part of sparse products."""

from ..table import op

op(
    "_weighted_row_sums(Tensor starts, Tensor columns, Tensor values, Tensor mat) -> Tensor",
    "A matrix compressed by rows (where each begins, the column of each value, the values) times a dense one.",
    grad=None,
)
