"""Communication hooks of DistributedDataParallel, its sparse gradients and averaged parameters, against PyTorch's."""

import pytest
import ranks

import mindtorch_v2 as torch


@pytest.mark.parametrize("key", ranks.RUNS["hooks"])
def test_hooks_give_what_pytorchs_give(key, expected):
    for theirs, ours in zip(expected("hooks", key), ranks.results(*key.split("|")), strict=True):
        assert ours["errors"] == theirs["errors"]
        assert ours["values"].keys() == theirs["values"].keys()
        for name, value in theirs["values"].items():
            close(ours["values"][name], value, name)


def close(ours, theirs, name):
    """Whether nested lists hold the same numbers, to what orthogonal columns may differ by."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), name
        for mine, its in zip(ours, theirs, strict=True):
            close(mine, its, name)
    elif isinstance(theirs, str):
        assert ours == theirs, name
    else:
        assert ours == pytest.approx(theirs, rel=1e-4, abs=2e-5), name


def test_state_of_powersgd_is_pickled_without_its_group():
    import pickle

    from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState

    state = PowerSGDState(process_group=object(), matrix_approximation_rank=3)
    state.iter, state.q_memory_dict[0] = 7, [torch.ones(2, 3)]
    again = pickle.loads(pickle.dumps(state))
    assert (again.process_group, again.matrix_approximation_rank, again.iter) == (None, 3, 7)
    assert again.q_memory_dict[0][0].tolist() == [[1.0] * 3] * 2
    assert again.rng.randint(1000) == state.rng.randint(1000)


def test_an_averager_that_never_was_saved_begins_anew():
    from mindtorch_v2.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from mindtorch_v2.distributed.optim import PostLocalSGDOptimizer

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        weight = torch.nn.Parameter(torch.ones(2))
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD([weight], lr=0.5), PeriodicModelAverager(2))
        weight.grad = torch.ones(2)
        optimizer.step()
        assert weight.tolist() == [0.5, 0.5]
        saved = optimizer.state_dict()
        assert saved.pop("step") == 1
        with pytest.warns(UserWarning, match="does not contain a step counter"):
            optimizer.load_state_dict(saved)
        assert optimizer.averager.step == 0
    finally:
        torch.distributed.destroy_process_group()


def test_sums_of_sparse_tensors_that_have_entries_twice_or_none():
    from mindtorch_v2.nn.parallel import _sparse

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        entries = torch.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 4.0], (3,))
        assert _sparse.all_reduce_sparse(entries, None).to_dense().tolist() == [4.0, 3.0, 0.0]
        empty = torch.sparse_coo_tensor(torch.empty(1, 0, dtype=torch.int64), torch.empty(0), (3,))
        assert _sparse.all_reduce_sparse(empty, None).to_dense().tolist() == [0.0] * 3
    finally:
        torch.distributed.destroy_process_group()


def test_low_rank_of_all_gradients_at_once():
    """A matrix of rank 1 is what its low rank gives; bytes are counted, and what is lost comes with the next."""
    from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, batched_powerSGD_hook
    from mindtorch_v2.nn.parallel._reducer import GradBucket

    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        state = PowerSGDState(None, start_powerSGD_iter=2)
        state.iter = 2
        bucket = GradBucket(0, [torch.nn.Parameter(torch.zeros(3, 3)), torch.nn.Parameter(torch.zeros(7))], True)
        square = torch.outer(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, -1.0, 2.0, 0.5]))
        bucket.buffer().copy_(square.view(-1))
        found = batched_powerSGD_hook(state, bucket).wait()
        torch.testing.assert_close(found, square.view(-1), rtol=1e-5, atol=1e-5)
        assert state.compression_stats() == (2.0, 16, 8)
        assert state.iter == 3
        bucket.buffer().copy_(torch.eye(4).view(-1))
        rough = batched_powerSGD_hook(state, bucket).wait()
        torch.testing.assert_close(rough + state.error_dict[0], torch.eye(4).view(-1), rtol=1e-4, atol=1e-4)
    finally:
        torch.distributed.destroy_process_group()
