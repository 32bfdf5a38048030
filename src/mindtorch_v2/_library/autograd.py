"""The autograd kernel of operators that users define: `backward(ctx, *grads)` behind the operator's own schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2._core.autograd.function import Function
from mindtorch_v2._dispatch.schema import schema_of

__all__ = ["autograd_kernel", "check_differentiable"]


def check_differentiable(handle: Any, op: Any) -> None:
    """RuntimeError for an operator that writes to its arguments: it can have no formula of its own."""
    schema = schema_of(handle)
    if schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )


def autograd_kernel(
    handle: Any, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> Callable[..., Any]:
    """The kernel of the Autograd key. It is entered only where a graph is recorded.

    `setup_context(ctx, inputs, output)` keeps what the formula reads; keyword-only arguments come to it as
    `keyword_only_inputs`. Without a formula, going backward raises.
    """
    schema = schema_of(handle)
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    keyword_only = [argument for argument in schema.arguments if argument.kwarg_only]
    defaults = tuple(argument.default_value for argument in positional)
    takes_lists = any(argument.type.kind() == "ListType" or "List" in str(argument.type) for argument in positional)
    gives_lists = any(each.type.kind() == "ListType" for each in schema.returns)
    gives_one = len(schema.returns) == 1
    name = f"{handle.namespace}_{handle.name}_{handle.overload or 'default'}"
    call = handle.below_autograd

    def forward(ctx: Any, *args: Any) -> Any:
        *flat, plan = args
        given = flat if plan.lengths is None else _join(flat, plan.lengths)
        result = call(*given, **plan.keywords)
        ctx._plan = plan
        if setup_context is not None:
            inputs = (*given, *defaults[len(given) :])
            if keyword_only:
                keywords = {a.name: plan.keywords.get(a.name, a.default_value) for a in keyword_only}
                setup_context(ctx=ctx, inputs=inputs, keyword_only_inputs=keywords, output=result)
            else:
                setup_context(ctx=ctx, inputs=inputs, output=result)
        if not gives_lists:
            return result
        flat_results, plan.gave = _split((result,) if gives_one else result)
        return tuple(flat_results)

    def run_backward(ctx: Any, *grads: Any) -> tuple:
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {handle.namespace}.{handle.name}.{handle.overload or 'default'} but no autograd "
                "formula was registered. Please use register_autograd to add one."
            )
        lengths = ctx._plan.lengths
        needed = ctx.needs_input_grad
        given = needed[:-1]  # the last is the plan
        ctx.needs_input_grad = given if lengths is None else tuple(_join(given, lengths))
        try:
            result = backward(ctx, *(_join(grads, ctx._plan.gave) if gives_lists else grads))
        finally:
            ctx.needs_input_grad = needed  # the graph may be gone back along again
        gradients = result if isinstance(result, tuple) else (result,)
        return (*(gradients if lengths is None else _flattened(gradients, lengths)), None)

    function: Any = type(
        f"GeneratedBackwardFor_{name}",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(run_backward)},
    )

    def kernel(*args: Any, **keywords: Any) -> Any:
        flat, lengths = _split(args) if takes_lists else (args, None)
        plan = _Plan(keywords, lengths)
        result = function.apply(*flat, plan)
        if not gives_lists:
            return result
        results = _join(result, plan.gave)
        return results[0] if gives_one else tuple(results)

    return kernel


class _Plan:
    """The values that one call carries beside its positional arguments; not a tensor, so autograd ignores it."""

    __slots__ = ("gave", "keywords", "lengths")

    def __init__(self, keywords: dict[str, Any], lengths: Any) -> None:
        self.keywords = keywords
        self.lengths = lengths
        self.gave: Any = None  # the length of each list among the results, None for what is no list


def _split(args: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
    """The arguments with lists taken apart, and the length of each list (None for what is no list)."""
    flat: list[Any] = []
    lengths: list[int | None] = []
    for value in args:
        if isinstance(value, (list, tuple)):
            flat += value
            lengths.append(len(value))
        else:
            flat.append(value)
            lengths.append(None)
    return flat, lengths


def _join(flat, lengths):
    values, joined = iter(flat), []
    for length in lengths:
        joined.append(next(values) if length is None else [next(values) for _ in range(length)])
    return joined


def _flattened(gradients, lengths):
    """A gradient for each tensor, from one for each argument: a list, or None, for a list."""
    given = list(gradients)
    while len(given) > len(lengths) and given[-1] is None:  # of arguments that were left to their defaults
        given.pop()
    shown = [len(g) if isinstance(g, (list, tuple)) else None for g in given]
    if len(given) != len(lengths) or any(
        n != m and g is not None for g, n, m in zip(given, shown, lengths, strict=True)
    ):
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. Got: "
            f"({', '.join(map(_described, shown))}) (return from backward), ({', '.join(map(_described, lengths))}) (inputs)"
        )
    flat: list[Any] = []
    for gradient, length in zip(given, lengths, strict=True):
        flat += [gradient] if length is None else [None] * length if gradient is None else gradient
    return flat


def _described(length) -> str:
    return "*" if length is None else f"list of {length}"
