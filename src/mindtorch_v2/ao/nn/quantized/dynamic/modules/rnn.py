"""Recurrent layers and cells with 8-bit (or float16) weights, whose inputs are quantized when they come."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._quantized.recurrent import quantized_gru, quantized_lstm
from mindtorch_v2.ao.nn.quantized.modules.utils import _quantize_weight
from mindtorch_v2.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "PackedParameter", "RNNBase", "RNNCell", "RNNCellBase"]


def _pack(weight: Any, bias: Any, dtype: torch.dtype) -> Any:
    if dtype == torch.qint8:
        return torch.ops.quantized.linear_prepack(weight, bias)
    return torch.ops.quantized.linear_prepack_fp16(weight, bias)


def _cell_of(of_input: Any, of_hidden: Any, bias_ih: Any, bias_hh: Any, dtype: torch.dtype) -> Any:
    if dtype == torch.qint8:
        return torch.ops.quantized.make_quantized_cell_params_dynamic(of_input, of_hidden, bias_ih, bias_hh, True)
    return torch.ops.quantized.make_quantized_cell_params_fp16(of_input, of_hidden)


def _quantized(weight: Any, observer: Any) -> Any:
    weight = weight.detach().float()
    if observer.dtype == torch.float16:
        return weight
    observer(weight)
    return _quantize_weight(weight, observer)


def _observer_of(mod: Any) -> Any:
    config = getattr(mod, "qconfig", None)
    method = (
        torch.ao.quantization.default_dynamic_qconfig if config is None or config.weight is None else config
    ).weight
    dtype = method().dtype
    if dtype not in (torch.qint8, torch.float16):
        raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
    return method, dtype


class PackedParameter(nn.Module):
    """The packed weights of one cell.

    >>> torch.ao.nn.quantized.dynamic.LSTM(2, 3)._all_weight_values[0]._get_name()
    'PackedParameter'
    """

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if prefix + "param" in state_dict:
            self.param = state_dict.pop(prefix + "param")
        else:
            missing_keys.append(prefix + "param")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


_GATES = {"LSTM": 4, "GRU": 3}


class RNNBase(nn.Module):
    """A recurrent layer with packed weights, of the mode "LSTM" or "GRU".

    >>> torch.ao.nn.quantized.dynamic.GRU(2, 3, num_layers=2)
    DynamicQuantizedGRU(2, 3, num_layers=2)
    """

    _FLOAT_MODULE: Any = nn.RNNBase
    _version = 2

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: torch.dtype = torch.qint8,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.dtype, self.version, self.training = bidirectional, dtype, self._version, False
        if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        rows, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        cells = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * directions
            for _ in range(directions):
                cells.append(PackedParameter(self._random_cell(rows, columns)))
        self._all_weight_values = nn.ModuleList(cells)

    def _random_cell(self, rows: int, columns: int) -> Any:
        weights: tuple[Any, ...] = (torch.randn(rows, columns), torch.randn(rows, self.hidden_size))
        biases = torch.randn(2, rows)
        if self.dtype == torch.qint8:
            weights = tuple(torch.quantize_per_tensor(w, 0.1, 0, torch.qint8) for w in weights)
        pair = [_pack(w, b, self.dtype) for w, b in zip(weights, biases)]
        return _cell_of(pair[0], pair[1], biases[0], biases[1], self.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedRNN"

    def extra_repr(self) -> str:
        """Sizes, and what differs from the usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, value in usual.items():
            if getattr(self, name) != value:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _start(self, input: Any, batch: int, hx: Any, permutation: Any) -> Any:
        """The state to begin with, and whether sizes agree."""
        wanted = (self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size)
        many = self.mode == "LSTM"
        if hx is None:
            zeros = torch.zeros(*wanted, dtype=input.dtype, device=input.device)
            return (zeros, zeros) if many else zeros
        states = [
            each if permutation is None else each.index_select(1, permutation) for each in (hx if many else (hx,))
        ]
        for each in states:
            if tuple(each.shape) != wanted:
                raise RuntimeError(f"Expected hidden size {wanted}, got {tuple(each.shape)}")
        return tuple(states) if many else states[0]

    def _check_input(self, input: Any, batch_sizes: Any) -> None:
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of a sequence (or a packed one), and the last state."""
        packed, sizes, order, back = isinstance(input, PackedSequence), None, None, None
        if packed:
            input, sizes, order, back = input
            batch = int(sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        self._check_input(input, sizes)
        state = self._start(input, batch, hx, order)
        cells = [each.param for each in self._all_weight_values]
        rest = (cells, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        run: Any = quantized_lstm if self.mode == "LSTM" else quantized_gru
        if packed:
            output, *ends = run(input, sizes, state, *rest)
        else:
            output, *ends = run(input, state, *rest, self.batch_first)
        ends = [each if back is None else each.index_select(1, back) for each in ends]
        end = tuple(ends) if self.mode == "LSTM" else ends[0]
        return (PackedSequence(output, sizes, order, back) if packed else output), end

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights, by the names of `torch.nn`."""
        return self._parts(0)

    def get_bias(self) -> dict[str, Any]:
        """The biases, by the names of `torch.nn`."""
        return self._parts(1)

    def _parts(self, which: int) -> dict[str, Any]:
        found, word = {}, ("weight", "bias")[which]
        directions = 2 if self.bidirectional else 1
        for at, each in enumerate(self._all_weight_values):
            suffix = "_reverse" if at % directions else ""
            for kind, packed in (("ih", each.param.of_input), ("hh", each.param.of_hidden)):
                found[f"{word}_{kind}_l{at // directions}{suffix}"] = packed.unpack()[which]
        return found

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Take weights and biases, by the names of `torch.nn`."""
        cells, directions = [], 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            for d in range(directions):
                end = f"_l{layer}{'_reverse' if d else ''}"
                biases = [weight_bias_dict.get(f"bias_{kind}{end}") for kind in ("ih", "hh")]
                pair = [
                    _pack(weight_bias_dict[f"weight_{kind}{end}"], bias, self.dtype)
                    for kind, bias in zip(("ih", "hh"), biases)
                ]
                empty = [torch.zeros(0) if each is None else each for each in biases]
                cells.append(PackedParameter(_cell_of(pair[0], pair[1], empty[0], empty[1], self.dtype)))
        self._all_weight_values = nn.ModuleList(cells)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a recurrent layer, by its `qconfig`."""
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        method, dtype = _observer_of(mod)
        made = _CLASSES[mod.mode](
            mod.input_size,
            mod.hidden_size,
            mod.num_layers,
            mod.bias,
            mod.batch_first,
            mod.dropout,
            mod.bidirectional,
            dtype,
        )
        given: dict[str, Any] = {}
        for name, value in mod.named_parameters(recurse=False):
            given[name] = _quantized(value, method()) if name.startswith("weight") else value.detach()
        made.set_weight_bias(given)
        return made

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Self:
        """The module of a reference module."""
        if not hasattr(ref_mod, "weight_ih_l0_dtype"):
            raise AssertionError(
                "We are assuming weight_ih_l0 exists in LSTM, may need to relax the assumption to support the use case"
            )
        made = _CLASSES[ref_mod.mode](
            ref_mod.input_size,
            ref_mod.hidden_size,
            ref_mod.num_layers,
            ref_mod.bias,
            ref_mod.batch_first,
            ref_mod.dropout,
            ref_mod.bidirectional,
            ref_mod.weight_ih_l0_dtype,
        )
        made.set_weight_bias(ref_mod.get_quantized_weight_bias_dict())
        return made


class LSTM(RNNBase):
    """A long short-term memory with 8-bit weights; arguments as of `torch.nn.LSTM`.

    >>> torch.ao.nn.quantized.dynamic.LSTM(2, 3)(torch.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """

    _FLOAT_MODULE = nn.LSTM

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"


class GRU(RNNBase):
    """A gated recurrent unit with 8-bit weights; arguments as of `torch.nn.GRU`.

    >>> torch.ao.nn.quantized.dynamic.GRU(2, 3)(torch.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """

    _FLOAT_MODULE = nn.GRU

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRU"


_CLASSES: dict[str, Any] = {"LSTM": LSTM, "GRU": GRU}


class RNNCellBase(nn.Module):
    """A recurrent cell with packed weights, of `num_chunks` gates.

    >>> torch.ao.nn.quantized.dynamic.GRUCell(2, 3)
    DynamicQuantizedGRUCell(2, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        num_chunks: int = 4,
        dtype: torch.dtype = torch.qint8,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        rows = num_chunks * hidden_size
        self.bias_ih = torch.randn(rows, dtype=torch.float) if bias else None
        self.bias_hh = torch.randn(rows, dtype=torch.float) if bias else None
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype specified for quantized GRUCell!")
        for name, columns, of_bias in (
            ("ih", input_size, self.bias_ih),
            ("hh", hidden_size, self.bias_hh),
        ):
            weight = torch.randn(rows, columns)
            if dtype == torch.qint8:
                weight = torch.quantize_per_tensor(weight, 1.0, 0, torch.qint8)
            setattr(self, f"_packed_weight_{name}", _pack(weight, of_bias, dtype))

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNBase"

    def extra_repr(self) -> str:
        """Sizes, and what differs from the usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def check_forward_input(self, input: Any) -> None:
        """RuntimeError for an input of another size."""
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")

    def check_forward_hidden(self, input: Any, hx: Any, hidden_label: str = "") -> None:
        """RuntimeError for a state of another size."""
        if input.size(0) != hx.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{hidden_label} batch size {hx.size(0)}"
            )
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(
                f"hidden{hidden_label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}"
            )

    def _run(self, name: str, input: Any, hx: Any) -> Any:
        return getattr(torch.ops.quantized, name)(
            input,
            hx,
            self._packed_weight_ih,
            self._packed_weight_hh,
            self.bias_ih,
            self.bias_hh,
        )

    def _state(self, input: Any, hx: Any) -> Any:
        if hx is None:
            return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        self.check_forward_hidden(input, hx, "")
        return hx

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights."""
        return {f"weight_{name}": getattr(self, f"_packed_weight_{name}").unpack()[0] for name in ("ih", "hh")}

    def get_bias(self) -> dict[str, Any]:
        """The biases."""
        return {f"bias_{name}": getattr(self, f"_packed_weight_{name}").unpack()[1] for name in ("ih", "hh")}

    def set_weight_bias(self, weight_bias_dict: dict[str, Any]) -> None:
        """Take weights and biases."""
        for name in ("ih", "hh"):
            bias = weight_bias_dict.get(f"bias_{name}")
            setattr(self, f"_packed_weight_{name}", _pack(weight_bias_dict[f"weight_{name}"], bias, self.weight_dtype))
            setattr(self, f"bias_{name}", bias)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for name in ("_packed_weight_ih", "_packed_weight_hh"):
            if prefix + name in state_dict:
                setattr(self, name, state_dict.pop(prefix + name))
            else:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a recurrent cell, by its `qconfig`."""
        if type(mod) not in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            raise AssertionError(
                "nn.quantized.dynamic.RNNCellBase.from_float only works for nn.LSTMCell, nn.GRUCell and nn.RNNCell"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Input float module must have qconfig defined")
        method, dtype = _observer_of(mod)
        made = cls._like(mod, dtype)
        given = {
            "weight_ih": _quantized(mod.weight_ih, method()),
            "weight_hh": _quantized(mod.weight_hh, method()),
            "bias_ih": None if mod.bias_ih is None else mod.bias_ih.detach(),
            "bias_hh": None if mod.bias_hh is None else mod.bias_hh.detach(),
        }
        made.set_weight_bias(given)
        return made

    @classmethod
    def _like(cls, mod: Any, dtype: torch.dtype) -> Any:
        rest = {"bias": mod.bias, "dtype": dtype}
        if hasattr(mod, "nonlinearity"):
            return RNNCell(mod.input_size, mod.hidden_size, nonlinearity=mod.nonlinearity, **rest)
        kind = LSTMCell if "LSTM" in type(mod).__name__ else GRUCell
        return kind(mod.input_size, mod.hidden_size, **rest)

    @classmethod
    def from_reference(cls, ref_mod: Any) -> Self:
        """The module of a reference module."""
        made = cls._like(ref_mod, ref_mod.weight_ih_dtype)
        made.set_weight_bias(
            {
                "weight_ih": ref_mod.get_quantized_weight_ih(),
                "weight_hh": ref_mod.get_quantized_weight_hh(),
                "bias_ih": ref_mod.bias_ih,
                "bias_hh": ref_mod.bias_hh,
            }
        )
        return made


class RNNCell(RNNCellBase):
    """A cell of `tanh` or `relu` with 8-bit weights; arguments as of `torch.nn.RNNCell`.

    >>> torch.ao.nn.quantized.dynamic.RNNCell(2, 3)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: torch.dtype = torch.qint8,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, dtype=dtype)
        self.nonlinearity = nonlinearity

    def _get_name(self) -> str:
        return "DynamicQuantizedRNNCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        self.check_forward_input(input)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"quantized_rnn_{self.nonlinearity}_cell_dynamic", input, self._state(input, hx))


class LSTMCell(RNNCellBase):
    """A cell of a long short-term memory with 8-bit weights; arguments as of `torch.nn.LSTMCell`.

    >>> torch.ao.nn.quantized.dynamic.LSTMCell(2, 3)(torch.ones(1, 2))[0].shape
    torch.Size([1, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTMCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next (h, c)."""
        self.check_forward_input(input)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        for each, label in zip(hx, ("[0]", "[1]")):
            self.check_forward_hidden(input, each, label)
        return self._run("quantized_lstm_cell_dynamic", input, hx)


class GRUCell(RNNCellBase):
    """A cell of a gated recurrent unit with 8-bit weights; arguments as of `torch.nn.GRUCell`.

    >>> torch.ao.nn.quantized.dynamic.GRUCell(2, 3)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, dtype=dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedGRUCell"

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        self.check_forward_input(input)
        return self._run("quantized_gru_cell_dynamic", input, self._state(input, hx))
