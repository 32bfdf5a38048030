"""The default generator's state, and blocks that leave it as they found it."""

import copy
import pickle

import pytest
from agreement import same

import mindtorch_v2 as torch


def test_state_round_trip():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    first = torch.rand(5).tolist()
    torch.set_rng_state(state)
    assert torch.rand(5).tolist() == first
    assert torch.initial_seed() == 3
    assert state.dtype == torch.uint8


def test_fork_rng():
    torch.manual_seed(3)
    expected = torch.rand(3).tolist()
    torch.manual_seed(3)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        torch.rand(100)
    assert torch.rand(3).tolist() == expected
    torch.manual_seed(3)
    with torch.random.fork_rng(enabled=False):
        torch.rand(3)
    assert torch.rand(3).tolist() != expected


def test_fork_rng_after_an_error():
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match="inside"), torch.random.fork_rng(devices=[]):
        torch.rand(1)
        raise ValueError("inside")
    assert torch.equal(torch.get_rng_state(), state)


def test_seed_is_random():
    assert torch.seed() != torch.seed()
    assert torch.manual_seed(-1).initial_seed() == 2**64 - 1


def test_state_follows_pytorch():
    def program(lib):
        lib.manual_seed(5)
        lib.rand(3)
        return bytes(lib.get_rng_state().tolist())

    same(program)


def test_a_generator_is_pickled():
    generator = torch.Generator().manual_seed(5)
    torch.rand(3, generator=generator)
    again = pickle.loads(pickle.dumps(generator))
    assert again.initial_seed() == 5
    assert torch.equal(torch.rand(4, generator=again), torch.rand(4, generator=generator))
    assert torch.equal(torch.rand(2, generator=copy.deepcopy(again)), torch.rand(2, generator=again))


def test_pinned_memory_wants_an_accelerator():
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    for make in (torch.empty, torch.zeros, torch.rand, torch.tensor, torch.ones(1).new_zeros, torch.ones(1).new_tensor):
        with pytest.raises(RuntimeError, match="pin_memory=True requires a CUDA or other accelerator backend"):
            make([2], pin_memory=True)
    assert torch.empty([2], pin_memory=True, device="meta").shape == (2,)
