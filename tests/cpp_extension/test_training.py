"""training.cpp: optimizers, recurrent layers, containers and archives in C++. Expected values are PyTorch 2.13's."""

import pytest

# The loss after five steps of training.cpp's network.
LOSSES = {
    "sgd": 0.033859726041555405,
    "adam": 0.005978107452392578,
    "adamw": 0.02624545991420746,
    "rmsprop": 0.0027508565690368414,
    "adagrad": 0.0003218493366148323,
    "wolfe": 0.0,
    "lbfgs": 0.016034260392189026,
}


@pytest.mark.parametrize("name", ["optimizers", "containers", "values"])
def test_in_cpp(training, name):
    getattr(training.module, name)()


@pytest.mark.parametrize("kind", LOSSES)
def test_losses(training, kind):
    assert training.module.train(kind) == pytest.approx(LOSSES[kind], rel=2e-4, abs=1e-8)


@pytest.mark.filterwarnings("ignore:LSTM with projections")  # PyTorch's, once a process
def test_recurrent_layers_are_pythons(training):
    torch, nn = training.torch, training.torch.nn
    torch.manual_seed(2)
    gru, rnn = nn.GRU(3, 4, batch_first=True), nn.RNN(3, 4, nonlinearity="relu")
    lstm = nn.LSTM(3, 4, proj_size=2)
    lstm_cell, gru_cell, rnn_cell = nn.LSTMCell(3, 4), nn.GRUCell(3, 4), nn.RNNCell(3, 4)
    x = torch.linspace(-1, 1, 18).reshape(2, 3, 3)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 3]), True, False)
    steps, last = gru(packed)
    padded = nn.utils.rnn.pad_packed_sequence(steps, True)[0]
    expected = [gru(x)[0], rnn(x)[1], lstm(x)[0], lstm_cell(x[0])[0], gru_cell(x[0]), rnn_cell(x[0]), padded, last]
    found = training.module.recurrent()
    assert len(found) == len(expected)
    for ours, pythons in zip(found, expected, strict=True):
        assert torch.allclose(ours, pythons, rtol=1e-6, atol=1e-7)
    assert found[0][0, 0].tolist() == pytest.approx([0.247291, 0.417566, 0.478000, 0.180104], abs=1e-6)


def test_ranges_are_seen_by_profilers(training):
    torch = training.torch
    training.module.recorded(torch.ones(2))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        training.module.recorded(torch.ones(2))
    counts = {event.key: event.count for event in profile.key_averages()}
    names = ("outer", "mine", "entered", "by_hand")
    assert [counts.get(f"training::{name}") for name in names] == [1, 1, 1, 1]
    mine = {event.name: event.is_user_annotation for event in profile.events()}
    assert mine["training::mine"] and mine["training::entered"] and not mine["training::outer"]
    outer, exp = (next(e for e in profile.events() if e.name == name) for name in ("training::outer", "aten::exp"))
    assert outer.time_range.start <= exp.time_range.start and exp.time_range.end <= outer.time_range.end
