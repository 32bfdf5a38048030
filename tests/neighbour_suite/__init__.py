"""The tests of libraries beside transformers, under pytest, on this package beside the real PyTorch."""
