"""Observers by kind; `torch.ao.quantization.observer` has them together."""
