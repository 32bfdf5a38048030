"""Symbolic numbers of PyTorch's compiler, by their names."""
