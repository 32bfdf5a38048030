"""Normalisations and losses whose parameters have another dtype than their input: PyTorch 2.13's errors and results."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

_FLOAT = "mixed dtype (CPU): expect parameter to have scalar type of Float"
_SHARED = "mixed dtype (CPU): all inputs must share same datatype."
_NORMS = {
    "layer_norm": lambda x, w, b: functional.layer_norm(x, (4,), w, b),
    "group_norm": lambda x, w, b: functional.group_norm(x, 2, w, b),
    "batch_norm": lambda x, w, b: functional.batch_norm(x, None, None, w, b, True),
    "instance_norm": lambda x, w, b: functional.instance_norm(x.unsqueeze(2).expand(2, 4, 3), None, None, w, b),
}
# (input, weight, bias): the error, None where there is none
_CASES = [
    ("float32", "float16", "float16", _FLOAT),
    ("float32", "float64", None, _FLOAT),
    ("float32", None, "bfloat16", _FLOAT),
    ("float64", "float32", "float32", _SHARED),
    ("float64", "float16", None, _FLOAT),
    ("float16", "bfloat16", "bfloat16", _FLOAT),
    ("float16", "float32", "float16", _FLOAT),
    ("float16", "float16", "float32", "expected scalar type Half but found Float"),
    ("float32", "float32", "float16", "expected scalar type Float but found Half"),
    ("float16", "float32", "float32", None),
    ("bfloat16", "float32", None, None),
    ("bfloat16", "bfloat16", "bfloat16", None),
]


def _ones(dtype):
    return None if dtype is None else torch.ones(4, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("norm", ["layer_norm", "group_norm", "batch_norm"])
@pytest.mark.parametrize(("dtype", "weight", "bias", "message"), _CASES)
def test_norms(norm, dtype, weight, bias, message):
    x = torch.ones(2, 4, dtype=getattr(torch, dtype))
    if message is None:
        assert _NORMS[norm](x, _ones(weight), _ones(bias)).dtype is x.dtype
        return
    with pytest.raises(RuntimeError) as caught:
        _NORMS[norm](x, _ones(weight), _ones(bias))
    assert str(caught.value) == message


@pytest.mark.parametrize("weight", ["float16", "bfloat16", "float64"])
def test_instance_norm(weight):
    with pytest.raises(RuntimeError) as caught:
        _NORMS["instance_norm"](torch.ones(2, 4), _ones(weight), None)
    assert str(caught.value) == _FLOAT


@pytest.mark.parametrize(
    ("dtype", "statistics", "message"),
    [
        ("float32", "float16", _FLOAT),
        ("float32", "float64", _FLOAT),
        ("float64", "float32", _SHARED),
        ("float16", "float32", None),
    ],
)
def test_statistics_of_batches(dtype, statistics, message):
    x, mean, variance = torch.ones(2, 4, dtype=getattr(torch, dtype)), _ones(statistics), _ones(statistics)
    if message is None:
        assert functional.batch_norm(x, mean, variance).dtype is x.dtype
        return
    with pytest.raises(RuntimeError) as caught:
        functional.batch_norm(x, mean, variance)
    assert str(caught.value) == message


@pytest.mark.parametrize("loss", [functional.nll_loss, functional.cross_entropy])
def test_weights_of_classes(loss):
    with pytest.raises(RuntimeError) as caught:
        loss(torch.ones(2, 4), torch.tensor([0, 1]), _ones("float16"))
    assert str(caught.value) == "expected scalar type Float but found Half"


def test_the_scaler_at_top_level():
    assert torch.GradScaler is torch.amp.GradScaler
