"""Arguments whose own code misbehaves during the call: lists that change under it, subclasses that misstate their length."""

import pytest

import mindtorch_v2 as torch

ones = torch.ones


class Emptying:
    """A number; reading it empties a list, whose items are gone then."""

    def __init__(self, items, value=0):
        self.items, self.value = items, value

    def __index__(self):
        self.items.clear()
        return self.value

    def __float__(self):
        self.items.clear()
        return float(self.value)


class LongList(list):
    """Object that says that it has a million items."""

    def __len__(self):
        return 1_000_000


class Pair(tuple):
    """Object that says that it has two items."""

    __slots__ = ()

    def __len__(self):
        return 2


@pytest.mark.parametrize(
    "call",
    [
        lambda items: torch.cat(items, Emptying(items)),
        lambda items: torch.stack(items, Emptying(items)).flatten(),
        lambda items: torch.ops.aten.cat(items, Emptying(items)),
    ],
)
def test_a_list_of_tensors_emptied_by_another_argument(call):
    items = [ones(3), ones(3)]
    assert call(items).tolist() == [1.0] * 6
    assert items == []


def test_a_list_emptied_before_a_custom_operator_runs():
    with torch.library._scoped_library("hostile", "FRAGMENT") as library:
        library.define("first(Tensor[] tensors, Tensor?[] more, int at) -> Tensor")
        library.impl("first", lambda tensors, more, at: tensors[at] + more[0], "CompositeExplicitAutograd")
        items, more = [ones(3), ones(3)], [ones(3), None]
        at = Emptying(items)
        assert torch.ops.hostile.first(items, more, at).tolist() == [2.0] * 3
        at.items = more
        assert torch.ops.hostile.first([ones(3)], more, at).tolist() == [2.0] * 3
        assert items == more == []


def test_a_list_that_misstates_its_length():
    with pytest.raises((TypeError, RuntimeError)):
        ones(3).prod(LongList([1, 2]))
    with pytest.raises(TypeError):
        torch.add(ones(3), LongList([ones(3)]), LongList())
    with pytest.raises((ValueError, TypeError)):
        torch.tensor(LongList([1, 2]))
    with pytest.raises(TypeError):
        torch.sort(ones(3), out=Pair([ones(3)]))


def test_data_that_changes_while_a_tensor_is_made():
    data = [1] * 50

    class Shrinking:
        def __len__(self):
            return 1

        def __getitem__(self, at):
            data.clear()
            if at:
                raise IndexError
            return 1

    data.insert(0, Shrinking())
    with pytest.raises(ValueError, match="length|changed"):
        torch.tensor(data)


def test_names_without_a_text():
    for call in (torch.add, torch.ops.aten.add, torch.ones(3).add, torch.zeros, torch.tensor):
        with pytest.raises((TypeError, RuntimeError, UnicodeError)):
            call(ones(3), **{"\ud800": 1})


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch._C.Function("x", [1, 2]),
        lambda: torch._C.Function("x", []),
        lambda: torch._C._run_backward([ones(3)], b"", True, True),
        lambda: torch._C._run_backward((ones(3),), (), True, True),
        lambda: torch._C._key_bit(3),
        lambda: torch._C._native_kernel(None),
    ],
)
def test_internal_functions_refuse_what_they_cannot_read(call):
    with pytest.raises((TypeError, RuntimeError)):
        call()
