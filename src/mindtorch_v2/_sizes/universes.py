"""Fake tensors whose sizes are symbolic.

Such a tensor has the sizes seen, as any other. Beside it stand tensors of other sizes, one in each *universe*, where symbols
have values of their own: a call of a torch function is repeated there. A size of a result is the expression that
has its values in all of them.

The numbers that a program gets and gives are symbolic at the level of torch functions; below it there are ints.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import MethodWrapperType
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional import active_level
from mindtorch_v2._core import torch_dispatch as _torch_dispatch
from mindtorch_v2._core.torch_function import DisableTorchFunction, DisableTorchFunctionSubclass
from mindtorch_v2._sizes.environment import DimDynamic
from mindtorch_v2._sizes.numbers import NUMBER_FUNCTIONS, SymFloat, SymInt
from mindtorch_v2._subclasses import fake_tensor as _fake_tensor
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, UnsupportedFakeTensorException
from mindtorch_v2.overrides import TorchFunctionMode
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._sizes.environment import ShapeEnv


__all__ = ["SymbolicFakeTensor", "SymbolicNumbers", "symbolic_fake"]

_NUMBERS = (SymInt, SymFloat)


class _State(threading.local):
    """Of a thread: whether a torch function runs, and what it was told of values that depend on data."""

    def __init__(self) -> None:
        self.inside = False
        self.asks = False  # the program asks for a value, by `item`
        self.told = None
        self.universe = 0  # in which a call runs
        self.made: list[tuple] = []  # by the call: the values of sizes that data decide, in all universes
        self.met = 0  # how many of them the call has asked for in this universe


state = _State()


def _is_below():
    """Whether sizes are ints: in a torch function, and in a program that is functionalized."""
    return state.inside or active_level() > 0


@contextlib.contextmanager
def below() -> Iterator[None]:
    """Within the block sizes are ints: a torch function runs."""
    before, state.inside = state.inside, True
    try:
        yield
    finally:
        state.inside = before


_GRAD: Any = FakeTensor.grad


class SymbolicFakeTensor(FakeTensor):
    """A fake tensor of a mode with a ShapeEnv: its sizes, strides and offset are symbolic where they may differ."""

    _elem: Any
    fake_device: Any

    _universes: Any = None
    _told: Any = None  # sizes, strides and offset, where a trace with other sizes has told them

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # (the keyword has no name to the checker)
        shape = tuple(self.shape)
        with below():
            return super().__repr__().replace(f"size={tuple(self._elem.shape)}", f"size={shape}")

    @classmethod
    def __torch_function__(  # type: ignore[override]  # (it takes calls over)
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if type(func) is MethodWrapperType:  # an attribute
            with DisableTorchFunctionSubclass():
                return func(*args)
        return _call(func, args, kwargs or {})

    # ---- numbers ----

    def _number(self, read):
        """The answer of `read` for the tensor: an int that is the same for all sizes, or a SymInt."""
        with DisableTorchFunctionSubclass():
            seen = read(self._elem)
            if _is_below():
                return seen
            others = others_of(self)
            return self.fake_mode.shape_env.number((seen, *(read(each._elem) for each in others)))

    def _tells(self):
        """The sizes, strides and offset; None where universes tell."""
        return None if _is_below() else self._told

    @property
    def shape(self) -> Any:
        told = self._tells()
        if told is not None:
            return torch.Size(told[0])
        return torch.Size([self._number(lambda t, d=d: t.shape[d]) for d in range(self.dim())])

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        if dim is None:
            return self.shape
        with below():
            FakeTensor.size(self, dim)  # the error of a dim that there is not
        told = self._tells()
        return self._number(lambda t: t.shape[dim]) if told is None else told[0][dim]

    def stride(self, dim: int | None = None) -> Any:  # type: ignore[override]  # (that says which of two types)
        told = self._tells()
        if told is not None:
            return tuple(told[1]) if dim is None else told[1][dim]
        if dim is None:
            return tuple(self._number(lambda t, d=d: t.stride(d)) for d in range(self.dim()))
        return self._number(lambda t: t.stride(dim))

    def numel(self) -> Any:
        if self._tells() is not None:
            return self.shape.numel()
        return self._number(lambda t: t.numel())

    nelement = numel

    def storage_offset(self) -> int:
        if self._tells() is not None:
            return self._told[2]
        return self._number(lambda t: t.storage_offset())

    def __len__(self) -> int:
        return int(self.size(0)) if self.dim() else super().__len__()

    def item(self) -> Any:
        return _call(torch.Tensor.item, (self,), {})

    @property
    def grad(self) -> torch.Tensor | None:
        found = _GRAD.__get__(self)
        if isinstance(found, SymbolicFakeTensor) and found._universes is None and not _is_below():
            _like(found, self)
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        _GRAD.__set__(self, value)

    @grad.deleter
    def grad(self) -> None:
        _GRAD.__delete__(self)


def others_of(tensor: Any) -> Any:
    """The tensors that stand beside it in the other universes; made of sizes of their own where none were computed."""
    found = tensor._universes
    if found is not None and all(each.dim() == tensor._elem.dim() for each in found):
        return found
    return _set_apart(tensor)


def _like(tensor, model) -> None:
    """A tensor has the sizes of another one."""
    tensor._universes = [
        _made(tensor, tuple(each.shape), _dense(tuple(each.shape), tensor._elem.stride()), 0)
        for each in others_of(model)
    ]


def _dense(sizes, model):
    """Strides for these sizes in the order of those of a tensor, without gaps; 0 where it has 0."""
    strides, expected = [0] * len(sizes), 1
    for d in sorted(range(len(sizes)), key=lambda d: (model[d], -d)):
        if model[d]:
            strides[d] = expected
            expected *= sizes[d]
    return strides


def _same_in_all(tensor) -> None:
    """The sizes of a tensor are what they are."""
    elem = tensor._elem
    if elem.layout is not torch.strided:  # of which no sizes can differ
        other = FakeTensor(tensor.fake_mode.other_mode, elem, tensor.fake_device)
        tensor._universes = [other] * (tensor.fake_mode.shape_env.universes - 1)
        return
    tensor._universes = [
        _made(tensor, tuple(elem.shape), elem.stride(), elem.storage_offset())
        for _ in range(tensor.fake_mode.shape_env.universes - 1)
    ]


def _set_apart(tensor):
    """Sizes of which nothing is known but their values: each a symbol of its own, 0 and 1 excepted."""
    env, elem = tensor.fake_mode.shape_env, tensor._elem
    if elem.layout is not torch.strided:
        _same_in_all(tensor)
        return tensor._universes
    sizes = [(size,) * env.universes if size in (0, 1) else env.derived(size) for size in elem.shape]
    made = []
    for universe in range(1, env.universes):
        row = [size[universe] for size in sizes]
        made.append(_made(tensor, row, _dense(row, elem.stride()), 0))
    tensor._universes = made
    return made


def _made(like, sizes, strides, offset):
    """A tensor of another universe."""
    mode = like.fake_mode.other_mode
    with torch.no_grad(), _torch_dispatch.no_modes(), DisableTorchFunction():
        elem = torch.empty_strided(sizes, strides, dtype=like.dtype, device="meta")
        if offset:
            elem = elem.as_strided(sizes, strides, offset)
        return FakeTensor(mode, elem, like.fake_device)


def symbolic_fake(mode: Any, t: Any, source: Any, context: Any, static: bool) -> Any:
    """The fake tensor of a real one, with a symbol for each size that the context does not say to be static."""
    with below():
        fake = mode.fake_tensor_converter.from_real_tensor(mode, t)
    kinds = [DimDynamic.STATIC if static else None] * t.dim() if context is None else context.dynamic_sizes
    name_sizes(fake, source, kinds)
    return fake


def name_sizes(fake: Any, source: Any, kinds: Any) -> None:
    """Give the sizes of a fake tensor, which are numbers yet, symbols: a SymInt, or one as the DimDynamic says."""
    env, elem = fake.fake_mode.shape_env, fake._elem
    if elem.layout is not torch.strided:
        if any(isinstance(kind, SymInt) for kind in kinds):
            raise UnsupportedFakeTensorException(f"sizes of a tensor of the layout {elem.layout} that differ")
        _same_in_all(fake)
        return
    sizes = [
        kind if isinstance(kind, SymInt) else env.create_symbol(size, f"{source}.size()[{d}]", kind)
        for d, (size, kind) in enumerate(zip(elem.shape, kinds))
    ]
    values = [s.node.values if isinstance(s, SymInt) else (s,) * env.universes for s in sizes]
    strides = _strides(env, elem, values, source)
    fake._universes = [
        _made(fake, [v[u] for v in values], [v[u] for v in strides], elem.storage_offset())
        for u in range(1, env.universes)
    ]


def _strides(env, t, sizes, source):
    """The values of the strides: products of sizes where they are; else a symbol."""
    known = {1: (1,) * env.universes, 0: (0,) * env.universes}
    found: list[Any] = [None] * t.dim()
    for d in sorted(range(t.dim()), key=lambda d: (t.stride(d), -d)):
        stride = t.stride(d)
        if stride not in known:
            made = env.create_symbol(stride, f"{source}.stride()[{d}]")
            known[stride] = made.node.values if isinstance(made, SymInt) else (made,) * env.universes
        found[d] = known[stride]
        known.setdefault(stride * t.shape[d], tuple(a * b for a, b in zip(found[d], sizes[d])))
    return found


def asked(ask: Callable[[], Any]) -> Any:
    """The number that `ask` gives, which a program asks for as by `item`: as a symbol, if the values of tensors decide it."""
    before, state.asks, state.told = state.asks, True, None
    try:
        value = ask()
    finally:
        state.asks = before
    return value if state.told is None else state.told


def value_of_data(env: ShapeEnv, dtype: torch.dtype) -> int | None:
    """Answer to a program that asks for an element: an arbitrary number, which it knows as a symbol; None if not allowed."""
    if (
        not (state.asks and env.allow_scalar_outputs)
        or dtype.is_floating_point
        or dtype.is_complex
        or dtype is torch.bool
    ):
        return None
    told: Any = env.create_unbacked_symint()
    state.told = told
    return told.node.values[0]


def size_of_data(env: ShapeEnv | None, least: int) -> int | None:
    """A size that the values of a tensor decide: a symbol, of which a call sees the value of its universe; None if not allowed."""
    if state.universe == 0:
        if env is None or not env.allow_dynamic_output_shape_ops:
            return None
        state.made.append(env.create_unbacked_symint(least).node.values)
    elif state.met == len(state.made):
        return None
    state.met += 1
    size: int = state.made[state.met - 1][state.universe]
    return size


@contextlib.contextmanager
def _sizes_made(universe: int = 0) -> Iterator[None]:
    """Within the block a call runs in a universe: first in that of the sizes seen, then in each other."""
    before = state.universe, state.made, state.met
    state.universe, state.met = universe, 0
    if universe == 0:
        state.made = []
    try:
        yield
    finally:
        state.universe, state.made, state.met = before


class SymbolicNumbers(TorchFunctionMode):
    """Let symbolic numbers be arguments of functions that are given no tensor."""

    sees_attributes = False

    def __torch_function__(self, func: Callable, types: Any, args: Any = (), kwargs: dict | None = None) -> Any:
        if func in NUMBER_FUNCTIONS:  # which take them
            return func(*args, **(kwargs or {}))
        return _call(func, args, kwargs or {})


def _mapped(function, value):
    """`function` of each leaf of arguments: what stands in sequences, dicts and slices."""
    kind = type(value)
    if kind in (tuple, list, torch.Size):
        return kind([_mapped(function, each) for each in value])
    if kind is dict:
        return {key: _mapped(function, each) for key, each in value.items()}
    if kind is slice:
        return slice(_mapped(function, value.start), _mapped(function, value.stop), _mapped(function, value.step))
    return function(value)


_ALONE = frozenset((torch.Tensor.backward, torch.autograd.grad, torch.autograd.backward))
_NAMES_ALONE = frozenset("item tolist backward requires_grad_ __repr__ __format__ is_contiguous dim".split())


def _call(func, args, kwargs):
    """A torch function, with the numbers seen; then in the other universes."""
    if _is_below():
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    with _sizes_made():
        return _call_above(func, args, kwargs)


def _call_above(func, args, kwargs):
    leaves: list[Any] = []
    _mapped(leaves.append, (tuple(args), dict(kwargs)))
    numbers = [leaf for leaf in leaves if isinstance(leaf, _NUMBERS)]
    tensors = [leaf for leaf in leaves if isinstance(leaf, SymbolicFakeTensor)]
    if not numbers and not tensors:
        with below():
            result = func(*args, **kwargs)
        for each in pytree.tree_leaves(result):
            if isinstance(each, SymbolicFakeTensor) and each._universes is None:
                _same_in_all(each)
        return result
    name = getattr(func, "__name__", "")
    beside = None if func in _ALONE or name in _NAMES_ALONE else _beside(args, kwargs, leaves)
    args, kwargs = _mapped(lambda leaf: _seen(leaf, 0), (tuple(args), dict(kwargs)))
    with below(), DisableTorchFunctionSubclass():
        before, state.asks, state.told = state.asks, name == "item", None
        try:
            result = func(*args, **kwargs)
        finally:
            state.asks = before
    if name == "item" and state.told is not None:
        return state.told
    if func is torch.autograd.grad:
        for gradient, model in zip(result, pytree.tree_leaves(args[1] if len(args) > 1 else kwargs["inputs"])):
            if isinstance(gradient, SymbolicFakeTensor):
                _like(gradient, model)
    if beside is not None:
        _repeat(func, beside, leaves, result)
    return result


def _seen(leaf, universe):
    return leaf.node.values[universe] if isinstance(leaf, _NUMBERS) else leaf


def _beside(args, kwargs, leaves):
    """The arguments in each of the other universes, looked up before the call, which may write to them."""
    others = {id(leaf): others_of(leaf) for leaf in leaves if isinstance(leaf, SymbolicFakeTensor)}

    def in_universe(number: Any) -> Any:
        def there(leaf: Any) -> Any:
            return others[id(leaf)][number - 1] if isinstance(leaf, SymbolicFakeTensor) else _seen(leaf, number)

        return _mapped(there, (tuple(args), dict(kwargs)))

    count = next(
        (each.node.shape_env if isinstance(each, _NUMBERS) else each.fake_mode.shape_env).universes
        for each in leaves
        if isinstance(each, (*_NUMBERS, SymbolicFakeTensor))
    )
    return [in_universe(number) for number in range(1, count)]


def _repeat(func, beside, leaves, result):
    """Do the call in the other universes as well, and put the results beside those of this one."""
    results, result_spec = pytree.tree_flatten(result)
    mode = next((t.fake_mode for t in (*leaves, *results) if isinstance(t, SymbolicFakeTensor)), None)
    if mode is None:
        return
    found = []
    for universe, (args, kwargs) in enumerate(beside, 1):
        try:
            with (
                _sizes_made(universe),
                _torch_dispatch.no_modes(),
                DisableTorchFunction(),
                torch.no_grad(),
                mode.other_mode,
            ):
                flat, other_spec = pytree.tree_flatten(func(*args, **kwargs))
        except Exception:  # noqa: BLE001  (whatever it says: there are no such sizes, and nothing is known of the result's)
            return
        if other_spec != result_spec:
            _fix_sizes(leaves)
            return
        found.append(flat)
    given = {id(leaf) for leaf in leaves}
    for place, each in enumerate(results):
        if isinstance(each, SymbolicFakeTensor) and id(each) not in given:
            row = [flat[place] for flat in found]
            if all(isinstance(other, FakeTensor) for other in row):
                each._universes = row


def _fix_sizes(leaves) -> None:
    """A result has as many parts as a size says: the sizes are fixed."""
    for leaf in leaves:
        if isinstance(leaf, SymInt):
            int(leaf)
        elif isinstance(leaf, SymbolicFakeTensor):
            for size in leaf.shape:
                int(size)


_fake_tensor.register_symbolic(sys.modules[__name__])
