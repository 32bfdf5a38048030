"""The choice of kernels for `scaled_dot_product_attention`.

The choice is kept in the flags of `torch.backends.cuda`, where PyTorch keeps it. On the CPU every choice leads to the
same exact attention.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import contextlib

import mindtorch_v2 as torch

__all__ = ["SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS"]

# Whether PyTorch is to say why a kernel was not chosen; kept for programs that set it.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend:
    """The kernels that PyTorch knows for `scaled_dot_product_attention`. As PyTorch's it is no `enum.Enum`, and no number.

    >>> SDPBackend(0), SDPBackend.MATH.name, int(SDPBackend.MATH)
    (<SDPBackend.MATH: 0>, 'MATH', 0)
    """

    __members__: ClassVar[dict[str, SDPBackend]] = {}
    ERROR: ClassVar[SDPBackend]
    MATH: ClassVar[SDPBackend]
    FLASH_ATTENTION: ClassVar[SDPBackend]
    EFFICIENT_ATTENTION: ClassVar[SDPBackend]
    CUDNN_ATTENTION: ClassVar[SDPBackend]
    OVERRIDEABLE: ClassVar[SDPBackend]

    name: str
    value: int

    def __new__(cls, value: int) -> SDPBackend:
        """The one of a number."""
        for member in cls.__members__.values():
            if member.value == value:
                return member
        raise ValueError(f"{value!r} is no SDPBackend; the numbers are {[m.value for m in cls.__members__.values()]}")

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"

    def __reduce__(self) -> tuple[type[SDPBackend], tuple[int]]:
        return SDPBackend, (self.value,)


for _value, _name in enumerate(
    ("ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"), start=-1
):
    _member = object.__new__(SDPBackend)
    _member.name, _member.value = _name, _value
    SDPBackend.__members__[_name] = _member
    setattr(SDPBackend, _name, _member)


# The kernels with a flag of their own, in the order in which PyTorch lists them; the second name ends the getter's.
_FLAGS = {
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math",
}
_DEFAULT_PRIORITY = (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.OVERRIDEABLE,
)
_overrideable_enabled = True
_priority = _DEFAULT_PRIORITY


def _is_enabled(backend) -> bool:
    if backend in _FLAGS:
        return getattr(torch.backends.cuda, f"{_FLAGS[backend]}_sdp_enabled")()
    return backend is SDPBackend.OVERRIDEABLE and _overrideable_enabled


def _cur_sdpa_kernel_backends(with_priority=False) -> list:
    """The kernels that may be chosen now; with `with_priority` in the order in which they are tried."""
    order = _priority if with_priority else (*_FLAGS, SDPBackend.OVERRIDEABLE)
    return [backend for backend in order if _is_enabled(backend)]


def _sdpa_kernel(backends, set_priority=False) -> None:
    """Let only `backends` be chosen; with `set_priority` in the order given."""
    global _overrideable_enabled, _priority
    for backend, name in _FLAGS.items():
        getattr(torch.backends.cuda, f"enable_{name}_sdp")(backend in backends)
    _overrideable_enabled = SDPBackend.OVERRIDEABLE in backends
    if set_priority:
        wanted = tuple(dict.fromkeys(backends))
        _priority = wanted + tuple(b for b in _DEFAULT_PRIORITY if b not in wanted)


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Within the context, `scaled_dot_product_attention` may choose only the given kernels (one or a list).

    With `set_priority` the order of the list is the order in which they are tried.

    >>> from mindtorch_v2.nn.attention import SDPBackend, sdpa_kernel
    >>> q = torch.ones(1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 2, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    global _priority
    wanted = [backends] if isinstance(backends, SDPBackend) else list(dict.fromkeys(backends))
    before = _cur_sdpa_kernel_backends()
    priority_before = _priority
    try:
        _sdpa_kernel(wanted, set_priority)
        yield {}
    finally:
        _sdpa_kernel(before)
        _priority = priority_before


def _sdpa_kernel_variadic(*backends):
    return sdpa_kernel(list(backends))
