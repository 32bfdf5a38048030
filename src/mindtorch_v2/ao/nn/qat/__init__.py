"""`torch.ao.nn.qat`: modules for training that is aware of quantization."""

from mindtorch_v2.ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Embedding, EmbeddingBag, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
