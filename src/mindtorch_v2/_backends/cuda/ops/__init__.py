"""The kernels of the rows, a file a family."""
