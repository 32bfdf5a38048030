"""Operators whose Python body is their definition, a file a family."""
