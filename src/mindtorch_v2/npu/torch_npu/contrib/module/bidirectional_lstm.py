"""A recurrent layer in both directions, as two of one."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["BiLSTM"]


class BiLSTM(nn.Module):
    """Two LSTMs, forward and backward, side by side.

    Shape:
        (length, batch, input_size); (length, batch, 2 hidden_size).
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.fw_rnn = nn.LSTM(input_size, hidden_size)
        self.bw_rnn = nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: Tensor) -> Tensor:
        """The states of both at each place."""
        backward = self.bw_rnn(inputs.flip(0))[0].flip(0)
        return torch.cat([self.fw_rnn(inputs)[0], backward], 2)
