"""Recurrent layers and attention of modules that can be quantized one by one: results and names are PyTorch's."""

import importlib

import pytest
from agreement import same


def parts(lib):
    return (importlib.import_module(f"{lib.__name__}.{name}") for name in ("ao.quantization", "ao.nn.quantizable"))


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    "settings", [{}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True, "bias": False}], ids=str
)
def test_lstm(settings, split):
    def program(lib):
        q, own = parts(lib)
        lib.manual_seed(0)
        plain = lib.nn.LSTM(3, 4, **settings).eval()
        plain.qconfig = q.default_qconfig
        made = own.LSTM.from_float(plain, split_gates=split)
        output, (hidden, cell) = made(lib.randn(5, 2, 3))
        kept = {key: value for key, value in made.state_dict().items() if key.endswith(("val", "weight"))}
        return [output.detach(), hidden.detach(), cell.detach(), kept]

    same(program, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"kdim": 3, "vdim": 5}, {"batch_first": True, "bias": False}],
    ids=str,
)
def test_attention(settings):
    def program(lib):
        q, own = parts(lib)
        lib.manual_seed(0)
        plain = lib.nn.MultiheadAttention(4, 2, **settings).eval()
        plain.qconfig = q.default_qconfig
        made = own.MultiheadAttention.from_float(plain)
        given = [lib.randn(3, 3, settings.get(name, 4)) for name in ("embed_dim", "kdim", "vdim")]
        found = list(made(*given))
        if not settings:
            mask = lib.ones(3, 3, dtype=lib.bool).triu(1)
            found += made(*given, attn_mask=mask, average_attn_weights=False)
            found += made(*given, key_padding_mask=mask, need_weights=False)
        return [None if each is None else each.detach() for each in found]

    same(program, rtol=1e-5, atol=1e-6)


def test_prepare_puts_them_in_place():
    def program(lib):
        q, _ = parts(lib)
        model = lib.nn.Sequential(lib.nn.LSTM(3, 4)).eval()
        model.qconfig = q.default_qconfig
        return [[name, type(each).__name__] for name, each in q.prepare(model).named_modules()]

    same(program)
