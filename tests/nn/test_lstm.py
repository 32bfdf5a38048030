"""The kernel for a whole LSTM layer against cells one step at a time, its slopes of every order, and what it refuses."""

import pytest

import mindtorch_v2 as torch


def _layer(steps, batch, inputs, hidden, dtype, **kwargs):
    torch.manual_seed(steps)
    layer = torch.nn.LSTM(inputs, hidden, dtype=dtype, **kwargs)
    directions = 2 if layer.bidirectional else 1
    x = torch.randn(steps, batch, inputs, dtype=dtype, requires_grad=True)
    state = [torch.randn(directions, batch, hidden, dtype=dtype, requires_grad=True) for _ in range(2)]
    return layer, x, state


def _by_cells(layer, x, state):
    outputs, last = [], []
    for direction in range(2 if layer.bidirectional else 1):
        suffix = "_l0" + ("_reverse" if direction else "")
        names = ["weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if layer.bias else ())]
        weights = [getattr(layer, name + suffix) for name in names]
        h, c = (s[direction] for s in state)
        made = []
        for step in reversed(x) if direction else x:
            h, c = torch.lstm_cell(step, (h, c), *weights)
            made.append(h)
        outputs.append(torch.stack(made[::-1] if direction else made))
        last.append((h, c))
    return torch.cat(outputs, -1), *(torch.stack(parts) for parts in zip(*last, strict=True))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2e-5), (torch.float64, 1e-13)])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (7, 1, 3, 5), (4, 5, 6, 17), (12, 9, 20, 40)])
@pytest.mark.parametrize("kwargs", [{}, {"bidirectional": True}, {"bias": False}], ids=str)
def test_layer_is_its_cells(dtype, tolerance, sizes, kwargs):
    layer, x, state = _layer(*sizes, dtype, **kwargs)
    sources = [x, *state, *layer.parameters()]
    output, (h, c) = layer(x, tuple(state))
    results = [output, h, c]
    expected = _by_cells(layer, x, state)
    weights = [torch.randn_like(r) for r in results]
    for ours, theirs in zip(results, expected, strict=True):
        assert torch.allclose(ours, theirs, atol=tolerance, rtol=tolerance)
    # All results together, and each alone: the gradients of the others are then undefined.
    for places in ((0, 1, 2), (0,), (1,), (2,)):
        slopes = [
            torch.autograd.grad(
                [made[i] for i in places], sources, [weights[i] for i in places], retain_graph=True, allow_unused=True
            )
            for made in (results, expected)
        ]
        for ours, theirs in zip(*slopes, strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert torch.allclose(ours, theirs, atol=20 * tolerance, rtol=20 * tolerance)


@pytest.mark.parametrize("kwargs", [{"bidirectional": True}, {"bias": False}], ids=str)
def test_slopes_of_first_and_second_order(kwargs):
    layer, x, state = _layer(3, 2, 2, 3, torch.float64, **kwargs)
    weights = [p.detach().requires_grad_() for p in layer.parameters()]

    def run(x, h, c, *weights):
        return torch.lstm(x, (h, c), list(weights), layer.bias, 1, 0.0, False, layer.bidirectional, False)

    assert torch.autograd.gradcheck(run, (x, *state, *weights))
    assert torch.autograd.gradgradcheck(run, (x, *state, *weights))


def test_no_rows_and_shapes_without_numbers():
    layer, x, state = _layer(3, 0, 2, 4, torch.float32)
    output, (h, c) = layer(x, tuple(state))
    assert (output.shape, h.shape, c.shape) == ((3, 0, 4), (1, 0, 4), (1, 0, 4))
    output.sum().backward()
    assert all(p.grad.abs().sum() == 0 for p in layer.parameters())
    output, (h, c) = torch.nn.LSTM(2, 4, device="meta")(torch.empty(3, 5, 2, device="meta"))
    assert (output.shape, h.shape, c.shape) == ((3, 5, 4), (1, 5, 4), (1, 5, 4))


def test_what_does_not_fit_is_named():
    gates, state, weight = torch.zeros(2, 3, 16), torch.zeros(3, 4), torch.zeros(16, 4)
    scan = torch.ops.aten._lstm_scan
    with pytest.raises(RuntimeError, match="expected gates of 3 rows of 20"):
        scan(gates, torch.zeros(3, 5), state, weight, False)
    with pytest.raises(RuntimeError, match="expected both states of size"):
        scan(gates, state, torch.zeros(2, 4), weight, False)
    with pytest.raises(RuntimeError, match="expected a weight of 16 x 4"):
        scan(gates, state, state, torch.zeros(4, 16), False)
    with pytest.raises(RuntimeError, match="one dtype"):
        scan(gates, state, state.double(), weight, False)
    with pytest.raises(RuntimeError, match="at least one step"):
        scan(gates[:0], state, state, weight, False)
    with pytest.raises(RuntimeError, match="not implemented for 'BFloat16'"):
        scan(gates.bfloat16(), state.bfloat16(), state.bfloat16(), weight.bfloat16(), False)
