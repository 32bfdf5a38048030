"""Batch norms without running statistics, which functions of slices cannot write."""

from __future__ import annotations

from mindtorch_v2 import nn

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: nn.Module) -> nn.Module:
    """Take the running statistics from every batch norm of a module, in place, so that `vmap` can map over it.

    They normalise by the statistics of their batch from then on, in evaluation too. Returns `root`.

    >>> net = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
    >>> net[0].running_mean, net[0].track_running_stats
    (None, False)
    """
    for module in root.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
