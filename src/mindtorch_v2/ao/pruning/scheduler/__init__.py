"""`torch.ao.pruning.scheduler`: levels of sparsity that change from step to step."""
