"""`torch._vendor`: packages that PyTorch carries with it, and this one requires."""
