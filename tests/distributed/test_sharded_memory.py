"""Tensors in pieces cost their pieces: neither what they pretend to be, nor whole gradients of more layers than compute."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed.fsdp import fully_shard
from mindtorch_v2.distributed.tensor import Shard, distribute_tensor

dist = torch.distributed
SIDE, LAYERS = 512, 12
LAYER = 4 * SIDE * SIDE


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def held():
    return torch.cpu.memory_stats()["allocated_bytes.current"]


def test_a_distributed_tensor_has_no_memory_but_its_piece(alone):
    mesh, whole = dist.init_device_mesh("cpu", (1,)), torch.ones(SIDE, SIDE)
    before = held()
    made = [distribute_tensor(whole, mesh, [Shard(0)]).detach() for _ in range(4)]
    pieces = {each.to_local().untyped_storage().data_ptr() for each in made}
    assert held() - before < LAYER * len(pieces) + LAYER // 2


def test_whole_parameters_and_gradients_are_there_of_few_layers_at_a_time(alone):
    before = held()
    model = torch.nn.Sequential(*(torch.nn.Linear(SIDE, SIDE, bias=False) for _ in range(LAYERS)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    x = torch.ones(2, SIDE)
    model(x).sum().backward()
    parts = LAYERS * LAYER  # of parameters, and of gradients: all, as there is one rank
    assert held() - before < 2 * parts + 3 * LAYER
    for parameter in model.parameters():
        parameter.grad = None
    torch.cpu.reset_peak_memory_stats()
    model(x).sum().backward()
    assert torch.cpu.memory_stats()["allocated_bytes.peak"] - before < 2 * parts + 6 * LAYER


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("x", "reshard_after_forward should be a bool or an int representing the group size to reshard to, not x"),
        (3, "If passing reshard_after_forward as an int, it should be a factor of 1, not 3"),
    ],
)
def test_ranks_that_keep_parameters_together_divide_the_ranks(alone, given, problem):
    with pytest.raises(ValueError, match=problem):
        fully_shard(torch.nn.Linear(2, 2), reshard_after_forward=given)


def test_what_a_sharded_module_refuses_is_said_as_in_pytorch(alone):
    made = fully_shard(torch.nn.Linear(2, 2))
    with pytest.raises(
        AssertionError, match="can only be applied to a module once. fully_shard has already been applied"
    ):
        fully_shard(made)
    with pytest.raises(AssertionError, match="FSDP does not support deepcopy. Please use state dict for serialization"):
        made.__deepcopy__({})
    with pytest.raises(ValueError, match="Expects FSDPModule but got <class .*Linear'>: Linear"):
        made.set_modules_to_forward_prefetch([torch.nn.Linear(2, 2)])
    assert repr(made.weight.device_mesh) == "DeviceMesh((1,), 'cpu', stride=(1,))"
