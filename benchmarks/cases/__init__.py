"""Every benchmark case. A case is a function of the library under test, `torch`, that returns what is to be timed.

The modules of this package register their cases at import; `CASES` lists them in order.
"""

from cases import (
    attention,
    compiled,
    custom_operators,
    data,
    inference,
    kernels,
    matmul,
    models,
    operators,
    overhead,
    packed,
    signals,
    training,
)
from cases.registry import CASES, Bar, Case

__all__ = [
    "CASES",
    "Bar",
    "Case",
    "attention",
    "compiled",
    "custom_operators",
    "data",
    "inference",
    "kernels",
    "matmul",
    "models",
    "operators",
    "overhead",
    "packed",
    "signals",
    "training",
]
