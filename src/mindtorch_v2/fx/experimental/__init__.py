"""Parts of `torch.fx` whose interface PyTorch calls experimental."""
