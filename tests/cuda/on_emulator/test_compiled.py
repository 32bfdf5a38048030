"""torch.compile on the GPU: chains of element-wise calls become one kernel, whose results are those of single ones to the bit."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.backends.recorded import reason_against
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


def _training(compiled):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    run = torch.compile(model, mode="reduce-overhead") if compiled else model
    draws, losses = torch.Generator().manual_seed(1), []
    for _ in range(6):
        x = torch.randn(5, 6, generator=draws).cuda()
        loss = (run(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_recorded_graphs_train():
    assert _training(True) == pytest.approx(_training(False), rel=1e-5)


def _replayed(monkeypatch):
    """The number of replays so far."""
    counted = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda self: (counted.append(1), replay(self))[1])
    return counted


def test_results_of_replays_are_the_callers(monkeypatch):
    replays = _replayed(monkeypatch)
    weight = torch.arange(3.0, device="cuda")

    @torch.compile(mode="reduce-overhead")
    def run(x, weight):
        return (x * 2 + weight).tanh(), weight

    seen = []
    for k in range(6):
        x = torch.full((2, 3), float(k), device="cuda")
        y, same = run(x, weight)
        seen.append((x, y))
        assert same.data_ptr() == weight.data_ptr()
    assert len(replays) == 4  # the first two calls find out which arguments stay
    for x, y in seen:
        assert torch.equal(y, (x * 2 + weight).tanh())
    moved = weight + 1  # in other memory: recorded once more, and copied from then on
    assert torch.equal(run(x, moved)[0], (x * 2 + moved).tanh())
    assert torch.equal(run(x, weight)[0], (x * 2 + weight).tanh())


def test_what_cannot_be_recorded_runs():
    @torch.compile(mode="reduce-overhead")
    def positive(x):
        return x[x > 0] * 2

    for k in range(5):
        x = torch.arange(-2.0, 3.0 + k, device="cuda")[:5]
        assert positive(x).tolist() == [2.0, 4.0]

    @torch.compile(mode="reduce-overhead")
    def count(x):
        return x.add_(1)

    x = torch.zeros(2, device="cuda")
    for _ in range(5):
        count(x)
    assert x.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x * 2, None),
        (lambda x: x[x > 0], "the size of what aten.index.Tensor gives depends on numbers"),
        (lambda x: x.cpu() + 1, "is a tensor of cpu"),
        (lambda x: x.add_(1), "aten.add_.Tensor writes to an argument"),
    ],
)
def test_reasons_against_a_recording(function, reason):
    found = reason_against(make_fx(function)(torch.ones(3, device="cuda")))
    assert found is None if reason is None else reason in found


def test_draws_of_a_recording_lie_where_nothing_else_does():
    """Batch norm keeps something for a while in the graph's memory; where that was, a seed would be written over."""
    torch.manual_seed(0)
    x, mean, var = torch.randn(6, 4, device="cuda"), torch.zeros(4, device="cuda"), torch.ones(4, device="cuda")

    def run():
        return F.dropout(F.batch_norm(x, mean, var, training=True), 0.5)

    run()
    torch.manual_seed(1)
    expected = [run().tolist() for _ in range(3)]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run()
    torch.manual_seed(1)
    found = []
    for _ in range(3):
        graph.replay()
        found.append(y.tolist())
    assert found == expected
