"""Parts of PyTorch's `torch.testing._internal.distributed` that programs take."""
