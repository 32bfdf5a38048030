"""The operators of control flow, `torch.ops.higher_order.cond` and the others: what a graph calls with graphs as arguments.

Their functions take tensors and give tuples of tensors; the public functions bring what a program writes into that form. While
a graph is recorded (`make_fx`, `torch.export`) a call is one node, with the functions as graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.utils import check_same_form, is_single, only_computes
from mindtorch_v2._ops import HigherOrderOperator
from mindtorch_v2._subclasses.fake_tensor import FakeTensor
from mindtorch_v2.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
)
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["cond_op", "map_impl", "recording", "scan_op", "while_loop_op"]


def recording() -> ProxyTorchDispatchMode | None:
    """The mode that records the calls of this thread as a graph, or None."""
    mode = get_innermost_proxy_mode()
    return mode if mode is not None and mode.enable_tracing else None


class _ControlFlow(HigherOrderOperator):
    """An operator that calls functions."""

    def __init__(self, run: Callable[..., Any], name: str) -> None:
        super().__init__(name)
        self.__doc__ = run.__doc__
        self._run = run
        self.py_impl("CompositeExplicitAutograd")(self._call)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; where a program without writes is recorded, on the values that stand behind its tensors.

        Those have no history: with gradients it is run as it is, and what it is made of comes here again.
        """
        mode, leaves = recording(), pytree.tree_leaves((args, kwargs))
        if mode is None or not any(map(_is_functional, leaves)) or _wants_gradients(mode, leaves):
            return self._run(*args, **kwargs)
        plain_args, plain_kwargs = pytree.tree_map(_behind, (args, kwargs))
        results = self._run(*plain_args, **plain_kwargs)
        return pytree.tree_map_only(torch.Tensor, torch._to_functional_tensor, results)


def _is_functional(value):
    return isinstance(value, torch.Tensor) and torch._is_functional_tensor(value)


def _has_no_value(value):
    """Whether it is a tensor of which only the form is known."""
    return isinstance(torch._from_functional_tensor(value) if _is_functional(value) else value, FakeTensor)


def _behind(value):
    """The value behind a tensor that is functionalized; a function of such values for a function of such tensors."""
    if _is_functional(value):
        torch._sync(value)
        return torch._from_functional_tensor(value)
    if isinstance(value, torch.Tensor) or not callable(value):
        return value

    def of_values(*values: Any) -> Any:
        results = value(*pytree.tree_map_only(torch.Tensor, torch._to_functional_tensor, values))
        return pytree.tree_map(_behind, results)

    return of_values


def _control_flow(name: str) -> Callable[[Callable[..., Any]], _ControlFlow]:
    return lambda run: _ControlFlow(run, name)


def _wants_gradients(mode: ProxyTorchDispatchMode, tensors: Sequence[Any]) -> bool:
    """Whether a graph below autograd is recorded, in which a gradient has to be computed of nodes."""
    if mode.pre_dispatch or not torch.is_grad_enabled():
        return False
    return any(isinstance(each, torch.Tensor) and each.requires_grad for each in tensors)


def _tensors(of: str, function: Callable[..., Any]) -> Callable[..., list[torch.Tensor]]:
    """The function, with a list of tensors as its result; it is checked that it only computes."""

    def checked(*values: Any) -> list[torch.Tensor]:
        found = only_computes(of, function, values)
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        for each in results:
            if not isinstance(each, torch.Tensor):
                raise RuntimeError(f"{of}: its functions have to give tensors in a graph, but one gave {each!r}")
        return results

    return checked


# ---- cond ----


@_control_flow("cond")
def cond_op(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence[Any] = ()) -> Any:
    """`true_fn(*operands)` if `pred` is true, else `false_fn(*operands)`; the functions give tuples of tensors."""
    mode = recording()
    if mode is None or not isinstance(pred, torch.Tensor):
        return true_fn(*operands) if _has_no_value(pred) or pred else false_fn(*operands)
    if _wants_gradients(mode, operands):
        return _Cond.apply(pred, true_fn, false_fn, *operands)
    return _recorded_cond(mode, pred, true_fn, false_fn, operands)


def _recorded_cond(mode, pred, true_fn, false_fn, operands):
    def results(found: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        check_same_form("torch.cond", found[0], found[1], "the outputs of true_fn and false_fn")
        return found[0]

    functions = [("true_graph", _tensors("torch.cond", true_fn)), ("false_graph", _tensors("torch.cond", false_fn))]
    return tuple(mode.take_functions("cond", (pred,), functions, (), (operands,), results))


class _Cond(torch.autograd.Function):
    """`cond` with a gradient that is a `cond` as well: backward computes the results again, to get their gradients."""

    @staticmethod
    def forward(ctx: Any, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
        ctx.functions, ctx.needs = (
            (true_fn, false_fn),
            [isinstance(x, torch.Tensor) and x.requires_grad for x in operands],
        )
        ctx.save_for_backward(pred, *(x for x in operands if isinstance(x, torch.Tensor)))
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in operands]
        _refuse_closures(ctx.functions, operands)
        return cond_op(pred, true_fn, false_fn, tuple(operands))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        pred, *tensors = ctx.saved_tensors
        given = iter(tensors)
        operands = [next(given) if each is None else each for each in ctx.others]
        true_fn, false_fn = (_gradient_of(function, ctx.needs) for function in ctx.functions)
        found = iter(cond_op(pred, true_fn, false_fn, (*operands, *grads)))
        return None, None, None, *(next(found) if needed else None for needed in ctx.needs)


def _refuse_closures(functions, operands) -> None:
    """NotImplementedError for a function that reads a tensor with a history which is no operand."""
    for function in functions:
        with torch.enable_grad(), disable_proxy_modes_tracing():
            results = function(*(x.detach() if isinstance(x, torch.Tensor) else x for x in operands))
        if any(each.requires_grad for each in results):
            raise NotImplementedError(
                "torch.cond: a function reads a tensor that requires grad and is no operand; in a graph with gradients hand it "
                "over as one"
            )


def _gradient_of(function, needs):
    """The function of operands and the results' gradients that gives gradients of the operands which need one."""

    def gradient(*values: Any) -> list[torch.Tensor]:
        operands, grads = values[: len(needs)], values[len(needs) :]
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() if needed else x for x, needed in zip(operands, needs)]
            results = function(*leaves)
        pairs = [(result, grad) for result, grad in zip(results, grads) if result.requires_grad]
        wanted = [x for x, needed in zip(leaves, needs) if needed]
        if not pairs:
            return [torch.zeros_like(x) for x in wanted]
        made, given = zip(*pairs)
        found = torch.autograd.grad(made, wanted, given, allow_unused=True)
        return [torch.zeros_like(x) if each is None else each.clone() for x, each in zip(wanted, found)]

    return gradient


# ---- loops ----


def _like_slice(x):
    """A tensor that looks like a slice of `x` along its first dimension."""
    with disable_proxy_modes_tracing():
        return x.detach().select(0, 0).clone()


def _stacked(y, like):
    """A tensor that looks like as many `y` as `like` has slices."""
    return y.detach().expand(like.shape[0], *y.shape).clone()


@_control_flow("while_loop")
def while_loop_op(
    cond_fn: Callable, body_fn: Callable, carried_inputs: Sequence[Any], additional_inputs: Sequence[Any] = ()
) -> Any:
    """`values = body_fn(*values, *additional_inputs)` as long as `cond_fn` of the same is true; the last values, a tuple."""
    mode = recording()
    if mode is not None:
        return _recorded_loop(mode, cond_fn, body_fn, carried_inputs, additional_inputs)
    values = tuple(carried_inputs)
    while _single(cond_fn(*values, *additional_inputs)):
        values = tuple(body_fn(*values, *additional_inputs))
    return values


def _single(going):
    """A condition, which a graph gives in a tuple."""
    return going[0] if isinstance(going, (tuple, list)) else going


def _recorded_loop(mode, cond_fn, body_fn, carried, additional):
    def results(found: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        (going,), values = found
        if not is_single(going):
            raise RuntimeError(
                f"torch.while_loop: Expected cond_fn to return a scalar tensor or a bool, but got {going}."
            )
        check_same_form("torch.while_loop", values, list(carried), "body_fn_output and carried_inputs")
        return values

    if _wants_gradients(mode, (*carried, *additional)):
        raise NotImplementedError(
            "torch.while_loop: a graph below autograd has no gradient of it; record it above (torch.export)"
        )
    functions = [
        ("while_loop_cond_graph", _tensors("torch.while_loop", cond_fn)),
        ("while_loop_body_graph", _tensors("torch.while_loop", body_fn)),
    ]
    return tuple(mode.take_functions("while_loop", (), functions, carried, (carried, additional), results))


@_control_flow("map_impl")
def map_impl(f: Callable, xs: Sequence[torch.Tensor], pos_args: Sequence[Any] = ()) -> Any:
    """`f(*slices, *pos_args)` for the slices of `xs` along their first dimension, results stacked; `f` gives a tuple."""
    mode = recording()
    if mode is None or _wants_gradients(mode, (*xs, *pos_args)):
        rows = [f(*(x[place] for x in xs), *pos_args) for place in range(len(xs[0]))]
        return tuple(torch.stack(column) for column in zip(*rows, strict=True))
    slices = [_like_slice(x) for x in xs]

    def results(found: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        return [_stacked(each, xs[0]) for each in found[0]]

    functions = [("body_graph", _tensors("torch.map", f))]
    return tuple(mode.take_functions("map_impl", (), functions, slices, (xs, pos_args), results))


@_control_flow("scan")
def scan_op(
    combine_fn: Callable,
    init: Sequence[torch.Tensor],
    xs: Sequence[torch.Tensor],
    additional_inputs: Sequence[Any] = (),
) -> Any:
    """`(*carry, *y) = combine_fn(*carry, *x, *additional_inputs)` along the first dimension of `xs`: the last carry, all y."""
    mode = recording()
    count = len(init)
    if mode is None or _wants_gradients(mode, (*init, *xs, *additional_inputs)):
        carry, rows = list(init), []
        for place in range(len(xs[0])):
            found = list(combine_fn(*carry, *(x[place] for x in xs), *additional_inputs))
            carry = found[:count]
            rows.append(found[count:])
        return (*carry, *(torch.stack(column) for column in zip(*rows, strict=True)))
    slices = [_like_slice(x) for x in xs]

    def results(found: list[list[torch.Tensor]]) -> list[torch.Tensor]:
        carry, ys = found[0][:count], found[0][count:]
        check_same_form("scan", carry, list(init), "carry and init")
        return [*carry, *(_stacked(y, xs[0]) for y in ys)]

    functions = [("scan_combine_graph", _tensors("scan", combine_fn))]
    return tuple(mode.take_functions("scan", (), functions, (*init, *slices), (init, xs, additional_inputs), results))
