"""PyTorch's first interface for operators of the user's, of 2.1 to 2.3: `torch.library` is its successor."""
