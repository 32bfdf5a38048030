"""Stages of a pipeline that stand on one rank hand their tensors to each other: results and gradients are the model's."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B, ScheduleLoopedBFS


@pytest.fixture
def world_of_one():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("world_of_one")
@pytest.mark.parametrize("kind", [ScheduleInterleaved1F1B, ScheduleLoopedBFS])
@pytest.mark.parametrize("count", [2, 3])
def test_stages_of_one_rank(kind, count):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(count)))
    x, target = torch.randn(6, 4), torch.randn(6, 4)
    expected = model(x)
    torch.nn.functional.mse_loss(expected, target).backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    stages = [PipelineStage(part, place, count, torch.device("cpu")) for place, part in enumerate(model)]
    schedule = kind(stages, n_microbatches=3, loss_fn=torch.nn.functional.mse_loss)
    for _ in range(2):  # sizes are told once
        model.zero_grad()
        output = schedule.step(x, target=target)
        torch.testing.assert_close(output, expected)
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
