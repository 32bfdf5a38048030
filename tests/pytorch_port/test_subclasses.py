"""Tensor subclasses and tensors with attributes: as_subclass, `__torch_function__`, pickling."""

import copy
import io
import pickle

import pytest
import reference

import mindtorch_v2 as torch


class First(torch.Tensor):
    def new_empty(self, shape):  # which copy.deepcopy asks for
        return torch.empty(shape).as_subclass(type(self))


class Second(torch.Tensor):
    pass


class Derived(First):
    pass


def test_as_subclass_is_a_recorded_view():
    x = torch.ones(3, requires_grad=True)
    y = x.as_subclass(First)
    assert type(y) is First
    assert y.requires_grad
    assert not y.is_leaf
    assert y.grad_fn.name() == "AliasBackward0"
    assert y._is_view()
    assert y.data_ptr() == x.data_ptr()
    (y * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert (x * 2).as_subclass(First).as_subclass(torch.Tensor).requires_grad
    assert x.as_subclass(torch.Tensor) is not x


def test_as_subclass_refuses_what_is_no_tensor_class():
    with pytest.raises(TypeError, match="Make sure your class inherits from Tensor"):
        torch.ones(2).as_subclass(int)


def test_results_take_the_most_derived_class():
    a, b = torch.ones(2).as_subclass(First), torch.ones(2).as_subclass(Second)
    c = torch.ones(2).as_subclass(Derived)
    assert type(a + c) is Derived
    assert type(torch.ones(2) + c) is Derived
    assert type(a.max(0).values) is First
    with pytest.raises(TypeError, match="no implementation found"):
        torch.add(a, b)


def test_a_class_that_is_not_asked():
    class Plain(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    assert torch.nn.Parameter.__torch_function__ is torch._C._disabled_torch_function_impl
    x = torch.ones(2).as_subclass(Plain)
    assert type(x) is Plain
    assert type(x + 1) is torch.Tensor


def test_a_mode_sees_what_the_default_implementation_runs():
    seen = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Watch():
        First.__torch_function__(torch.neg, (), (torch.ones(2),))
    assert seen == ["ones", "neg"]


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("kind", ["plain", "leaf", "parameter", "subclass"])
def test_attributes_are_pickled(kind, protocol):
    x = {
        "plain": lambda: torch.arange(3.0),
        "leaf": lambda: torch.arange(3.0).requires_grad_(),
        "parameter": lambda: torch.nn.Parameter(torch.arange(3.0)),
        "subclass": lambda: torch.arange(3.0).as_subclass(First),
    }[kind]()
    x.label, x.sizes = "name", [1, 2]
    copies = [pickle.loads(pickle.dumps(x, protocol)), copy.copy(x)]
    if kind != "parameter":  # a deep copy of a parameter is a new parameter, in PyTorch too
        copies.append(copy.deepcopy(x))
    for again in copies:
        assert type(again) is type(x)
        assert again.requires_grad == x.requires_grad
        assert again.tolist() == [0, 1, 2]
        assert (again.label, again.sizes) == ("name", [1, 2])


def test_the_class_itself_is_pickled():
    for kind in (torch.Tensor, torch.nn.Parameter, First):
        assert pickle.loads(pickle.dumps(kind)) is kind


def test_a_saved_file_names_the_class_as_pytorch_does():
    theirs = reference.pytorch()
    x = torch.arange(3.0)
    x.label = "name"
    file = io.BytesIO()
    torch.save({"x": x, "kind": torch.Tensor}, file)
    file.seek(0)
    loaded = theirs.load(file, weights_only=False)
    assert loaded["kind"] is theirs.Tensor
    assert loaded["x"].label == "name"


def test_operators_of_python_say_what_was_called():
    seen = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x, y = torch.ones(2).as_subclass(Told), torch.ones(2, dtype=torch.int64).as_subclass(Told)
    seen.clear()
    results = [x + 1, x - x, x @ x, torch.ones(2) * x, x // 2, y & 1, y | y, y << 1, 1 - x, -x]
    assert seen == "add sub matmul mul __floordiv__ __and__ __or__ __lshift__ __rsub__ neg".split()
    assert all(type(result) is Told for result in results)
    assert [(2.0**x).tolist(), (3 % x).tolist(), (2 / x).tolist(), (1 << y).tolist()] == [
        [2, 2],
        [0, 0],
        [2, 2],
        [2, 2],
    ]


def test_functions_in_python_say_what_was_called():
    seen = []

    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, len(args), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(1, 2, 4).as_subclass(Told)
    seen.clear()
    torch.nn.functional.softmax(x, dim=-1)
    assert seen[0] == ("softmax", 1, ["_stacklevel", "dim", "dtype"])
    seen.clear()
    assert type(torch.nn.functional.max_pool1d(x, 2)) is Told
    assert seen[0] == (
        "max_pool1d",
        2,
        ["ceil_mode", "dilation", "padding", "return_indices", "stride"],
    )
    seen.clear()
    torch.einsum("bij->bji", x)
    torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")
    torch.nn.functional.pad(x, (1, 1))
    names = [name for name, _, _ in seen]
    assert "einsum" in names
    assert "meshgrid" in names
    assert "pad" in names
