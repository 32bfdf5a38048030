"""Random numbers of NPUs: seeds and states of their generators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mindtorch_v2._backends import npu as _backend
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.stream import device_index

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.types import Device


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


def _generator(device):
    _backend.load()
    return _state.get().generators[device_index(device)]


def _recorded():
    """Numbers that this thread's recording of a graph draws; None where it records none."""
    return _runtime.get().thread.draws


def manual_seed(seed: int) -> None:
    """Seed the current device's generator; where no device was asked for so far, once one is, unless `torch.manual_seed` comes later.

    While a graph is recorded nothing but the seed that it has is allowed, and changes nothing: RuntimeError for another.
    """
    number = int(seed)
    _backend.when_loaded(lambda: _seed(_generator(None), number))


def _seed(generator, seed) -> None:
    draws = _recorded()
    if draws is None:
        generator.manual_seed(seed)
    else:
        draws.check_seed(generator, seed % (1 << 64))


def manual_seed_all(seed: int) -> None:
    """Seed every device's generator, as `manual_seed` does one."""
    number = int(seed)

    def all_of_them() -> None:
        for generator in _state.get().generators:
            _seed(generator, number)

    _backend.when_loaded(all_of_them, alone=True)  # only seeds wait, and these are all of them


def seed() -> None:
    """Seed the current device's generator from the system's randomness."""
    _generator(None).seed()


def seed_all() -> None:
    """Seed every device's generator alike, from the system's randomness."""
    chosen = _generator(None).seed()
    manual_seed_all(chosen)


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return _generator(None).initial_seed()


def get_rng_state(device: Device = "npu") -> Tensor:
    """The state of a device's generator, as a uint8 tensor on the CPU; while a graph is recorded that at this place of it."""
    generator, draws = _generator(device), _recorded()
    return generator.get_state() if draws is None else draws.state(generator)


def get_rng_state_all() -> list:
    """The states of all devices' generators."""
    return [get_rng_state(index) for index in range(_runtime.get().device_count)]


def set_rng_state(new_state: Tensor, device: Device = "npu") -> None:
    """Set the state of a device's generator to one that `get_rng_state` gave.

    While a graph is recorded, what is recorded next draws from there at each replay. RuntimeError for a state of another seed, or of
    before the recording.
    """
    generator, draws = _generator(device), _recorded()
    if draws is None:
        generator.set_state(new_state)
    else:
        draws.rewind(generator, new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all devices' generators."""
    for index, new_state in enumerate(new_states):
        set_rng_state(new_state, index)
