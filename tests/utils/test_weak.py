"""Weak references to tensors, and dictionaries keyed by their identity."""

import gc

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_entries_go_with_their_keys():
    table = WeakTensorKeyDictionary()
    a, b = torch.ones(2), torch.ones(2)
    table[a], table[b] = 1, 2
    assert table[a] == 1
    assert table[b] == 2
    assert len(table) == 2
    assert a in table
    assert torch.ones(2) not in table
    del a
    gc.collect()
    assert list(table.values()) == [2]
    assert [key is b for key in table] == [True]


def test_copies_and_unions():
    a, b = torch.ones(1), torch.ones(1)
    first = WeakTensorKeyDictionary({})
    first[a] = [1]
    second = first.copy()
    second[b] = [2]
    assert len(first) == 1
    assert len(first | second) == 2
    assert first[a] is second[a]
    assert second.pop(b) == [2]


def test_update_reads_first():
    """Entries that cannot be read to their end change nothing."""
    a, b = torch.ones(1), torch.ones(1)
    notes = WeakIdKeyDictionary({a: 1})
    notes.update([(b, 2)])
    assert notes[b] == 2

    def pairs():
        yield a, 3
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        notes.update(pairs())
    assert notes[a] == 1


def test_references():
    a = torch.ones(1)
    assert WeakIdRef(a) == WeakIdRef(a)
    assert WeakIdRef(a) != WeakIdRef(torch.ones(1))
    assert len({WeakIdRef(a), WeakIdRef(a)}) == 1
    reference = TensorWeakRef(a)
    assert reference() is a
    del a
    gc.collect()
    assert reference() is None
