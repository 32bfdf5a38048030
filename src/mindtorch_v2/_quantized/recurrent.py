"""Recurrent layers and cells with weights of eight bits, whose inputs are quantized when they come, or of float16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._quantized.linear import dynamic
from mindtorch_v2._quantized.packed import LinearParamsFp16, _Packed
from mindtorch_v2.nn import functional

from .table import operator

__all__ = ["quantized_gru", "quantized_lstm"]

_LINEAR = "__torch__.torch.classes.quantized.LinearPackedParamsBase"
_CELL = "__torch__.torch.classes.rnn.CellParamsBase"


class CellParams(_Packed):
    """The two packed weights of a recurrent cell: of the input and of what it remembers."""

    _qualified = "rnn.CellParamsBase"

    def __init__(self, of_input: Any, of_hidden: Any, reduce_range: bool) -> None:
        self.__setstate__((of_input, of_hidden, reduce_range))

    def __getstate__(self) -> tuple:
        return self.of_input, self.of_hidden, self.reduce_range

    def __setstate__(self, state: tuple) -> None:
        self.of_input, self.of_hidden, self.reduce_range = state

    def _by(self, packed: Any, x: Any) -> Any:
        if isinstance(packed, LinearParamsFp16):
            return functional.linear(x, packed.weight, packed.bias)
        return dynamic(x, packed, self.reduce_range)

    def input(self, x: Any) -> Any:
        """The gates' sums over the input."""
        return self._by(self.of_input, x)

    def hidden(self, x: Any) -> Any:
        """The gates' sums over what is remembered."""
        return self._by(self.of_hidden, x)


@operator(
    f"make_quantized_cell_params_dynamic({_LINEAR} w_ih, {_LINEAR} w_hh, Tensor bias_ih, Tensor bias_hh, "
    f"bool reduce_range=False) -> {_CELL}"
)
def _cell_params(w_ih: Any, w_hh: Any, bias_ih: Any, bias_hh: Any, reduce_range: bool = False) -> CellParams:
    return CellParams(w_ih, w_hh, reduce_range)


@operator(f"make_quantized_cell_params_fp16({_LINEAR} w_ih, {_LINEAR} w_hh) -> {_CELL}")
def _cell_params_fp16(w_ih: Any, w_hh: Any) -> CellParams:
    return CellParams(w_ih, w_hh, False)


# ---- one step: of numbers of seven bits, as PyTorch's ----


def lstm_step(gates: Any, state: Any) -> tuple[Any, Any]:
    """The next (h, c) of a long short-term memory, of the sums of its gates."""
    take, forget, new, give = gates.chunk(4, -1)
    kept = torch.sigmoid(forget) * state[1] + torch.sigmoid(take) * torch.tanh(new)
    return torch.sigmoid(give) * torch.tanh(kept), kept


def gru_step(of_input: Any, of_hidden: Any, hidden: Any) -> Any:
    """The next state of a gated recurrent unit."""
    i, h = of_input.chunk(3, -1), of_hidden.chunk(3, -1)
    reset, update = torch.sigmoid(h[0] + i[0]), torch.sigmoid(h[1] + i[1])
    new = torch.tanh(i[2] + h[2] * reset)
    return (hidden - new) * update + new


_TWO = f"Tensor input, Tensor hx, {_LINEAR} w_ih, {_LINEAR} w_hh, Tensor b_ih, Tensor b_hh"


@operator(
    f"quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, {_LINEAR} w_ih, {_LINEAR} w_hh, Tensor bias_ih, "
    "Tensor bias_hh) -> (Tensor, Tensor)"
)
def _lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, bias_ih: Any, bias_hh: Any) -> Any:
    cell = CellParams(w_ih, w_hh, True)
    return lstm_step(cell.input(input) + cell.hidden(hx[0]), hx)


@operator(f"quantized_gru_cell_dynamic({_TWO}) -> Tensor")
def _gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    cell = CellParams(w_ih, w_hh, True)
    return gru_step(cell.input(input), cell.hidden(hx), hx)


def _simple(name: str, activation: Callable[[Any], Any]) -> None:
    def run(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        cell = CellParams(w_ih, w_hh, True)
        return activation(cell.input(input) + cell.hidden(hx))

    operator(f"quantized_rnn_{name}_cell_dynamic({_TWO}) -> Tensor")(run)


_simple("tanh", torch.tanh)
_simple("relu", torch.relu)


# ---- sequences ----


def _lstm_over(sums: Any, cell: CellParams, state: Any) -> tuple[Any, Any]:
    state = lstm_step(sums + cell.hidden(state[0]), state)
    return state[0], state


def _gru_over(sums: Any, cell: CellParams, state: Any) -> tuple[Any, Any]:
    state = gru_step(sums, cell.hidden(state), state)
    return state, state


def _direction(x: Any, cell: CellParams, state: Any, step: Any, backwards: bool) -> tuple[Any, Any]:
    sums = cell.input(x).unbind(0)
    outputs = []
    for each in reversed(sums) if backwards else sums:
        output, state = step(each, cell, state)
        outputs.append(output)
    return torch.stack(outputs[::-1] if backwards else outputs), state


def _packed_direction(
    data: Any, sizes: list[int], cell: CellParams, state: Any, step: Any, backwards: bool
) -> tuple[Any, Any]:
    """The same over a packed sequence, the longest first: of what has ended the last state is kept."""
    sums = cell.input(data).split(sizes)
    outputs: list[Any] = [None] * len(sizes)
    state = list(state) if isinstance(state, (tuple, list)) else state
    many = isinstance(state, list)
    parts = state if many else [state]
    current = [part.clone() for part in parts]
    for t in reversed(range(len(sizes))) if backwards else range(len(sizes)):
        count = sizes[t]
        now = [part[:count] for part in current]
        outputs[t], new = step(sums[t], cell, tuple(now) if many else now[0])
        for part, fresh in zip(current, new if many else (new,)):
            part[:count] = fresh
    return torch.cat(outputs), tuple(current) if many else current[0]


def _layers(
    run: Any,
    params: list,
    states: list,
    layers: int,
    bidirectional: bool,
    dropout: float,
    train: bool,
) -> tuple[Any, list]:
    """Run layer on layer; `run(x, cell, state, backwards)` is one direction of one."""
    directions, ends = 2 if bidirectional else 1, []
    x: Any = None
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            at = layer * directions + d
            output, end = run(x, params[at], states[at], d == 1)
            outputs.append(output)
            ends.append(end)
        x = outputs[0] if directions == 1 else torch.cat(outputs, -1)
        if dropout and train and layer < layers - 1:
            x = functional.dropout(x, dropout, True)
    return x, ends


def _sequence(
    step: Any,
    input: Any,
    batch_sizes: Any,
    states: list,
    params: list,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, list]:
    x0 = input.transpose(0, 1) if batch_first and batch_sizes is None else input
    sizes = None if batch_sizes is None else batch_sizes.tolist()

    def run(x: Any, cell: CellParams, state: Any, backwards: bool) -> tuple[Any, Any]:
        x = x0 if x is None else x
        if sizes is None:
            return _direction(x, cell, state, step, backwards)
        return _packed_direction(x, sizes, cell, state, step, backwards)

    with torch.no_grad():
        output, ends = _layers(run, params, states, num_layers, bidirectional, dropout, train)
    return output.transpose(0, 1) if batch_first and sizes is None else output, ends


def quantized_lstm(
    input: Any,
    *args: Any,
    dtype: Any = None,
    use_dynamic: bool = False,
) -> tuple[Any, Any, Any]:
    """A long short-term memory with packed weights: `(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`.

    A packed sequence is `(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)`. Gives the
    outputs and the last (h, c).

    >>> layer = torch.ao.nn.quantized.dynamic.LSTM(2, 3)
    >>> layer(torch.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    sizes, args = (args[0], args[1:]) if isinstance(args[0], torch.Tensor) else (None, args)
    hx, params, _, layers, dropout, train, bidirectional, *rest = args
    states = list(zip(hx[0].unbind(0), hx[1].unbind(0)))
    first = bool(rest and rest[0])
    made, ends = _sequence(_lstm_over, input, sizes, states, params, layers, dropout, train, bidirectional, first)
    return made, torch.stack([h for h, _ in ends]), torch.stack([c for _, c in ends])


def quantized_gru(input: Any, *args: Any) -> tuple[Any, Any]:
    """A gated recurrent unit with packed weights; arguments as of `quantized_lstm`, with one state.

    >>> layer = torch.ao.nn.quantized.dynamic.GRU(2, 3)
    >>> layer(torch.ones(4, 1, 2))[0].shape
    torch.Size([4, 1, 3])
    """
    packed = isinstance(args[0], torch.Tensor) and isinstance(args[1], torch.Tensor)
    sizes, args = (args[0], args[1:]) if packed else (None, args)
    hx, params, _, layers, dropout, train, bidirectional, *rest = args
    first = bool(rest and rest[0])
    made, ends = _sequence(
        _gru_over, input, sizes, list(hx.unbind(0)), params, layers, dropout, train, bidirectional, first
    )
    return made, torch.stack(ends)
