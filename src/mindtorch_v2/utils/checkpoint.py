"""Activation checkpointing: a part of the forward pass is computed again in backward instead of keeping its tensors.

Two ways. Reentrant: the part runs without recording, and backward runs it again inside an autograd function that
calls backward itself. Non-reentrant: the part is recorded, but every tensor saved for backward is replaced by a
holder; the first holder that backward opens makes the part run again, which fills all of them.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2.utils._selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from mindtorch_v2.utils._selective_checkpoint import (
    _CachedTorchDispatchMode as _CachedTorchDispatchMode,
)
from mindtorch_v2.utils._selective_checkpoint import (
    _CachingTorchDispatchMode as _CachingTorchDispatchMode,
)

if TYPE_CHECKING:
    pass


__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_DEFAULT_DETERMINISM_MODE = "default"
_checkpoint_debug_enabled = None
_enable_checkpoint_early_stop = None


class CheckpointError(RuntimeError):
    """The second run did not save the tensors that the first one saved.

    >>> from mindtorch_v2.utils.checkpoint import CheckpointError, checkpoint
    >>> runs = []
    >>> def part(x):
    ...     runs.append(1)
    ...     return (x if len(runs) == 1 else x[:1]).sin()
    >>> x = torch.ones(2, requires_grad=True)
    >>> try:
    ...     checkpoint(part, x, use_reentrant=False).sum().backward()
    ... except CheckpointError as error:
    ...     print(type(error).__name__)
    CheckpointError
    """


class _StopRecomputationError(Exception):
    """End the second run once it has saved all that is needed."""


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context manager: overrides the `debug` argument of every `checkpoint` in the block.

    >>> from mindtorch_v2.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(False):
    ...     checkpoint(torch.sin, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.])
    """
    global _checkpoint_debug_enabled
    previous = _checkpoint_debug_enabled
    _checkpoint_debug_enabled = enabled
    try:
        yield
    finally:
        _checkpoint_debug_enabled = previous


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: whether second runs of the block's checkpoints end as soon as they can.

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     print(torch.ones(1))
    tensor([1.])
    """
    global _enable_checkpoint_early_stop
    previous = _enable_checkpoint_early_stop
    _enable_checkpoint_early_stop = enable
    try:
        yield
    finally:
        _enable_checkpoint_early_stop = previous


def detach_variable(inputs: Sequence[torch.Tensor]) -> tuple:
    """A tuple like `inputs` whose tensors are detached; each still asks for a gradient if it did.

    >>> from mindtorch_v2.utils.checkpoint import detach_variable
    >>> x = torch.ones(1, requires_grad=True) * 2
    >>> detached, number = detach_variable((x, 3))
    >>> detached.is_leaf, detached.requires_grad, number
    (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    detached = []
    for value in inputs:
        if isinstance(value, torch.Tensor):
            copy = value.detach()
            copy.requires_grad = value.requires_grad
            detached.append(copy)
        else:
            detached.append(value)
    return tuple(detached)


def check_backward_validity(inputs: Sequence[torch.Tensor]) -> None:
    """Warn if no input asks for a gradient: a reentrant checkpoint then has none to give.

    >>> import warnings
    >>> from mindtorch_v2.utils.checkpoint import check_backward_validity
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     check_backward_validity([torch.ones(1)])
    >>> len(seen)
    1
    """
    if not any(value.requires_grad for value in inputs if isinstance(value, torch.Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class DefaultDeviceType:
    """The device type whose random state checkpoints keep when their arguments show none.

    >>> from mindtorch_v2.utils.checkpoint import DefaultDeviceType
    >>> before = DefaultDeviceType.get_device_type()
    >>> DefaultDeviceType.set_device_type("cpu")
    >>> DefaultDeviceType.get_device_type()
    'cpu'
    >>> DefaultDeviceType.set_device_type(before)
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type."""
        return DefaultDeviceType._default_device_type


def _device_tensors(values):
    """The tensors in nested containers that are on a device with random state of its own."""
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.device.type not in ("cpu", "meta"):
                yield value
        elif isinstance(value, dict):
            yield from _device_tensors(value.values())
        elif isinstance(value, (list, tuple)):
            yield from _device_tensors(value)


def _infer_device_type(*args) -> str:
    types = [tensor.device.type for tensor in _device_tensors(args)]
    if len(set(types)) > 1:
        warnings.warn(
            "Tensor arguments, excluding CPU tensors, are detected on at least two types of devices. Device state will "
            "only be saved for devices of a single device type, and the remaining devices will be ignored.",
            stacklevel=2,
        )
    return types[0] if types else DefaultDeviceType.get_device_type()


def get_device_states(*args: Any) -> tuple[list[Any], list[Any]]:
    """The indices of the devices of the tensors in `args`, and the state of each one's generator.

    >>> from mindtorch_v2.utils.checkpoint import get_device_states
    >>> get_device_states(torch.ones(2), 3)
    ([], [])
    """
    devices = sorted({tensor.get_device() for tensor in _device_tensors(args)})
    module: Any = getattr(torch, _infer_device_type(*args), None)
    return devices, [module.get_rng_state(device) for device in devices]


def set_device_states(
    devices: Sequence[Any], states: Sequence[torch.Tensor], *, device_type: str | None = None
) -> None:
    """Put back what `get_device_states` returned.

    >>> from mindtorch_v2.utils.checkpoint import get_device_states, set_device_states
    >>> devices, states = get_device_states(torch.ones(2))
    >>> set_device_states(devices, states)
    >>> devices
    []
    """
    device_type = device_type or _infer_device_type(*states)
    for device, state in zip(devices, states, strict=True):
        getattr(torch, device_type).set_rng_state(state, device)


class _RandomState:
    """The generators' state at the start of a part, and blocks that run from there again."""

    def __init__(self, preserve: bool, args: Any) -> None:
        self.preserve = preserve
        if preserve:
            self.cpu = torch.get_rng_state()
            self.device_type = _infer_device_type(*args)
            self.devices, self.states = get_device_states(*args)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Run the block from the kept state; what follows the block sees the state of before."""
        if not self.preserve:
            yield
            return
        with torch.random.fork_rng(devices=self.devices, device_type=self.device_type):
            torch.set_rng_state(self.cpu)
            set_device_states(self.devices, self.states, device_type=self.device_type)
            yield


class _AutocastState:
    """Autocast's settings at the start of a part."""

    def __init__(self) -> None:
        self.settings = [
            (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
            for device in _autocast.DEVICES
        ]
        self.cache_enabled = torch.is_autocast_cache_enabled()

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Run the block under the kept settings."""
        with contextlib.ExitStack() as stack:
            for device, enabled, dtype in self.settings:
                if enabled or torch.is_autocast_enabled(device):
                    stack.enter_context(
                        torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=self.cache_enabled)
                    )
            yield


def _get_autocast_kwargs(device_type: str = "cuda") -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Arguments of `torch.autocast` that bring back today's settings: a device's (None where it has no autocast), the CPU's.

    Libraries that recompute by ways of their own take it from here.
    """

    def settings(device: str) -> dict[str, Any]:
        return {
            "enabled": torch.is_autocast_enabled(device),
            "dtype": torch.get_autocast_dtype(device),
            "cache_enabled": torch.is_autocast_cache_enabled(),
        }

    return settings(device_type) if torch.amp.is_autocast_available(device_type) else None, settings("cpu")


class CheckpointFunction(torch.autograd.Function):
    """The reentrant way: forward keeps the inputs only; backward runs the part again and calls backward on it.

    >>> from mindtorch_v2.utils.checkpoint import CheckpointFunction, checkpoint
    >>> x = torch.zeros(2, requires_grad=True)
    >>> y = checkpoint(torch.sin, x, use_reentrant=True)
    >>> y.grad_fn.name()
    'CheckpointFunctionBackward'
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = _RandomState(preserve_rng_state, args)
        ctx.autocast_state = _AutocastState()
        # Tensors go through autograd, which notices changes made to them; all else stays with the context.
        ctx.inputs = [None if isinstance(arg, torch.Tensor) else arg for arg in args]
        ctx.tensor_indices = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with torch.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        if torch._C._current_graph_task_is_selective():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.random_state.again(), torch.enable_grad(), ctx.autocast_state.again():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, torch.Tensor):
            outputs = (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, torch.Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        torch.autograd.backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(value.grad if isinstance(value, torch.Tensor) else None for value in detached)


def noop_context_fn() -> tuple:
    """Two contexts that do nothing, for the first and the second run.

    >>> from mindtorch_v2.utils.checkpoint import checkpoint, noop_context_fn
    >>> x = torch.zeros(1, requires_grad=True)
    >>> checkpoint(torch.sin, x, use_reentrant=False, context_fn=noop_context_fn).backward()
    >>> x.grad
    tensor([1.])
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[..., Any] = noop_context_fn,
    determinism_check: str = _DEFAULT_DETERMINISM_MODE,
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args, **kwargs)`, whose intermediate results backward will compute again.

    `preserve_rng_state` (a keyword, True by default) makes the second run draw the same random numbers.
    With `use_reentrant=False`: `context_fn()` gives the contexts for the two runs; `determinism_check` ("default" or
    "none") says whether the second run's tensors are compared with the first's in shape, dtype and device;
    `early_stop` ends the second run as soon as it has saved what backward needs. Raises CheckpointError if the runs
    differ.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
            "2.9, calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    return _checkpoint_without_reentrant(
        function, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs
    )


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a sequence of modules or functions in `segments` parts, all but the last one checkpointed.

    >>> layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> torch.utils.checkpoint.checkpoint_sequential(layers, 2, torch.ones(1, 2, requires_grad=True), use_reentrant=False).shape
    torch.Size([1, 2])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "In version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, torch.nn.Sequential):
        functions = list(functions.children())

    def part(start: int, end: int) -> Callable[..., Any]:
        def run(value: torch.Tensor) -> torch.Tensor:
            for function in functions[start:end]:
                value = function(value)
            return value

        return run

    size = len(functions) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return part(start, len(functions))(input)


def _default_meta_extractor(x) -> dict:
    """The facts of a tensor that are compared between the two runs."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


_allowed_determinism_checks_to_fns = {"default": _default_meta_extractor, "none": lambda _: None}


class _Holder:
    """Stand-in in the graph for a saved tensor; `handles` has the keys of the tensors for each backward run."""

    def __init__(self) -> None:
        self.handles: dict[Any, Any] = {}


class _Handle:
    """The key of one recomputed tensor: when it goes, so does the tensor."""


class _KeepInputs(torch.autograd.Function):
    """Keep a part's inputs in the graph, where the checkpoint around it, if there is one, replaces them too."""

    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, keep: Any, *args: Any) -> Any:
        tensors = [(i, arg) for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        places = {index: place for place, (index, _) in enumerate(tensors)}
        ctx.save_for_backward(*(tensor for _, tensor in tensors))
        others = [None if i in places else arg for i, arg in enumerate(args)]
        requires = [tensor.requires_grad for _, tensor in tensors]

        def inputs(saved: Sequence[torch.Tensor]) -> list:
            detached = []
            for tensor, asks in zip(saved, requires, strict=True):
                detached.append(tensor.detach().requires_grad_() if asks else tensor)
            return [detached[places[i]] if i in places else other for i, other in enumerate(others)]

        keep.append(inputs)
        return torch.empty((0,))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise AssertionError("the inputs' keeper has no gradient")


class _Frame:
    """One non-reentrant checkpoint: what its first run saved, and what second runs saved again."""

    def __init__(self, recompute: Callable[..., Any], early_stop: bool, metadata_fn: Callable[..., Any]) -> None:
        self.recompute = recompute
        self.early_stop = early_stop
        self.metadata_fn = metadata_fn
        self.holders: list[Any] = []
        self.metadata: list[Any] = []
        self.keeper: Any = None
        self.inputs_of: Any = None
        # By backward run: the tensors under their handles, and how many were saved.
        self.recomputed: dict[Any, Any] = {}
        self.counts: dict[Any, Any] = {}
        self.finished: set[Any] = set()
        # A backward within the first run runs the whole again, which then saves more than was saved so far.
        self.first_run_is_over = False
        self.saved_more = False

    def keep_inputs(self, args: Any) -> None:
        anchor = torch.empty((0,), requires_grad=True)
        inputs: list[Any] = []
        with torch.enable_grad():
            self.keeper = _KeepInputs.apply(anchor, inputs, *args).grad_fn
        (self.inputs_of,) = inputs

    def inputs(self) -> list[Any]:
        return self.inputs_of(self.keeper.saved_tensors)

    def check(self, run: int) -> None:
        """Raise CheckpointError unless the second run saved what the first one did."""
        if self.saved_more:
            return
        count = self.counts[run]
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.{_TIP}"
            )
        different = []
        for index, reference in enumerate(self.holders):
            holder = reference()
            if holder is None or run not in holder.handles:
                continue
            tensor = self.recomputed[run][holder.handles[run]]
            expected, found = self.metadata[index], self.metadata_fn(tensor)
            if expected != found:
                different.append(
                    f"tensor at position {index}:\nsaved metadata: {expected}\nrecomputed metadata: {found}\n"
                )
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "".join(different) + f".{_TIP}"
            )


_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` to\n"
    "`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\n"
    "with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\n"
    "enable checkpoint debug mode globally.\n"
)


class _RecomputationHook(torch.autograd.graph.saved_tensors_hooks):
    """Collect the tensors that a second run saves."""

    def __init__(self, frame_ref: weakref.ref[Any], run: int) -> None:
        def pack(x: torch.Tensor) -> torch.Tensor:
            x = x.detach() if x.requires_grad else x
            frame: Any = frame_ref()
            index = frame.counts[run]
            frame.counts[run] += 1
            if index < len(frame.holders):
                holder = frame.holders[index]()
                # A holder that is gone belongs to a part of the graph that nobody needs any more.
                if holder is not None:
                    handle = _Handle()
                    holder.handles[run] = handle
                    frame.recomputed[run][handle] = x
            elif not frame.first_run_is_over:
                frame.saved_more = True
            else:
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.{_TIP}"
                )
            if frame.early_stop and frame.counts[run] == len(frame.holders):
                raise _StopRecomputationError
            return x

        super().__init__(pack, lambda x: x)


class _CheckpointHook(torch.autograd.graph.saved_tensors_hooks):
    """Replace the tensors that the first run saves by holders, and fill those when backward asks."""

    def __init__(self, frame: _Frame) -> None:
        def pack(x: torch.Tensor) -> _Holder:
            holder = _Holder()
            frame.holders.append(weakref.ref(holder))
            with torch.no_grad():
                frame.metadata.append(frame.metadata_fn(x))
            return holder

        def unpack(holder: _Holder) -> torch.Tensor:
            run = torch._C._current_graph_task_id()
            if run == -1:
                # Opened outside of backward (`grad_fn.saved_tensors`): a run of its own.
                run = object()
            if run not in frame.finished:
                _recompute(frame, run)
            if run not in holder.handles or holder.handles[run] is None:
                happened = "already unpacked once" if run in holder.handles else "never recomputed"
                raise CheckpointError(
                    f"torch.utils.checkpoint: Unpack is being triggered for a tensor that was {happened}. If you are calling "
                    "ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
                    "details on your use case."
                )
            result = frame.recomputed[run][holder.handles[run]]
            holder.handles[run] = None
            return result

        super().__init__(pack, unpack)


def _recompute(frame, run) -> None:
    frame.recomputed[run] = weakref.WeakKeyDictionary()
    frame.counts[run] = 0
    args = frame.inputs()
    # That of the first run is no guide here: backward records nothing by default.
    with torch.enable_grad(), _RecomputationHook(weakref.ref(frame), run):
        with contextlib.suppress(_StopRecomputationError):
            frame.recompute(*args)
    frame.finished.add(run)
    frame.check(run)


def _checkpoint_without_reentrant(fn, preserve, context_fn, determinism_check, debug, early_stop, args, kwargs):
    if determinism_check not in _allowed_determinism_checks_to_fns:
        raise ValueError(
            f"determinism_check should be one of {list(_allowed_determinism_checks_to_fns)}, but got "
            f"{determinism_check}"
        )
    if _enable_checkpoint_early_stop is not None:
        early_stop = _enable_checkpoint_early_stop
    if debug or _checkpoint_debug_enabled:
        raise NotImplementedError("torch.utils.checkpoint.checkpoint(debug=True): logs of operators are not kept")
    forward_context, recompute_context = context_fn()
    random_state = _RandomState(preserve, args)
    autocast_state = _AutocastState()

    def recompute(named: dict[str, Any], *inputs: Any) -> None:
        with random_state.again(), autocast_state.again(), recompute_context:
            fn(*inputs, **named)

    frame = _Frame(recompute, early_stop, _allowed_determinism_checks_to_fns[determinism_check])
    if not torch.is_grad_enabled():
        with forward_context:
            return fn(*args, **kwargs)
    frame.keep_inputs((kwargs, *args))
    with _CheckpointHook(frame), forward_context:
        made = fn(*args, **kwargs)
    frame.first_run_is_over = True
    return made
