"""PyTorch's own operator database, run whole on this package beside the real PyTorch: `make test-opdb`."""
