"""iterators.cpp: loops over TensorIterator, parts of at::native, and small containers."""

import pytest


@pytest.mark.parametrize(
    "name", ["shapes", "types", "outputs", "native", "reductions", "blas", "quantised", "containers", "helpers"]
)
def test_iterators(iterators, name):
    getattr(iterators.module, name)()
