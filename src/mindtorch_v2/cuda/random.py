"""Random number generators of CUDA devices: there are none to seed."""

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def manual_seed(seed):
    """Seed the current device's generator: without devices nothing happens, as in PyTorch."""


def manual_seed_all(seed):
    """Seed every device's generator: without devices nothing happens, as in PyTorch."""


def seed():
    """Seed the current device's generator from the system: without devices nothing happens."""


def seed_all():
    """Seed every device's generator from the system: without devices nothing happens."""


def initial_seed():
    """The seed of the current device's generator; raises AssertionError."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def get_rng_state(device="cuda"):
    """The state of a device's generator; raises AssertionError."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def get_rng_state_all():
    """The states of every device's generator: an empty list."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Set the state of a device's generator: without devices nothing happens, as in PyTorch."""


def set_rng_state_all(new_states):
    """Set the states of every device's generator; raises AssertionError if there is one to set."""
    for _ in new_states:
        raise AssertionError("Torch not compiled with CUDA enabled")
