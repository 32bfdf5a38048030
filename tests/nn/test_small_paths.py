"""Ways through layers and losses that other calls do not take; expected values from the plain definitions."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F


def test_heads_of_keys_are_shared_in_the_plain_way() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 6, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    found = torch.ops.aten._scaled_dot_product_attention_math(query, key, value, enable_gqa=True)[0]
    key, value = key.repeat_interleave(3, 1), value.repeat_interleave(3, 1)
    expected = ((query @ key.transpose(-2, -1)) / 2).softmax(-1) @ value
    assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_the_second_and_third_gradient_of_squared_differences(reduction: str) -> None:
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.5, 1.0, 1.5], dtype=torch.float64, requires_grad=True)

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(a, b, reduction=reduction)

    assert torch.autograd.gradgradcheck(loss, (x, y))
    share = 1 / 3 if reduction == "mean" else 1.0
    (first,) = torch.autograd.grad(loss(x, y).sum(), x, create_graph=True)
    by_x, by_y = torch.autograd.grad(first.sum(), (x, y))
    assert torch.allclose(by_x, torch.full_like(x, 2 * share)) and torch.allclose(by_y, torch.full_like(x, -2 * share))


def test_an_encoder_knows_a_causal_mask_without_a_batch() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    x, mask = torch.randn(5, 8), nn.Transformer.generate_square_subsequent_mask(5)
    alone, batched = encoder(x, mask=mask), encoder(x.unsqueeze(1), mask=mask).squeeze(1)
    assert torch.allclose(alone, batched, atol=1e-5)
    assert torch.allclose(encoder(x, mask=mask)[:3], encoder(x[:3], mask=mask[:3, :3]), atol=1e-5)


def test_names_that_a_module_lacks_leave_nothing_behind() -> None:
    layer = nn.Linear(2, 2)
    given = {"weight": torch.ones(2, 2), "bias": torch.zeros(2), "extra": torch.ones(1)}
    assert torch.func.functional_call(layer, given, torch.ones(2)).tolist() == [2.0, 2.0]
    assert not hasattr(layer, "extra")
    assert isinstance(layer.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'extra'"):
        torch.func.functional_call(layer, given, torch.ones(2), strict=True)


def test_a_buffer_of_a_class_of_its_own() -> None:
    class Own(nn.Buffer):
        pass

    assert isinstance(torch.ones(2).as_subclass(Own), nn.Buffer)
    assert isinstance(nn.Buffer(torch.ones(2)), nn.Buffer)
    assert not isinstance(torch.ones(2), nn.Buffer)


def test_instance_norms_of_a_users_own_say_their_dimensions() -> None:
    class Own(nn.modules.instancenorm._InstanceNorm):
        def _check_input_dim(self, input: torch.Tensor) -> None:
            pass

    with pytest.raises(NotImplementedError):
        Own(2)(torch.ones(1, 2, 3))


@pytest.mark.parametrize(("shape", "length"), [((5, 4), 5), ((5, 3, 4), 5)])
def test_lengths_of_sequences(shape: tuple[int, ...], length: int) -> None:
    from mindtorch_v2.nn.modules.transformer import _get_seq_len

    assert _get_seq_len(torch.ones(shape), False) == length
    turned = torch.ones(shape) if len(shape) == 2 else torch.ones(shape).transpose(0, 1)
    assert _get_seq_len(turned, True) == length


def test_norms_in_another_dtype() -> None:
    x = torch.tensor([3.0, 4.0])
    for p in ("fro", 2, None, 1, float("inf")):
        assert x.norm(p, dtype=torch.float64).dtype == torch.float64
        assert torch.norm(x, p, dim=0, dtype=torch.float64).dtype == torch.float64


def test_norms_of_batches_without_a_bias_are_converted() -> None:
    with_bias, without = nn.BatchNorm1d(2), nn.BatchNorm1d(2, bias=False)
    nn.init.constant_(with_bias.bias, 0.5)
    made = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(with_bias, without))
    assert made[0].bias is with_bias.bias
    assert made[0].weight is with_bias.weight
    assert made[1].bias is None
    assert made[1].weight is without.weight
    assert isinstance(made[1], nn.SyncBatchNorm)


def test_means_over_volumes_are_made_in_single_precision() -> None:
    x = torch.ones(1, 4, 4, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert F.avg_pool3d(x, 2).dtype == torch.float32
        assert F.avg_pool2d(x[0], 2).dtype == torch.bfloat16
