"""layers.cpp: what torch::nn has of torch.nn gives the same numbers; --live asks it of PyTorch's own two as well."""

import pathlib

import pytest

SOURCES = pathlib.Path(__file__).parent
INF = float("inf")


def _input(torch, *sizes):
    """Numbers on both sides of zero, none like another, made without a generator."""
    count = 1
    for size in sizes:
        count *= size
    return torch.sin(torch.arange(count, dtype=torch.float64) * 1.7 + 0.3).reshape(sizes)


def _same(torch, found, expected):
    assert len(found) == len(expected)
    for i, (ours, pythons) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(ours, pythons, rtol=1e-6, atol=1e-7, msg=f"result {i}: {ours} for {pythons}")


def test_pools(layers):
    torch, nn, F = layers.torch, layers.torch.nn, layers.torch.nn.functional
    x = _input(torch, 2, 3, 8)
    x2, x3 = x.reshape(2, 3, 2, 4), x.reshape(2, 3, 2, 2, 2)
    line, where = F.max_pool1d(x, 2, return_indices=True)
    top, places = F.max_pool2d(x2, 2, return_indices=True)
    cube, there = F.max_pool3d(x3, 2, return_indices=True)
    samples = torch.full((2, 3, 2), 0.4, dtype=torch.float64)
    *found, transposed = layers.module.pools(x)
    assert transposed.shape == (2, 1, 18)
    expected = [
        F.max_pool1d(x, 2),
        F.avg_pool2d(x2, 2),
        F.max_pool3d(x3, 2),
        line,
        where,
        *F.max_pool2d(x2, (2, 1), return_indices=True),
        *F.adaptive_max_pool2d(x2, (1, 2), return_indices=True),
        F.adaptive_avg_pool2d(x2, (None, 2)),
        F.adaptive_avg_pool1d(x, 4),
        F.adaptive_avg_pool3d(x3, 1),
        F.lp_pool1d(x, 2, 2),
        F.lp_pool2d(x2, 4, 2, stride=1),
        F.lp_pool3d(x3.abs(), 1.5, 2),
        F.max_unpool2d(top, places, 2),
        F.max_unpool2d(top, places, 2, output_size=(2, 3, 2, 4)),
        F.max_unpool1d(line, where, 2),
        F.max_unpool3d(cube, there, 2),
        *nn.FractionalMaxPool2d((1, 2), output_size=(2, 3), return_indices=True, _random_samples=samples)(x2),
        nn.FractionalMaxPool2d((1, 2), output_ratio=(0.5, 0.5), _random_samples=samples)(x2),
    ]
    _same(torch, found, expected)


def test_losses(layers):
    torch, nn = layers.torch, layers.torch.nn
    a, b, c = _input(torch, 3, 4, 5).unbind()
    side = torch.tensor([1.0, -1, 1, -1], dtype=torch.float64)
    classes, sides = torch.tensor([0, 4, 2, 1]), c.sign()
    labels = torch.tensor([[3, 1, -1, 0, 0], [0, -1, 1, 1, 1], [1, 2, 3, 4, 0], [-1, 0, 0, 0, 0]])
    weight = torch.arange(1.0, 6.0, dtype=torch.float64)
    expected = [
        nn.HingeEmbeddingLoss(2)(a, sides),
        nn.MultiMarginLoss(2, 0.5, weight)(a, classes),
        nn.MultiLabelMarginLoss(reduction="sum")(a, labels),
        nn.MultiLabelSoftMarginLoss(weight)(a, (b > 0).to(a)),
        nn.SoftMarginLoss(reduction="none")(a, sides),
        nn.PoissonNLLLoss(log_input=False, full=True)(a.abs(), 3 * b.abs()),
        nn.CosineEmbeddingLoss(0.1)(a, b, side),
        nn.MarginRankingLoss(0.3)(a, b, sides),
        nn.TripletMarginLoss(p=1, swap=True)(a, b, c),
        nn.TripletMarginWithDistanceLoss(reduction="sum")(a, b, c),
        nn.TripletMarginWithDistanceLoss(swap=True, margin=3, distance_function=lambda u, v: (u - v).abs().amax(-1))(
            a, b, c
        ),
        nn.CTCLoss(reduction="sum")(
            torch.stack([a, b, c]).log_softmax(-1),
            torch.tensor([[1, 2], [3, 4], [2, 0], [4, 1]]),
            torch.full((4,), 3),
            torch.tensor([2, 2, 1, 2]),
        ),
    ]
    _same(torch, layers.module.losses(a, b, c), expected)


def test_layers(layers):
    torch, nn, F = layers.torch, layers.torch.nn, layers.torch.nn.functional
    x = _input(torch, 2, 4, 6)
    image = x.reshape(2, 4, 2, 3)
    expected = [
        F.hardshrink(x, 0.3),
        F.softshrink(x, 0.2),
        F.hardshrink(x),
        F.softshrink(x, 0.4),
        F.threshold(x, 0.1, 20),
        F.rrelu(x, 0.1, 0.3),
        x,
        x,
        nn.LocalResponseNorm(2)(x),
        nn.LocalResponseNorm(3, 0.5, k=2)(image),
        nn.CrossMapLRN2d(3, 0.5, 0.6, 2)(image),
        nn.CrossMapLRN2d(4, 0.5)(image),
        F.instance_norm(x, eps=0.1),
        F.pixel_unshuffle(x.reshape(1, 2, 4, 6), 2),
        F.pdist(x.reshape(8, 6), 1),
        F.unfold(image, 2),
        F.fold(x, (3, 4), 2),
        F.normalize(x, dim=2),
    ]
    _same(torch, layers.module.layers(x), expected)


def test_bags(layers):
    torch, F = layers.torch, layers.torch.nn.functional
    table = _input(torch, 5, 3).float()
    rows, line = torch.tensor([[0, 2], [4, 4], [1, 3]]), torch.tensor([0, 2, 4, 1, 2])
    expected = [
        F.embedding_bag(rows, table),
        F.embedding_bag(line, table, torch.tensor([0, 2, 4]), mode="max"),
        F.embedding_bag(rows, table, mode="sum", per_sample_weights=torch.full((3, 2), 0.5)),
    ]
    own, *found = layers.module.bags(table)
    _same(torch, found, expected)
    if torch.__name__ != "torch":  # PyTorch's draws the row of the padding, too
        assert own[4].tolist() == [0, 0, 0] and own[:4].abs().min() > 0


@pytest.mark.parametrize(("width", "kv", "zero"), [(4, False, False), (4, True, True), (3, True, False)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention(layers, width, kv, zero, masked):
    torch = layers.torch
    python = torch.nn.MultiheadAttention(4, 2, kdim=width, vdim=width, add_bias_kv=kv, add_zero_attn=zero)
    state = {name: _input(torch, *p.shape).float() for name, p in python.named_parameters()}
    python.load_state_dict(state)
    query, key, value = (_input(torch, n, 2, w).float() for n, w in ((3, 4), (5, width), (5, width)))
    padding = mask = shown = None
    if masked:
        padding, mask = torch.zeros(2, 5, dtype=torch.bool), torch.zeros(3, 5)
        padding[1, 2:4] = True
        mask[0, 1] = mask[2, 4] = -INF
        shown = torch.zeros(2, 5).masked_fill(padding, -INF)  # Python's layer takes masks of one type only
    expected = python(query, key, value, key_padding_mask=shown, attn_mask=mask)
    _same(torch, layers.module.attention(state, query, key, value, padding, mask, kv, zero), list(expected))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("gelu", [False, True])
def test_transformer(layers, gelu):
    torch = layers.torch
    python = torch.nn.Transformer(4, 2, 2, 1, 8, 0.0, activation="gelu" if gelu else "relu")
    state = {name: _input(torch, *p.shape).float() for name, p in python.named_parameters()}
    python.load_state_dict(state)
    src, tgt = _input(torch, 5, 2, 4).float(), _input(torch, 3, 2, 4).float().flip(0)
    padding = torch.zeros(2, 5, dtype=torch.bool)
    padding[0, 3:] = True
    expected = python(
        src, tgt, tgt_mask=torch.nn.Transformer.generate_square_subsequent_mask(3), src_key_padding_mask=padding
    )
    _same(torch, [layers.module.transformer(state, src, tgt, padding, gelu)], [expected])


def test_adaptive_softmax(layers):
    torch = layers.torch
    python = torch.nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6], 2.0, head_bias=True)
    state = {name: _input(torch, *p.shape).float() for name, p in python.named_parameters()}
    python.load_state_dict(state)
    x, target = _input(torch, 5, 4).float(), torch.tensor([0, 9, 4, 2, 5])
    found = layers.module.adaptive(state, x, target)
    _same(torch, found, [*python(x, target), python.log_prob(x), python.predict(x)])


def test_calls_of_unknown_modules(layers):
    layers.module.defaults()


def test_what_is_printed(layers):
    recorded = (SOURCES / "printed_layers.txt").read_text()  # of PyTorch 2.13
    assert layers.module.printed() == recorded
