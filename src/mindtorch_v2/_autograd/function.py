"""torch.autograd.Function: operators of a user's own with a forward and a backward in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C

_MARKED_VIEW = 4  # csrc/core/autograd.h: Creation::CustomFunction


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class FunctionCtx:
    """What forward tells backward. The context is the graph's node itself."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward; they come back as ``ctx.saved_tensors`` and are checked for in-place changes."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        for tensor in tensors:
            if not (_is_tensor(tensor) or tensor is None):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote to in place."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether absent gradients come to backward as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple:
        return self._saved()  # type: ignore[attr-defined]

    @property
    def saved_variables(self) -> tuple:
        return self._saved()  # type: ignore[attr-defined]


class BackwardCFunction(_C.FunctionNode, FunctionCtx):
    """The node of a custom Function; each Function has a subclass of its own."""

    _forward_cls: Any
    materialize_grads = True
    to_save: tuple = ()
    dirty_tensors: tuple = ()
    non_differentiable: tuple = ()

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        return self._needs_input_grad

    @needs_input_grad.setter
    def needs_input_grad(self, value: tuple[bool, ...]) -> None:
        self._needs_input_grad = value

    def apply(self, *args: Any) -> Any:
        return self._call_backward(args)

    def _call_backward(self, grads: tuple) -> Any:
        cls = self._forward_cls
        backward, vjp = cls.backward, cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
            )
        return (vjp if vjp is not Function.vjp else backward)(self, *grads)

    def _run_backward(self, *grads: Any) -> tuple:
        if self.materialize_grads:
            grads = tuple(
                _zeros(self._input_metadata[i])
                if g is None and i < len(self._output_is_tensor) and self._output_is_tensor[i]
                else g
                for i, g in enumerate(grads)
            )
        grads = grads[: len(self._output_is_tensor)]
        result = self._call_backward(grads)
        if not isinstance(result, tuple):
            result = tuple(result) if isinstance(result, list) else (result,)
        expected = len(self._is_tensor_input)
        name = type(self).__name__
        if len(result) > expected:
            if any(r is not None for r in result[expected:]):
                raise RuntimeError(
                    f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(result)})"
                )
            result = result[:expected]
        if len(result) < expected:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {expected}, got {len(result)})"
            )
        gradients = []
        for i, (gradient, is_tensor) in enumerate(zip(result, self._is_tensor_input, strict=True)):
            if not is_tensor:
                if gradient is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding forward input was not a Variable"
                    )
                continue
            if gradient is not None and not _is_tensor(gradient):
                raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
            gradients.append(gradient)
        return tuple(gradients)


def _zeros(metadata: tuple) -> Any:
    shape, dtype, device = metadata
    return _C._find_operator("aten::zeros", "")(shape, dtype=dtype, device=device)


class FunctionMeta(type):
    """Gives each Function a node class of its own: ``MyFn`` gets ``MyFnBackward``."""

    def __init__(cls, name: str, bases: tuple, attrs: dict) -> None:
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": cls.__module__}
        )
        super().__init__(name, bases, attrs)


class Function(metaclass=FunctionMeta):
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
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the class itself. "
            "Instantiating an autograd function is not supported."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward and record it."""
        new_style = cls.setup_context is not Function.setup_context
        recording = _C.is_grad_enabled()
        is_tensor = tuple(_is_tensor(a) for a in args)
        needs = tuple(t and a.requires_grad for t, a in zip(is_tensor, args, strict=True))
        ctx = cls._backward_cls()
        ctx._is_tensor_input = is_tensor
        ctx.needs_input_grad = tuple(recording and n for n in needs) if not recording else needs
        record = recording and any(needs)
        if record:
            ctx._set_inputs([a for a, t in zip(args, is_tensor, strict=True) if t])
        _C._set_grad_enabled(False)
        try:
            if new_style:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        finally:
            _C._set_grad_enabled(recording)
        many = isinstance(output, (tuple, list))
        outputs = tuple(output) if many else (output,)
        ctx._output_is_tensor = tuple(_is_tensor(o) for o in outputs)
        if not record:
            ctx.to_save = ()
            return output
        inputs = [a for a, t in zip(args, is_tensor, strict=True) if t]
        outputs = tuple(cls._mark(ctx, i, o, inputs) for i, o in enumerate(outputs))
        cls._save(ctx, outputs)
        return (outputs if isinstance(output, tuple) else list(outputs)) if many else outputs[0]

    @staticmethod
    def _mark(ctx: Any, number: int, output: Any, inputs: list) -> Any:
        if not _is_tensor(output):
            return output
        dirty = any(output is d for d in ctx.dirty_tensors)
        differentiable = not any(output is n for n in ctx.non_differentiable) and (
            output.dtype.is_floating_point or output.dtype.is_complex
        )
        given = any(output is i for i in inputs)
        if dirty:
            if not differentiable:
                return output
            ctx._set_output(output, number, 1)
            return output
        if given:
            # An input returned as it is becomes a view of it with a history of its own.
            with_grad = _C.is_grad_enabled()
            _C._set_grad_enabled(False)
            view = _C._find_operator("aten::alias", "")(output)
            _C._set_grad_enabled(with_grad)
            output = view
        if not differentiable:
            ctx._set_output(output, number, 2)
            return output if not output.requires_grad else output.detach()
        if output.requires_grad and output.is_leaf is False and not given:
            output = output.detach()
        ctx._set_output(output, number, 0)
        return output

    @staticmethod
    def _save(ctx: Any, outputs: tuple) -> None:
        if not ctx.to_save:
            return
        for tensor in ctx.to_save:
            if not (_is_tensor(tensor) or tensor is None):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(tensor).__name__}"
                )
        ids = {id(o): i for i, o in enumerate(outputs) if _is_tensor(o)}
        ctx._save(list(ctx.to_save), [ids.get(id(t), -1) for t in ctx.to_save])
        ctx.to_save = ()


def once_differentiable(fn: Callable) -> Callable:
    """Decorates a backward that cannot be differentiated again: trying to is an error, not a wrong number."""

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
        results = [_DelayedError.apply(o) if _is_tensor(o) else o for o in (outputs if many else (outputs,))]
        return tuple(results) if many else results[0]

    return wrapper


class _DelayedError(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.detach()
        return y

    @classmethod
    def apply(cls, x: Any) -> Any:  # type: ignore[override]
        leaf = x.detach().requires_grad_()
        return super().apply(leaf)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


class NestedIOFunction(Function):
    """Kept as a name: nested inputs work through torch.utils._pytree with a plain Function."""


InplaceFunction = Function
