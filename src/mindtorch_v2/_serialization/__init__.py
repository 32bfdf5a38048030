"""The file formats behind `torch.save` and `torch.load`."""
