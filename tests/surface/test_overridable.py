"""Functions written in Python that classes and modes may take over: what those are told, and that they are functions still."""

import copy
import gc
import importlib
import inspect
import pickle
import types
import weakref

import pytest
from recording import answer

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

F = torch.nn.functional

SPACES = ("nn.functional", "functional")
# PyTorch's functions leave an argument out (which the class then cannot see), or name one that stands in order.
OTHERWISE = {"nn.functional.l1_loss", "functional.chain_matmul", "functional.unravel_index"}


class Asked:
    """Take every call over and say what it was told."""

    @classmethod
    def __torch_function__(cls, func, kinds, args=(), kwargs=None):
        return func, args, kwargs or {}


def _shown(value):
    if isinstance(value, Asked):
        return "asked"
    return [_shown(each) for each in value] if isinstance(value, (tuple, list)) else repr(value)


def _told(function, count):
    func, args, kwargs = function(*(Asked() for _ in range(count)))
    return [func.__name__, _shown(args), {name: _shown(kwargs[name]) for name in sorted(kwargs)}]


def _told_by_pytorch(pytorch):
    stand_ins = importlib.import_module("torch.overrides").get_testing_overrides()
    told = {}
    for space in SPACES:
        module = importlib.import_module(f"torch.{space}")
        for name in dir(module):
            function = getattr(module, name)
            if (
                name.startswith("_")
                or name == "einsum"
                or not callable(function)
                or isinstance(function, type)
                or function not in stand_ins
            ):
                continue
            parameters = inspect.signature(stand_ins[function]).parameters.values()
            count = sum(p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD for p in parameters) or 2
            told[f"{space}.{name}"] = (count, _told(function, count))
    return told


def test_what_classes_are_told():
    told = answer(_told_by_pytorch)
    assert len(told) > 130
    for name, (count, expected) in told.items():
        if name not in OTHERWISE:
            space, _, short = name.rpartition(".")
            function = getattr(importlib.import_module(f"mindtorch_v2.{space}"), short)
            assert _told(function, count) == expected, name


@pytest.mark.parametrize("args", [("i,i", 2, 2), (2, [0], 2, [0])], ids=["text", "lists"])
def test_what_classes_are_told_of_einsum(args):
    def told(framework):
        asked = Asked()
        given = [asked if each == 2 else each for each in args]
        func, seen, named = framework.einsum(*given)
        return [func is framework.einsum, _shown(seen), named]

    assert told(torch) == answer(told)


@overridable
def scale(input, factor=2.0, *more, shift=0):
    """The input, scaled."""
    return "own", input, factor, more, shift


def test_a_call_that_nobody_takes_over():
    assert scale(1) == ("own", 1, 2.0, (), 0)
    assert scale(1, 3, 4, 5, shift=6) == ("own", 1, 3, (4, 5), 6)
    assert scale(input=1, factor=3) == ("own", 1, 3, (), 0)
    with pytest.raises(TypeError, match=r"scale\(\) missing 1 required positional argument: 'input'"):
        scale()


def test_arguments_wherever_they_stand_are_asked():
    asked = Asked()
    for args, kwargs in [((asked,), {}), ((1, asked), {}), ((), {"input": 1, "factor": asked}), (([1, asked],), {})]:
        func, told, named = scale(*args, **kwargs)
        assert func is scale
        assert len(told) == 1
        assert named.keys() == {"factor", "shift"}


def test_a_wrong_call_says_so_itself():
    with pytest.raises(TypeError, match=r"scale\(\) got an unexpected keyword argument 'no'"):
        scale(Asked(), no=1)
    with pytest.raises(TypeError, match=r"scale\(\) got multiple values for argument 'input'"):
        scale(Asked(), input=1)


def test_modes_see_calls():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, kinds, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(3)
    with Mode():
        F.softmax(x, 0)
        with torch._C.DisableTorchFunction():
            F.softmax(x, 0)
    assert seen[0] is F.softmax
    assert seen.count(F.softmax) == 1


def test_it_is_a_function_to_whoever_asks():
    assert isinstance(scale, types.FunctionType)
    assert inspect.isfunction(scale)
    assert inspect.isroutine(scale)
    assert (scale.__name__, scale.__qualname__, scale.__module__) == ("scale", "scale", __name__)
    assert str(inspect.signature(scale)) == "(input, factor=2.0, *more, shift=0)"
    assert inspect.getdoc(scale) == "The input, scaled."
    assert inspect.getsource(scale).startswith("@overridable\ndef scale(")
    assert repr(scale).startswith("<function scale at")
    assert scale.__code__.co_name == "scale"


def test_it_is_pickled_and_copied_by_name():
    assert pickle.loads(pickle.dumps(F.softmax)) is F.softmax
    assert copy.deepcopy(F.softmax) is F.softmax
    assert copy.copy(F.softmax) is F.softmax


def test_it_is_bound_in_a_class():
    class Scaler:
        scaled = scale
        plain = staticmethod(scale)

    scaler = Scaler()
    assert scaler.scaled(3)[:3] == ("own", scaler, 3)
    assert scaler.plain(3)[:3] == ("own", 3, 2.0)
    assert Scaler.scaled is scale


def test_attributes_are_those_of_the_function():
    def made():
        return 1

    function = overridable(made)
    function.note = "kept"
    assert made.note == "kept"
    del function.note
    assert not hasattr(function, "note")


def test_it_ends_with_its_last_reference():
    def alive():
        def made():
            return made  # a cycle through its cell

        made = overridable(made)
        return weakref.ref(made)

    made = alive()
    gc.collect()
    assert made() is None


def test_only_functions():
    with pytest.raises(TypeError, match="function"):
        overridable(len)


def test_levels_of_warnings_are_those_of_the_function():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax") as caught:
        F.softmax(torch.ones(2))
    assert caught[0].filename == __file__


def test_function_modes_see_calls_of_operators() -> None:
    seen = []

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Watching():
        torch.ops.aten.add(x, x)
        assert torch.ops.aten.mul.Tensor(x, x).tolist() == [1, 1]
    assert seen[:2] == [torch.ops.aten.add, torch.ops.aten.mul.Tensor]


class _Answer:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__


@pytest.mark.parametrize("name", ["miopen_rnn", "batch_norm_stats", "hsmm"])
def test_classes_are_asked_for_functions_that_are_not_here(name):
    assert getattr(torch, name)(_Answer()) == name
    assert getattr(torch, name) in torch.overrides.get_testing_overrides()
    with pytest.raises(NotImplementedError, match=f"torch.{name} is not implemented"):
        getattr(torch, name)(1)


@pytest.mark.parametrize("name", ["sym_int", "sym_float", "sym_not", "sym_sum", "_sym_sqrt", "_sym_cos", "nonzero"])
def test_classes_are_asked_for_functions_of_numbers(name):
    assert getattr(torch, name)(_Answer()) == name


def test_classes_are_asked_for_collectives():
    assert torch.distributed.all_reduce(_Answer()) == "all_reduce"
    assert torch.distributed.distributed_c10d.send(_Answer(), 1) == "send"
    assert torch.distributed.all_gather in torch.overrides.get_testing_overrides()


def test_functions_of_numbers():
    assert [torch._sym_sqrt(4), torch._sym_log2(8), torch._sym_atan(0)] == [2, 3, 0]


def test_old_methods():
    x = torch.arange(6.0)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        assert x.resize_as(torch.ones(3, 2)).shape == (3, 2)
    with (
        pytest.warns(UserWarning, match="non-inplace"),
        pytest.raises(
            RuntimeError, match=r"requested resize to 4 \(4 elements in total\), but the given tensor has a size of 6"
        ),
    ):
        x.resize(4)
    assert (x[1].__long__(), x[1].__nonzero__(), torch.Tensor.nonzero.__name__) == (1, True, "nonzero")
    with pytest.raises(RuntimeError, match="PyTorch is not linked with support for ipu devices"):
        x.ipu()
