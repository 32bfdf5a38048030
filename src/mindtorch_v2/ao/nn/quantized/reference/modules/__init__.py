"""Modules of floats whose weights are yet to be quantized."""

from mindtorch_v2.ao.nn.quantized.reference.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from mindtorch_v2.ao.nn.quantized.reference.modules.linear import Linear
from mindtorch_v2.ao.nn.quantized.reference.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell
from mindtorch_v2.ao.nn.quantized.reference.modules.sparse import Embedding, EmbeddingBag

__all__ = [
    "GRU",
    "LSTM",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Embedding",
    "EmbeddingBag",
    "GRUCell",
    "LSTMCell",
    "Linear",
    "RNNCell",
]
