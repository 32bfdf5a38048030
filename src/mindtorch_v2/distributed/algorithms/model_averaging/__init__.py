"""Parameters that are averaged over the ranks now and then, where gradients are not."""

from mindtorch_v2.distributed.algorithms.model_averaging import averagers, hierarchical_model_averager, utils

__all__ = ["averagers", "hierarchical_model_averager", "utils"]
