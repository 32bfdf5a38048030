"""`torch.ao.nn.quantizable`: recurrent layers and attention of modules that can be quantized one by one."""

from mindtorch_v2.ao.nn.quantizable.modules import LSTM, LSTMCell, MultiheadAttention

__all__ = ["LSTM", "LSTMCell", "MultiheadAttention"]
