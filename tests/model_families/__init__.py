"""Every family of models that transformers has, made small, run on this package and on PyTorch, and compared."""
