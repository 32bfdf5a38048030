"""Rows of operators with native kernels, a file a family."""
