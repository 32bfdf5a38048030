"""Checkpointing that keeps the results of some operators: the second run takes them from the first.

The operators are those that `TorchDispatchMode` sees.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload, OpOverloadPacket
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode
from mindtorch_v2.utils._pytree import tree_map

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(enum.Enum):
    """Fate of an operator's result; "prefer" leaves it to others to decide otherwise, of which there are none here.

    >>> from mindtorch_v2.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.name, CheckpointPolicy.PREFER_RECOMPUTE.name
    ('MUST_SAVE', 'PREFER_RECOMPUTE')
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADED = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """The context that a policy function is told: whether this is the second run, and what the operator gave.

    >>> from mindtorch_v2.utils.checkpoint import CheckpointPolicy, checkpoint
    >>> from mindtorch_v2.utils.checkpoint import create_selective_checkpoint_contexts as selective
    >>> runs = []
    >>> def policy(context, op, *args, **kwargs):
    ...     runs.append(context.is_recompute)
    ...     return CheckpointPolicy.MUST_RECOMPUTE
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False, context_fn=lambda: selective(policy))
    >>> y.sum().backward()
    >>> runs[0], runs[-1]
    (False, False)
    """

    def __init__(self, *, is_recompute: bool, op_output: torch.Tensor | None = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _VersionWrapper:
    """A saved value of a result, a tensor with its version."""

    def __init__(self, value: torch.Tensor) -> None:
        self.val = value.detach() if isinstance(value, torch.Tensor) else value
        self.version = value._version if isinstance(value, torch.Tensor) else None

    def get(self, allow_mutation: bool) -> torch.Tensor:
        if self.version is not None and not allow_mutation and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


_RECOMPUTE = object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that "
    "changed between forward and backward."
)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run: keeps what the policy says, for each operator in the order of its calls."""

    def __init__(self, policy_fn: Callable[..., Any], storage: Any) -> None:
        super().__init__()
        self.policy = policy_fn
        self.storage = storage

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func == torch.ops.aten.detach.default:  # of which the two runs make different numbers
            return out
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        if policy in _OFFLOADED:
            raise NotImplementedError(f"torch.utils.checkpoint: {policy} is not implemented in mindtorch_v2")
        self.storage[func].append(tree_map(_VersionWrapper, out) if policy in _SAVED else _RECOMPUTE)
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """The second run: gives what was kept, once."""

    def __init__(self, storage: Any, allow_mutation: bool) -> None:
        super().__init__()
        self.storage = storage
        self.allow_mutation = allow_mutation
        self.used = False

    def __enter__(self) -> _CachedTorchDispatchMode:
        if self.used:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        self.used = True
        return super().__enter__()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func == torch.ops.aten.detach.default:
            return func(*args, **(kwargs or {}))
        if not self.storage.get(func):
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        kept = self.storage[func].popleft()
        if kept is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        return tree_map(lambda x: x.get(self.allow_mutation), kept)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[_CachingTorchDispatchMode, _CachedTorchDispatchMode]:
    """Contexts for the two runs of `checkpoint(..., use_reentrant=False, context_fn=...)` that keep some results.

    `policy_fn_or_list` is a list of operators (such as `torch.ops.aten.mm.default`) whose results are kept, or a function of a
    `SelectiveCheckpointContext`, the operator and its arguments that returns a `CheckpointPolicy` or a bool. What is kept must not be
    written to, unless `allow_cache_entry_mutation`: RuntimeError. Backward may run once.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> keep = lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default])
    >>> checkpoint(lambda x: (x @ x).sin(), x, use_reentrant=False, context_fn=keep).sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                packet = isinstance(op, OpOverloadPacket)
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. "
                    + "Please update the OpOverloadPacket to a specific OpOverload." * packet
                )

        def policy(context: SelectiveCheckpointContext, op: OpOverload, *args: Any, **kwargs: Any) -> bool:
            return op in policy_fn_or_list

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: defaultdict[Any, Any] = defaultdict(deque)
    return _CachingTorchDispatchMode(policy, kept), _CachedTorchDispatchMode(kept, allow_cache_entry_mutation)
