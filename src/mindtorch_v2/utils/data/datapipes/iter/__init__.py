"""Pipes that are iterated."""

from . import combinatorics

__all__ = ["combinatorics"]
