"""Recurrent layers and attention of modules that can be quantized one by one."""

from mindtorch_v2.ao.nn.quantizable.modules.activation import MultiheadAttention
from mindtorch_v2.ao.nn.quantizable.modules.rnn import LSTM, LSTMCell

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
