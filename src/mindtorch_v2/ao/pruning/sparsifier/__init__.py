"""`torch.ao.pruning.sparsifier`: masks of weights, by their size or their place."""
