"""`torch.ao.quantization.fx`: quantization of models as graphs."""
