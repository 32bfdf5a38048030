"""Means of PyTorch's own tests that programs import as well."""
