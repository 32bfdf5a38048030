"""The autograd kernel of operators that users define: `backward(ctx, *grads)` behind the operator's own schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2._core.autograd.function import Function
from mindtorch_v2._dispatch.schema import FunctionSchema, schema_of

__all__ = ["autograd_kernel", "check_differentiable", "refuse_keyword_tensors", "supports_tensorlist"]


def refuse_keyword_tensors(schema: FunctionSchema, caller: str) -> None:
    """NotImplementedError for a schema with tensors that are given by keyword only, other than `out=`."""
    if any(a.kwarg_only and "Tensor" in str(a.type) and not a.is_out for a in schema.arguments):
        raise NotImplementedError(
            f"{caller} with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {schema}"
        )


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

    __slots__ = ("gave", "gives_one", "keywords", "lengths")

    def __init__(self, keywords: dict[str, Any], lengths: Any) -> None:
        self.keywords = keywords
        self.lengths = lengths
        self.gave: Any = None  # the length of each list among the results, None for what is no list
        self.gives_one = False  # the result is no tuple


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


def supports_tensorlist(cls: Any) -> Any:
    """Let an autograd.Function take lists of tensors, and give them: each item counts as an argument of its own.

    Its `backward` is given, and gives, lists in the same places. Only `apply` calls it: `forward` and `backward` called
    by their names are a NotImplementedError.

    >>> @supports_tensorlist
    ... class Total(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, xs):
    ...         return xs[0] + xs[1]
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return [grad, 2 * grad]
    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> torch.autograd.grad(Total.apply([x, y]), [x, y])
    (tensor([1.]), tensor([2.]))
    """
    forward, backward = cls.forward, cls.backward

    def flat_forward(ctx: Any, *args: Any) -> Any:
        *flat, plan = args
        result = forward(ctx, *_join(flat, plan.lengths))
        ctx._plan = plan
        results, plan.gave = _split(result if isinstance(result, tuple) else (result,))
        plan.gives_one = not isinstance(result, tuple)
        return tuple(results)

    def flat_backward(ctx: Any, *grads: Any) -> tuple:
        plan, needed = ctx._plan, ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_join(needed[:-1], plan.lengths))
        try:
            result = backward(ctx, *_join(grads, plan.gave))
        finally:
            ctx.needs_input_grad = needed
        gradients = result if isinstance(result, tuple) else (result,)
        return (*_flattened(gradients, plan.lengths), None)

    function: Any = type(
        cls.__name__, (Function,), {"forward": staticmethod(flat_forward), "backward": staticmethod(flat_backward)}
    )

    def apply(*args: Any) -> Any:
        flat, lengths = _split(args)
        plan = _Plan({}, lengths)
        results = _join(function.apply(*flat, plan), plan.gave)
        return results[0] if plan.gives_one else tuple(results)

    def direct(name: str) -> Callable[..., Any]:
        def refused(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(
                f"Function.{name} directly: a Function that takes lists is called by `apply` only"
            )

        return refused

    cls.apply = staticmethod(apply)
    cls.forward, cls.backward = staticmethod(direct("forward")), staticmethod(direct("backward"))
    return cls
