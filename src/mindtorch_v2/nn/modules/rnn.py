"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from .. import init
from .._packed import PackedSequence
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

# Rows of the weights for each hidden unit.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor, permutation, dim=1) -> torch.Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: torch.Tensor, permutation: torch.Tensor, dim: int = 1) -> torch.Tensor:
    """Deprecated: `tensor.index_select(dim, permutation)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.modules.rnn.apply_permutation(torch.tensor([[10, 20, 30]]), torch.tensor([2, 0, 1]))
    tensor([[30, 10, 20]])
    """
    warnings.warn(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


class RNNBase(Module):
    """Arguments, weights and checks of all recurrent layers.

    For each layer (and direction, with the suffix `_reverse`): `weight_ih_l{k}` `(gates * hidden_size, layer's
    input)`, `weight_hh_l{k}`, the biases `bias_ih_l{k}`, `bias_hh_l{k}`, and with `proj_size` `weight_hr_l{k}`.

    >>> torch.nn.RNNBase("GRU", 4, 8).mode
    'GRU'
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]

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
        proj_size: int = 0,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        self._make_weights({"device": device, "dtype": dtype})
        self._init_flat_weights()
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        number = isinstance(dropout, numbers.Number)
        if not number or not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last "
                "recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=5,
            )
        if not isinstance(self.input_size, int):
            raise TypeError(f"input_size should be of type int, got: {type(self.input_size).__name__}")
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        if self.input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if not isinstance(self.bias, bool):
            raise TypeError(f"bias should be of type bool, got: {type(self.bias).__name__}")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _make_weights(self, factory_kwargs) -> None:
        num_directions = 2 if self.bidirectional else 1
        gate_size = _GATES[self.mode] * self.hidden_size
        real_hidden_size = self.proj_size if self.proj_size > 0 else self.hidden_size
        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(self.num_layers):
            layer_input_size = self.input_size if layer == 0 else real_hidden_size * num_directions
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (gate_size, layer_input_size),
                "weight_hh": (gate_size, real_hidden_size),
            }
            if self.bias:
                shapes["bias_ih"] = shapes["bias_hh"] = (gate_size,)
            if self.proj_size > 0:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for direction in range(num_directions):
                suffix = f"_l{layer}" + ("_reverse" if direction == 1 else "")
                names = [name + suffix for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(torch.empty(shape, **factory_kwargs)))
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)

    def _init_flat_weights(self) -> None:
        self._flat_weights: list[Any] = [getattr(self, name, None) for name in self._flat_weights_names]

    def __setattr__(self, attr: str, value: Any) -> None:
        if "_flat_weights_names" in self.__dict__ and attr in self._flat_weights_names:
            # The list that the operator gets must follow when a weight is replaced.
            flat = self.__dict__.get("_flat_weights")
            if flat is not None:
                flat[self._flat_weights_names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Do nothing here: weights need to be contiguous in one piece only for cuDNN."""

    def _apply(self, fn, recurse=True):
        ret = super()._apply(fn, recurse)
        self._init_flat_weights()
        return ret

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def check_input(self, input: torch.Tensor, batch_sizes: torch.Tensor | None) -> None:
        """Raise where the input does not fit."""
        weight_dtype = self._flat_weights[0].dtype
        if input.dtype != weight_dtype and not torch.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight_dtype}). "
                f"Convert input: input.to({weight_dtype}), or convert model: model.to({input.dtype})"
            )
        expected_input_dim = 2 if batch_sizes is not None else 3
        if input.dim() != expected_input_dim:
            raise RuntimeError(f"input must have {expected_input_dim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch_size(self, input, batch_sizes):
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def get_expected_hidden_size(self, input: torch.Tensor, batch_sizes: torch.Tensor | None) -> tuple:
        """The shape that the hidden state must have for `input`."""
        num_directions = 2 if self.bidirectional else 1
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self.num_layers * num_directions, self._batch_size(input, batch_sizes), size

    def check_hidden_size(
        self, hx: torch.Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise where the hidden state does not have the expected shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def _weights_have_changed(self) -> bool:
        """Whether a weight was replaced past this module, as by `functional_call`, or is computed: by a parametrization."""
        named = self._parameters
        return any(
            named.get(name) is not flat for flat, name in zip(self._flat_weights, self._flat_weights_names, strict=True)
        )

    def _update_flat_weights(self) -> None:
        if self._weights_have_changed():
            self._init_flat_weights()

    def check_forward_args(self, input: torch.Tensor, hidden: Any, batch_sizes: torch.Tensor | None) -> None:
        """Raise where input or hidden state do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: torch.Tensor | None) -> Any:
        """The hidden state with its batch in another order; None means as it is."""
        if permutation is None:
            return hx
        return _apply_permutation(hx, permutation)

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            s += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            s += f", num_layers={self.num_layers}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if self.batch_first is not False:
            s += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            s += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            s += f", bidirectional={self.bidirectional}"
        return s

    def __setstate__(self, d: dict[str, Any]) -> None:
        super().__setstate__(d)
        if "all_weights" in d:
            self._all_weights = d["all_weights"]
        if "proj_size" not in d:
            self.proj_size = 0
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._init_flat_weights()

    @property
    def all_weights(self) -> list:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, weight) for weight in weights] for weights in self._all_weights]

    def _replicate_for_data_parallel(self):
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        return replica

    def _layer_arguments(self) -> tuple:
        return (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)

    def _zero_state(self, input, max_batch_size, size) -> torch.Tensor:
        num_directions = 2 if self.bidirectional else 1
        return torch.zeros(
            self.num_layers * num_directions, max_batch_size, size, dtype=input.dtype, device=input.device
        )

    def _run_single_state(self, function, input, hx, dim_error) -> tuple:
        """The forward of the layers with one hidden state: GRU and the simple ones."""
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._zero_state(data, int(batch_sizes[0]), self.hidden_size)
            else:
                # The caller's hidden state is in the order of the sequences before sorting.
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, hidden = function(data, batch_sizes, hx, *self._layer_arguments())
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(hidden, unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(dim_error.format(input.dim()))
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_state(input, self._batch_size(input, None), self.hidden_size)
        elif is_batched:
            if hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
        else:
            if hx.dim() != 2:
                raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
            hx = hx.unsqueeze(1)
        self.check_forward_args(input, hx, None)
        output, hidden = function(input, hx, *self._layer_arguments(), self.batch_first)
        if not is_batched:
            output = output.squeeze(batch_dim)
            hidden = hidden.squeeze(1)
        return output, hidden


class RNN(RNNBase):
    """Elman network: `h' = act(W_ih x + b_ih + W_hh h + b_hh)`, act "tanh" or "relu".

    Inputs `(L, N, input_size)`, with `batch_first` `(N, L, input_size)`, unbatched `(L, input_size)`, or a
    `PackedSequence`; returns the last layer's outputs at all steps, and the last hidden states
    `(layers * directions, N, hidden_size)`.

    >>> output, hidden = torch.nn.RNN(4, 8)(torch.ones(5, 3, 4))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 8]), torch.Size([1, 3, 8]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity == "tanh":
            mode = "RNN_TANH"
        elif self.nonlinearity == "relu":
            mode = "RNN_RELU"
        else:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(mode, *args, **kwargs)

    def forward(self, input: torch.Tensor, hx: torch.Tensor | None = None) -> Any:
        function = torch.rnn_tanh if self.mode == "RNN_TANH" else torch.rnn_relu
        return self._run_single_state(function, input, hx, "RNN: Expected input to be 2D or 3D, got {}D tensor instead")


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997), with projections of the hidden state if `proj_size`.

    Inputs as for `RNN`, and `(h_0, c_0)`; returns the outputs and `(h_n, c_n)`.

    >>> import mindtorch_v2 as torch
    >>> output, (h, c) = torch.nn.LSTM(3, 4)(torch.zeros(5, 2, 3))
    >>> output.shape, h.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: torch.Tensor, batch_sizes: torch.Tensor | None) -> tuple:
        """The shape that the cell state must have for `input`."""
        num_directions = 2 if self.bidirectional else 1
        return self.num_layers * num_directions, self._batch_size(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: torch.Tensor, hidden: Any, batch_sizes: torch.Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx: Any, permutation: torch.Tensor | None) -> Any:
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _zero_states(self, input, max_batch_size) -> tuple:
        real_hidden_size = self.proj_size if self.proj_size > 0 else self.hidden_size
        return (
            self._zero_state(input, max_batch_size, real_hidden_size),
            self._zero_state(input, max_batch_size, self.hidden_size),
        )

    def forward(self, input: torch.Tensor, hx: Any = None) -> Any:
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._zero_states(data, int(batch_sizes[0]))
            else:
                # The caller's states are in the order of the sequences before sorting.
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, *hidden = torch.lstm(data, batch_sizes, hx, *self._layer_arguments())
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(tuple(hidden), unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zero_states(input, self._batch_size(input, None))
        elif is_batched:
            if hx[0].dim() != 3 or hx[1].dim() != 3:
                raise RuntimeError(
                    "For batched 3-D input, hx and cx should also be 3-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
        else:
            if hx[0].dim() != 2 or hx[1].dim() != 2:
                raise RuntimeError(
                    "For unbatched 2-D input, hx and cx should also be 2-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self.check_forward_args(input, hx, None)
        arguments: Any = (*self._layer_arguments(), self.batch_first)
        output, *hidden = torch.lstm(input, hx, *arguments)
        if not is_batched:
            output = output.squeeze(batch_dim)
            hidden = [h.squeeze(1) for h in hidden]
        return output, tuple(hidden)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014). Inputs and outputs as for `RNN`.

    >>> output, hidden = torch.nn.GRU(4, 8, num_layers=2)(torch.ones(5, 3, 4))
    >>> output.shape, hidden.shape
    (torch.Size([5, 3, 8]), torch.Size([2, 3, 8]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: torch.Tensor, hx: Any = None) -> Any:
        return self._run_single_state(torch.gru, input, hx, "GRU: Expected input to be 2D or 3D, got {}D instead")


class RNNCellBase(Module):
    """Arguments and weights of the cells: one step of one layer.

    >>> cell = torch.nn.RNNCell(2, 3)
    >>> isinstance(cell, torch.nn.RNNCellBase), {name: tuple(p.shape) for name, p in cell.named_parameters()}
    (True, {'weight_ih': (3, 2), 'weight_hh': (3, 3), 'bias_ih': (3,), 'bias_hh': (3,)})
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((rows, input_size), **factory_kwargs))
        self.weight_hh = Parameter(torch.empty((rows, hidden_size), **factory_kwargs))
        if bias:
            self.bias_ih = Parameter(torch.empty(rows, **factory_kwargs))
            self.bias_hh = Parameter(torch.empty(rows, **factory_kwargs))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        s = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            s += f", bias={self.bias}"
        if "nonlinearity" in self.__dict__ and self.nonlinearity != "tanh":
            s += f", nonlinearity={self.nonlinearity}"
        return s

    def reset_parameters(self) -> None:
        """Draw new weights, uniform in +-1/sqrt(hidden_size)."""
        stdv = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -stdv, stdv)

    def _check(self, input, states, state_name) -> None:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states):
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {state_name.format(i)} to be 1D or 2D, got {state.dim()}D instead")

    def _zeros(self, input) -> torch.Tensor:
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """One step of an Elman network: input `(N, input_size)` or `(input_size)`, hidden `(N, hidden_size)`.

    >>> torch.nn.RNNCell(4, 8)(torch.ones(3, 4)).shape
    torch.Size([3, 8])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: torch.Tensor, hx: torch.Tensor | None = None) -> Any:
        self._check(input, () if hx is None else (hx,), "hidden")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        if self.nonlinearity == "tanh":
            ret = torch.rnn_tanh_cell(input, hx, *self._weights())
        elif self.nonlinearity == "relu":
            ret = torch.rnn_relu_cell(input, hx, *self._weights())
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return ret if is_batched else ret.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: input `(N, input_size)` or `(input_size)`, states `(h, c)`, each `(N, hidden_size)`.

    >>> hidden, cell = torch.nn.LSTMCell(4, 8)(torch.ones(3, 4))
    >>> hidden.shape, cell.shape
    (torch.Size([3, 8]), torch.Size([3, 8]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: torch.Tensor, hx: tuple[torch.Tensor, torch.Tensor] | None = None) -> Any:
        self._check(input, () if hx is None else hx, "hx[{}]")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        elif not is_batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = torch.lstm_cell(input, hx, *self._weights())
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU: input `(N, input_size)` or `(input_size)`, hidden `(N, hidden_size)`.

    >>> torch.nn.GRUCell(4, 8)(torch.ones(3, 4)).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: torch.Tensor, hx: torch.Tensor | None = None) -> Any:
        self._check(input, () if hx is None else (hx,), "hidden")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        ret = torch.gru_cell(input, hx, *self._weights())
        return ret if is_batched else ret.squeeze(0)
