"""The default generator's state, and blocks that leave it as they found it."""

import pytest

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
    reference = pytest.importorskip("torch")
    torch.manual_seed(5)
    reference.manual_seed(5)
    torch.rand(3)
    reference.rand(3)
    assert torch.get_rng_state().tolist() == reference.get_rng_state().tolist()
