"""Programs of third-party libraries, run on this package and on the real PyTorch, and how their values compare."""
