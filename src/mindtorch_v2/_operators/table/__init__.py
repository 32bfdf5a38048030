"""The operator table: what a row says, and what follows from it. Rows import what they need from here."""

from .facts import Facts, flops_of
from .formula import conj, not_derived, not_recorded
from .names import aliases_of, aten, bound, namespace
from .returns import ReturnType, return_type
from .rows import ROWS, Row, composite, declare, every_row, facts_of, op, row_of, rows_of
from .rules import Rule, like, pointwise, reduce, rule
from .samples import S, Sample, T, TensorSpec
from .writing import class_name, cpp_name, fill, fill_exactly

__all__ = [
    "ROWS",
    "Facts",
    "ReturnType",
    "Row",
    "Rule",
    "S",
    "Sample",
    "T",
    "TensorSpec",
    "aliases_of",
    "aten",
    "bound",
    "class_name",
    "composite",
    "conj",
    "cpp_name",
    "declare",
    "every_row",
    "facts_of",
    "fill",
    "fill_exactly",
    "flops_of",
    "like",
    "namespace",
    "not_derived",
    "not_recorded",
    "op",
    "pointwise",
    "reduce",
    "return_type",
    "row_of",
    "rows_of",
    "rule",
]
