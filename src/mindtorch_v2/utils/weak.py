"""Weak references to tensors by identity, and dictionaries keyed by them.

Tensors compare element by element, so they cannot be keys of Python's own weak dictionaries.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

if TYPE_CHECKING:
    from .._tensor import Tensor


__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(ref):
    """A weak reference that hashes and compares by its object's identity.

    >>> from mindtorch_v2.utils.weak import WeakIdRef
    >>> x, y = torch.ones(1), torch.ones(1)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(y), WeakIdRef(x)() is x
    (True, False, True)
    """

    __slots__ = ["_id"]
    _id: int

    def __new__(cls, key: Any, callback: Callable[..., Any] | None = None) -> Self:
        self: Any = ref.__new__(cls, key, callback)
        self._id = id(key)
        return self

    def __init__(self, key: Any, callback: Callable[..., Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # (a reference is made with both)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: Any) -> bool:
        mine, theirs = self(), other()
        # Dead references are equal only to themselves: ids are given out again.
        if mine is not None and theirs is not None:
            return mine is theirs
        return self is other

    def __ne__(self, other: Any) -> bool:
        # Without this, that of `ref` would compare the tensors.
        return not self == other


class _WeakHashRef(ref):
    """A weak reference that hashes and compares by its object's hash, which has to tell objects apart."""

    __slots__ = ["_hash"]
    _hash: int

    def __init__(self, key: Any, callback: Callable[..., Any] | None = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # (a reference is made with both)
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        mine, theirs = self(), other()
        if mine is not None and theirs is not None:
            return hash(mine) == hash(theirs)
        return self is other

    def __ne__(self, other: Any) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose keys are compared by identity and whose entries go when their keys do.

    >>> from mindtorch_v2.utils.weak import WeakIdKeyDictionary
    >>> x = torch.ones(1)
    >>> notes = WeakIdKeyDictionary({x: "the first"})
    >>> notes[x], len(notes)
    ('the first', 1)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: dict[Any, Any] = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(key: Any, own: ref[Any] = own) -> None:
            owner = own()
            if owner is not None:
                owner.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __contains__(self, key: Any) -> bool:
        try:
            wrapped = self.ref_type(key)
        except TypeError:
            return False
        return wrapped in self.data

    def __len__(self) -> int:
        return sum(1 for reference in list(self.data) if reference() is not None)

    def __iter__(self) -> Iterator[Tensor]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list:
        """The weak references themselves."""
        return list(self.data)

    def update(self, other: Any = (), /, **named: Any) -> None:
        """Take over the entries of a mapping or of pairs, which are read to their end first; an error in them changes nothing."""
        for key, value in dict(other if other is not None else (), **named).items():
            self[key] = value

    def copy(self) -> WeakIdKeyDictionary:
        """A dictionary of the same kind with the same entries."""
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = value
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other: Any) -> Any:
        new = type(self)(other, ref_type=self.ref_type)
        new.update(self)
        return new

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]  # (it compares by value and changes)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None when it is gone.

    >>> from mindtorch_v2.utils.weak import TensorWeakRef
    >>> x = torch.ones(1)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    >>> del x
    >>> print(reference())
    None
    """

    def __init__(self, tensor: Tensor) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
