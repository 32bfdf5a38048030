"""Gradients of recurrent cells, and parts of attention."""

from __future__ import annotations

import math

from ..table import S, T, aten, composite


@composite(
    "_thnn_differentiable_lstm_cell_backward(Tensor? grad_hy, Tensor? grad_cy, Tensor input_gates, Tensor hidden_gates,"
    " Tensor? input_bias, Tensor? hidden_bias, Tensor cx, Tensor cy) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "The gradients of an LSTM cell for its gates (twice), its state and its biases (twice).",
    samples=[S(*[T(2, 3)] * 2, T(2, 12), T(2, 12), T(12), T(12), T(2, 3), T(2, 3))],
)
def _thnn_differentiable_lstm_cell_backward(
    grad_hy, grad_cy, input_gates, hidden_gates, input_bias, hidden_bias, cx, cy
):
    if grad_hy is None and grad_cy is None:
        return (None,) * 5
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias
    i, f, c, o = gates.chunk(4, 1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    squashed = cy.tanh()
    if grad_hy is None:
        to_o, to_cy = aten.zeros_like(o), grad_cy
    else:
        to_o = aten.sigmoid_backward(grad_hy * squashed, o)
        to_cy = aten.tanh_backward(grad_hy * o, squashed)
        to_cy = to_cy if grad_cy is None else to_cy + grad_cy
    to_gates = aten.cat(
        [
            aten.sigmoid_backward(to_cy * c, i),
            aten.sigmoid_backward(to_cy * cx, f),
            aten.tanh_backward(to_cy * i, c),
            to_o,
        ],
        1,
    )
    to_bias = None if input_bias is None else to_gates.sum(0)
    return to_gates, to_gates, to_cy * f, to_bias, to_bias


@composite(
    "_thnn_differentiable_gru_cell_backward(Tensor grad_hy, Tensor input_gates, Tensor hidden_gates, Tensor hx,"
    " Tensor? input_bias, Tensor? hidden_bias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "The gradients of a GRU cell for its two kinds of gates, its state and its two biases.",
    samples=[S(T(2, 3), T(2, 9), T(2, 9), T(2, 3), T(9), T(9))],
)
def _thnn_differentiable_gru_cell_backward(grad_hy, input_gates, hidden_gates, hx, input_bias, hidden_bias):
    of_input = input_gates if input_bias is None else input_gates + input_bias
    of_hidden = hidden_gates if hidden_bias is None else hidden_gates + hidden_bias
    (ir, iz, inew), (hr, hz, hnew) = of_input.chunk(3, 1), of_hidden.chunk(3, 1)
    reset, kept = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    new = (inew + reset * hnew).tanh()
    to_kept = aten.sigmoid_backward(grad_hy * (hx - new), kept)
    to_new = aten.tanh_backward(grad_hy * (1 - kept), new)
    to_reset = aten.sigmoid_backward(to_new * hnew, reset)
    to_input = aten.cat([to_reset, to_kept, to_new], 1)
    to_hidden = aten.cat([to_reset, to_kept, to_new * reset], 1)
    to_biases = (None if bias is None else x.sum(0) for bias, x in ((input_bias, to_input), (hidden_bias, to_hidden)))
    return to_input, to_hidden, grad_hy * kept, *to_biases


@composite(
    "_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)",
    "Queries, keys and values by heads, with their biases; queries are divided by the root of a head's width.",
    bind="function generated_out",
    explicit=True,
    samples=[S(T(2, 3, 12, grad=False), T(12, grad=False), 2)],
)
def _transform_bias_rescale_qkv(qkv, qkv_bias, num_heads):
    batch, length, width = qkv.size(0), qkv.size(1), qkv.size(2) // 3
    if width % num_heads:
        raise RuntimeError("_transform_bias_rescale_qkv: the heads have to divide the width")
    each = width // num_heads
    parts = (qkv + qkv_bias).view([batch, length, 3, num_heads, each]).permute([2, 0, 3, 1, 4])
    q, k, v = (aten.contiguous(part) for part in parts.unbind(0))
    return q / math.sqrt(each), k, v


# ---- batches of rows of different lengths ----


def _one(offsets, name):
    if len(offsets) != 1:
        raise RuntimeError(f"{name}: lengths along one dimension are expected")
    return offsets[0].tolist()


@composite(
    "_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.)"
    " -> Tensor",
    "Rows of different lengths, one behind the other in `values`, each padded to `max_lengths`.",
    explicit=True,
    samples=None,
)
def _jagged_to_padded_dense_forward(values, offsets, max_lengths, padding_value=0.0):
    bounds, length = _one(offsets, "_jagged_to_padded_dense_forward"), max_lengths[0]
    made = values.new_full([len(bounds) - 1, length, *values.shape[1:]], padding_value)
    for row, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        count = min(end - begin, length)
        aten.copy_(made.select(0, row).narrow(0, 0, count), values.narrow(0, begin, count))
    return made


@composite(
    "_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) -> Tensor",
    "The rows of `dense` without their padding, one behind the other.",
    explicit=True,
    samples=None,
)
def _padded_dense_to_jagged_forward(dense, offsets, total_L=None):
    bounds = _one(offsets, "_padded_dense_to_jagged_forward")
    if total_L is not None and total_L != bounds[-1]:
        raise RuntimeError("_padded_dense_to_jagged_forward(): final offset should match total_L value")
    made = dense.new_zeros([bounds[-1], *dense.shape[2:]])
    for row, (begin, end) in enumerate(zip(bounds, bounds[1:])):
        count = min(end - begin, dense.size(1))
        aten.copy_(made.narrow(0, begin, count), dense.select(0, row).narrow(0, 0, count))
    return made


@composite(
    "_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor, Tensor)",
    "The rows that `mask` keeps, and for each row its place among them, or -1.",
    bind="function",
    samples=None,
)
def _rowwise_prune(weight, mask, compressed_indices_dtype):
    kept = aten.nonzero(mask).squeeze(1)
    places = aten.where(mask, mask.cumsum(0) - 1, -1).to(compressed_indices_dtype)
    return aten.index_select(weight, 0, kept), places
