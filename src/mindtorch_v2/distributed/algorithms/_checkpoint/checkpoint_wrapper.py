"""Layers whose activations are not kept, or kept by the host: modules around modules, which leave the names of parameters alone."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd.graph import save_on_cpu
from mindtorch_v2.distributed.fsdp.wrap import lambda_auto_wrap_policy, wrap_submodules
from mindtorch_v2.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]

Module = torch.nn.Module
_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """How checkpointing is done: `use_reentrant` of `torch.utils.checkpoint.checkpoint`."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module around another one, whose names of parameters and buffers stay as they are.

    Args:
        mod: the module.
    """

    def __init__(self, mod: Module) -> None:
        super().__init__()
        setattr(self, _CHECKPOINT_WRAPPED_MODULE, mod)
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Subclasses say how the module is run: ValueError here."""
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[_CHECKPOINT_WRAPPED_MODULE], name)

    def __getitem__(self, key: int) -> Any:
        return self._modules[_CHECKPOINT_WRAPPED_MODULE][key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """The parameters by the names that they have without wrappers."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        inner = prefix + _CHECKPOINT_PREFIX
        for name in [name for name in state_dict if name.startswith(inner)]:
            state_dict[prefix + name[len(inner) :]] = state_dict.pop(name)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        inner = prefix + _CHECKPOINT_PREFIX
        for name in [name for name in state_dict if name.startswith(prefix) and not name.startswith(inner)]:
            state_dict[inner + name[len(prefix) :]] = state_dict.pop(name)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors wait on the host for backward."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's."""
        with save_on_cpu(pin_memory=True):
            return self._modules[_CHECKPOINT_WRAPPED_MODULE](*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module of which only inputs are kept; backward computes it again.

    Args:
        mod: the module.
        checkpoint_impl: which of the two ways of `torch.utils.checkpoint.checkpoint`.
        checkpoint_fn: another function, called as `checkpoint_fn(mod, *args, **checkpoint_fn_kwargs, **kwargs)`.
        checkpoint_fn_kwargs: for it, or for `torch.utils.checkpoint.checkpoint`.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self._reentrant = checkpoint_fn is None and checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn = (
            functools.partial(checkpoint, use_reentrant=self._reentrant, **checkpoint_fn_kwargs)
            if checkpoint_fn is None
            else functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's."""
        module: Any = self._modules[_CHECKPOINT_WRAPPED_MODULE]
        if not (self._reentrant and kwargs):
            return self.checkpoint_fn(module, *args, **kwargs)
        # This way takes arguments by their places only.
        names = list(kwargs)

        def run(*values: Any) -> Any:
            count = len(values) - len(names)
            return module(*values[:count], **dict(zip(names, values[count:], strict=True)))

        return self.checkpoint_fn(run, *args, *kwargs.values())


def offload_wrapper(module: Module) -> Module:
    """The module in an `OffloadWrapper`."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module in a `CheckpointWrapper`.

    ```python
    import mindtorch_v2 as torch
    from mindtorch_v2.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

    layer = checkpoint_wrapper(torch.nn.Linear(2, 1))
    print([name for name, _ in layer.named_parameters()])  # ['weight', 'bias']
    ```
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[[Module, bool, int], bool] | None = None,
) -> None:
    """Wrap submodules of a model in place, the model itself not.

    Args:
        model: the model; it may be in `FullyShardedDataParallel`.
        checkpoint_wrapper_fn: makes the wrapper of a module.
        check_fn: whether a submodule is wrapped.
        auto_wrap_policy: this is asked instead; from `torch.distributed.fsdp.wrap`.
    """
    policy = auto_wrap_policy or functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    wrap_submodules(model, policy, checkpoint_wrapper_fn)
