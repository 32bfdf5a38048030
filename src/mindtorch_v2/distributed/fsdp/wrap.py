"""Which submodules `FullyShardedDataParallel` wraps by themselves."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

Module = torch.nn.Module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.wrap.always_wrap_policy(torch.nn.ReLU())
    True
    """
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules of which a function says so.

    >>> from mindtorch_v2.distributed.fsdp.wrap import lambda_auto_wrap_policy
    >>> is_linear = lambda module: isinstance(module, torch.nn.Linear)
    >>> lambda_auto_wrap_policy(torch.nn.Linear(2, 1), recurse=False, nonwrapped_numel=3, lambda_fn=is_linear)
    True
    """
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Wrap the modules of some classes: the layers of a transformer.

    >>> from mindtorch_v2.distributed.fsdp.wrap import transformer_auto_wrap_policy
    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, 4)
    >>> transformer_auto_wrap_policy(layer, False, 0, transformer_layer_cls={torch.nn.TransformerEncoderLayer})
    True
    """
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Wrap modules that have at least so many parameters which no submodule has wrapped.

    >>> from mindtorch_v2.distributed.fsdp.wrap import size_based_auto_wrap_policy
    >>> layer = torch.nn.Linear(9, 10)
    >>> [size_based_auto_wrap_policy(layer, False, 100, min_num_params=least) for least in (100, 101)]
    [True, False]
    """
    leaves = force_leaf_modules or {torch.nn.MultiheadAttention}
    excluded = exclude_wrap_modules or {torch.nn.ModuleList, torch.nn.ModuleDict}
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else excluded))


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Sequence[Callable[..., bool]]) -> bool:
    """Wrap what any of some policies wraps."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


class _Policy:
    """A judge of whether, and how, a module is wrapped: `policy._options(module)` is None or keyword arguments."""

    def _options(self, module: Module) -> dict[str, Any] | None:
        raise NotImplementedError

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or self._options(module) is not None


class ModuleWrapPolicy(_Policy):
    """Wrap the modules of some classes.

    >>> from mindtorch_v2.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> policy = ModuleWrapPolicy({torch.nn.Linear})
    >>> [policy(module, recurse=False, nonwrapped_numel=0) for module in (torch.nn.Linear(2, 1), torch.nn.ReLU())]
    [True, False]
    """

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._module_classes = set(module_classes)

    def _options(self, module: Module) -> dict[str, Any] | None:
        return {} if isinstance(module, tuple(self._module_classes)) else None

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy(_Policy):
    """Wrap the modules of which a function says so: True, or a dictionary of arguments for the wrapper.

    >>> from mindtorch_v2.distributed.fsdp.wrap import CustomPolicy
    >>> policy = CustomPolicy(lambda module: isinstance(module, torch.nn.Linear) and module.out_features > 1)
    >>> policy._lambda_fn(torch.nn.Linear(2, 3)), policy._lambda_fn(torch.nn.Linear(2, 1))
    (True, False)
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def _options(self, module: Module) -> dict[str, Any] | None:
        said = self._lambda_fn(module)
        if not isinstance(said, dict | bool):
            raise ValueError(
                f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {said}"
            )
        return said if isinstance(said, dict) else {} if said else None


def wrap_submodules(
    root: Module,
    policy: Callable[..., bool],
    wrapper: Callable[..., Module],
    ignored: Iterable[Module] = (),
    ignored_parameters: Iterable[torch.Tensor] = (),
) -> int:
    """Replace the submodules that a policy names by `wrapper(module, **options)`, innermost first; how many elements they hold."""
    return _Wrapping(policy, wrapper, set(ignored), set(ignored_parameters)).below(root)[1]


class _Wrapping:
    """One walk through a module."""

    def __init__(
        self, policy: Callable[..., bool], wrapper: Callable[..., Module], ignored: set[Module], parameters: set[Any]
    ) -> None:
        self.policy, self.wrapper, self.ignored, self.parameters = policy, wrapper, ignored, parameters
        self.done: dict[Module, tuple[Module, int]] = {}  # what became of modules that stand in several places

    def below(self, module: Module) -> tuple[int, int]:
        """Wrap below a module: its elements, and those of them that are wrapped."""
        count = sum(each.numel() for each in module.parameters() if each not in self.parameters)
        wrapped = 0
        if self.policy(module=module, recurse=True, nonwrapped_numel=count):
            for name, child in list(module.named_children()):
                if child not in self.ignored:
                    if child not in self.done:
                        self.done[child] = self.whole(child)
                    made, elements = self.done[child]
                    setattr(module, name, made)
                    wrapped += elements
        return count, wrapped

    def whole(self, module: Module) -> tuple[Module, int]:
        """A module, wrapped where the policy says so, and how many of its elements are wrapped."""
        count, wrapped = self.below(module)
        if not self.policy(module=module, recurse=False, nonwrapped_numel=count - wrapped):
            return module, wrapped
        options = self.policy._options(module) if isinstance(self.policy, _Policy) else None
        return _wrap(module, self.wrapper, **(options or {})), count


def _wrap(module: Module, wrapper_cls: Callable[..., Module], **kwargs: Any) -> Module:
    return wrapper_cls(module, **{**kwargs, **getattr(module, "_wrap_overrides", {})})


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Callable[..., bool],
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[torch.nn.Parameter],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """Wrap a module and those in it by `wrapper_cls(each, **kwargs)` where a policy says so.

    Returns:
        The module or its wrapper, and how many elements of parameters are wrapped.

    Raises:
        AssertionError: there is no policy or no wrapper, or a submodule is wrapped already.
    """
    if auto_wrap_policy is None:
        raise AssertionError("Must specify auto_wrap_policy.")
    if wrapper_cls is None:
        raise AssertionError("Must specify wrapper_cls")
    for name, child in module.named_modules():
        if child not in ignored_modules and isinstance(wrapper_cls, type) and isinstance(child, wrapper_cls):
            raise AssertionError(f"Child module {name} is already wrapped by {wrapper_cls}")
    walk = _Wrapping(
        auto_wrap_policy, lambda each, **more: wrapper_cls(each, **{**kwargs, **more}), ignored_modules, ignored_params
    )
    return (module, walk.below(module)[1]) if only_wrap_children else walk.whole(module)


_enabled = threading.local()  # .by: (wrapper, arguments) within `enable_wrap`


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Within this block `wrap(module)` is `wrapper_cls(module, **wrapper_kwargs)`.

    ```text
    with enable_wrap(wrapper_cls=FullyShardedDataParallel, sharding_strategy=strategy):
        self.layer = wrap(torch.nn.Linear(8, 8))
    ```

    >>> from mindtorch_v2.distributed.fsdp.wrap import enable_wrap, wrap
    >>> with enable_wrap(wrapper_cls=torch.nn.Sequential):
    ...     wrap(torch.nn.ReLU())
    Sequential(
      (0): ReLU()
    )
    """
    before = getattr(_enabled, "by", None)
    _enabled.by = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _enabled.by = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module in the wrapper of `enable_wrap`, whose arguments `wrap_overrides` replace; itself outside of such a block.

    >>> from mindtorch_v2.distributed.fsdp.wrap import wrap
    >>> wrap(torch.nn.ReLU())
    ReLU()
    """
    by = getattr(_enabled, "by", None)
    if by is None:
        return module
    wrapper_cls, kwargs = by
    return _wrap(module, wrapper_cls, **{**kwargs, **wrap_overrides})
