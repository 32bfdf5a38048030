"""`torch.ao.quantization.quantize_dynamic` with PyTorch 2.13's numbers (its x86 engine)."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization import (
    MinMaxObserver,
    PerChannelMinMaxObserver,
    QConfig,
    default_dynamic_qconfig,
    per_channel_dynamic_qconfig,
    quantize_dynamic,
)

WEIGHT = [[0.5, -0.25, 1.0, 0.125], [-1.5, 0.75, 0.3, -0.9], [0.0, 0.2, -0.6, 0.05]]
BIAS = [0.1, -0.2, 0.3]
X = [[1.0, -2.0, 0.5, 3.0], [0.25, 0.75, -1.25, 2.0], [0.0, 0.0, 0.0, 0.0]]


def model():
    made = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    with torch.no_grad():
        made[0].weight.copy_(torch.tensor(WEIGHT))
        made[0].bias.copy_(torch.tensor(BIAS))
    return made


# Each by PyTorch: results of x, by the config.
EXPECTED = {
    "default": [
        [1.9814266, -5.71273708, -0.267855465],
        [-0.968087077, -2.17313576, 1.29999995],
        [0.100000001, -0.200000003, 0.300000012],
    ],
    "channels": [
        [1.98327935, -5.71273708, -0.247846246],
        [-0.972101331, -2.17313576, 1.30472445],
        [0.100000001, -0.200000003, 0.300000012],
    ],
    "float16": [
        [1.97500002, -5.74968243, -0.249987781],
        [-0.962499976, -2.18736577, 1.30006099],
        [0.100000001, -0.200000003, 0.300000012],
    ],
    "tiny": [
        [0.101854399, -0.205508664, 0.299445271],
        [0.0989802256, -0.201989323, 0.300973147],
        [0.100000001, -0.200000003, 0.300000012],
    ],
}


def quantized(name):
    if name == "channels":
        return quantize_dynamic(model(), {"0": per_channel_dynamic_qconfig})
    return quantize_dynamic(model(), {nn.Linear}, dtype=torch.float16 if name == "float16" else torch.qint8)


@pytest.mark.parametrize("name", list(EXPECTED))
def test_results(name):
    x = torch.tensor(X) * (1e-3 if name == "tiny" else 1)
    assert torch.allclose(quantized(name)[0](x), torch.tensor(EXPECTED[name]), rtol=1e-6, atol=1e-7)


def test_many_rows_are_whole_products():
    """Sums of whole numbers are exact: many rows at once give what each gives, if their least and greatest numbers agree."""
    torch.manual_seed(0)
    layer = quantize_dynamic(nn.Sequential(nn.Linear(96, 80)), {nn.Linear})[0]
    x = torch.randn(64, 96)
    x[:, 0], x[:, 1] = -5.0, 5.0
    together = layer(x)
    assert torch.equal(together, torch.cat([layer(row[None]) for row in x]))
    plain = x @ layer.weight().dequantize().t() + layer.bias()
    assert (together - plain).abs().max() < 0.1
    assert layer(x.reshape(4, 16, 96)).shape == (4, 16, 80)


def test_state_has_pytorchs_names_and_comes_back():
    made = quantized("default")
    state = made.state_dict()
    assert list(state) == ["0.scale", "0.zero_point", "0._packed_params.dtype", "0._packed_params._packed_params"]
    weight, bias = state["0._packed_params._packed_params"]
    assert weight.dtype is torch.qint8 and weight.q_zero_point() == 0
    assert weight.int_repr().tolist() == [[42, -21, 85, 11], [-128, 64, 26, -76], [0, 17, -51, 4]]
    other = quantize_dynamic(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), {nn.Linear})
    other.load_state_dict(copy.deepcopy(state))
    x = torch.tensor(X)
    assert torch.equal(other(x), made(x)) and torch.equal(copy.deepcopy(made)(x), made(x))


def test_from_float_without_a_config():
    made = torch.ao.nn.quantized.dynamic.Linear.from_float(model()[0])
    assert torch.equal(made(torch.tensor(X)), quantized("default")[0](torch.tensor(X)))


def test_which_modules():
    nested = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
    kinds = {name: type(m).__name__ for name, m in quantize_dynamic(nested, {"1.0"}).named_modules()}
    assert "Dynamic" in str(quantize_dynamic(nested, {"1.0"})[1][0]) and isinstance(nested[1][0], nn.Linear)
    assert str(quantize_dynamic(nested, {"1.0"})[0]).startswith("Linear(") and kinds["1.1"] == "Tanh"
    assert quantize_dynamic(nested, {"1": default_dynamic_qconfig})[0] is not nested[0]
    assert quantize_dynamic(nested, inplace=True) is nested and "Dynamic" in str(nested[0])


def test_observers():
    seen = MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
        assert [each.tolist() for each in seen.calculate_qparams()] == [[1.0], [0]]
    seen(torch.tensor([1.0, -3.0, 2.0]))
    scale, zero_point = seen.calculate_qparams()
    assert scale.item() == pytest.approx(3 / 127.5) and zero_point.item() == 0
    affine = MinMaxObserver()
    affine(torch.tensor([1.0, -3.0, 2.0]))
    scale, zero_point = affine.calculate_qparams()
    assert scale.item() == pytest.approx(5 / 255) and zero_point.item() == 153
    channels = PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    channels(torch.tensor([[1.0, -3.0, 2.0], [0, 0, 0]]))
    assert channels.calculate_qparams()[0].tolist() == pytest.approx([3 / 127.5, 2**-23])
    assert QConfig(1, 2).weight == 2


def test_text():
    assert repr(quantized("channels")[0]) == (
        "DynamicQuantizedLinear(in_features=4, out_features=3, dtype=torch.qint8, qscheme=torch.per_channel_affine)"
    )
    assert repr(quantized("float16")[0]) == (
        "DynamicQuantizedLinear(in_features=4, out_features=3, dtype=torch.float16)"
    )


def test_bad_input():
    with pytest.raises(ValueError, match="Don't know how to quantize with default settings for torch.float32"):
        quantize_dynamic(model(), dtype=torch.float32)
    layer = quantized("default")[0]
    with pytest.raises(RuntimeError, match="larger than or equal to 2"):
        layer(torch.ones(4))
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        layer(torch.ones(2, 4, dtype=torch.float64))
    with pytest.raises(RuntimeError, match="number of rows in the packB should be equal to K: 4"):
        layer(torch.ones(2, 5))


def test_zero_points_that_are_floats():
    observer = torch.ao.quantization.observer.default_float_qparams_observer()
    observer(torch.tensor([[-0.5, 2.05], [0.5, 1.0], [3.0, 3.0]]))
    scale, zero_point = observer.calculate_qparams()
    torch.testing.assert_close(scale, torch.tensor([0.01, 0.5 / 255, 1.0]))
    torch.testing.assert_close(zero_point, torch.tensor([50.0, -255.0, -3.0]))


def test_arithmetic_is_observed_but_for_numbers():
    arithmetic, seen = torch.ao.nn.quantized.FloatFunctional(), []
    arithmetic.activation_post_process.register_forward_hook(lambda module, args, result: seen.append(result.tolist()))
    x = torch.tensor([1.0, -2.0])
    for other in (arithmetic, torch.ao.nn.quantized.FXFloatFunctional()):
        assert other.add(x, x).tolist() == [2, -4] and other.add_scalar(x, 2.0).tolist() == [3, 0]
        assert other.mul(x, x).tolist() == [1, 4] and other.mul_scalar(x, 2.0).tolist() == [2, -4]
        assert other.cat([x, x]).tolist() == [1, -2, 1, -2] and other.cat([x[None], x[None]], dim=1).shape == (1, 4)
        assert other.add_relu(x, x).tolist() == [2, 0] and other.matmul(x, x).item() == 5
        with pytest.raises(RuntimeError, match="FloatFunctional is not intended to use the 'forward'"):
            other(x)
    assert len(seen) == 6 and seen[0] == [2, -4] and seen[1] == [1, 4]
    assert torch.nn.quantized.FloatFunctional is torch.ao.nn.quantized.FloatFunctional
