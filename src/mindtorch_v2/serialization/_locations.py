"""Where storages go when they are loaded: location tags of devices, and the forms of `map_location`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2._core.storage import UntypedStorage


# (priority, tagger, deserializer), by priority. The first that answers decides.
_package_registry: list = []


def register_package(priority: int, tagger: Callable[..., Any], deserializer: Callable[..., Any]) -> None:
    """Register a device: `tagger(storage) -> tag or None`, `deserializer(storage, tag) -> storage or None`.

    Packages are asked in order of `priority`, lowest first.

    >>> from mindtorch_v2.serialization import location_tag, register_package
    >>> register_package(999, lambda storage: None, lambda storage, tag: None)  # asked last
    >>> location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    _package_registry.append((priority, tagger, deserializer))
    _package_registry.sort(key=lambda entry: entry[0])


def location_tag(storage: UntypedStorage) -> Any:
    """The tag that a file keeps of a storage's device.

    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _package_registry:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {torch.typename(storage)}")


def default_restore_location(storage: Any, location: Any) -> Any:
    """A storage, read into CPU memory, on the device that `location` names.

    >>> storage = torch.ones(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu").device
    device(type='cpu')
    """
    for _, _, deserializer in _package_registry:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
    )


def _is(location, device) -> bool:
    return location == device or location.startswith(f"{device}:")


def _cpu_tag(storage) -> str | None:
    return "cpu" if storage.device.type == "cpu" else None


def _cpu_deserialize(storage, location):
    return storage if location == "cpu" else None


def _meta_tag(storage):
    return "meta" if storage.device.type == "meta" else None


def _meta_deserialize(storage, location):
    return torch.UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _cuda_deserialize(storage, location) -> None:
    """Without CUDA it says so as PyTorch does on such machines; with it, a number that no device has is refused."""
    if not _is(location, "cuda"):
        return
    if torch.cuda.is_available():
        index, count = torch.device(location).index or 0, torch.cuda.device_count()
        if index >= count:
            raise RuntimeError(
                f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {count}. Please use "
                "torch.load with map_location to map your storages to an existing device."
            )
    else:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )


def _device_tag(storage) -> str:
    """Any other device is named by itself."""
    return str(storage.device)


def _device_deserialize(storage, location):
    if _is(location, torch._C._get_privateuse1_backend_name()) or _is(location, "cuda"):
        return storage.to(device=location)
    return None


register_package(10, _cpu_tag, _cpu_deserialize)
register_package(20, lambda storage: None, _cuda_deserialize)
register_package(22, _meta_tag, _meta_deserialize)
register_package(30, _device_tag, _device_deserialize)


def is_meta(map_location: Any) -> bool:
    """Whether everything goes to the meta device, so that no data need be read."""
    return isinstance(map_location, (str, torch.device)) and str(map_location) == "meta"


def restorer(map_location: Any) -> Callable[..., Any]:
    """The function `(storage, location) -> storage` that a `map_location` stands for."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, map_location.get(location, location))
    if isinstance(map_location, (str, bytes)):
        return lambda storage, _: default_restore_location(storage, map_location)
    if isinstance(map_location, torch.device):
        return lambda storage, _: default_restore_location(storage, str(map_location))

    def restore(storage: UntypedStorage, location: Any) -> UntypedStorage:
        result = map_location(storage, location)
        return default_restore_location(storage, location) if result is None else result

    return restore
