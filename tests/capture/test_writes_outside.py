"""Writes of a captured program to what was there before: they are made at each call, in the order that the program gives."""

import collections

import pytest

import mindtorch_v2 as torch


def counting():
    count = 0

    def program(x):
        nonlocal count
        count += 1
        return x + count

    return program, lambda: count


COUNT = 0


def count_up(x):
    global COUNT
    COUNT += 2
    return x * COUNT


def compiled(program):
    return torch.compile(program, backend="eager", fullgraph=True)


def outcome(change, make, run):
    """The results of two calls of a program that changes a container, and the container after each."""
    held = make()

    def program(x):
        return change(held, x)

    found = []
    call = run(program)
    for _ in range(2):
        found += [str(call(torch.ones(2))), str(held), type(held)]
    return found


CHANGES = {
    "append": (list, lambda held, x: (held.append(x * 2), x + len(held))[1]),
    "extend, insert, pop": (lambda: [1, 2], lambda h, x: (h.extend([x, 3]), h.insert(0, 5), x + h.pop() + len(h))[2]),
    "slice": (lambda: [1, 2, 3], lambda h, x: (h.__setitem__(slice(0, 2), [x.sum()]), x * len(h))[1]),
    "reverse": (lambda: [1, 2, 3], lambda h, x: (h.reverse(), x + h[0])[1]),
    "set": (lambda: {1}, lambda h, x: (h.add(2), h.discard(1), x + len(h) + (2 in h))[2]),
    "dict": (lambda: {"a": 1}, lambda h, x: (h.update(b=x), h.setdefault("c", 4), x + h.pop("c") + len(h))[2]),
    "dict in order": (lambda: {"a": 1}, lambda h, x: (h.pop("a"), h.setdefault("z", 2), h.setdefault("a", 7), x)[3]),
    "defaultdict": (lambda: collections.defaultdict(int), lambda h, x: x + h["n"] + len(h)),
    "deque": (lambda: collections.deque([1, 2], 2), lambda h, x: (h.append(9), x + h[0] + sum(h))[1]),
    "OrderedDict": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda h, x: (h.move_to_end("a"), x + next(iter(h.values())))[1],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_container_outside_is_changed_as_in_eager(name):
    make, change = CHANGES[name]
    assert outcome(change, make, compiled) == outcome(change, make, lambda program: program)


def test_two_containers_exchange_their_items():
    first, second = [torch.ones(1), torch.zeros(1)], [torch.full((1,), 5.0)]

    def program(x):
        second.append(first.pop(0))
        first.append(second.pop(0))
        return x

    compiled(program)(torch.ones(1))
    assert [t.item() for t in first] == [0.0, 5.0]
    assert [t.item() for t in second] == [1.0]


def test_the_container_itself_comes_back():
    held = [1]

    def program(x):
        held.append(2)
        return held, x

    assert compiled(program)(torch.ones(1))[0] is held
    assert held == [1, 2]


def test_an_item_is_deleted():
    held = {"a": 1, "b": 2}

    def program(x):
        del held["a"]
        return x + len(held) + ("a" in held)

    assert compiled(program)(torch.zeros(1)).item() == 1
    assert held == {"b": 2}


def test_a_variable_of_a_function_that_was_left():
    program, count = counting()
    call = compiled(program)
    assert [call(torch.zeros(1)).item() for _ in range(3)] == [1, 2, 3]
    assert count() == 3


def test_a_global_variable():
    global COUNT
    COUNT = 0
    assert [compiled(count_up)(torch.ones(1)).item() for _ in range(2)] == [2, 4]
    assert COUNT == 4


def test_an_attribute_of_a_tensor():
    def program(x):
        y = x + 1
        y.label = "computed"
        x.seen = y * 2
        return y

    x = torch.ones(2)
    y = compiled(program)(x)
    assert y.label == "computed"
    assert torch.equal(x.seen, torch.full((2,), 4.0))


def test_a_program_that_puts_things_back_changes_nothing():
    linear = torch.nn.Linear(2, 2)
    weight = linear.weight

    def program(x):
        return torch.func.functional_call(linear, {"weight": torch.zeros(2, 2)}, (x,))

    assert torch.equal(compiled(program)(torch.ones(1, 2)), linear.bias[None])
    assert linear.weight is weight


READ_AS_A_WHOLE = {
    "its values": lambda held: sum(held.values()),
    "its items": lambda held: len([pair for pair in held.items()]),
    "its keys": lambda held: len(list(held)),
    "copied": lambda held: len({**held}),
    "an item with a default": lambda held: held.setdefault("a", 5),
    "an item taken": lambda held: held.pop("z", 7),
}


@pytest.mark.parametrize("read", READ_AS_A_WHOLE)
def test_an_item_that_was_written_before_the_dictionary_is_read_as_a_whole(read):
    """The write is still due where the program goes on with a copy of the dictionary."""
    held, plain = {"a": 1}, {"a": 1}

    def change(into, x):
        into["a"] = into["a"] + 1
        into["b"] = 3
        return x * READ_AS_A_WHOLE[read](into)

    run = compiled(lambda x: change(held, x))
    for _ in range(2):
        assert torch.equal(run(torch.ones(2)), change(plain, torch.ones(2)))
        assert held == plain


def test_a_list_that_changes_while_it_is_read():
    held, plain = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]

    def change(into, x):
        for value in into:
            x = x * 2 + value
            if len(into) < 5:
                into.insert(0, 7.0)
        for left, right in zip(into, (1, 2, 3)):
            x = x + left * right
            into.reverse()
        return x

    run = compiled(lambda x: change(held, x))
    assert torch.equal(run(torch.ones(2)), change(plain, torch.ones(2)))
    assert held == plain


@pytest.mark.parametrize(
    ("make", "change", "text"),
    [
        (lambda: {"a": 1}, lambda held: held.update(b=2), "dictionary changed size during iteration"),
        (lambda: {1}, lambda held: held.add(2), "Set changed size during iteration"),
        (lambda: collections.deque([1]), lambda held: held.append(2), "deque mutated during iteration"),
    ],
)
def test_other_containers_may_not_change_while_they_are_read(make, change, text):
    held = make()

    def program(x):
        for _ in held:
            change(held)
        return x

    with pytest.raises(RuntimeError, match=text):
        compiled(program)(torch.ones(1))
