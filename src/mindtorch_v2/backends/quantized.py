"""Engines of quantised arithmetic: none."""

__all__ = ["engine", "supported_engines"]

engine = "none"
supported_engines = ["none"]
