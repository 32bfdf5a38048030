"""Pipes of data, of which there are names only: a `Dataset` and a `DataLoader` do what they did."""

from . import iter

__all__ = ["iter"]
