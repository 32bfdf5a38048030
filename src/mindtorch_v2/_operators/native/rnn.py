"""Whole layers of recurrent networks as kernels: what PyTorch's fused LSTM is to its cells."""

from ... import _C
from ..table import aten, op, rule


def _lstm_gradients(grads, gates, hx, cx, w_hh, reverse, result0, result2, result3):
    grad_output, grad_cell = grads[0], grads[1]
    if not _C.is_grad_enabled():
        return aten._lstm_scan_backward(grad_output, grad_cell, hx, cx, w_hh, result0, result2, result3, reverse)
    # The same in differentiable operators, for gradients of the gradient.
    steps = range(gates.size(0) - 1, -1, -1) if reverse else range(gates.size(0))
    h, c, done = hx, cx, {}
    for step in steps:
        i, f, g, o = aten.chunk(aten.select(gates, 0, step) + aten.linear(h, w_hh), 4, 1)
        i, f, g, o = aten.sigmoid(i), aten.sigmoid(f), aten.tanh(g), aten.sigmoid(o)
        before, c = (h, c), f * c + i * g
        h = o * aten.tanh(c)
        done[step] = (*before, i, f, g, o, aten.tanh(c))
    dh, dc = aten.zeros_like(hx), aten.zeros_like(cx) if grad_cell is None else grad_cell
    slopes, dw = {}, aten.zeros_like(w_hh)
    for step in reversed(steps):
        h, c, i, f, g, o, tanh_c = done[step]
        if grad_output is not None:
            dh = dh + aten.select(grad_output, 0, step)
        dc = dc + dh * o * (1 - tanh_c * tanh_c)
        own = [dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * tanh_c * o * (1 - o)]
        slopes[step] = aten.cat(own, 1)
        dw = dw + aten.matmul(aten.t(slopes[step]), h)
        dh, dc = aten.matmul(slopes[step], w_hh), dc * f
    return aten.stack([slopes[step] for step in range(gates.size(0))], 0), dh, dc, dw


def _no_second_derivative(grads):
    raise RuntimeError("derivative for aten::_lstm_scan_backward is not implemented")


op(
    "_lstm_scan(Tensor gates, Tensor hx, Tensor cx, Tensor w_hh, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    "One direction of an LSTM layer over (T, N, 4H), the input's part of the gates with all biases: the outputs "
    "(T, N, H), the last cell (N, H), and what the backward pass needs: all cells, and the gates after their functions.",
    meta=rule("lstm_scan"),
    grad={("gates", "hx", "cx", "w_hh"): _lstm_gradients},
    nondiff=(2, 3),
    node="MkldnnRnnLayerBackward0",  # as of PyTorch's float32
)

op(
    "_lstm_scan_backward(Tensor? grad_output, Tensor? grad_cell, Tensor hx, Tensor cx, Tensor w_hh, Tensor output, "
    "Tensor cells, Tensor gates, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    "Gradients of one direction of an LSTM layer, from those of the outputs and of the last cell.",
    meta=rule("lstm_scan_backward"),
    grad={("hx", "cx", "w_hh", "output", "cells", "gates"): _no_second_derivative},
)
