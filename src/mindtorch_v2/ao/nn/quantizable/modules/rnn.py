"""LSTMs of modules that can be observed and quantized one by one."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantized

__all__ = ["LSTM", "LSTMCell"]

nnq: Any = quantized
_GATES = ("input", "forget", "cell", "output")
States = tuple[Any, Any]


class LSTMCell(nn.Module):
    """One step of an LSTM: linear layers, sigmoids and tanhs, and sums and products that are observed.

    `split_gates`: a linear layer for each gate, in place of one for all.

    >>> cell = torch.ao.nn.quantizable.LSTMCell(3, 2)
    >>> hidden, state = cell(torch.ones(1, 3))
    >>> hidden.shape
    torch.Size([1, 2])
    """

    _FLOAT_MODULE = nn.LSTMCell
    __constants__ = ["split_gates"]

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size, self.hidden_size = input_dim, hidden_dim
        self.bias, self.split_gates = bias, split_gates
        if split_gates:
            self.igates: Any = nn.ModuleDict()
            self.hgates: Any = nn.ModuleDict()
            self.gates: Any = nn.ModuleDict()
            for name in _GATES:
                self.igates[name] = nn.Linear(input_dim, hidden_dim, bias=bias, **where)
                self.hgates[name] = nn.Linear(hidden_dim, hidden_dim, bias=bias, **where)
                self.gates[name] = nnq.FloatFunctional()
        else:
            self.igates = nn.Linear(input_dim, 4 * hidden_dim, bias=bias, **where)
            self.hgates = nn.Linear(hidden_dim, 4 * hidden_dim, bias=bias, **where)
            self.gates = nnq.FloatFunctional()
        self.input_gate, self.forget_gate = nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate, self.output_gate = nn.Tanh(), nn.Sigmoid()
        self.fgate_cx = nnq.FloatFunctional()
        self.igate_cgate = nnq.FloatFunctional()
        self.fgate_cx_igate_cgate = nnq.FloatFunctional()
        self.ogate_cy = nnq.FloatFunctional()
        # Of the states before the first step, where they are quantized.
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype: torch.dtype = torch.quint8
        self.cell_state_dtype: torch.dtype = torch.quint8

    def forward(self, x: torch.Tensor, hidden: Any = None) -> States:
        """The hidden and the cell state after the step."""
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        hx, cx = hidden
        if self.split_gates:
            parts = [self.gates[name].add(self.igates[name](x), self.hgates[name](hx)) for name in _GATES]
        else:
            parts = self.gates.add(self.igates(x), self.hgates(hx)).chunk(4, 1)
        input_gate, forget_gate, cell_gate, output_gate = (
            gate(part)
            for gate, part in zip(
                (self.input_gate, self.forget_gate, self.cell_gate, self.output_gate), parts, strict=True
            )
        )
        kept = self.fgate_cx.mul(forget_gate, cx)
        new = self.igate_cgate.mul(input_gate, cell_gate)
        cy = self.fgate_cx_igate_cgate.add(kept, new)
        return self.ogate_cy.mul(output_gate, torch.tanh(cy)), cy

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> States:
        """States of zeros."""
        made: list[Any] = [torch.zeros((batch_size, self.hidden_size)) for _ in range(2)]
        if is_quantized:
            settings = (
                (self.initial_hidden_state_qparams, self.hidden_state_dtype),
                (self.initial_cell_state_qparams, self.cell_state_dtype),
            )
            for index, ((scale, zero_point), dtype) in enumerate(settings):
                made[index] = torch.quantize_per_tensor(made[index], scale=scale, zero_point=zero_point, dtype=dtype)
        return made[0], made[1]

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None, split_gates: bool = False) -> Self:
        """A cell with the weights and biases of one of `torch.nn`."""
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        made = cls(wi.shape[1], wh.shape[1], bias=bi is not None, split_gates=split_gates)
        for gates, weight, bias in ((made.igates, wi, bi), (made.hgates, wh, bh)):
            layers = list(gates.values()) if split_gates else [gates]
            for name, value in (("weight", weight), ("bias", bias)):
                if value is not None:
                    for layer, part in zip(layers, value.chunk(len(layers), dim=0), strict=True):
                        setattr(layer, name, nn.Parameter(part))
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False) -> Self:
        """The cell that takes the place of one of `torch.nn`."""
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made: Any = cls.from_params(
            other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh, split_gates=split_gates
        )
        layers = [*made.igates.values(), *made.hgates.values()] if split_gates else []
        for each in (made, made.igates, made.hgates, *layers):
            each.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """A cell over the steps of a sequence."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.cell = LSTMCell(input_dim, hidden_dim, bias, device, dtype, split_gates=split_gates)

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, Any]:
        """The hidden states of all steps, and both states after the last."""
        made = []
        for step in range(x.shape[0]):
            hidden = self.cell(x[step], hidden)
            made.append(hidden[0])
        return torch.stack(made, 0), hidden

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> Self:
        """A layer with the weights and biases of one of `torch.nn`."""
        cell = LSTMCell.from_params(*args, **kwargs)
        made = cls(cell.input_size, cell.hidden_size, cell.bias, split_gates=cell.split_gates)
        made.cell = cell
        return made


class _LSTMLayer(nn.Module):
    """A layer in one direction, or in both."""

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        batch_first: bool = False,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, bidirectional
        sizes = (input_dim, hidden_dim, bias, device, dtype)
        self.layer_fw = _LSTMSingleLayer(*sizes, split_gates=split_gates)
        if bidirectional:
            self.layer_bw = _LSTMSingleLayer(*sizes, split_gates=split_gates)

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, States]:
        """The hidden states of all steps, and the states after the last of each direction."""
        if self.batch_first:
            x = x.transpose(0, 1)
        hx, cx = (None, None) if hidden is None else hidden
        if not self.bidirectional:
            result, (h, c) = self.layer_fw(x, None if hx is None and cx is None else (hx, cx))
        else:
            forward, back = ((None if hx is None else hx[way], None if cx is None else cx[way]) for way in (0, 1))
            result_fw, hidden_fw = self.layer_fw(x, None if forward == (None, None) else forward)
            result_bw, hidden_bw = self.layer_bw(x.flip(0), None if None in (hx, cx) else back)
            result_bw = result_bw.flip(0)
            result = torch.cat([result_fw, result_bw], result_fw.dim() - 1)
            h, c = (torch.stack([hidden_fw[i], hidden_bw[i]], 0) for i in (0, 1))
        if self.batch_first:
            result.transpose_(0, 1)
        return result, (h, c)

    @classmethod
    def from_float(cls, other: Any, layer_idx: int = 0, qconfig: Any = None, **kwargs: Any) -> Self:
        """The layer that takes the place of one of an LSTM of `torch.nn`."""
        if not hasattr(other, "qconfig") and qconfig is None:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        names = ("input_size", "hidden_size", "bias", "batch_first", "bidirectional")
        split = kwargs.get("split_gates", False)
        made: Any = cls(*(kwargs.get(name, getattr(other, name)) for name in names), split_gates=split)
        made.qconfig = getattr(other, "qconfig", qconfig)
        for name, end in (("layer_fw", ""), ("layer_bw", "_reverse"))[: 2 if other.bidirectional else 1]:
            values = [
                getattr(other, f"{kind}_l{layer_idx}{end}", None)
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            ]
            setattr(made, name, _LSTMSingleLayer.from_params(*values, split_gates=split))
        return made


class LSTM(nn.Module):
    """`torch.nn.LSTM` of modules that can be observed and quantized; `prepare` puts it in that one's place.

    >>> lstm = torch.ao.nn.quantizable.LSTM(3, 2, num_layers=2)
    >>> output, (hidden, state) = lstm(torch.ones(4, 1, 3))
    >>> output.shape, hidden.shape
    (torch.Size([4, 1, 2]), torch.Size([2, 1, 2]))
    """

    _FLOAT_MODULE = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first = bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.training = False
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0:
            warnings.warn(
                "dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version "
                "followed by `prepare` step.",
                stacklevel=2,
            )
            if num_layers == 1:
                warnings.warn(
                    "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                    f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                    stacklevel=2,
                )
        self.layers = nn.ModuleList(
            _LSTMLayer(
                input_size if index == 0 else hidden_size,
                hidden_size,
                bias,
                False,
                bidirectional,
                device,
                dtype,
                split_gates=split_gates,
            )
            for index in range(max(num_layers, 1))
        )

    def forward(self, x: torch.Tensor, hidden: Any = None) -> tuple[Any, States]:
        """The last layer's hidden states of all steps, and all layers' states after the last."""
        if self.batch_first:
            x = x.transpose(0, 1)
        found = []
        for layer, states in zip(self.layers, self._states(x, hidden), strict=False):
            x, after = layer(x, states)
            found.append(after)
        h, c = (torch.stack([states[i] for states in found]) for i in (0, 1))
        h, c = (each.reshape(-1, each.shape[-2], each.shape[-1]) for each in (h, c))
        return (x.transpose(0, 1) if self.batch_first else x), (h, c)

    def _states(self, x: torch.Tensor, hidden: Any) -> Any:
        """The states before the first step, of each layer."""
        ways, batch = 2 if self.bidirectional else 1, x.size(1)
        if hidden is None:
            zeros: Any = torch.zeros(ways, batch, self.hidden_size, dtype=torch.float, device=x.device)
            zeros.squeeze_(0)
            if x.is_quantized:
                zeros = torch.quantize_per_tensor(zeros, scale=1.0, zero_point=0, dtype=x.dtype)
            return [(zeros, zeros)] * self.num_layers
        if not isinstance(hidden[0], torch.Tensor):
            return hidden
        hx, cx = (each.reshape(self.num_layers, ways, batch, self.hidden_size) for each in hidden)
        return [(hx[index].squeeze(0), cx[index].squeeze(0)) for index in range(self.num_layers)]

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """The module, observed, that takes the place of one of `torch.nn`."""
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig") and not qconfig:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        made: Any = cls(
            other.input_size,
            other.hidden_size,
            other.num_layers,
            other.bias,
            other.batch_first,
            other.dropout,
            other.bidirectional,
            split_gates=split_gates,
        )
        made.qconfig = getattr(other, "qconfig", qconfig)
        for index in range(other.num_layers):
            made.layers[index] = _LSTMLayer.from_float(
                other, index, qconfig, batch_first=False, split_gates=split_gates
            )
        if other.training:
            made.train()
            return torch.ao.quantization.prepare_qat(made, inplace=True)
        made.eval()
        return torch.ao.quantization.prepare(made, inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """NotImplementedError: the quantized class has it."""
        raise NotImplementedError(
            "It looks like you are trying to convert a non-quantizable LSTM module. Please, see the examples on "
            "quantizable LSTMs."
        )
