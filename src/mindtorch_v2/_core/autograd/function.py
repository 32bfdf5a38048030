"""torch.autograd.Function: operators of a user's own with a forward and a backward in Python.

The native core runs `apply` and the way back; here is what a Function is made of, and what `apply` does where arguments
have to be put in order, where vmap is under way, or where arguments have tangents.
"""

from __future__ import annotations

import contextvars
import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

from ... import _C

_NEEDS_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
    "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class FunctionCtx:
    """The context by which forward tells backward. It is the graph's node itself.

    >>> class Scale(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Scale.apply(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    _materialize_grads = True
    _tangents_of_saved: list[tuple[int, int, Any]] = []

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward; they come back as ``ctx.saved_tensors`` and are checked for in-place changes."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``, where they are ``ctx.saved_tensors``."""
        for tensor in tensors:
            if not (_is_tensor(tensor) or tensor is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote to in place."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Deprecated: shared storages are found without it."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
            "to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether absent gradients come to backward as zeros (the default) or as None."""
        self.materialize_grads = self._materialize_grads = value

    # The same by the names of the design document of custom operators, for reading.

    @property
    def _to_save(self) -> list[Any]:
        return list(self.to_save or ())

    @property
    def _dirty(self) -> set[int]:
        return {id(tensor) for tensor in self.dirty_tensors or ()}

    @property
    def _non_differentiable(self) -> set[int]:
        return {id(tensor) for tensor in self.non_differentiable or ()}


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The node of a custom Function; each Function has a subclass of its own.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> y = Double.apply(torch.ones(1, requires_grad=True))
    >>> isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction), type(y.grad_fn).__name__
    (True, 'DoubleBackward')
    """

    _forward_cls: Any

    def _get_user_fn(self) -> Callable[..., Any]:
        cls = self._forward_cls
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        user_fn: Callable[..., Any] = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        return user_fn

    def apply(self, *args: Any) -> Any:  # type: ignore[override]  # (an instance's, where the class has its own)
        """The user's backward on these gradients."""
        if self._forward_cls.boxed_grads_call:
            return self._get_user_fn()(self, list(args))
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """The user's backward on a list of gradients."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """The user's jvp on these tangents."""
        return self._forward_cls.jvp(self, *args)


_function_ids = itertools.count()


class FunctionMeta(type):
    """Give each Function a node class of its own: ``MyFn`` gets ``MyFnBackward``.

    >>> class Half(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x / 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad / 2
    >>> Half.apply(torch.ones(1, requires_grad=True)).grad_fn.name()
    'HalfBackward'
    """

    @property
    def _new_style(cls) -> bool:
        """Whether forward has no ctx, which `setup_context` gets."""
        return cls.setup_context is not _SingleLevelFunction.setup_context  # type: ignore[attr-defined]  # (its classes')

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        members = {
            "_forward_cls": cls,
            "_autograd_function_id": next(_function_ids),
            "__module__": "torch.autograd.function",
        }
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), members)
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(_C._FunctionBase, FunctionCtx, metaclass=FunctionMeta):
    """The methods that a Function may override."""

    boxed_grads_call = False
    clear_saved_tensors_on_access = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The values. ``forward(ctx, *args)``, or ``forward(*args)`` where ``setup_context`` is defined too."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep on ``ctx`` what backward or jvp will read."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient for each argument of forward (None where it has none), from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """One tangent for each output, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )


class Function(_SingleLevelFunction):
    """An operator with a gradient of your own; call it through ``apply``.

    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = torch.zeros(1, requires_grad=True)
    >>> Exp.apply(x).backward()
    >>> x.grad
    tensor([1.])
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of "
            "PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The rule of ``apply`` under vmap: from arguments mapped over at ``in_dims`` to ``(output, out_dims)``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set generate_vmap_rule=True."
        )


def _bound(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as the forward of a Function with setup_context takes them: defaults filled in, keywords in place."""
    from ..annotations import read_signature  # inspect is slow to load, and few Functions need it

    bound = read_signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _in_order(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], skipped: int
) -> tuple[Any, ...]:
    """All arguments by position, as ``backward`` counts them. ``skipped``: how many of forward's come before them.

    TypeError for a name that forward takes by keyword only or not at all, and for one with another left out before it.
    """
    names = forward.__code__.co_varnames[skipped : forward.__code__.co_argcount]
    given = dict(enumerate(args))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) in given:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
        given[names.index(name)] = value
    for place in range(len(given)):
        if place not in given:
            raise TypeError(f"forward() missing required argument: '{names[place]}' (position {place})")
    return tuple(given[place] for place in range(len(given)))


_vmapped: Callable[..., Any] | None = None  # set by func: apply with an argument that vmap maps over


# Whether Functions do on batched tensors what they do on others, as under `torch._vmap_internals._vmap`.
through_vmap: contextvars.ContextVar[bool] = contextvars.ContextVar("through_vmap", default=False)


def _set_vmapped(apply: Callable[..., Any]) -> None:
    global _vmapped
    _vmapped = apply


def _apply_in_order(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``cls.apply`` where the core does not go on alone."""
    new_style = cls.setup_context is not Function.setup_context
    if new_style:
        args, kwargs = _bound(cls.forward, args, kwargs)
    if kwargs:
        args = _in_order(cls.forward, args, kwargs, 0 if new_style else 1)
    batched = any(_C._batched_parts(a) is not None for a in args if _is_tensor(a))
    if (batched or _C._change_transforms(0) > 0) and not through_vmap.get():
        if not new_style:
            raise RuntimeError(_NEEDS_SETUP_CONTEXT)
        if batched:
            assert _vmapped is not None
            return _vmapped(cls, args)
    if any(_C._has_tangent(a) for a in args):
        return _apply_with_tangents(cls, args, new_style)
    return cls._apply_recording(*args)


# ---- forward mode ----


def _apply_with_tangents(cls: Any, args: tuple[Any, ...], new_style: bool) -> Any:
    """``apply`` recorded as ever; then ``jvp`` says the tangents of the outputs, level by level, outermost first."""
    levels = sorted({level for a in args for level in _C._tangent_levels(a)})
    tangents = {level: [_C._tangent(a, level) if _is_tensor(a) else None for a in args] for level in levels}
    seen: list[Any] = []
    capture = _capturing(cls, seen, new_style)
    before = _C._set_fwd_grad_enabled(False)
    try:
        result = capture._apply_recording(*args)
    finally:
        _C._set_fwd_grad_enabled(before)
    ((ctx, to_save),) = seen
    of_saved: list[tuple[int, int, Any]] = []
    outputs = result if isinstance(result, tuple) else (result,)
    dirty, nowhere = ctx.dirty_tensors or (), ctx.non_differentiable or ()
    zeros = _C._find_operator("aten::zeros_like", "")
    for level in levels:
        given = tangents[level]
        if ctx._fills_absent_grads:
            given = [
                zeros(a.detach()) if t is None and _is_tensor(a) and _takes_tangents(a) else t
                for t, a in zip(given, args, strict=True)
            ]
        before_jvp = [None if t is None else (t, t._version) for t in given]
        ctx._in_jvp = True
        # What jvp computes has tangents of the levels further out alone: a jvp may apply its own Function.
        before = _C._set_fwd_grad_enabled(level != levels[0])
        try:
            made = cls.jvp(ctx, *given)
        finally:
            _C._set_fwd_grad_enabled(before)
            ctx._in_jvp = False
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(made)})"
            )
        for number, (output, tangent) in enumerate(zip(outputs, made, strict=True)):
            if tangent is not None and not _is_tensor(tangent):
                raise RuntimeError(
                    f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}."
                )
            if not _is_tensor(output):
                continue
            if tangent is not None and (not _takes_tangents(output) or any(output is o for o in nowhere)):
                raise RuntimeError(
                    f"A custom Function's jvp returned a tangent for output {number}, which is not differentiable. "
                    "You should return None at that position instead."
                )
            place = next((i for i, a in enumerate(args) if a is output and any(d is a for d in dirty)), None)
            before = None if place is None else before_jvp[place]
            if before is not None:
                old, version = before
                if tangent is not old or old._version == version:
                    raise RuntimeError(
                        "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                        "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                    )
            if tangent is not None and tuple(tangent.shape) != tuple(output.shape):
                raise RuntimeError(
                    f"A custom Function's forward is returning a view or an input but the jvp returned a tangent of shape "
                    f"{tuple(tangent.shape)} for an output of shape {tuple(output.shape)}"
                    if output._is_view()
                    else f"Expected the tangent of output {number} to have shape {tuple(output.shape)}, got {tuple(tangent.shape)}"
                )
            if place is None and tangent is not None:
                _check_view(output, tangent, args, given)
            _C._set_tangent(output, level, tangent)
            if tangent is not None:
                saved = [i for i, each in enumerate(to_save or ()) if each is output]
                of_saved.extend((i, level, tangent) for i in saved)
    ctx._tangents_of_saved = of_saved
    return result


def _check_view(output: Any, tangent: Any, args: tuple[Any, ...], given: list[Any]) -> None:
    """RuntimeError unless a view of an argument has a tangent that is one of the argument's tangent."""
    shown = output._base  # None: no view
    seen = (i for i, a in enumerate(args) if _is_tensor(a) and shown is not None and (a is shown or a._base is shown))
    place = next(seen, None)
    if place is None:
        return
    if not tangent._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    of_argument = given[place]
    if of_argument is None or tangent._base is (of_argument if of_argument._base is None else of_argument._base):
        return
    same = " same base as the" if of_argument._base is not None else ""
    raise RuntimeError(
        f"A custom Function is returning a view but the jvp is not returning a view of the{same} given grad input."
    )


def _saved_with_tangents(ctx: Any) -> tuple[Any, ...]:
    """The saved tensors; outputs among them, which were saved before `jvp` knew their tangents, have these."""
    node: Any = BackwardCFunction  # the attribute is the core's
    saved: tuple[Any, ...] = node.saved_tensors.__get__(ctx)
    for place, level, tangent in ctx._tangents_of_saved:
        _C._set_tangent(saved[place], level, tangent)
    return saved


def _takes_tangents(tensor: _C.TensorBase) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _capturing(cls: Any, seen: list[Any], new_style: bool) -> Any:
    """A Function like ``cls`` that leaves its context, and what is to be saved, in ``seen``."""
    if new_style:

        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            cls.setup_context(ctx, inputs, output)
            seen.append((ctx, ctx.to_save))

        members = {"setup_context": staticmethod(setup_context)}
    else:

        def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            output = cls.forward(ctx, *args, **kwargs)
            seen.append((ctx, ctx.to_save))
            return output

        members = {"forward": staticmethod(forward)}
    capture: Any = type(cls.__name__, (cls,), members)
    capture._backward_cls.saved_tensors = property(_saved_with_tangents)
    return capture


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that cannot be differentiated again: trying to is an error, not a wrong number.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> torch.autograd.grad(Square.apply(x), x, create_graph=True)
    (tensor([6.]),)
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with_grad = _C.is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            outputs = fn(ctx, *args)
        finally:
            _C._set_grad_enabled(with_grad)
        if not with_grad or not any(_is_tensor(a) and a.requires_grad for a in args):
            return outputs
        many = isinstance(outputs, tuple)
        results = outputs if many else (outputs,)
        results = DelayedError(_TWICE, len(results))(
            *(o.detach().requires_grad_() if _is_tensor(o) else o for o in results)
        )
        return results if many or not isinstance(results, tuple) else results[0]

    return wrapper


_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class _Refusing(Function):
    """The same values with a history that raises when it is gone back along; None for None."""

    @staticmethod
    def forward(ctx: Any, told: tuple[str, Any], *tensors: Any) -> Any:
        ctx.message, absent = told
        return tuple(None if tensor is absent else tensor.detach() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(ctx.message)


_Refusing._backward_cls.__name__ = "Error"  # as programs find it in a graph


class DelayedError:
    """A function of as many tensors as it says: the same values, whose backward raises RuntimeError with this message.

    >>> y = torch._C._functions.DelayedError("not this way", 1)(torch.ones(2, requires_grad=True))
    >>> y.sum().backward()
    Traceback (most recent call last):
    RuntimeError: not this way
    """

    def __init__(self, message: str, count: int) -> None:
        self.message, self.count = message, count

    def __call__(self, *tensors: Any) -> Any:
        absent = _C._find_operator("aten::zeros", "")([])  # a tensor in its place: the node keeps an edge to nowhere
        results = _Refusing.apply((self.message, absent), *(absent if tensor is None else tensor for tensor in tensors))
        return results[0] if self.count == 1 else results


class _Undefined(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None


class UndefinedGrad:
    """A function of tensors: the same values, through which no gradient flows, as if backward had returned None."""

    def __call__(self, *tensors: Any) -> Any:
        results = tuple(_Undefined.apply(tensor) for tensor in tensors)
        return results[0] if len(results) == 1 else results


class InplaceFunction(Function):
    """Kept as a name: a Function that may be told ``inplace=True``.

    >>> class Zero(torch.autograd.function.InplaceFunction):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.mark_dirty(x)
    ...         return x.zero_()
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 0
    >>> x = torch.ones(2, requires_grad=True)
    >>> Zero.apply(x * 2).sum().backward()
    >>> x.grad
    tensor([0., 0.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A legacy kind of Function whose arguments and results are nested; nested tuples go through a plain Function too.

    >>> issubclass(torch.autograd.function.NestedIOFunction, torch.autograd.Function)
    True
    """


_C._set_function_defaults(Function.backward, Function.vjp, Function.setup_context, _apply_in_order)
