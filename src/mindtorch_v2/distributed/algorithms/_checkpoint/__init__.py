"""`torch.distributed.algorithms._checkpoint`: layers that are computed again in backward."""
