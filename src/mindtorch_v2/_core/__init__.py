"""Levels 0 to 2 of the house: dtypes, devices, errors, storage, autograd, and the protocols that tensors ask before a call."""
