"""DistributedDataParallel: the losses of PyTorch's, and those of one process on the joined batch."""

import pytest
import ranks

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.join import Join


def test_two_ranks_train_as_pytorch_does_and_as_one(expected):
    found = ranks.results("training.py", 2)
    for wanted, ours in zip(expected("training", "training.py|2"), found, strict=True):
        assert ours.keys() == wanted.keys()
        for variant, theirs in wanted.items():
            assert ours[variant]["losses"] == pytest.approx(theirs["losses"], rel=1e-5), variant
            assert ours[variant]["weights"] == pytest.approx(theirs["weights"], rel=1e-4, abs=1e-5), variant
    (alone,) = ranks.results("training.py", 1, "plain", "no_sync")
    for variant, one in alone.items():
        for rank in found:
            assert rank[variant]["losses"] == pytest.approx(one["losses"], rel=1e-5)
            weights = {f"module.{name}": pytest.approx(value, abs=1e-5) for name, value in one["weights"].items()}
            assert rank[variant]["weights"] == weights


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_with_fewer_batches_take_part_until_all_are_through(size, expected):
    found = ranks.results("joined.py", size)
    for wanted, ours in zip(expected("joined", f"joined.py|{size}"), found, strict=True):
        assert ours.keys() == wanted.keys()
        for variant, theirs in wanted.items():
            if "count" in theirs:
                assert ours[variant] == theirs, variant
                continue
            assert ours[variant]["losses"] == pytest.approx(theirs["losses"], rel=1e-5), variant
            assert ours[variant]["weights"] == pytest.approx(theirs["weights"], rel=1e-4, abs=1e-5), variant
            assert ours[variant]["problem"] == theirs["problem"]


def test_what_join_refuses(alone):
    linear = torch.nn.Linear(2, 2)
    with pytest.raises(ValueError, match="requires at least one joinable"):
        Join([])
    with pytest.raises(TypeError, match="expected joinables of the class Joinable, got Linear"):
        Join([linear])
    model = torch.nn.parallel.DistributedDataParallel(linear)
    with pytest.raises(ValueError, match="multiple process groups"):
        Join([model, torch.nn.parallel.DistributedDataParallel(linear, process_group=torch.distributed.new_group([0]))])
    with pytest.raises(AssertionError, match="constructor calls the ``Joinable`` constructor"):
        Join.notify_join_context(linear)


@pytest.fixture
def alone():
    """A default group of this process only."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


class _Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def forward(self, x):
        return {"out": [self.used(x)]}


def test_a_parameter_that_is_not_used_is_an_error_in_the_next_pass(alone):
    model = torch.nn.parallel.DistributedDataParallel(_Half())
    model(torch.ones(1, 2))["out"][0].sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration") as caught:
        model(torch.ones(1, 2))
    assert "did not receive grad for rank 0: 2 3" in str(caught.value)


def test_unused_parameters_are_found_in_nested_outputs(alone):
    model = torch.nn.parallel.DistributedDataParallel(_Half(), find_unused_parameters=True)
    for _ in range(2):
        model(torch.ones(1, 2))["out"][0].sum().backward()
    assert [parameter.grad is None for parameter in model.parameters()] == [False, False, True, True]
    assert model.module.used.bias.grad.tolist() == [2.0, 2.0]


def test_gradients_are_the_programs_own(alone):
    """Those of one pass are not written to by the next one, and those that are there are added to in their place."""
    linear = torch.nn.Linear(2, 3)
    model = torch.nn.parallel.DistributedDataParallel(linear)
    model(torch.ones(1, 2)).sum().backward()
    kept = linear.weight.grad
    model.zero_grad()
    model(torch.full((1, 2), 5.0)).sum().backward()
    assert kept.eq(1).all() and linear.weight.grad.eq(5).all()
    own = linear.weight.grad
    model(torch.ones(1, 2)).sum().backward()
    assert linear.weight.grad is own and own.eq(6).all() and linear.bias.grad.eq(2).all()


@pytest.mark.parametrize(("size", "count"), [(64, 1), (1024, 11)])
def test_a_model_is_cut_so_that_buckets_go_beside_its_backward(alone, size, count):
    """PyTorch's 25 megabytes would hold either model whole."""
    layers = [torch.nn.Linear(size, size // 4, bias=False) for _ in range(20)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    assert len(model.reducer.buckets) == count
    whole = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=100)
    assert len(whole.reducer.buckets) <= 2


def test_what_it_refuses(alone):
    wrap = torch.nn.parallel.DistributedDataParallel
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameter that requires a"):
        wrap(torch.nn.ReLU())
    with pytest.raises(
        ValueError, match=r"but got device_ids \[0\], output_device None, and module parameters \{device"
    ):
        wrap(torch.nn.Linear(2, 2), device_ids=[0])
    with pytest.raises(TypeError, match="Communication hook must be callable"):
        wrap(torch.nn.Linear(2, 2)).register_comm_hook(None, 3)


def test_without_a_group():
    with pytest.raises(
        ValueError, match="Default process group has not been initialized, please make sure to call init"
    ):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
