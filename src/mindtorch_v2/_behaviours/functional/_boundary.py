"""Into functional tensors and out of them: with gradients, and so that what was written is seen by the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ... import _C
from ..._core.autograd import batched
from ..._core.autograd.function import Function
from ..._core.autograd.grad_mode import enable_grad, no_grad
from ..._operators.table import aten
from ._levels import below
from ._values import Storage, level_of, storage_of, unwrap, value_of, wrap


class _ToFunctional(Function):
    """The functional tensor that ``make()`` gives, with the history of ``x``."""

    @staticmethod
    def forward(x: Any, make: Callable[[], Any]) -> Any:
        return make()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.level = level_of(output)
        ctx.set_materialize_grads(False)  # a gradient that is not there stays away

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple:
        return None if grad is None else from_functional(grad, ctx.level), None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, _: Any) -> Any:
        return None if tangent is None else to_functional(tangent, ctx.level)


class _FromFunctional(Function):
    """The value of a functional tensor, with its history."""

    @staticmethod
    def forward(x: Any) -> Any:
        value = value_of(x)
        with below(level_of(x)):
            return aten.alias(value)  # the value itself may be the caller's tensor, which has a history of its own

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.level = level_of(inputs[0])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return None if grad is None else to_functional(grad, ctx.level)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        return None if tangent is None else from_functional(tangent, ctx.level)


def _has_history(x: Any) -> bool:
    return x.requires_grad or bool(_C._tangent_levels(x))


def to_functional(x: Any, level: int, make: Callable[[], Any] | None = None) -> Any:
    """A functional tensor of the level for ``x``, part of the same graph."""
    if level_of(x) == level:
        return x
    make = make or (lambda: wrap(x, level))
    if not _has_history(x):
        return make()
    with enable_grad():
        return _ToFunctional.apply(x, make)


def from_functional(x: Any, level: int) -> Any:
    """The value of ``x`` if it is a functional tensor of the level, part of the same graph; else ``x``."""
    if level_of(x) != level:
        return x
    return _FromFunctional.apply(x) if _has_history(x) else value_of(x)


class _Given(NamedTuple):
    """An argument: the caller's tensor, the functional one, and what the latter was like at the start."""

    real: Any
    shown: Any
    storage: Storage
    history: Any
    geometry: tuple


def _geometry(x: Any) -> tuple:
    return tuple(x.shape), x.stride(), x.storage_offset()


class Arguments:
    """The tensor arguments of one functionalized call.

    Arguments that share memory share the storage behind their functional tensors. If autograd knows them as views of one
    tensor, and has to, they are views of it here, too.
    """

    def __init__(self, tensors: Iterable[Any], level: int) -> None:
        self.level = level
        self._given: dict[int, _Given] = {}  # by the caller's tensor
        self._shown: dict[int, _Given] = {}  # by the functional one
        self._sparse: dict[int, Any] = {}  # the functional one, by the caller's sparse tensor
        self._memories: list[tuple[Any, Storage]] = []  # one-dimensional over all of what several arguments share
        groups: dict[int, list] = {}
        for tensor in tensors:
            real = batched.physical(tensor)
            if _C._sparse_parts(real) is not None:  # it has no memory of its own
                if real.requires_grad:
                    raise RuntimeError(
                        "functionalize: gradients of sparse arguments are not supported; give a detached tensor, or its parts"
                    )
                self._sparse[id(real)] = wrap(real, level)
                continue
            members = groups.setdefault(real.untyped_storage()._cdata, [])
            if not any(real is other for other in members):
                members.append(real)
        for members in groups.values():
            self._wrap_group(members)

    def _keep(self, real: Any, shown: Any) -> Any:
        storage = storage_of(shown)
        assert storage is not None
        given = _Given(real, shown, storage, shown.grad_fn, _geometry(shown))
        self._given[id(real)] = self._shown[id(shown)] = given
        return shown

    def _wrap_group(self, members: list) -> None:
        if len(members) == 1 or not members[0].numel():
            for real in members:
                self._keep(real, to_functional(real, self.level))
            return
        roots = {id(m if m._base is None else m._base): m if m._base is None else m._base for m in members}
        if len(roots) == 1 and any(map(_has_history, members)):
            (root,) = roots.values()
            shown = self._keep(root, to_functional(root, self.level))
            with enable_grad():
                for real in members:
                    if real is not root:
                        self._keep(real, _same_view(shown, real))
            return
        with below(self.level):
            memory = _memory(members[0])
        flat = wrap(memory, self.level)
        storage = storage_of(flat)
        assert storage is not None
        self._memories.append((memory, storage))
        for real in members:
            with no_grad():
                alias = _same_view(flat, real)
            self._keep(real, to_functional(real, self.level, lambda alias=alias: alias.detach()))  # type: ignore[misc]  # (a default binds the loop's variable)

    def show(self, tensor: Any) -> Any:
        """The functional tensor for an argument."""
        if id(tensor) in self._sparse:
            return self._sparse[id(tensor)]
        levels = batched.levels_of(tensor)
        return batched.wrap(self._given[id(batched.physical(tensor))].shown, levels)

    def result(self, tensor: Any) -> Any:
        """A result as the caller gets it; an argument that was only passed on is the caller's own."""
        levels = batched.levels_of(tensor)
        if levels:
            return batched.wrap(self.result(batched.physical(tensor)), levels)
        if _C._sparse_parts(tensor) is not None:
            return unwrap(tensor, self.level)
        given = self._shown.get(id(tensor))
        if given is not None and self._untouched(given):
            return given.real
        return from_functional(tensor, self.level)

    def _untouched(self, given: _Given) -> bool:
        shown = given.shown
        return (
            storage_of(shown) is given.storage
            and given.storage.generation == 0
            and shown.grad_fn is given.history
            and _geometry(shown) == given.geometry
        )

    def write_back(self) -> None:
        """Give the caller's tensors what the functional ones became."""
        for memory, storage in self._memories:
            if storage.generation:
                with below(self.level):
                    storage.flatten()
                    new = storage.value
                with no_grad():
                    memory.resize_(new.shape).copy_(new)
        shared = {id(storage) for _, storage in self._memories}
        for given in self._given.values():
            self._write_back(given, id(given.storage) in shared)

    def _write_back(self, given: _Given, written_already: bool) -> None:
        real, shown, storage = given.real, given.shown, given.storage
        if storage_of(shown) is not storage:  # set_
            with no_grad():
                real.set_(value_of(shown).detach())
            return
        if storage.replaced and not written_already:  # resize_
            with no_grad():
                real.resize_(shown.shape)
                real.copy_(value_of(shown))
            return
        recorded = shown.grad_fn is not given.history
        moved = _geometry(shown) != given.geometry
        is_root = real._base is None or id(real._base) not in self._given
        if storage.generation and is_root and not written_already:
            with no_grad():
                if storage.epoch and real.numel() != storage.elements:  # written through as_strided, perhaps beside it
                    _memory(real).copy_(storage.value)
                elif moved or not recorded:
                    real.copy_(_as_given(storage, given, self.level))
        if moved:
            real.as_strided_(*_geometry(shown))
        if recorded and (is_root or written_already):
            real.copy_(from_functional(shown, self.level))


def _memory(real: Any) -> Any:
    """All of the memory that a tensor is a part of, one-dimensional."""
    elements = real.untyped_storage().nbytes() // real.element_size()
    return aten.as_strided(real.detach(), [elements], [1], 0)


def _same_view(of: Any, real: Any) -> Any:
    """A view of the functional tensor ``of`` with the geometry and dtype of ``real``."""
    view = of if of.dtype == real.dtype else aten.view(of, real.dtype)
    return aten.as_strided(view, tuple(real.shape), real.stride(), real.storage_offset())


def _as_given(storage: Storage, given: _Given, level: int) -> Any:
    """The value by the sizes and strides that the argument had."""
    if (storage.sizes, storage.strides, storage.offset) == given.geometry:
        return storage.value
    sizes, strides, offset = given.geometry
    with below(level):
        storage.flatten()
        return aten.as_strided(storage.value, sizes, strides, storage.value.storage_offset() + offset)
