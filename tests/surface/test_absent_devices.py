"""The functions of absent devices' modules against those of PyTorch's build for CPUs."""

import importlib
import inspect

import pytest
from recording import answer

import mindtorch_v2 as torch
from mindtorch_v2._core.absent_devices import MODULES, TENSORS, functions

CASES = [f"{module}.{name}" for module in MODULES for name in functions(module)]
# PyTorch's function looks for an attribute that its build for CPUs has not: a sentence says so here.
STUMBLES = ("AttributeError", "KeyError")


def _parameters(function):
    return [[p.name, repr(p.default)] for p in inspect.signature(function).parameters.values()]


def _outcome(framework, function):
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    given = {"new_state": framework.zeros(1), "new_states": [framework.zeros(1)], "fraction": 0.5, "source": "x"}
    try:
        return repr(function(*(given.get(p.name, 0) for p in required)))
    except Exception as error:  # noqa: BLE001  (it is what is asked for)
        return [type(error).__name__, str(error)]


@pytest.mark.parametrize("case", CASES)
def test_function(case):
    module, _, name = case.rpartition(".")

    def ask(framework):
        function = getattr(importlib.import_module(f"{framework.__name__}.{module}"), name)
        return [_parameters(function), _outcome(framework, function)]

    (parameters, outcome), (theirs, expected) = ask(torch), answer(ask)
    assert parameters == theirs
    if isinstance(expected, list) and (expected[0] in STUMBLES or "dummy base class" in expected[1]):
        assert outcome[0] in ("AssertionError", "RuntimeError")
        assert outcome[1].endswith(" enabled")
    else:
        assert outcome == expected


@pytest.mark.parametrize(
    "name", ["memory_cached", "max_memory_cached", "reset_max_memory_allocated", "reset_max_memory_cached"]
)
def test_old_names_warn(name):
    def ask(framework):
        with pytest.warns(FutureWarning) as caught:
            try:
                found = repr(getattr(framework.cuda, name)())
            except Exception:  # noqa: BLE001  (PyTorch's stumbles)
                found = "raises"
        return [str(caught[0].message), caught[0].filename == __file__, found]

    assert ask(torch) == answer(ask)


@pytest.mark.parametrize("device", ["cuda", "xpu"])
def test_tensors(device):
    def ask(framework):
        try:
            return repr(framework.empty(1, device=device))
        except Exception as error:  # noqa: BLE001  (it is what is asked for)
            return [type(error).__name__, str(error)]

    assert ask(torch) == answer(ask)
    assert device in TENSORS


def test_functions_say_where_they_are_and_what_they_do():
    assert torch.cuda.memory_allocated.__module__ == "mindtorch_v2.cuda.memory"
    assert torch.cuda.memory_allocated.__doc__.splitlines() == [
        "0: there is no such device.",
        "",
        ">>> torch.cuda.memory.memory_allocated()",
        "0",
    ]
    assert torch.cuda.init.__doc__.splitlines() == [
        "Raises AssertionError: Torch not compiled with CUDA enabled",
        "",
        ">>> torch.cuda.init()",
        "Traceback (most recent call last):",
        "    ...",
        "AssertionError: Torch not compiled with CUDA enabled",
    ]


def test_results_are_not_shared():
    torch.cuda.memory_stats()["mine"] = 1
    assert not torch.cuda.memory_stats()


def test_contexts_of_no_device():
    with torch.cuda.device(-1), torch.cuda.device(None), torch.cuda.stream(None), torch.cuda.device_of(torch.ones(1)):
        pass
    for context in (torch.cuda.device(0), torch.cuda.stream(object())):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), context:
            pass
