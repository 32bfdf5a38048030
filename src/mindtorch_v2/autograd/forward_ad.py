"""Forward mode: tensors that carry a tangent through a computation, and the tangents of its results."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _C
from .._core.autograd import tangents as _tangents

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current: list[int] = []
_current_level = -1  # of PyTorch's count, which programs read: 0 inside a level


def _count_levels() -> None:
    global _current_level
    _current_level = len(_current) - 1


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent (None if it has none).

    >>> import mindtorch_v2.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(dual * dual).tangent
    tensor(6.)
    """

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Begin a level: tangents made until it is left belong to it. Raises RuntimeError inside another one.

    >>> import mindtorch_v2.autograd.forward_ad as forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.unpack_dual(forward_ad.make_dual(torch.tensor(3.0), torch.tensor(2.0)) ** 2).tangent
    tensor(12.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    if _current:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _current.append(_C._enter_forward_level())
    _count_levels()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tangents are gone.

    >>> import mindtorch_v2.autograd.forward_ad as forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> forward_ad.exit_dual_level(level=level)
    >>> print(forward_ad.unpack_dual(dual, level=0).tangent)
    None
    """
    if not _current:
        raise RuntimeError("Dual level must be a positive number.")
    _C._exit_forward_level(_current.pop())
    _count_levels()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` that carries ``tangent``, a tensor of the same shape and dtype.

    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([2.0]), torch.tensor([1.0]))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor([4.])
    """
    if not _current:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    return _tangents.make_dual(tensor, tangent, _current[-1])


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent (None if it has none).

    >>> with torch.autograd.forward_ad.dual_level():
    ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     print(torch.autograd.forward_ad.unpack_dual(x.exp().log()).tangent)
    tensor(1.)
    """
    if not _current:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_tangents.unpack_dual(tensor, _current[-1]))


class dual_level:
    """A level as a context manager.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     print(torch.autograd.forward_ad.unpack_dual(x * x).tangent)
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    """Whether results get tangents on this thread."""
    enabled = _C._set_fwd_grad_enabled(True)
    _C._set_fwd_grad_enabled(enabled)
    return enabled


class _set_fwd_grad_enabled:
    """Whether tangents are looked at, within this block."""

    def __init__(self, mode: bool) -> None:
        self._before = _C._set_fwd_grad_enabled(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _C._set_fwd_grad_enabled(self._before)
