"""iterators.cpp: loops over TensorIterator, parts of at::native, and small containers."""

import pytest


@pytest.mark.parametrize("name", ["shapes", "types", "outputs", "native", "containers"])
def test_iterators(iterators, name):
    getattr(iterators.module, name)()
