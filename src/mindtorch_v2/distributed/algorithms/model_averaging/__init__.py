"""Parameters that are averaged over the ranks now and then, where gradients are not."""

from mindtorch_v2.distributed.algorithms.model_averaging import averagers, utils

__all__ = ["averagers", "utils"]
