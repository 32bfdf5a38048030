"""Modules whose weights are rounded as they will be when they are quantized."""

from mindtorch_v2.ao.nn.qat.modules.conv import Conv1d, Conv2d, Conv3d
from mindtorch_v2.ao.nn.qat.modules.embedding_ops import Embedding, EmbeddingBag
from mindtorch_v2.ao.nn.qat.modules.linear import Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
