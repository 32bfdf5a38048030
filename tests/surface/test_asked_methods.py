"""Which methods and attributes of tensors a class with a `__torch_function__` is asked for: all that PyTorch asks for."""

import warnings

import pytest
from recording import answer

import mindtorch_v2 as torch

# Not there, or there to raise.
ABSENT = {
    "__long__", "__nonzero__", "_cdata", "grad_dtype", "_reduce_ex_internal",
    "const_data_ptr", "index", "mtia",
}  # fmt: skip
# Asked for by another name: operators in their reflected forms by that of the operator, methods by that of their part.
BY_ANOTHER_NAME = {
    "__eq__", "__invert__", "__rand__", "__rdiv__", "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__ror__", "__rpow__",
    "__rrshift__", "__rtruediv__", "__rxor__", "narrow", "narrow_copy", "new", "set_",
}  # fmt: skip
UNCALLED = {
    "__class__", "__init_subclass__", "__subclasshook__", "__new__", "__torch_function__", "__dict__", "__weakref__", "__del__",
    "__getattribute__", "__setattr__", "__delattr__", "__dir__", "__init__", "__sizeof__", "__getstate__", "__module__", "__doc__",
}  # fmt: skip


def _asked(torch):
    """The name of the first function that the class is asked for, for each name of Tensor that is asked for at all."""
    heard = []

    class Listening(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func.__name__)
            return 7

    found = {}
    for name in sorted(set(dir(torch.Tensor)) - UNCALLED):
        x = torch.ones(2, 2).as_subclass(Listening)
        heard.clear()
        try:
            method = getattr(x, name)
        except Exception:  # noqa: BLE001  (no attribute of an ordinary tensor)
            continue
        for args in ((), (0,), (x,), (0, 1), (x, x), (0, x)):
            if heard or not callable(method):
                break
            try:
                method(*args)
            except Exception:  # noqa: BLE001  (7 is no answer for most)
                continue
        if heard:
            found[name] = heard[0]
    return found


def test_a_class_is_asked_as_in_pytorch():
    with warnings.catch_warnings(action="ignore"):
        expected, found = answer(_asked), _asked(torch)
    assert len(expected) > 650
    differing = {name for name, asked in expected.items() if found.get(name) != asked}
    assert differing == (ABSENT | BY_ANOTHER_NAME | {"__cuda_array_interface__"})


class _Seen(torch.overrides.TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_are_asked_too():
    x = torch.tensor([2])
    with _Seen() as seen:
        assert (x.size(0), x.dim(), len(x), x.item(), bool(x), int(x), [0, 1, 5][x], x.tolist()) == (
            1,
            1,
            1,
            2,
            True,
            2,
            5,
            [2],
        )
        assert x.is_contiguous(memory_format=torch.contiguous_format) and x.numel() == x.nelement() == 1
    wanted = "size dim __len__ item __bool__ __int__ __index__ tolist is_contiguous numel numel".split()
    assert [name for name in seen.names if name in wanted] == wanted


def test_methods_without_arguments_refuse_some():
    for call in (lambda: torch.ones(1).dim(1), lambda: torch.ones(1).item(other=2)):
        try:
            call()
        except TypeError as error:
            assert "takes no arguments (1 given)" in str(error)
        else:
            raise AssertionError("no error")


def test_asking_is_allowed_again():
    class Kept(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Kept)
    with torch._C.DisableTorchFunction():
        assert torch._C._is_torch_function_all_disabled() and type(x.sum()) is torch.Tensor
        with torch.overrides._enable_torch_function():
            assert not torch._C._is_torch_function_all_disabled() and type(x.sum()) is Kept
        assert torch._C._is_torch_function_all_disabled()
    assert not torch._C._is_torch_function_all_disabled()


class _Plain:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self, func.__name__


class _Quiet:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return args, sorted(kwargs)


def test_a_plain_method_is_warned_of_and_called_on_the_object():
    a = _Plain()
    with pytest.warns(DeprecationWarning, match="as a plain method is deprecated"):
        assert torch.nn.functional.dropout(a) == (a, "dropout")
    with pytest.warns(UserWarning, match="as a plain method is deprecated"):
        assert torch.abs(a) == (a, "abs")


def test_gradients_of_objects_are_asked_for_in_tuples():
    x, y = _Quiet(), _Quiet()
    args, names = torch.autograd.grad(y, x)
    assert args == ((y,), (x,)) and "grad_outputs" in names and "materialize_grads" in names


def test_modes_with_a_class_method_are_refused():
    class Wrong(torch.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), Wrong():
        torch.ones(1) + 1
    with pytest.raises(TypeError, match="expected a sequence"):
        torch.overrides.has_torch_function(object())
