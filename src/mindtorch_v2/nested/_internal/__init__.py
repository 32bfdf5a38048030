"""The parts of `torch.nested`, in PyTorch's modules."""
