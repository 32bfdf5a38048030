"""Weak references to tensors by identity, and dictionaries keyed by them.

Tensors compare element by element, so they cannot be keys of Python's own weak dictionaries.
"""

import weakref
from collections.abc import MutableMapping
from copy import deepcopy
from weakref import ref

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(ref):
    """A weak reference that hashes and compares by its object's identity."""

    __slots__ = ["_id"]

    def __new__(cls, key, callback=None):
        self = ref.__new__(cls, key, callback)
        self._id = id(key)
        return self

    def __init__(self, key, callback=None):
        super().__init__(key, callback)

    def __hash__(self):
        return self._id

    def __eq__(self, other) -> bool:
        mine, theirs = self(), other()
        # Dead references are equal only to themselves: ids are given out again.
        if mine is not None and theirs is not None:
            return mine is theirs
        return self is other

    def __ne__(self, other) -> bool:
        # Without this, that of `ref` would compare the tensors.
        return not self == other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary whose keys are compared by identity and whose entries go when their keys do."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(key, own=own) -> None:
            owner = own()
            if owner is not None:
                owner.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __delitem__(self, key) -> None:
        del self.data[self.ref_type(key)]

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __contains__(self, key) -> bool:
        try:
            wrapped = self.ref_type(key)
        except TypeError:
            return False
        return wrapped in self.data

    def __len__(self) -> int:
        return sum(1 for reference in list(self.data) if reference() is not None)

    def __iter__(self):
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list:
        """The weak references themselves."""
        return list(self.data)

    def copy(self):
        """A dictionary of the same kind with the same entries."""
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = value
        return new

    __copy__ = copy

    def __deepcopy__(self, memo):
        new = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def __or__(self, other):
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other):
        new = type(self)(other, ref_type=self.ref_type)
        new.update(self)
        return new

    def __ior__(self, other):
        self.update(other)
        return self

    def __eq__(self, other):
        if not isinstance(other, MutableMapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor; calling it gives the tensor, or None when it is gone."""

    def __init__(self, tensor) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
