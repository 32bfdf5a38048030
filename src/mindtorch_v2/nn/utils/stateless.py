"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

from ._named_member_accessor import NamedMemberAccessor

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ..modules.module import Module


__all__ = ["functional_call"]


def _untie_named_tensors_map(module, parameters_and_buffers):
    """Add the other names of tied tensors of which one is given; ValueError where two are given different values."""
    all_named_tensors = {}
    all_named_tensors.update(module.named_parameters(remove_duplicate=False))
    all_named_tensors.update(module.named_buffers(remove_duplicate=False))
    names_of: dict[Any, Any] = {}
    for name, tensor in all_named_tensors.items():
        names_of.setdefault(tensor, set()).add(name)
    tied_names = {name: tied for tied in names_of.values() if len(tied) > 1 for name in tied}
    given_names = set(parameters_and_buffers)
    for tied in names_of.values():
        given = tied & given_names
        if len(given) > 1 and len({parameters_and_buffers[name] for name in given}) != 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, "
                "which are tied. Consider using tie_weights=False"
            )
    untied = dict(parameters_and_buffers)
    for given_name in given_names:
        for name in tied_names.get(given_name, ()):
            untied.setdefault(name, parameters_and_buffers[given_name])
    return untied


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False, stack_weights=False):
    """Within the context, the module has the given parameters and buffers."""
    given = _untie_named_tensors_map(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    accessor = NamedMemberAccessor(module)
    if strict:
        missing_keys, unexpected_keys = accessor.check_keys(given)
        error_msgs = []
        if unexpected_keys:
            error_msgs.append(f"Unexpected key(s): {', '.join(map(repr, unexpected_keys))}.")
        if missing_keys:
            error_msgs.append(f"Missing key(s): {', '.join(map(repr, missing_keys))}.")
        if error_msgs:
            raise RuntimeError(
                "Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(error_msgs))
            )
    original = {}
    try:
        original, _ = accessor.swap_tensors_dict(given, allow_missing=True)
        yield
    finally:
        if stack_weights:
            # Undone in the reverse order, as contexts within one another are left.
            original = dict(reversed(original.items()))
        now, _ = accessor.swap_tensors_dict(original, allow_missing=True)
        # What the module itself replaced during the call (running statistics, say) goes to the caller's dict.
        parameters_and_buffers.update({k: now[k] for k in parameters_and_buffers if k in now})


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Deprecated: `torch.func.functional_call`. Calls `module` with the given parameters and buffers, by name.

    >>> import warnings
    >>> from mindtorch_v2.nn.utils import stateless
    >>> values = {"weight": torch.tensor([[2.0]]), "bias": torch.tensor([1.0])}
    >>> with warnings.catch_warnings(action="ignore"):
    ...     stateless.functional_call(torch.nn.Linear(1, 1), values, (torch.ones(1),))
    tensor([3.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 "
        "and will be removed in a future version of PyTorch. "
        "Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
) -> Tensor:
    """Call `module(*args, **kwargs)` with the given parameters and buffers in place of its own."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    if kwargs is None:
        kwargs = {}
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **kwargs)
