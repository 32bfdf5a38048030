"""Recurrent networks: cells, layers over padded and packed sequences, and the packing itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_FUSED = (DTYPES["float32"], DTYPES["float64"])

# ---- cells ----


def _linear(x, weight, bias):
    return aten.linear(x, weight, bias)


def _lstm_step(igates, state, w_hh, b_hh, w_hr=None) -> tuple:
    """One LSTM step from the input's part of the gates; a projection is applied to the output."""
    h, c = state
    i, f, g, o = aten.chunk(igates + _linear(h, w_hh, b_hh), 4, 1)
    c = aten.sigmoid(f) * c + aten.sigmoid(i) * aten.tanh(g)
    h = aten.sigmoid(o) * aten.tanh(c)
    return (h if w_hr is None else _linear(h, w_hr, None)), c


def _gru_step(igates, state, w_hh, b_hh) -> tuple:
    """One GRU step from the input's part of the gates."""
    (h,) = state
    i_reset, i_update, i_new = aten.chunk(igates, 3, 1)
    h_reset, h_update, h_new = aten.chunk(_linear(h, w_hh, b_hh), 3, 1)
    new = aten.tanh(i_new + h_new * aten.sigmoid(h_reset + i_reset))
    return ((h - new) * aten.sigmoid(h_update + i_update) + new,)


def _tanh_step(igates, state, w_hh, b_hh) -> tuple:
    return (aten.tanh(igates + _linear(state[0], w_hh, b_hh)),)


def _relu_step(igates, state, w_hh, b_hh) -> tuple:
    return (aten.relu(igates + _linear(state[0], w_hh, b_hh)),)


def _check_cell(input, hx, hidden_size, w_ih) -> None:
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
    for i, h in enumerate(hx):
        if h.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {h.size(0)}")
        if h.size(1) != hidden_size:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {h.size(1)}, expected {hidden_size}")


@composite(
    "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of a GRU: (N, in) and (N, H) to (N, H).",
    bind="function",
    samples=[S(T(2, 3), T(2, 4), T(12, 3), T(12, 4), T(12), T(12))],
)
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    _check_cell(input, (hx,), w_hh.size(1), w_ih)
    return _gru_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


@composite(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
    "-> (Tensor, Tensor)",
    "One step of an LSTM: (N, in) and a pair of (N, H) to a pair of (N, H).",
    bind="function",
    samples=[S(T(2, 3), [T(2, 4), T(2, 4)], T(16, 3), T(16, 4), T(16), T(16))],
)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell(input, hx, w_hh.size(1), w_ih)
    return _lstm_step(_linear(input, w_ih, b_ih), tuple(hx), w_hh, b_hh)


@composite(
    "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of an Elman network with relu: (N, in) and (N, H) to (N, H).",
    bind="function",
    samples=[S(T(2, 3), T(2, 4), T(4, 3), T(4, 4), T(4), T(4))],
)
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    _check_cell(input, (hx,), w_hh.size(1), w_ih)
    return _relu_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


@composite(
    "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor",
    "One step of an Elman network with tanh: (N, in) and (N, H) to (N, H).",
    bind="function",
    samples=[S(T(2, 3), T(2, 4), T(4, 3), T(4, 4), T(4), T(4))],
)
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    _check_cell(input, (hx,), w_hh.size(1), w_ih)
    return _tanh_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


# ---- layers ----


def _is_fused(*tensors):
    """Whether a kernel for a whole layer takes these: tensors of one device that has it, and of one wide dtype."""
    first = tensors[0]
    return (
        first.dtype in _FUSED
        and first.size(0) > 0
        and first.device.type in ("cpu", "cuda")
        and all(t.dtype == first.dtype and t.device == first.device for t in tensors)
    )


def _scan(step, input, state, weights, reverse) -> tuple:
    """One direction of one layer over (T, N, in): the outputs (T, N, H) and the last state."""
    w_ih, w_hh, b_ih, b_hh, *projection = weights
    igates = _linear(input, w_ih, b_ih)
    if step is _lstm_step and not projection and _is_fused(igates, *state, w_hh):
        if b_hh is not None:
            igates = igates + b_hh
        output, cell, *_ = aten._lstm_scan(igates, *state, w_hh, reverse)
        return output, (aten.select(output, 0, 0 if reverse else -1), cell)
    igates = aten.unbind(igates, 0)
    outputs = []
    for gates in reversed(igates) if reverse else igates:
        state = step(gates, state, w_hh, b_hh, *projection)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return aten.stack(outputs, 0), state


def _scan_packed(step, data, sizes, state, weights) -> tuple:
    """One forward direction over packed data (total, in), `sizes[t]` rows at step t, falling."""
    w_ih, w_hh, b_ih, b_hh, *projection = weights
    igates = aten.split_with_sizes(_linear(data, w_ih, b_ih), sizes, 0)
    outputs, finished = [], []
    size = sizes[0]
    for gates, step_size in zip(igates, sizes, strict=True):
        if step_size < size:
            # Sequences that have ended keep their state.
            finished.append([aten.narrow(s, 0, step_size, size - step_size) for s in state])
            state = tuple(aten.narrow(s, 0, 0, step_size) for s in state)
            size = step_size
        state = step(gates, state, w_hh, b_hh, *projection)
        outputs.append(state[0])
    finished.append(list(state))
    finished.reverse()
    return aten.cat(outputs, 0), tuple(aten.cat(list(parts), 0) for parts in zip(*finished, strict=True))


def _scan_packed_reverse(step, data, sizes, state, weights) -> tuple:
    """One backward direction over packed data: sequences join as the steps go down."""
    w_ih, w_hh, b_ih, b_hh, *projection = weights
    igates = aten.split_with_sizes(_linear(data, w_ih, b_ih), sizes, 0)
    outputs = []
    first = state
    size = sizes[-1]
    state = tuple(aten.narrow(s, 0, 0, size) for s in first)
    for gates, step_size in zip(reversed(igates), reversed(sizes), strict=True):
        if step_size > size:
            joining = [aten.narrow(s, 0, size, step_size - size) for s in first]
            state = tuple(aten.cat([s, j], 0) for s, j in zip(state, joining, strict=True))
            size = step_size
        state = step(gates, state, w_hh, b_hh, *projection)
        outputs.append(state[0])
    outputs.reverse()
    return aten.cat(outputs, 0), state


def _weights_by_layer(params, has_biases, projected):
    """The flat list of weights as one tuple (w_ih, w_hh, b_ih, b_hh[, w_hr]) for each layer and direction."""
    count = 2 + 2 * has_biases + projected
    if len(params) % count:
        raise RuntimeError(f"got an incorrect number of RNN parameters: {len(params)} is not a multiple of {count}")
    result = []
    for i in range(0, len(params), count):
        w_ih, w_hh, *rest = params[i : i + count]
        biases = rest[:2] if has_biases else (None, None)
        result.append((w_ih, w_hh, *biases, *(rest[-1:] if projected else ())))
    return result


def _run(
    step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, sizes=None, projected=False
) -> tuple:
    """All layers over (T, N, in) or packed (total, in); `hx` are stacked states. Returns outputs and last states."""
    weights = _weights_by_layer(params, has_biases, projected)
    directions = 2 if bidirectional else 1
    if len(weights) != num_layers * directions:
        raise RuntimeError(f"expected weights for {num_layers * directions} layers and directions, got {len(weights)}")
    states = list(zip(*(aten.unbind(h, 0) for h in hx), strict=True))
    last = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            state, own = states[place], weights[place]
            if sizes is None:
                output, state = _scan(step, input, state, own, direction == 1)
            elif direction == 0:
                output, state = _scan_packed(step, input, sizes, state, own)
            else:
                output, state = _scan_packed_reverse(step, input, sizes, state, own)
            outputs.append(output)
            last.append(state)
        input = outputs[0] if directions == 1 else aten.cat(outputs, -1)
        if dropout != 0 and train and layer < num_layers - 1:
            input = aten.dropout(input, dropout, True)
    return (input, *(aten.stack(list(parts), 0) for parts in zip(*last, strict=True)))


def _padded(
    step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, **kwargs
) -> tuple:
    if batch_first:
        input = aten.transpose(input, 0, 1)
    output, *last = _run(step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, **kwargs)
    return (aten.transpose(output, 0, 1) if batch_first else output, *last)


_INPUT = (
    "(Tensor input, {hx}, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first) -> {returns}"
)
_DATA = (
    "(Tensor data, Tensor batch_sizes, {hx}, Tensor[] params, bool has_biases, int num_layers, float dropout, "
    "bool train, bool bidirectional) -> {returns}"
)


def _single_state_layers(name, step, gates, doc) -> None:
    """The two overloads of a layer with one hidden state."""
    form = {"hx": "Tensor hx", "returns": "(Tensor, Tensor)"}
    params = [T(gates * 4, 3), T(gates * 4, 4), T(gates * 4), T(gates * 4)]
    flags = (True, 1, 0.0, False, False)

    @composite(
        f"{name}.input{_INPUT.format(**form)}",
        f"{doc} over (T, N, in), from (layers, N, H).",
        bind="function",
        tags="nondeterministic_seeded",
        samples=[S(T(5, 2, 3), T(1, 2, 4), params, *flags, False)],
    )
    def padded(
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        return _padded(step, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, batch_first)

    @composite(
        f"{name}.data{_DATA.format(**form)}",
        f"{doc} over packed sequences.",
        bind="function",
        tags="nondeterministic_seeded",
    )
    def packed(
        data: Tensor,
        batch_sizes: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Tensor, Tensor]:
        sizes = batch_sizes.tolist()
        return _run(step, data, (hx,), params, has_biases, num_layers, dropout, train, bidirectional, sizes)


_single_state_layers("gru", _gru_step, 3, "Gated recurrent units")
_single_state_layers("rnn_relu", _relu_step, 1, "Elman network with relu")
_single_state_layers("rnn_tanh", _tanh_step, 1, "Elman network with tanh")

_LSTM = {"hx": "Tensor[] hx", "returns": "(Tensor, Tensor, Tensor)"}


def _is_projected(hx):
    """Whether outputs are narrower than cell states, which is how an LSTM with projections is told."""
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")
    return hx[0].size(2) != hx[1].size(2)


@composite(
    f"lstm.input{_INPUT.format(**_LSTM)}",
    "Long short-term memory over (T, N, in), from a pair of (layers, N, H).",
    bind="function",
    tags="nondeterministic_seeded",
    samples=[
        S(
            T(5, 2, 3),
            [T(1, 2, 4), T(1, 2, 4)],
            [T(16, 3), T(16, 4), T(16), T(16)],
            *(True, 1, 0.0, False, False, False),
        )
    ],
)
def lstm(
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    return _padded(
        _lstm_step,
        input,
        hx,
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
        batch_first,
        projected=_is_projected(hx),
    )


@composite(
    f"lstm.data{_DATA.format(**_LSTM)}",
    "Long short-term memory over packed sequences.",
    bind="function",
    tags="nondeterministic_seeded",
)
def lstm_packed(
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    sizes = batch_sizes.tolist()
    projected = _is_projected(hx)
    return _run(_lstm_step, data, hx, params, has_biases, num_layers, dropout, train, bidirectional, sizes, projected)


# ---- padding and packing ----


@composite(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    "Padded sequences (T, N, *) to all first steps, all second ones, and so on; and how many there are of each.",
    bind="function generated_out",
)
def _pack_padded_sequence(input, lengths, batch_first) -> tuple:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.device.type != "cpu" or lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} tensor"
        )
    if batch_first:
        input = aten.transpose(input, 0, 1)
    length_list = lengths.tolist()
    if len(length_list) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(length_list)} "
            f"(batch_size={input.size(1)})"
        )
    if length_list[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if any(a < b for a, b in zip(length_list, length_list[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
            "you do not need ONNX exportability."
        )
    sizes = [sum(1 for length in length_list if length > t) for t in range(length_list[0])]
    if len(sizes) > input.size(0):
        raise RuntimeError(
            f"start ({input.size(0)}) + length ({len(sizes) - input.size(0)}) exceeds dimension size ({input.size(0)})."
        )
    steps = [aten.narrow(aten.select(input, 0, t), 0, 0, size) for t, size in enumerate(sizes)]
    # The batch sizes are made of the lengths so that they have their dtype and device.
    return aten.cat(steps, 0), aten.stack([(lengths > t).sum() for t in range(len(sizes))], 0)


@composite(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length)"
    " -> (Tensor, Tensor)",
    "The inverse of `_pack_padded_sequence`: padded sequences (T, N, *) and their lengths.",
    bind="function",
)
def _pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length) -> tuple:
    sizes = batch_sizes.tolist()
    steps = max(total_length, len(sizes))
    if total_length > 0 and total_length < len(sizes):
        raise RuntimeError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    batch = sizes[0]
    rows = []
    for part in aten.split_with_sizes(data, sizes, 0):
        missing = batch - part.size(0)
        if missing:
            padding = aten.full([missing, *part.shape[1:]], padding_value, dtype=data.dtype, device=data.device)
            part = aten.cat([part, padding], 0)
        rows.append(part)
    output = aten.stack(rows, 0)
    if steps > len(sizes):
        shape = [steps - len(sizes), *output.shape[1:]]
        padding = aten.full(shape, padding_value, dtype=data.dtype, device=data.device)
        output = aten.cat([output, padding], 0)
    # Sequence i is as long as there are steps with more than i rows.
    places = aten.arange(batch, dtype=batch_sizes.dtype, device=batch_sizes.device)
    lengths = (aten.unsqueeze(batch_sizes, 1) > places).sum(0)
    return (aten.transpose(output, 0, 1) if batch_first else output), lengths


@composite(
    'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right")'
    " -> Tensor",
    "Sequences (L_i, *), stacked and padded to the longest: (T, N, *), with `batch_first` (N, T, *).",
    bind="nn",
    samples=[S([T(3, 2), T(2, 2)]), S([T(3), T(1), T(2)], True, 1.5, "left")],
)
def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    if len(sequences) == 0:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    trailing = sequences[0].shape[1:]
    longest = max(s.size(0) for s in sequences)
    rows = []
    for sequence in sequences:
        missing = longest - sequence.size(0)
        if missing:
            padding = aten.full([missing, *trailing], padding_value, dtype=sequence.dtype, device=sequence.device)
            sequence = aten.cat([sequence, padding] if padding_side == "right" else [padding, sequence], 0)
        rows.append(sequence)
    return aten.stack(rows, 0 if batch_first else 1)
