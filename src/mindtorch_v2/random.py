"""The default generator: seeding it, its state, and blocks that leave it as they found it."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
    "thread_safe_generator",
]

default_generator = torch.default_generator


def _generator(device):
    """Rebuild a generator from its pickle."""
    return torch.Generator(device)


def set_rng_state(new_state: torch.Tensor) -> None:
    """Set the state of the CPU's generator, a uint8 tensor from `get_rng_state`.

    >>> state = torch.random.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.random.set_rng_state(state)
    >>> torch.equal(torch.rand(2), a)
    True
    """
    default_generator.set_state(new_state)


def get_rng_state() -> torch.Tensor:
    """The state of the CPU's generator, as a uint8 tensor.

    >>> torch.random.get_rng_state().dtype
    torch.uint8
    """
    return default_generator.get_state()


def manual_seed(seed: int) -> torch.Generator:
    """Seed the generators of the CPU and of devices in use; negative numbers count from 2^64. Return the CPU's.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    seed = int(seed)
    for kind in ("npu", "cuda"):
        if f"mindtorch_v2._backends.{kind}" in sys.modules:
            getattr(torch, kind).manual_seed_all(seed)
    own, named = torch._C._own_device_name()
    if named and hasattr(getattr(torch, own, None), "manual_seed_all"):
        getattr(torch, own).manual_seed_all(seed)
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the generator from the system's randomness and return the seed (64 bits).

    >>> isinstance(torch.random.seed(), int)
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the generator was last given.

    >>> _ = torch.manual_seed(7)
    >>> torch.random.initial_seed()
    7
    """
    return default_generator.initial_seed()


def thread_safe_generator() -> torch.Generator | None:
    """The generator of a data loader's worker; None in the main process, which uses the default one.

    >>> print(torch.random.thread_safe_generator())
    None
    """
    info = torch.utils.data.get_worker_info()
    return None if info is None or info.rng is None else info.rng.torch_generator


_many_devices_warned = False


@contextlib.contextmanager
def fork_rng(
    devices: Sequence[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """On leaving the block, the generators of the CPU and of `devices` are as they were on entering it.

    `device_type` says what the entries of `devices` index; by default all devices of the accelerator are kept.

    >>> with torch.random.fork_rng():
    ...     _ = torch.manual_seed(1)
    >>> torch.initial_seed() != 1
    True
    """
    if not enabled:
        yield
        return
    device_type = torch.device(device_type or "cuda").type
    if device_type == "meta":
        yield
        return
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(
            f"torch has no module of `{device_type}`, you should register a module by `torch._register_device_module`."
        )
    if device_type == "cpu":
        devices = []
    elif devices is None:
        devices = _all_devices(module, device_type, _caller, _devices_kw)
    else:
        devices = list(devices)
    cpu_state = get_rng_state()
    device_states = [module.get_rng_state(device) for device in devices]
    try:
        yield
    finally:
        set_rng_state(cpu_state)
        for device, state in zip(devices, device_states, strict=True):
            module.set_rng_state(state, device)


def _all_devices(module, device_type, caller, devices_kw) -> list:
    global _many_devices_warned
    count = module.device_count()
    if count > 1 and not _many_devices_warned:
        warnings.warn(
            f"{device_type.upper()} reports that you have {count} available devices, and you have used {caller} "
            "without explicitly specifying which devices are being used. For safety, we initialize *every* "
            f"{device_type.upper()} device by default, which can be quite slow if you have a lot of them. To silence "
            f"this warning, set `{devices_kw}` to `range(torch.{device_type}.device_count())`.",
            stacklevel=4,
        )
        _many_devices_warned = True
    return list(range(count))
