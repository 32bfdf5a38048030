"""Dispatch keys by PyTorch's names, sets of them, and the thread's inclusions and exclusions."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import Any

from mindtorch_v2 import _C

__all__ = [
    "DEVICE_KEYS",
    "DispatchKey",
    "DispatchKeySet",
    "ExclusionGuard",
    "excluded",
    "included",
    "key_name",
    "only",
]

# PyTorch's names of the keys that are called after the NPU here; both are taken everywhere.
_PYTORCH = {"NPU": "PrivateUse1", "AutogradNPU": "AutogradPrivateUse1", "AutocastNPU": "AutocastPrivateUse1"}
_NUMBERS = {name: number for name, number in _C._key_names() if name != "Count"}
# The key of the kernels of a device, by the device's type.
DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA", "npu": "NPU", "privateuseone": "NPU", "xpu": "XPU", "meta": "Meta"}
# The names of the design documents where they are not PyTorch's of today.
_DOCUMENTS = {
    "AutocastGPU": "AutocastCUDA",
    "Batched": "FuncTorchBatched",
    "Tracing": "Tracer",
    "Backend_CPU": "CPU",
    "Backend_CUDA": "CUDA",
    "Backend_Ascend": "NPU",
    "CompositeExplicit": "CompositeExplicitAutograd",
}


class _Key(enum.Enum):
    """One dispatch key. `DispatchKey.PrivateUse1` is also called `DispatchKey.NPU`."""

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}: {self.value}>"


_MEMBERS = {_PYTORCH.get(name, name): number for name, number in _NUMBERS.items()}
DispatchKey: Any = _Key(
    "DispatchKey",
    [
        *_MEMBERS.items(),
        *((ours, _NUMBERS[ours]) for ours in _PYTORCH),
        *((name, _NUMBERS[key]) for name, key in _DOCUMENTS.items()),
    ],
)  # type: ignore[call-arg]  # (the enumeration is made by a call)
DispatchKey.__module__ = "torch._C"
DispatchKey.__doc__ = (
    "One dispatch key. `DispatchKey.PrivateUse1` is also called `DispatchKey.NPU`.\n\n"
    ">>> torch.ops.aten.add.Tensor.has_kernel_for_dispatch_key(torch.DispatchKey.CPU)\n"
    "True\n"
)
_NAMES = {number: name for name, number in _NUMBERS.items()}


def key_name(key: Any) -> str:
    """The registry's name of a key given as a name of ours or PyTorch's, or as a DispatchKey.

    Raises RuntimeError for what is no key.

    >>> key_name("PrivateUse1"), key_name(DispatchKey.AutogradCPU)
    ('NPU', 'AutogradCPU')
    """
    if isinstance(key, DispatchKey):
        return _NAMES[key.value]
    if isinstance(key, str):
        name = key.removeprefix("DispatchKey.")
        for ours, theirs in _PYTORCH.items():
            if name == theirs:
                return ours
        name = _DOCUMENTS.get(name, name)
        if name in _NUMBERS:
            return name
    raise RuntimeError(f"could not parse dispatch key: {key}")


def _runtime_bits(key: Any) -> int:
    name = key_name(key)
    if name != "Autograd":
        return _C._key_bit(name)
    return sum(_C._key_bit(f"Autograd{place}") for place in ("Other", "CPU", "CUDA", "NPU", "Meta"))


class DispatchKeySet:
    """A set of dispatch keys, as a tensor carries one.

    >>> keys = DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCPU)
    >>> keys, keys.highestPriorityTypeId(), keys.has(DispatchKey.Meta)
    (DispatchKeySet(CPU, AutogradCPU), <DispatchKey.AutogradCPU: ...>, False)
    """

    __module__ = "torch._C"
    __slots__ = ("_bits",)

    def __init__(self, *keys: Any) -> None:
        bits = 0
        for key in keys:
            bits |= key if isinstance(key, int) else _runtime_bits(key)
        self._bits = bits

    @classmethod
    def from_raw_repr(cls, bits: int) -> DispatchKeySet:
        """The set of these bits."""
        return cls(bits)

    def raw_repr(self) -> int:
        """The bits, one a key."""
        return self._bits

    __int__ = __index__ = raw_repr

    def has(self, key: Any) -> bool:
        """Whether the key is in the set; of Autograd, which stands for the keys of all devices, whether one of them is."""
        return bool(self._bits & _runtime_bits(key))

    def add(self, key: Any) -> DispatchKeySet:
        """The set with the key."""
        return self | DispatchKeySet(key)

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without the key."""
        return self - DispatchKeySet(key)

    def highestPriorityTypeId(self) -> Any:
        """The key whose kernel handles a call first; Undefined for the empty set."""
        return DispatchKey(self._bits.bit_length() - 1 if self._bits else 0)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._bits | int(other))

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._bits & int(other))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self._bits & ~int(other))

    def __contains__(self, key: Any) -> bool:
        return self.has(key)

    def __iter__(self) -> Any:
        return (DispatchKey(bit) for bit in range(self._bits.bit_length()) if self._bits >> bit & 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


class _ThreadKeys:
    """A context in which the thread includes and excludes further keys of every dispatch."""

    __slots__ = ("_before", "_exclude", "_include", "_replace")

    def __init__(self, include: int, exclude: int, replace: bool = False) -> None:
        self._include = include
        self._exclude = exclude
        self._replace = replace

    def __enter__(self) -> None:
        self._before = include, exclude = _C._tls_keys()
        if self._replace:
            include = exclude = 0
        _C._set_tls_keys(include | self._include, exclude | self._exclude)

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        _C._set_tls_keys(*self._before)


class ExclusionGuard:
    """Keys that no dispatch of this thread sees, from when the guard is made until a block with it ends, or it is deleted.

    >>> guard = ExclusionGuard(DispatchKeySet("ADInplaceOrView"))
    >>> torch._C._dispatch_tls_is_dispatch_key_excluded("ADInplaceOrView")
    True
    >>> del guard
    >>> torch._C._dispatch_tls_is_dispatch_key_excluded("ADInplaceOrView")
    False
    """

    __slots__ = ("_added",)

    def __init__(self, *keys: Any) -> None:
        include, exclude = _C._tls_keys()
        self._added = int(DispatchKeySet(*map(_bits, keys))) & ~exclude
        _C._set_tls_keys(include, exclude | self._added)

    def _release(self) -> None:
        include, exclude = _C._tls_keys()
        _C._set_tls_keys(include, exclude & ~self._added)
        self._added = 0

    def __enter__(self) -> ExclusionGuard:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._release()

    def __del__(self) -> None:
        if getattr(self, "_added", 0):
            self._release()


def included(*keys: Any) -> _ThreadKeys:
    """A context in which every dispatch sees these keys."""
    return _ThreadKeys(int(DispatchKeySet(*map(_bits, keys))), 0)


def excluded(*keys: Any) -> _ThreadKeys:
    """A context in which no dispatch sees these keys."""
    return _ThreadKeys(0, int(DispatchKeySet(*map(_bits, keys))))


def only(include: DispatchKeySet, exclude: DispatchKeySet) -> _ThreadKeys:
    """A context whose inclusions and exclusions are exactly these."""
    return _ThreadKeys(int(include), int(exclude), replace=True)


def _bits(key: Any) -> Any:
    return int(key) if isinstance(key, DispatchKeySet) else key


AUTOGRAD = DispatchKeySet("Autograd")
