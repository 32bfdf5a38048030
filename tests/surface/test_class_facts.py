"""Facts that classes state, and defaults that functions have: as in PyTorch, for whole modules at once."""

import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest
from recording import answer

import mindtorch_v2

PLAIN = (bool, int, float, str, tuple, type(None))
MODULES = [
    "distributions", "distributions.transforms", "distributions.constraints", "nn", "optim", "optim.lr_scheduler",
    "optim.swa_utils", "autograd", "autograd.function", "autograd.graph", "utils.data", "nn.utils.rnn",
]  # fmt: skip
FUNCTIONS = [
    *(f"optim.{name}" for name in "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd".split()),
    "nn.functional", "nn.init", "nn.utils", "autograd", "autograd.functional", "func", "utils.checkpoint", "distributions.kl",
    "optim.swa_utils", "serialization",
]  # fmt: skip


def _module(torch: ModuleType, name: str) -> Any:
    return importlib.import_module(f"{torch.__name__}.{name}")


def _is_here(module: ModuleType, name: str) -> bool:
    """Whether a module has a name, and not for the name alone: those are counted elsewhere."""
    return hasattr(module, name) and not hasattr(getattr(module, name), "__unavailable__")


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, PLAIN) else str(value)


def _facts(cls: type) -> dict[str, str]:
    facts = {}
    for name, value in vars(cls).items():
        if name.startswith("_") and name != "_validate_args":
            continue
        if isinstance(value, PLAIN) or type(value).__module__.endswith("constraints"):
            facts[name] = _shown(value)
    return facts


def _classes(torch: ModuleType, name: str) -> dict[str, dict[str, str]]:
    module = _module(torch, name)
    public = getattr(module, "__all__", [each for each in vars(module) if not each.startswith("_")])
    found = {each: getattr(module, each) for each in public if inspect.isclass(getattr(module, each, None))}
    return {each: _facts(cls) for each, cls in sorted(found.items())}


def _defaults(function: Any) -> dict[str, str] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):  # made in C++, without a signature
        return None
    return {
        each.name: repr(each.default)
        for each in parameters
        if each.default is not each.empty and isinstance(each.default, PLAIN)
    }


def _functions(torch: ModuleType, name: str) -> dict[str, dict[str, str] | None]:
    module = _module(torch, name)
    public = getattr(module, "__all__", [each for each in vars(module) if not each.startswith("_")])
    found = {each: getattr(module, each) for each in public if inspect.isfunction(getattr(module, each, None))}
    return {each: _defaults(function) for each, function in sorted(found.items())}


@pytest.mark.parametrize("name", MODULES)
def test_classes(name: str) -> None:
    module = _module(mindtorch_v2, name)
    theirs = answer(lambda torch: _classes(torch, name))
    shared = {each: facts for each, facts in theirs.items() if _is_here(module, each)}
    assert len(shared) > len(theirs) / 2
    ours = {
        each: {fact: _shown(getattr(getattr(module, each), fact, "nothing")) for fact in shared[each]}
        for each in shared
    }
    assert ours == shared


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    module = _module(mindtorch_v2, name)
    theirs = answer(lambda torch: _functions(torch, name))
    shared = {each: told for each, told in theirs.items() if _is_here(module, each) and told is not None}
    assert len(shared) > len(theirs) / 2
    ours = {each: _defaults(getattr(module, each)) for each in shared}
    assert {each: {key: (ours[each] or {}).get(key) for key in told} for each, told in shared.items()} == shared
