"""`torch.ops.quantized`: operators on quantized tensors, and the packed weights that their layers hold.

Loaded when one of them is asked for. Numbers are those of PyTorch on x86: exact sums of 32 bits, brought back to eight bits by
one factor of float32.
"""

from mindtorch_v2._quantized import activation, arithmetic, conv, embedding, linear, norm, pool, recurrent

__all__ = ["activation", "arithmetic", "conv", "embedding", "linear", "norm", "pool", "recurrent"]
