"""objects.cpp: counted pointers, values and types as objects, nodes of the graph, and process groups in C++."""

import importlib

import pytest


@pytest.mark.parametrize("name", ["counted_pointers", "values", "types", "names", "keys", "warnings"])
def test_in_cpp(objects, name):
    getattr(objects.module, name)()


def test_a_node_of_a_class_of_its_own(objects):
    torch = objects.torch
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = objects.module.square(x)
    assert y.grad_fn.name() == "SquareBackward"
    (y * 2).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0, 12.0]
    assert not objects.module.square(x.detach()).requires_grad
    changed = torch.ones(2, requires_grad=True) * 1
    y = objects.module.square(changed)
    changed.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_errors_of_functions_of_the_c_interface(objects):
    checked = objects.module.checked
    assert checked(3) == 4
    for value, kind, text in (
        (-1, IndexError, "negative: -1"),
        (10, TypeError, "of 2 digits"),
        ("x", TypeError, "str"),
    ):
        with pytest.raises(kind, match=text):
            checked(value)


def test_groups_and_stores_of_python(objects):
    dist = importlib.import_module(f"{objects.torch.__name__}.distributed")
    store = dist.HashStore()
    assert objects.module.stored(store) == "2 255"
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        assert objects.module.collectives(dist.group.WORLD) == 12
    finally:
        dist.destroy_process_group()
