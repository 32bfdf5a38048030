"""Functions of `torch.autograd` from before its operators had gradients of their own, kept for what still calls them."""

from mindtorch_v2.autograd._functions.tensor import Resize, Type

__all__ = ["Resize", "Type"]
