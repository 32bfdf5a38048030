"""`torch.ao`: quantization by its names."""
