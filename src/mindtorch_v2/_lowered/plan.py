"""One lowered program for one kind of arguments: what runs at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._lowered.joint import Joint, Output, Written
from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2.fx import GraphModule

__all__ = ["Plan", "boxed", "call_compiled"]

_AUTOCAST = _autocast.KEYS
_DOUBLE_BACKWARD = (
    "torch.compile with aot_autograd does not currently support double backward. Compute the second derivative inside of "
    "the compiled function, or leave the function out of the compilation"
)


class _BelowAutocast:
    """Within this block autocast is off: its casts are in the graph already."""

    def __enter__(self) -> None:
        self._before = _C._tls_keys()
        include, exclude = self._before
        _C._set_tls_keys(include & ~_AUTOCAST, exclude | _AUTOCAST)

    def __exit__(self, *exception: object) -> None:
        _C._set_tls_keys(*self._before)


def boxed(function: Callable) -> bool:
    """Whether what a compiler made takes its arguments as one list."""
    return bool(getattr(function, "_boxed_call", False))


def call_compiled(function: Callable, args: list[Any]) -> list[Any]:
    """The results of what a compiler made, in a list."""
    results = function(args) if boxed(function) else function(*args)
    return list(results) if isinstance(results, (tuple, list)) else [results]


class _Once(torch.autograd.Function):
    """A result of backward: it cannot be differentiated again."""

    @staticmethod
    def forward(ctx: Any, run: Callable, *tensors: Any) -> Any:
        return tuple(run())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(_DOUBLE_BACKWARD)


def _as_strided_like(value: Any, strides: tuple) -> Any:
    return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device).copy_(value)


class Plan:
    """Run the compiled forward, and through autograd the compiled backward, of a joint graph.

    `forward` gives the graph's values, then what is kept for `backward`; `backward` is None where nothing requires grad.
    `inside` has the places in `joint.written` that the compiled forward writes itself.
    """

    def __init__(
        self, joint: Joint, forward: Callable, backward: Callable | None, inside: frozenset = frozenset()
    ) -> None:
        self.outputs = joint.outputs
        self.written = joint.written
        self.mutates = bool(joint.written)
        self._epilogue = [w for place, w in enumerate(joint.written) if place not in inside]
        self._count = joint.forward_count
        self._forward = forward
        self._strides = [(place, s) for place, s in enumerate(joint.strides) if s is not None]
        self._function = None if backward is None else _function(self, joint, backward)
        # Whether the graph's values are the results, one after the other, and nothing else is to be done.
        self._plain = not self._epilogue and [(o.kind, o.index) for o in self.outputs] == [
            ("graph", place) for place in range(joint.forward_count)
        ]

    def compute(self, inputs: Sequence[Any]) -> list[Any]:
        """The results of the compiled forward."""
        if not torch.is_grad_enabled() and not _C._tls_keys()[0] & _AUTOCAST:
            return self._values(inputs)
        with torch.no_grad(), _BelowAutocast():
            return self._values(inputs)

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        values = call_compiled(self._forward, list(inputs))
        for place, strides in self._strides:
            if values[place].stride() != strides:
                values[place] = _as_strided_like(values[place], strides)
        return values

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The results of the program for these arguments."""
        values = self.compute(inputs) if self._function is None else self._function.apply(*inputs)
        if self._plain:
            return values
        for each in self._epilogue:
            _write(each, inputs[each.input], values)
        results: list[Any] = []
        for output in self.outputs:
            results.append(self._result(output, values, inputs, results))
        return results

    @staticmethod
    def _result(output: Output, values: Any, inputs: Sequence[Any], before: list[Any]) -> Any:
        if output.kind == "graph":
            return values[output.index]
        if output.kind == "input":
            return inputs[output.index]
        if output.kind == "same":
            return before[output.index]
        if output.kind == "constant":
            return output.value
        base = (inputs if output.kind == "view of input" else values)[output.index]
        if not output.requires_grad and base.requires_grad:
            base = base.detach()
        if output.steps is None:
            return torch.as_strided(base, *output.geometry)  # type: ignore[misc]  # (without steps there is a geometry)
        for step in output.steps:
            base = step.view.op(base, *step.view.args, **step.view.kwargs)
            if step.index is not None:
                base = base[step.index]
        # Without a step it is the base under another name.
        return base if output.steps else base.view_as(base)


def _write(written: Written, target: Any, values: Any) -> None:
    if written.how == "recorded":
        target.copy_(values[written.index])
        return
    with torch.no_grad():
        if written.whole is not None:
            target = target.detach()
            elements = target.untyped_storage().nbytes() // target.element_size()
            target = torch.as_strided(target, [elements], [1], 0)
        if written.index is not None:
            (target.data if written.how == "hidden" else target).copy_(values[written.index])
        if written.geometry is not None:
            target.as_strided_(*written.geometry)


def _function(plan: Plan, joint: Joint, compiled: Callable) -> Any:
    """The autograd.Function of a plan."""
    count, wanted, number = joint.forward_count, joint.wanted, len(joint.inputs)
    differentiable = list(joint.differentiable)
    plain = [place for place in range(count) if place not in differentiable]
    tangent_strides = joint.tangent_strides

    class CompiledFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            values = plan.compute(inputs)
            kept = values[count:]
            ctx.save_for_backward(*[each for each in kept if isinstance(each, torch.Tensor)])
            ctx.kept = [None if isinstance(each, torch.Tensor) else each for each in kept]
            ctx.tensors = [isinstance(each, torch.Tensor) for each in kept]
            ctx.mark_non_differentiable(*[values[place] for place in plain])
            return tuple(values[:count])

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            saved = iter(ctx.saved_tensors)
            kept = [next(saved) if is_tensor else each for is_tensor, each in zip(ctx.tensors, ctx.kept)]
            tangents = [
                g if g.stride() == strides else _as_strided_like(g, strides)
                for g, strides in zip((gradients[place] for place in differentiable), tangent_strides)
            ]
            arguments = [*kept, *tangents]

            def run() -> list[Any]:
                with torch.no_grad(), _BelowAutocast():
                    return call_compiled(compiled, list(arguments))

            if torch.is_grad_enabled():
                found = list(_Once.apply(run, *arguments))
            else:
                found = run()
            made: list[Any] = [None] * number
            for place, gradient in zip(wanted, found):
                made[place] = gradient
            return tuple(made)

    return CompiledFunction


def with_writes_inside(module: GraphModule, joint: Joint) -> frozenset:
    """Put the copies into arguments that autograd need not see at the end of `module`; say which of `joint.written`."""
    inside = set()
    (output,) = module.graph.find_nodes(op="output")
    placeholders = module.graph.find_nodes(op="placeholder")
    tensors = [n for n, each in enumerate(joint.inputs) if isinstance(each, torch.Tensor)]
    for place, each in enumerate(joint.written):
        if each.how == "unrecorded" and each.whole is None and each.geometry is None and each.index is not None:
            target = placeholders[tensors.index(each.input)]
            with module.graph.inserting_before(output):
                copy = module.graph.call_function(torch.ops.aten.copy_.default, (target, output.args[0][each.index]))
                copy.meta["val"] = target.meta.get("val")
            inside.add(place)
    if inside:
        results = list(output.args[0])
        used = {o.index for o in joint.outputs if o.kind in ("graph", "view of graph")}
        for place in inside:
            if joint.written[place].index not in used:
                results[joint.written[place].index] = None  # type: ignore[index]  # (what is written has an index)
        output.args = (tuple(results),)
        module.recompile()
    return frozenset(inside)
