"""Passes over graphs of one dialect of operators."""
