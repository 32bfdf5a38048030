"""`default_partition`, `min_cut_rematerialization_partition`: a joint graph as a forward and a backward one."""

from mindtorch_v2._lowered.partition import default_partition, min_cut_rematerialization_partition

__all__ = ["default_partition", "min_cut_rematerialization_partition"]
