"""Sparse tensors: their kernels, written with dense operators on indices and values.

A sparse tensor has the dispatch key SparseCPU (coordinates) or SparseCsrCPU (compressed rows or columns) and no memory of its
own; what it is made of stands in :mod:`.parts`. Autograd works above these keys, with the formulas of the rows. An operator
without a kernel here raises NotImplementedError, as in PyTorch.
"""

from . import convert, create, embedding, layout, pointwise, product, reduce, reduced_product, shape

__all__ = ["convert", "create", "embedding", "layout", "pointwise", "product", "reduce", "shape"]
