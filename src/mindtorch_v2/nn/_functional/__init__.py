"""The implementation of `nn.functional`, by subject; use `nn.functional`."""
