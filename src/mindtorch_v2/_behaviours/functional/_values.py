"""Values of functional tensors: one behind each storage, and how each alias of the storage follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._operators.table import aten
from ._levels import below, reapplies_views
from ._views import Step

_parts = _C._functional_parts


class Storage:
    """Value that the storage of functional tensors stands for, a value with the geometry of the tensor it was made for.

    ``generation`` counts writes. ``epoch`` counts changes of the geometry, after which chains of views lead nowhere.
    ``whole`` is the tensor that the storage was made from where that did not fill its own memory: `as_strided` may reach
    what lies between.
    """

    __slots__ = (
        "elements",
        "epoch",
        "first",
        "generation",
        "level",
        "offset",
        "reapply_views",
        "replaced",
        "sizes",
        "strides",
        "value",
        "whole",
    )

    def __init__(self, value: Any, level: int) -> None:
        self._stand_for(value)
        self.first = self.sizes, self.strides, self.offset
        self.generation = 0
        self.epoch = 0
        self.level = level
        self.reapply_views = reapplies_views()
        self.replaced = False  # by set_ or by a resize: what the caller's tensor has to follow in

    def _stand_for(self, value: Any) -> None:
        self.value = value
        self.sizes = tuple(value.shape)
        self.strides = value.stride()
        self.offset = value.storage_offset()
        self.elements = value.untyped_storage().nbytes() // value.element_size()
        self.whole = value if value.numel() != self.elements else None

    def become(self, value: Any) -> None:
        """Stand for a value of other sizes, whole: an operator resized what it wrote to."""
        self._stand_for(value)
        self.epoch += 1
        self.generation += 1
        self.replaced = True

    def is_shown_whole(self, x: Any) -> bool:
        """Whether ``x`` shows all of the memory, row-major: strides and offsets mean the same in both."""
        geometry = (tuple(x.shape), x.stride(), x.storage_offset())
        return geometry == (self.sizes, self.strides, 0) and x.numel() == self.elements and self.is_row_major()

    def is_row_major(self) -> bool:
        """Whether the value can be read by position: contiguous, both as it is and as the tensors show it."""
        return _row_major(self.sizes, self.strides) and self.value.is_contiguous()

    def flatten(self) -> None:
        """From now on the value is one-dimensional and has an element for each place of the memory."""
        if self.sizes == (self.elements,) and self.strides == (1,) and self.offset == 0:
            return
        model = self.value if self.whole is None else self.whole
        if self.whole is None:
            flat = aten.new_zeros(model, [self.elements])
        else:
            flat = aten.as_strided(model, [self.elements], [1], 0)
        if self.whole is None or self.generation:
            flat = aten.as_strided_scatter(flat, self.value, self.sizes, self.strides, self.offset)
        self._reshape(flat)

    def _reshape(self, flat: Any) -> None:
        self.value, self.whole = flat, None
        self.sizes, self.strides, self.offset = (self.elements,), (1,), 0
        self.epoch += 1

    def grow(self, elements: int) -> None:
        """The memory gets longer; what is new is zero."""
        self.flatten()
        more = aten.new_zeros(self.value, [elements - self.elements])
        self.elements = elements
        self._reshape(aten.cat([self.value, more]))
        self.generation += 1
        self.replaced = True


class Made:
    """How one tensor's value follows from its storage's: by a chain of views, or (None) by its sizes and strides."""

    __slots__ = ("chain", "epoch", "generation", "storage", "value")

    def __init__(self, storage: Storage, chain: tuple[Step, ...] | None) -> None:
        self.storage = storage
        self.chain = chain
        self.epoch = storage.epoch
        self.generation = -1  # of the storage when `value` was made
        self.value: Any = None


def _row_major(sizes: Any, strides: Any) -> bool:
    expected = 1
    for size, stride in zip(reversed(tuple(sizes)), reversed(tuple(strides)), strict=True):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def is_functional(x: Any) -> bool:
    """Whether ``x`` is a functional tensor."""
    return _parts(x) is not None


def storage_of(x: Any) -> Storage | None:
    """The value behind a functional tensor; None for anything else."""
    found = _parts(x)
    return None if found is None else found[0]


def level_of(x: Any) -> int:
    """The level that a functional tensor belongs to; 0 for anything else."""
    found = _parts(x)
    return 0 if found is None else found[0].level


def made_of(x: Any) -> Made:
    """How the functional tensor ``x`` is made from its storage."""
    storage, made = _parts(x)
    if made is None or made.storage is not storage or made.epoch != storage.epoch:
        made = Made(storage, None)
        _C._set_functional(x, made)
    return made


def set_chain(x: Any, chain: tuple[Step, ...] | None) -> None:
    """Say anew how ``x`` is made."""
    storage = storage_of(x)
    assert storage is not None
    _C._set_functional(x, Made(storage, chain))


def extend(made: Made, results: list[tuple[Any, Step]]) -> None:
    """Say how the results of one view operator are made: as ``made`` is, and one step more.

    Their values are made at once, of the value that their base has, which may be of an earlier generation, as PyTorch's
    are: then, at their first use, they are made again.
    """
    assert made.chain is not None
    storage = made.storage
    with below(storage.level):
        if made.value is None:
            made.value, made.generation = _by_chain(storage, made.chain), storage.generation
        values = results[0][1].view.forward(made.value, storage.reapply_views)
    for tensor, step in results:
        own = Made(storage, (*made.chain, step))
        own.value, own.generation = step.part(values), 0
        _C._set_functional(tensor, own)


def wrap(value: Any, level: int) -> Any:
    """A functional tensor of the level, over a storage of its own, that stands for ``value``; a sparse one of such parts."""
    if _C._sparse_parts(value) is not None:
        return _of_parts(value, lambda part: wrap(part, level))
    storage = Storage(value, level)
    tensor = _C._make_functional(value, storage)
    made = Made(storage, ())
    made.value, made.generation = value, 0
    _C._set_functional(tensor, made)
    return tensor


def value_of(x: Any) -> Any:
    """The value of the functional tensor ``x`` at this time, a tensor of the level outside of its own."""
    made = made_of(x)
    storage = made.storage
    if made.generation != storage.generation:
        with below(storage.level):
            value = _by_geometry(storage, x) if made.chain is None else _by_chain(storage, made.chain)
        made = made_of(x)  # reading by position may have changed the storage's geometry
        made.value, made.generation = value, storage.generation
    return made.value


def _by_chain(storage: Storage, chain: tuple[Step, ...]) -> Any:
    value = storage.value
    for step in chain:
        value = step.forward(value, storage.reapply_views)
    return value


def _reach(sizes: Any, strides: Any) -> int:
    """How many places from the first one on a tensor covers."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def _covers(storage: Storage, x: Any) -> bool:
    """Whether the value can be read by ``x``'s strides as it is."""
    start = x.storage_offset() - storage.offset
    return storage.is_row_major() and start >= 0 and start + _reach(x.shape, x.stride()) <= storage.value.numel()


def can_be_read(storage: Storage, x: Any) -> bool:
    """Whether ``x`` is a view by strides of the storage's value as it is."""
    return x.dtype == storage.value.dtype and _covers(storage, x)


def _places(x: Any) -> tuple:
    start = x.storage_offset() * x.element_size()
    return start, start + _reach(x.shape, x.stride()) * x.element_size()


def share_places(x: Any, y: Any) -> bool:
    """Whether the stretches of memory that two tensors of one storage cover overlap."""
    (start, end), (other_start, other_end) = _places(x), _places(y)
    return max(start, other_start) < min(end, other_end)


def _by_geometry(storage: Storage, x: Any) -> Any:
    sizes, strides, offset = tuple(x.shape), x.stride(), x.storage_offset()
    same_dtype = x.dtype == storage.value.dtype
    if same_dtype and (sizes, strides, offset) == (storage.sizes, storage.strides, storage.offset):
        return storage.value
    if not same_dtype or not _covers(storage, x):
        storage.flatten()
        _C._set_functional(x, Made(storage, None))
    value = storage.value
    if not same_dtype:
        value = aten.view(value, x.dtype)
        return aten.as_strided(value, sizes, strides, value.storage_offset() + offset)
    read = aten.as_strided if storage.reapply_views else aten.as_strided_copy
    return read(value, sizes, strides, value.storage_offset() + offset - storage.offset)


def write(x: Any, value: Any) -> None:
    """Make ``value``, of ``x``'s sizes and dtype, that of the functional tensor ``x`` and of all it shares memory with."""
    made = made_of(x)
    storage = made.storage
    with below(storage.level):
        value = _viewable(value, x)
        if made.chain is None:
            _write_by_geometry(storage, x, value)
            made = made_of(x)
        elif made.chain:
            befores = [storage.value]
            for step in made.chain[:-1]:
                befores.append(step.forward(befores[-1], storage.reapply_views))
            new = value
            for step, before in zip(reversed(made.chain), reversed(befores), strict=True):
                new = step.inverse(before, new, storage.reapply_views)
            storage.value = _laid_out(new, storage.strides)
        else:
            storage.value = value
    storage.generation += 1
    if made.chain:  # made again from what it wrote to, at once, as PyTorch does
        value = value_of(x)
    made.value, made.generation = value, storage.generation


def _write_by_geometry(storage: Storage, x: Any, value: Any) -> None:
    sizes, strides, offset = tuple(x.shape), x.stride(), x.storage_offset()
    same_dtype = x.dtype == storage.value.dtype
    if same_dtype and (sizes, strides, offset) == (storage.sizes, storage.strides, storage.offset):
        storage.value = value
        return
    if not same_dtype or not _covers(storage, x):
        storage.flatten()
        _C._set_functional(x, Made(storage, None))
    old = storage.value
    if same_dtype:
        # The copy that is written to has no offset, whatever the value has.
        storage.value = aten.as_strided_scatter(_at_start(old), value, sizes, strides, offset - storage.offset)
    else:
        seen = aten.as_strided_scatter(_at_start(aten.view(old, x.dtype)), value, sizes, strides, offset)
        storage.value = aten.view(seen, old.dtype)


def _at_start(value: Any) -> Any:
    return value if value.storage_offset() == 0 else aten.clone(value)


def _laid_out(value: Any, strides: Any) -> Any:
    """``value`` such that every view that these strides allow is a view of it, too: with them, or row-major."""
    if value.stride() == tuple(strides) or value.is_contiguous():
        return value
    return aten.clone(value, memory_format=_C.contiguous_format)


def _viewable(value: Any, x: Any) -> Any:
    return _laid_out(value, x.stride())


def _of_parts(sparse: Any, change: Callable[[Any], Any]) -> Any:
    """A sparse tensor with its dense parts changed."""
    kept = _C._sparse_parts(sparse)
    names = kept.__slots__
    parts = [getattr(kept, name) for name in names]
    made = type(kept)(
        **{n: change(p) if isinstance(p, _C.TensorBase) else p for n, p in zip(names, parts, strict=True)}
    )
    return _C._make_sparse(tuple(sparse.shape), sparse.dtype, sparse.layout, made, sparse.device)


def unwrap(value: Any, level: int) -> Any:
    """``value``, or what is in the list ``value``, with the functional tensors of the level as their values."""
    if isinstance(value, _C.TensorBase):
        if _C._sparse_parts(value) is not None:
            return _of_parts(value, lambda part: unwrap(part, level))
        return value_of(value) if level_of(value) == level else value
    if isinstance(value, (list, tuple)):
        return [unwrap(item, level) for item in value]
    return value


def wrap_all(value: Any, level: int) -> Any:
    """Tensors, alone or in lists and tuples, as functional tensors."""
    if isinstance(value, _C.TensorBase):
        return wrap(value, level)
    if isinstance(value, (list, tuple)):
        return [wrap_all(item, level) for item in value]
    return value
