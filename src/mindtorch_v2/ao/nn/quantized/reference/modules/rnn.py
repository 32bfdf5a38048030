"""Recurrent layers and cells with weights that are yet to be quantized."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.reference.modules.utils import (
    load_qparams,
    quantized_weight,
    rounded_weight,
    save_qparams,
    take_qparams,
)
from mindtorch_v2.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


class _Reference:
    """A reference recurrent module: it computes with what its quantized weights stand for."""

    _IS_REFERENCE = True

    def _weights(self: Any) -> tuple[str, ...]:
        return tuple(name for name, _ in self.named_parameters(recurse=False) if name.startswith("weight"))

    def _take(self: Any, given: dict[str, Any] | None, device: Any) -> None:
        for name in self._weights():
            take_qparams(self, name, None if given is None else given[name], device)

    def _rounded(self: Any, name: str) -> Any:
        return rounded_weight(self, name, getattr(self, name))

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]  # (the float class beside it)
        save_qparams(self, self._weights(), destination, prefix)

    def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, *args: Any) -> None:
        load_qparams(self, self._weights(), state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args)  # type: ignore[misc]  # (the float class beside it)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}(Reference)"

    def _copy(self: Any, mod: Any) -> Any:
        """The floating weights and biases of `mod`."""
        for name, value in mod.named_parameters(recurse=False):
            setattr(self, name, nn.Parameter(value.detach()))
        return self


class _Cell(_Reference):
    def get_quantized_weight_ih(self: Any) -> Any:
        """The quantized weight of the input."""
        return quantized_weight(self, "weight_ih", self.weight_ih)

    def get_quantized_weight_hh(self: Any) -> Any:
        """The quantized weight of what is remembered."""
        return quantized_weight(self, "weight_hh", self.weight_hh)

    def get_weight_ih(self) -> Any:
        """The numbers that the quantized weight of the input stands for."""
        return self._rounded("weight_ih")

    def get_weight_hh(self) -> Any:
        """The numbers that the quantized weight of what is remembered stands for."""
        return self._rounded("weight_hh")

    def _run(self: Any, name: str, input: Any, hx: Any) -> Any:
        single = input.dim() == 1
        input = input.unsqueeze(0) if single else input
        many = name == "lstm_cell"
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros) if many else zeros
        elif single:
            hx = tuple(each.unsqueeze(0) for each in hx) if many else hx.unsqueeze(0)
        weights = (self.get_weight_ih(), self.get_weight_hh(), self.bias_ih, self.bias_hh)
        made = getattr(torch, name)(input, hx, *weights)
        if not single:
            return made
        return tuple(each.squeeze(0) for each in made) if many else made.squeeze(0)

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: dict[str, Any]) -> Any:
        """The module of a floating one and how its weights are quantized."""
        extra = {"nonlinearity": mod.nonlinearity} if hasattr(mod, "nonlinearity") else {}
        made: Any = cls(  # type: ignore[call-arg]  # (the float class beside it)
            mod.input_size, mod.hidden_size, mod.bias, weight_qparams_dict=weight_qparams_dict, **extra
        )
        return made._copy(mod)


class RNNCell(_Cell, nn.RNNCell):
    """A cell of `tanh` or `relu` by what its quantized weights stand for.

    >>> torch.ao.nn.quantized.reference.RNNCell(2, 3)
    QuantizedRNNCell(Reference)(2, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, nonlinearity, device, dtype)
        self._take(weight_qparams_dict, device)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run(f"rnn_{self.nonlinearity}_cell", input, hx)


class LSTMCell(_Cell, nn.LSTMCell):
    """A cell of a long short-term memory by what its quantized weights stand for.

    >>> torch.ao.nn.quantized.reference.LSTMCell(2, 3)
    QuantizedLSTMCell(Reference)(2, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self._take(weight_qparams_dict, device)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run("lstm_cell", input, hx)


class GRUCell(_Cell, nn.GRUCell):
    """A cell of a gated recurrent unit by what its quantized weights stand for.

    >>> torch.ao.nn.quantized.reference.GRUCell(2, 3)
    QuantizedGRUCell(Reference)(2, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams_dict: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self._take(weight_qparams_dict, device)

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._run("gru_cell", input, hx)


class _Layer(_Reference):
    def __init__(self: Any, *args: Any, weight_qparams_dict: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._take(weight_qparams_dict, kwargs.get("device"))

    def get_flat_weights(self: Any) -> list[Any]:
        """The weights that computing takes, of what the quantized ones stand for, and the biases."""
        return [
            self._rounded(name) if name.startswith("weight") else getattr(self, name)
            for name in self._flat_weights_names
        ]

    def get_quantized_weight_bias_dict(self: Any) -> dict[str, Any]:
        """The quantized weights and the biases, by name."""
        return {
            name: quantized_weight(self, name, getattr(self, name))
            if name.startswith("weight")
            else getattr(self, name)
            for name in self._flat_weights_names
        }

    def forward(self: Any, input: Any, hx: Any = None) -> Any:
        """The outputs of a sequence (or a packed one), and the last state."""
        many, sizes, order, back = self.mode == "LSTM", None, None, None
        output: Any
        if isinstance(input, PackedSequence):
            input, sizes, order, back = input
            batch = int(sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        if hx is None:
            count = self.num_layers * (2 if self.bidirectional else 1)
            zeros = torch.zeros(count, batch, self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros) if many else zeros
        elif order is not None:
            hx = tuple(each.index_select(1, order) for each in hx) if many else hx.index_select(1, order)
        run = torch.lstm if many else torch.gru
        rest = (self.get_flat_weights(), self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if sizes is None:
            output, *ends = run(input, hx, *rest, self.batch_first)
        else:
            output, *ends = run(input, sizes, hx, *rest)
            output = PackedSequence(output, sizes, order, back)
        ends = [each if back is None else each.index_select(1, back) for each in ends]
        return output, tuple(ends) if many else ends[0]

    @classmethod
    def from_float(cls, mod: Any, weight_qparams_dict: dict[str, Any]) -> Any:
        """The module of a floating one and how its weights are quantized."""
        made: Any = cls(
            mod.input_size,
            mod.hidden_size,
            mod.num_layers,
            mod.bias,
            mod.batch_first,
            mod.dropout,
            mod.bidirectional,
            weight_qparams_dict=weight_qparams_dict,
        )
        return made._copy(mod)


class LSTM(_Layer, nn.LSTM):
    """A long short-term memory by what its quantized weights stand for.

    >>> torch.ao.nn.quantized.reference.LSTM(2, 3)
    QuantizedLSTM(Reference)(2, 3)
    """


class GRU(_Layer, nn.GRU):
    """A gated recurrent unit by what its quantized weights stand for.

    >>> torch.ao.nn.quantized.reference.GRU(2, 3)
    QuantizedGRU(Reference)(2, 3)
    """
