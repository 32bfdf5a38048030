"""Functions and modules whose forward and backward passes are captured graphs: `make_graphed_callables` of `torch.npu` and `torch.cuda`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["graphed_callables"]


def _wanted(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return [each for each in tensors if each.requires_grad]


class _Passes:
    """The two passes of one callable over tensors that stay where they are. `names` is the device's module, `kind` its graphs' class."""

    def __init__(self, names: Any, kind: type, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.capture, self.function, self.args = names.graph, function, args
        self.inputs: list[torch.Tensor] = pytree.tree_leaves(args)
        if not all(isinstance(each, torch.Tensor) for each in self.inputs):
            raise TypeError(
                "make_graphed_callables(): sample_args of a callable must hold tensors only, but they hold "
                + ", ".join(sorted({type(each).__name__ for each in self.inputs if not isinstance(each, torch.Tensor)}))
            )
        self.parameters = list(function.parameters()) if isinstance(function, torch.nn.Module) else []
        self.surface = [*self.inputs, *self.parameters]
        self.ahead, self.back = kind(), kind()

    def warm_up(self, times: int, unused: bool) -> None:
        """Run both passes, so that what is made at a first call is there before the recording."""
        for _ in range(times):
            outputs = _wanted(pytree.tree_leaves(self.function(*self.args)))
            if outputs:
                grads = [torch.empty_like(each) for each in outputs]
                torch.autograd.grad(outputs, _wanted(self.surface), grads, allow_unused=unused)

    def capture_forward(self, pool: Any) -> None:
        """Record the callable on its samples."""
        with self.capture(self.ahead, pool=pool):
            made = self.function(*self.args)
        self.outputs, self.spec = pytree.tree_flatten(made)

    def capture_backward(self, pool: Any, unused: bool) -> None:
        """Record the gradients of what was recorded, for gradients that stay where they are."""
        self.grads = [torch.empty_like(each) if each.requires_grad else None for each in self.outputs]
        given = [each for each in self.grads if each is not None]
        found: Iterable[Any] = ()
        if given:
            with self.capture(self.back, pool=pool):
                found = torch.autograd.grad(_wanted(self.outputs), _wanted(self.surface), given, allow_unused=unused)
        each_found = iter(found)
        self.results = [next(each_found, None) if each.requires_grad else None for each in self.surface]

    def graphed(self) -> Callable[..., Any]:
        """The callable by its recordings."""
        passes, count = self, len(self.inputs)

        class Graphed(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
                for place, given in zip(passes.inputs, inputs[:count], strict=True):
                    if place.data_ptr() != given.data_ptr():
                        place.copy_(given)
                passes.ahead.replay()
                return tuple(each.detach() for each in passes.outputs)

            @staticmethod
            @torch.autograd.function.once_differentiable
            def backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
                for place, given in zip(passes.grads, grads, strict=True):
                    if place is not None and place.data_ptr() != given.data_ptr():
                        place.copy_(given)
                passes.back.replay()
                return tuple(None if each is None else each.detach() for each in passes.results)

        def call(*args: Any) -> Any:
            leaves = pytree.tree_leaves(args)
            if len(leaves) != count:
                raise RuntimeError(
                    f"a graphed callable was captured with {count} tensors, but is called with {len(leaves)}"
                )
            return pytree.tree_unflatten(list(Graphed.apply(*leaves, *passes.parameters)), passes.spec)

        return call


def _check(function: Any) -> None:
    if not isinstance(function, torch.nn.Module):
        return
    if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules after "
            "passing them through make_graphed_callables is allowed."
        )
    if any(each.requires_grad for each in function.buffers()):
        raise RuntimeError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be trainable. All "
            "buffers must have ``requires_grad=False``."
        )


def _by_training_state(module: torch.nn.Module, graphed: Callable[..., Any]) -> torch.nn.Module:
    """The module, whose forward is the graphs in the state of training that they were captured in."""
    captured, plain = module.training, module.forward

    def forward(*args: Any) -> Any:
        return graphed(*args) if module.training == captured else plain(*args)

    module.forward = forward
    return module


_TEXT = """Functions or modules whose forward and backward passes are captured now and replayed at each call.

    graphed = torch.npu.make_graphed_callables(model, (torch.randn(8, 16, device="npu"),))
    graphed(batch).sum().backward()

Args:
    callables: a function or module, or a tuple of them in the order in which they are going to run. A module is changed and
        returned: its forward replays as long as it is in the state of training that it now has.
    sample_args: tensors in the sizes, dtypes and with the `requires_grad` of later calls; a tuple, or one for each callable.
    num_warmup_iters: how often both passes run before the capture.
    allow_unused_input: whether an input without a gradient is None, and no error.
    pool: memory shared with other graphs (`graph_pool_handle`).

Raises:
    RuntimeError: autocast keeps its casts (`cache_enabled=True`), a module has hooks or a buffer that requires grad.
    TypeError: there is something else than tensors among the samples.

Results stand in memory that the next call writes to. There is no gradient of a gradient.
"""


def graphed_callables(device: str, kind: str) -> Callable[..., Any]:
    """`make_graphed_callables` of a type of device, whose module has the class `kind` of graphs."""

    def make_graphed_callables(
        callables: Any,
        sample_args: Sequence[Any],
        num_warmup_iters: int = 3,
        allow_unused_input: bool = False,
        pool: Any = None,
    ) -> Any:
        if torch.is_autocast_enabled(device) and torch.is_autocast_cache_enabled():
            raise RuntimeError(
                "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
            )
        single = not isinstance(callables, tuple)
        functions = (callables,) if single else callables
        samples = (tuple(sample_args),) if single else tuple(tuple(each) for each in sample_args)
        if len(functions) != len(samples):
            raise ValueError(
                f"make_graphed_callables(): {len(functions)} callables have {len(samples)} tuples of sample_args"
            )
        for function in functions:
            _check(function)
        names = getattr(torch, device)
        graph = getattr(names, kind)
        passes = [_Passes(names, graph, function, args) for function, args in zip(functions, samples, strict=True)]
        _capture(names, passes, num_warmup_iters, allow_unused_input, pool)
        made = [
            _by_training_state(function, each.graphed()) if isinstance(function, torch.nn.Module) else each.graphed()
            for function, each in zip(functions, passes, strict=True)
        ]
        return made[0] if single else tuple(made)

    make_graphed_callables.__module__ = f"torch.{device}"
    make_graphed_callables.__qualname__ = "make_graphed_callables"
    make_graphed_callables.__doc__ = _TEXT.replace("npu", device)
    return make_graphed_callables


def _capture(names: Any, passes: list[_Passes], times: int, unused: bool, pool: Any) -> None:
    """Record all passes, the ways back in the opposite order, once they have run on a stream of their own."""
    pool = names.graph_pool_handle() if pool is None else pool
    names.synchronize()
    side = names.Stream()
    side.wait_stream(names.current_stream())
    with names.stream(side):
        for each in passes:
            each.warm_up(times, unused)
    names.current_stream().wait_stream(side)
    for each in passes:
        each.capture_forward(pool)
    for each in reversed(passes):
        each.capture_backward(pool, unused)
