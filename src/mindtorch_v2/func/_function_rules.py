"""A `torch.autograd.Function` under vmap: its own rule, or one generated from its methods."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.batched import VmapInfo, active_levels, in_place_of
from mindtorch_v2._core.autograd import batched
from mindtorch_v2._core.autograd.function import Function, _set_vmapped
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._behaviours.batched._levels import Level


_SEE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _level_of(args):
    number = max(n for a in args if isinstance(a, torch.Tensor) for n in batched.levels_of(a))
    return next(level for level in active_levels() if level.number == number)


def _is_mapped(value, level) -> bool:
    return isinstance(value, torch.Tensor) and level.number in batched.levels_of(value)


def _vmapped(cls, args):
    """`cls.apply` with an argument that vmap maps over, at the innermost level of them."""
    level = _level_of(args)
    own_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid "
            f"ambiguity. {_SEE}"
        )
    if not cls.generate_vmap_rule and not own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True. {_SEE}"
        )
    in_dims = tuple(0 if _is_mapped(a, level) else None for a in args)
    whole = [a if dim is None else batched.show(a, level.number, level.size) for a, dim in zip(args, in_dims)]
    if not own_rule:
        return _generated(cls, level, in_dims, whole)
    made = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *whole)
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
            f"with the output. Got a {type(made)} instead"
        )
    output, out_dims = made
    leaves, spec = pytree.tree_flatten(output)
    dims = pytree._broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            f"{cls.__name__}.vmap returned an incompatible (output, out_dims) tuple. Expected the out_dims to have pytree "
            f"structure compatible with the output: {pytree.tree_structure(out_dims)} against {spec}"
        )
    return spec.unflatten(
        [leaf if dim is None else batched.hide(leaf, dim, level.number) for leaf, dim in zip(leaves, dims)]
    )


class _SlicedContext:
    """The context that a generated rule shows to the Function's own methods: its tensors are one slice's."""

    def __init__(self, ctx: Any, level: Level, in_jvp: bool = False, outputs: Any = ()) -> None:
        self.__dict__["_ctx"] = ctx
        self.__dict__["_level"] = level
        self.__dict__["_in_jvp"] = in_jvp
        self.__dict__["_outputs"] = dict(outputs)  # id of one slice's result -> all slices'

    def _show(self, tensors) -> tuple:
        level = self._level
        mapped = [_is_mapped(t, level) for t in tensors]
        shown = [batched.show(t, level.number, level.size) if m else t for t, m in zip(tensors, mapped)]
        return shown, mapped

    def _hide(self, tensors, mapped) -> tuple:
        return tuple(batched.hide(t, 0, self._level.number) if m else t for t, m in zip(tensors, mapped))

    def save_for_backward(self, *tensors: torch.Tensor) -> None:
        shown, self._ctx._mapped_backward = self._show(tensors)
        self._ctx.save_for_backward(*shown)

    def save_for_forward(self, *tensors: torch.Tensor) -> None:
        shown, self._ctx._mapped_forward = self._show(tensors)
        self._ctx.save_for_forward(*shown)

    @property
    def saved_tensors(self) -> Any:
        if self._in_jvp:
            return self.saved_for_forward
        saved = self._ctx.saved_tensors
        return self._hide(saved, getattr(self._ctx, "_mapped_backward", (False,) * len(saved)))

    @property
    def saved_for_forward(self) -> Any:
        return self._hide(self._ctx.saved_for_forward, self._ctx._mapped_forward)

    def mark_dirty(self, *tensors: Any) -> None:
        raise RuntimeError(
            "NYI: mark_dirty in a Function with generate_vmap_rule=True. Implement the vmap staticmethod instead."
        )

    def mark_non_differentiable(self, *tensors: Any) -> None:
        shown = self._outputs
        self._ctx.mark_non_differentiable(*(shown[id(t)] for t in tensors if id(t) in shown))

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    def __getattr__(self, name: str) -> Any:
        return (
            getattr(self.__dict__["_ctx"].by_user, name) if name != "needs_input_grad" else self._ctx.needs_input_grad
        )

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx.by_user, name, value)


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _generated(cls, level, in_dims, whole):
    """`cls` on all slices as one Function: its methods run under a vmap of their own."""
    out_mapped: list[Any] = []
    many: list[Any] = []

    def wrap_inputs(inputs: Sequence[int | torch.Tensor], number: int) -> list:
        return [batched.hide(a, 0, number) if dim == 0 else a for a, dim in zip(inputs, in_dims)]

    def forward(*inputs: Any) -> Any:
        with in_place_of(level) as own:
            made = cls.forward(*wrap_inputs(inputs, own.number))
            many[:] = [isinstance(made, tuple)]
            out_mapped[:] = [_is_mapped(o, own) for o in _as_tuple(made)]
            shown = tuple(
                batched.show(o, own.number, own.size) if m else o for o, m in zip(_as_tuple(made), out_mapped)
            )
        return shown if many[0] else shown[0]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.by_user = types.SimpleNamespace()
        with in_place_of(level) as own:
            outputs = [batched.hide(o, 0, own.number) if m else o for o, m in zip(_as_tuple(output), out_mapped)]
            by_slice = [(id(o), all_of_it) for o, all_of_it in zip(outputs, _as_tuple(output))]
            cls.setup_context(
                _SlicedContext(ctx, own, outputs=by_slice),
                tuple(wrap_inputs(inputs, own.number)),
                tuple(outputs) if many[0] else outputs[0],
            )

    def sliced(
        ctx: Any,
        method: Callable[..., Any],
        values: Sequence[torch.Tensor],
        mapped: Sequence[bool],
        in_jvp: bool = False,
    ) -> tuple:
        """The method on one slice's values; its results whole, with whether they differ from slice to slice."""
        with in_place_of(level) as own:
            given = [batched.hide(v, 0, own.number) if m and v is not None else v for v, m in zip(values, mapped)]
            made = _as_tuple(method(_SlicedContext(ctx, own, in_jvp), *given))
            found = [_is_mapped(g, own) for g in made]
            return [batched.show(g, own.number, own.size) if m else g for g, m in zip(made, found)], found

    def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
        method = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        made, mapped = sliced(ctx, method, grads, out_mapped)
        result = []
        for gradient, by_slice, dim in zip(made, mapped, (*in_dims, *(None,) * (len(made) - len(in_dims)))):
            if gradient is None or not isinstance(gradient, torch.Tensor) or by_slice == (dim == 0):
                result.append(gradient)
            elif by_slice:
                result.append(gradient.sum(0))  # an argument that all slices share
            else:
                result.append(gradient.expand(level.size, *gradient.shape))
        return tuple(result)

    def jvp(ctx: Any, *directions: Any) -> tuple:
        made, mapped = sliced(ctx, cls.jvp, directions, [dim == 0 for dim in in_dims], in_jvp=True)
        return tuple(
            t if t is None or by_slice or not wanted else t.expand(level.size, *t.shape)
            for t, by_slice, wanted in zip(made, mapped, out_mapped)
        )

    members = {"forward": forward, "setup_context": setup_context, "backward": backward, "jvp": jvp}
    generated: Any = type(
        cls.__name__, (Function,), {**{k: staticmethod(v) for k, v in members.items()}, "generate_vmap_rule": True}
    )
    made = generated.apply(*whole)
    outputs = tuple(batched.hide(o, 0, level.number) if m else o for o, m in zip(_as_tuple(made), out_mapped))
    return outputs if many[0] else outputs[0]


_set_vmapped(_vmapped)
