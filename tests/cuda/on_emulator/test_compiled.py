"""torch.compile on the GPU: chains of element-wise calls become one kernel, whose results are those of single ones to the bit."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._lowered.fusion import fuse
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

F = torch.nn.functional


def _gelu_of_a_sum(x, y):
    return F.gelu(x * 2 + y).sub(1).clamp(-1.5, 2.5)


def _tanh_gelu(x, y):
    return F.gelu(x, approximate="tanh") / (y.abs() + 1)


def _with_numbers(x, y):
    return torch.where(x > y, x.pow(2), y * float("inf")).nan_to_num(posinf=3.0)


def _row_and_column(x, y):
    return torch.exp(x[:1] - y[:, :1]) * torch.sigmoid(y)


def _two_results(x, y):
    z = torch.tanh(x + y)
    return z, z * z, (z > 0).logical_and(x > 0)


def _turned(x, y):
    return torch.sin(x.t().contiguous() + y.t()) * 3


CHAINS = (_gelu_of_a_sum, _tanh_gelu, _with_numbers, _row_and_column, _two_results, _turned)


def _fused(function, *tensors):
    return fuse(make_fx(function, tracing_mode="fake")(*tensors))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: chain.__name__.strip("_"))
def test_chains(chain, dtype):
    x, y = (torch.randn(33, 40, device="cuda").to(dtype) for _ in range(2))
    expected = chain(x, y)
    made = _fused(chain, x, y)
    assert len(made.kernels) == 1, made.module.code
    assert made.left == (1 if chain is _turned else 0), made.module.code  # `contiguous` is a copy
    found = made.module(x, y)
    for one, other in zip(*((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True):
        assert one.dtype == other.dtype and one.stride() == other.stride() and one.device == other.device
        assert (
            torch.equal(one, other)
            or (one.isnan() == other.isnan()).all()
            and torch.equal(one.nan_to_num(), other.nan_to_num())
        )


def test_whole_numbers_and_casts():
    def chain(x, y):
        return ((x // 3 + y) % 7 > 2).to(torch.float32).mul(0.5).to(torch.bfloat16)

    x, y = torch.arange(-50, 50, device="cuda"), torch.arange(100, device="cuda", dtype=torch.int32)
    made = _fused(chain, x, y)
    assert len(made.kernels) == 1 and made.left == 0
    assert torch.equal(made.module(x, y), chain(x, y))


def test_what_is_no_chain_stays():
    def program(x, w):
        return F.relu(x @ w + 1).sum(1) * 2 + 1

    x, w = torch.randn(4, 8, device="cuda"), torch.randn(8, 6, device="cuda")
    made = _fused(program, x, w)
    assert [kernel.text.count("\n") for kernel in made.kernels] == [3, 3] and made.left == 2  # mm and sum
    assert torch.equal(made.module(x, w), program(x, w))


def test_more_tensors_than_a_kernel_has_room_for():
    tensors = [torch.randn(5, device="cuda") for _ in range(16)]

    def total(*tensors):
        result = tensors[0]
        for each in tensors[1:]:
            result = result * 0.5 + each
        return result

    made = _fused(total, *tensors)
    assert len(made.kernels) >= 2
    assert torch.equal(made.module(*tensors), total(*tensors))


def test_devices_are_kept_apart():
    def program(x, y):
        return (x + 1) * 2, (y + 1) * 2

    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    made = _fused(program, x, y)
    assert len(made.kernels) == 2
    assert [each.device.type for each in made.module(x, y)] == ["cuda", "cpu"]


def test_training_is_compiled():
    torch.manual_seed(0)
    layer = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1)
    ).cuda()
    x = torch.randn(32, 8, device="cuda")

    def step(x):
        return F.silu(layer(x) * 2 + 1).pow(2).mean()

    step(x).backward()
    expected = [each.grad.clone() for each in layer.parameters()]
    layer.zero_grad()
    before = counters["inductor"]["fused_kernels"]
    compiled = torch.compile(step, fullgraph=True)
    for _ in range(2):
        layer.zero_grad()
        loss = compiled(x)
        loss.backward()
    assert counters["inductor"]["fused_kernels"] > before
    assert torch.equal(loss, step(x))
    for found, wanted in zip((each.grad for each in layer.parameters()), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
