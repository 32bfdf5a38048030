"""The examples in PyTorch's docstrings, run on PyTorch and on this package: `python -m tests.docstring_examples`."""
