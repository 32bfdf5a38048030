"""Sparse tensors: their kernels, written with dense operators on indices and values.

A sparse tensor has the dispatch key SparseCPU (coordinates) or SparseCsrCPU (compressed rows or columns) and no memory of its
own; what it is made of stands in :mod:`.parts`. Autograd works above these keys, with the formulas of the rows. An operator
without a kernel here raises NotImplementedError, as in PyTorch.
"""

from . import (  # each registers its kernels: those of `sparse`, the family, and those of other families in files of their names
    _shared,
    arithmetic,
    cast,
    complex,
    convert,
    create,
    creation,
    embedding,
    index,
    join,
    layout,
    matmul,
    random,
    reduced_product,
    reduction,
    view,
)

__all__ = [
    "_shared",
    "arithmetic",
    "cast",
    "complex",
    "convert",
    "create",
    "creation",
    "embedding",
    "index",
    "join",
    "layout",
    "matmul",
    "random",
    "reduced_product",
    "reduction",
    "view",
]
