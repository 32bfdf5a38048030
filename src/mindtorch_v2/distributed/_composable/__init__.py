"""`torch.distributed._composable` by its names."""
