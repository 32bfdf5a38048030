"""Stages of a pipeline that stand on one rank hand their tensors to each other: results and gradients are the model's."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed.pipelining import (
    PipelineStage,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    SplitPoint,
    pipe_split,
    pipeline,
)
from mindtorch_v2.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
from mindtorch_v2.distributed.pipelining._orders import zero_bubble
from mindtorch_v2.distributed.pipelining.schedules import _Action, _PipelineScheduleRuntime


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


class Net(torch.nn.Module):
    """Embeddings that the last layer uses again, and a factor that each layer uses."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 8)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x, factor=None):
        first = y = self.table(x)
        for layer in self.layers:
            y = torch.tanh(layer(y)) * factor
        return {"y": y + first}


@pytest.mark.usefixtures("world_of_one")
@pytest.mark.parametrize("kind", [ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble])
def test_a_model_cut_by_its_graph(kind):
    torch.manual_seed(0)
    model = Net()
    x, factor = torch.randint(0, 10, (6, 5)), torch.rand(6, 5, 1)
    cuts = {"layers.1": SplitPoint.BEGINNING, "layers.2": SplitPoint.BEGINNING}
    pipe = pipeline(model, (x[:2],), {"factor": factor[:2]}, cuts)
    assert pipe.num_stages == 3
    assert list(pipe.get_stage_module(1).state_dict()) == ["layers.1.weight", "layers.1.bias"]
    expected = model(x, factor=factor)
    assert torch.equal(pipe(x[:2], factor=factor[:2])["y"], expected["y"][:2])
    expected["y"].square().mean().backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    stages = [pipe.build_stage(place, torch.device("cpu")) for place in range(3)]
    schedule = kind(stages, n_microbatches=3, loss_fn=lambda found, target: found["y"].square().mean())
    losses = []
    output = schedule.step(x, factor=factor, target=x, losses=losses)
    torch.testing.assert_close(output, expected)
    assert len(losses) == 3
    found = {name: parameter.grad for stage in stages for name, parameter in stage.submod.named_parameters()}
    torch.testing.assert_close(found, gradients)


def test_cuts_that_a_model_asks_for():
    class Marked(torch.nn.Module):
        def forward(self, x):
            values, places = x.sort()
            pipe_split()
            return values * 2, places

    pipe = pipeline(Marked(), (torch.ones(4),))
    x = torch.tensor([3.0, 1.0, 2.0, 0.0])
    assert pipe.num_stages == 2
    assert [each.tolist() for each in pipe(x)] == [[0.0, 2.0, 4.0, 6.0], [3, 1, 2, 0]]
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(Marked(), (x,), split_spec={}, split_policy=lambda traced: traced)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("owners", ["bent", "looped"])
def test_no_bubbles_but_those_of_beginning_and_end(ranks, owners):
    """With steps of equal length, ranks wait as long together as the first batch needs to reach the last of them."""
    places = [*range(ranks), *reversed(range(ranks))] if owners == "bent" else [*range(ranks)] * 2
    orders = zero_bubble(places, 4 * ranks, ranks + 1)
    times, ends = [0] * ranks, {}
    todo = [list(order) for order in orders]
    while any(todo):
        for rank, order in enumerate(todo):
            while order:
                stage, kind, place = order[0][:3]
                before = {"F": [(stage - 1, "F")], "I": [(stage, "F"), (stage + 1, "I")], "W": [(stage, "I")]}
                needed = before[kind.value]
                needed = [(*each, place) for each in needed if 0 <= each[0] < len(places)]
                if not all(each in ends for each in needed):
                    break
                order.pop(0)
                times[rank] = max([times[rank], *(ends[each] for each in needed)]) + 1
                ends[stage, kind.value, place] = times[rank]
    assert max(times) == 3 * 2 * 4 * ranks + ranks - 1


@pytest.mark.usefixtures("world_of_one")
def test_steps_from_a_file(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    x, target = torch.randn(4, 4), torch.randn(4, 4)
    torch.nn.functional.mse_loss(model(x), target).backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    stages = [PipelineStage(part, place, 2, torch.device("cpu")) for place, part in enumerate(model)]
    file = tmp_path / "order.csv"
    file.write_text("0F0,0F1,1F0,,1I0,1W0,1F1,1B1,(0B0;0B1)OVERLAP_F_B\n")
    schedule = _PipelineScheduleRuntime(stages, 2, loss_fn=torch.nn.functional.mse_loss)
    schedule._load_csv(str(file))
    schedule.step(x, target=target)
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], gradients)
    schedule._dump_csv(str(tmp_path / "again.csv"))
    assert (tmp_path / "again.csv").read_text().strip() == file.read_text().strip()
    with pytest.raises(RuntimeError, match="Invalid action string: 3X1"):
        _Action.from_str("3X1")


def test_backward_in_two_parts_with_a_weight_that_is_used_twice():
    torch.manual_seed(0)
    weight, other = (torch.nn.Parameter(torch.randn(3, 3)) for _ in range(2))
    x = torch.randn(2, 3, requires_grad=True)

    def result(x):
        return torch.tanh(x @ weight.t()) @ (weight * other) + x @ other

    expected = torch.autograd.grad(result(x).sum(), [x, weight, other])
    inputs, groups = stage_backward_input([result(x).sum()], None, [x], [weight, other])
    torch.testing.assert_close(inputs[0], expected[0])
    found = stage_backward_weight([weight, other], groups)
    torch.testing.assert_close(found, expected[1:])
    torch.testing.assert_close((weight.grad, other.grad), expected[1:])
