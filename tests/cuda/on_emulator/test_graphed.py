"""torch.cuda.make_graphed_callables: what torch.npu has, on recorded graphs of CUDA; training by it is training without."""

import copy

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def test_training_by_recorded_passes():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)).cuda()
    graphed = copy.deepcopy(plain)
    torch.cuda.make_graphed_callables(graphed, (torch.zeros(5, 4, device="cuda"),))
    losses = []
    for model in (plain, graphed):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        draws = torch.Generator().manual_seed(1)
        for _ in range(4):
            x = torch.randn(5, 4, generator=draws).cuda()
            loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:4] == losses[4:] and losses[3] != losses[0]


def test_replays_run_no_python():
    calls = []

    def double(x):
        calls.append(1)
        return x * 2

    graphed = torch.cuda.make_graphed_callables(double, (torch.zeros(3, device="cuda", requires_grad=True),))
    before = len(calls)
    x = torch.tensor([1.0, 2.0, 3.0], device="cuda", requires_grad=True)
    y = graphed(x)
    y.backward(torch.tensor([1.0, 10.0, 100.0], device="cuda"))
    assert y.tolist() == [2.0, 4.0, 6.0] and x.grad.tolist() == [2.0, 20.0, 200.0]
    assert len(calls) == before
    assert torch.cuda.make_graphed_callables.__module__ == "torch.cuda"
    assert "torch.cuda.make_graphed_callables(model" in torch.cuda.make_graphed_callables.__doc__
