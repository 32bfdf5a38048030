"""`torch.autograd.variable`: where `Variable` was, when tensors were wrapped in it to have gradients."""

from . import Variable

__all__ = ["Variable"]
