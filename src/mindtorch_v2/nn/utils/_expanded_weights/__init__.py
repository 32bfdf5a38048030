"""Gradients of each sample of a batch, instead of their sum: what `call_for_per_sample_grads` makes of a module's weights."""

from mindtorch_v2.nn.utils._expanded_weights.expanded_weights_impl import ExpandedWeight

__all__ = ["ExpandedWeight"]
