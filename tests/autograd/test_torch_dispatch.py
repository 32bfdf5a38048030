"""`__torch_dispatch__`: modes, subclasses that wrap other tensors, and what they see."""

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)


class Log(TorchDispatchMode):
    """Keep the name of each operator."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func._schema.name if hasattr(func._schema, "name") else func.name().split(".")[0])
        return func(*args, **(kwargs or {}))


class Wrapped(torch.Tensor):
    """Another tensor, with every operator counted."""

    calls: list[str] = []

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )

    def __init__(self, inner, requires_grad=False):
        self.inner = inner

    def __repr__(self):
        return f"Wrapped({self.inner})"

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Wrapped(inner["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func))

        def plain(value):
            if isinstance(value, (list, tuple)):
                return type(value)(map(plain, value))
            return value.inner if isinstance(value, Wrapped) else value

        out = func(*map(plain, args), **{key: plain(value) for key, value in (kwargs or {}).items()})
        out = Wrapped(out) if isinstance(out, torch.Tensor) else out
        return return_and_correct_aliasing(func, args, kwargs or {}, out)


def test_mode_sees_what_runs_below_autograd() -> None:
    x = torch.ones(3, requires_grad=True)
    with Log() as log:
        y = (x * x).sum()
    assert log.seen == ["aten::mul", "aten::sum"]
    with log:
        y.backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert log.seen.count("aten::mul") == 3
    assert _get_current_dispatch_mode() is None


def test_mode_sees_new_tensors_and_writes() -> None:
    with Log() as log:
        z = torch.zeros(2)
        z.add_(torch.ones(2))
        z[0].item()
    assert log.seen == ["aten::zeros", "aten::ones", "aten::add_", "aten::select", "aten::_local_scalar_dense"]
    assert z.tolist() == [1, 1]


def test_modes_nest() -> None:
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((self.name, _get_current_dispatch_mode() is not None))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Named("outer"), Named("inner"):
        x.exp()
    assert order == [("inner", True), ("outer", False)]


def test_mode_changes_results() -> None:
    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {})) * 0

    with Zeros():
        assert torch.ones(2).exp().tolist() == [0, 0]


def test_mode_that_declines() -> None:
    class Declines(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Declines(), pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        torch.ones(2)


def test_errors_in_a_mode_come_out() -> None:
    class Fails(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("mine")

    x = torch.ones(2)
    with Fails(), pytest.raises(ValueError, match="mine"):
        x.exp()
    assert x.exp().shape == (2,)


def test_wrapper_says_of_itself_what_it_was_told() -> None:
    t = Wrapped(torch.arange(6.0).reshape(2, 3).t())
    assert type(t) is Wrapped
    assert t.shape == (3, 2)
    assert t.stride() == (1, 3)
    assert t.dtype is torch.float32
    assert t.data_ptr() == 0
    assert is_traceable_wrapper_subclass(t)
    assert transform_subclass(t, lambda name, inner: inner * 2).inner.tolist() == (t.inner * 2).tolist()
    with pytest.raises(RuntimeError):
        t.numpy()


def test_wrapper_answers_operators() -> None:
    Wrapped.calls.clear()
    t = Wrapped(torch.arange(3.0))
    made = torch.sin(t * t) + t
    assert type(made) is Wrapped
    assert torch.allclose(made.inner, torch.sin(t.inner * t.inner) + t.inner)
    assert Wrapped.calls == ["aten.mul.Tensor", "aten.sin.default", "aten.add.Tensor"]
    assert type(torch.cat([t, t])) is Wrapped
    assert torch.cat([t, t]).inner.tolist() == [0, 1, 2, 0, 1, 2]


def test_wrapper_has_gradients() -> None:
    t = Wrapped(torch.arange(3.0), requires_grad=True)
    (t * t).sum().backward()
    assert type(t.grad) is Wrapped
    assert t.grad.inner.tolist() == [0, 2, 4]


def test_wrapper_written_in_place_is_itself() -> None:
    t = Wrapped(torch.zeros(3))
    assert t.add_(torch.ones(3)) is t
    assert t.inner.tolist() == [1, 1, 1]
    assert t._version == 1
    view = t.view(3, 1)
    assert view._base is t
    assert view.inner.shape == (3, 1)


def test_subclass_with_data() -> None:
    seen = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            with torch._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    s = torch.Tensor._make_subclass(Sub, torch.ones(2))
    assert (s + torch.ones(2)).tolist() == [2, 2]
    assert seen == [("aten.add.Tensor", (Sub,))]


def test_class_without_handler() -> None:
    class Plain(torch.Tensor):
        pass

    with pytest.raises((RuntimeError, TypeError), match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


def test_operators_reach_the_data_without_handler() -> None:
    """A wrapper has no data; a kernel that is reached all the same must not crash."""
    if reference.is_reference():
        pytest.skip("PyTorch crashes")
    t = Wrapped(torch.ones(4))
    with torch._C._DisableTorchDispatch():
        try:
            torch.add(t, t)
        except RuntimeError as error:
            assert str(error)


ORDERS = [("AB", "BA"), ("BA", "BA"), ("ACB", "BAC"), ("CAB", "CBA"), ("AAB", "BA")]


@pytest.mark.parametrize("method", ["__torch_function__", "__torch_dispatch__"])
@pytest.mark.parametrize(("given", "order"), ORDERS)
def test_subclasses_are_asked_before_what_they_derive_from(method: str, given: str, order: str) -> None:
    """Else as they stand in the call. The orders are PyTorch 2.13's, for both protocols."""
    asked = []

    def decline(cls, func, types, args=(), kwargs=None):
        assert "".join(kind.__name__ for kind in types) == order
        asked.append(cls.__name__)
        return NotImplemented

    own = {"__torch_function__": torch._C._disabled_torch_function_impl, method: classmethod(decline)}
    kinds = {"A": type("A", (torch.Tensor,), own), "C": type("C", (torch.Tensor,), own)}
    kinds["B"] = type("B", (kinds["A"],), {})
    if method == "__torch_function__":
        values = [torch.ones(1).as_subclass(kinds[name]) for name in given]
    else:
        values = [torch.Tensor._make_wrapper_subclass(kinds[name], (1,)) for name in given]
    with pytest.raises(TypeError):
        torch.cat(values)
    assert "".join(asked) == order


class Overloads(TorchDispatchMode):
    """Keep each operator, with its other arguments than tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((str(func), *(each for each in args if not isinstance(each, torch.Tensor)), kwargs or {}))
        return func(*args, **(kwargs or {}))


def test_overloads_that_are_seen_for_numbers() -> None:
    """PyTorch's Python functions call these operators' forms for tensors, with the number; the list is PyTorch 2.13's."""
    x = torch.full((2,), 8.0)
    with Overloads() as mode:
        results = [x + 1, torch.add(x, 1, alpha=2), x - 2, x * 3, x / 4, x // 3, torch.div(x, 3, rounding_mode="trunc")]
        x += 1
        x *= 2
        x //= 1
        results += [x % 5, x == 18, 1 - x]
    assert mode.seen == [
        ("aten.add.Tensor", 1, {}),
        ("aten.add.Tensor", 1, {"alpha": 2}),
        ("aten.sub.Tensor", 2, {}),
        ("aten.mul.Tensor", 3, {}),
        ("aten.div.Tensor", 4, {}),
        ("aten.floor_divide.default", 3, {}),
        ("aten.div.Tensor_mode", 3, {"rounding_mode": "trunc"}),
        ("aten.add_.Tensor", 1, {}),
        ("aten.mul_.Tensor", 2, {}),
        ("aten.floor_divide_.Tensor", 1, {}),
        ("aten.remainder.Scalar", 5, {}),
        ("aten.eq.Scalar", 18, {}),
        ("aten.rsub.Scalar", 1, {}),
    ]
    assert [each[0].item() for each in results] == [9, 10, 6, 24, 2, 2, 2, 3, True, -17]
    # The number does not widen the tensor.
    with Overloads():
        assert (torch.ones(2, dtype=torch.float16) * 2.5).dtype is torch.float16
        assert (torch.ones(2, dtype=torch.int64) * 2).dtype is torch.int64
