"""PyTorch's own test files, run unmodified on this package beside the real PyTorch: `make pytorch-suite`."""
