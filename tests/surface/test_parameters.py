"""Parameters of public functions and classes: names, kinds and defaults as in PyTorch 2.13."""

import functools
import importlib
import inspect
from types import ModuleType
from typing import Any

import pytest
from recording import answer

import mindtorch_v2

MODULES = (
    "nn.modules",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "nn.utils.prune",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
    "nn.parameter",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    *(
        f"optim.{name}"
        for name in (
            "adadelta",
            "adagrad",
            "adam",
            "adamax",
            "adamw",
            "asgd",
            "nadam",
            "radam",
            "rmsprop",
            "rprop",
            "sgd",
        )
    ),
    "distributions",
    "distributions.constraints",
    "distributions.transforms",
    "func",
    "autograd",
    "autograd.functional",
    "autograd.forward_ad",
    "autograd.graph",
    "autograd.gradcheck",
    "serialization",
    "amp",
    "utils.data",
    "utils.checkpoint",
    "functional",
    "signal.windows",
)


def _parameters(function: Any) -> dict[str, tuple[str, str]] | None:
    """Kind and default by name; None where Python cannot tell."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return {
        name: (each.kind.name, "" if each.default is each.empty else _shown(each.default))
        for name, each in signature.parameters.items()
    }


def _shown(default: Any) -> str:
    if callable(default) or type(default) is object:
        return "a function" if callable(default) else "an object"
    if isinstance(default, ModuleType):
        return f"<module {default.__name__!r}>"
    return repr(default).replace("mindtorch_v2.", "torch.").replace("torch.Size([])", "()")


def signatures(torch: ModuleType, module: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Parameters by name of each public function, class and method that the module's `__all__` or itself names."""
    home = importlib.import_module(f"{torch.__name__}.{module}")
    found = {}
    for name in sorted(getattr(home, "__all__", None) or vars(home)):
        value = getattr(home, name, None)
        if name.startswith("_") or not callable(value):
            continue
        found[name] = _parameters(value)
        listed = isinstance(value, type) and hasattr(home, "__all__")  # else it may be an import
        for method in sorted(vars(value)) if listed else ():
            if inspect.isfunction(vars(value)[method]) and not method.startswith("_"):
                found[f"{name}.{method}"] = _parameters(vars(value)[method])
    return {name: each for name, each in found.items() if each is not None}


def _takes_anything(parameters: dict[str, tuple[str, str]]) -> bool:
    """Wrappers of `*args, **kwargs` tell nothing."""
    return {"VAR_POSITIONAL", "VAR_KEYWORD"} <= {kind for kind, _ in parameters.values()}


# Where we differ, and why.
OTHERS = {
    "Distribution": "shapes default to none",
    "ExponentialFamily": "shapes default to none",
    "Wishart.rsample": "no correction of samples",
    "enable_grad": "a name of the function that is decorated",
    "no_grad": "a name of the function that is decorated",
    "random_split": "the default generator is looked up at the call",
}


@functools.cache
def ours(module: str) -> dict[str, dict[str, tuple[str, str]]]:
    return signatures(mindtorch_v2, module)


@pytest.mark.parametrize("module", MODULES)
def test_parameters_are_pytorchs(module: str) -> None:
    theirs, wrong = answer(lambda torch: signatures(torch, module)), []
    for name in sorted(set(theirs) & set(ours(module))):
        one, other = ours(module)[name], theirs[name]
        if one != other and not _takes_anything(one) and not _takes_anything(other) and name not in OTHERS:
            wrong.append(f"{name}: {sorted(set(one.items()) ^ set(other.items()))}")
    assert wrong == []
