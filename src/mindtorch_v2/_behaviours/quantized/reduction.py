"""Means and deviations."""

from .table import through_floats

through_floats("mean", "mean.dim", "std.correction")
