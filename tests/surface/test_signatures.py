"""Signatures of public functions and constructors against PyTorch's: parameters, kinds and plain defaults."""

import importlib
import inspect

import pytest
from recording import answer

import mindtorch_v2 as torch

SPACES = ("", "functional", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "utils.data")
# PyTorch's are made by a decorator or written in C, and say `*args, **kwargs`: here the parameters are named.
NAMED_HERE = {"(*args, **kwargs)", "(self, /, *args, **kwargs)"}
# Parameters that come with what they are for, which is not there.
OTHERWISE = {"compile", "no_grad", "sym_sum", "UntypedStorage"}


def _default(value):
    if value is inspect.Parameter.empty:
        return ""
    plain = isinstance(value, (int, float, str, tuple, list, type(None)))
    return f"={value!r}" if plain else "=function" if inspect.isfunction(value) else f"={type(value).__name__}"


def _signature(value):
    signature = inspect.signature(value.__init__ if isinstance(value, type) else value)
    plain = [p.replace(annotation=p.empty, default=p.empty, name=p.name) for p in signature.parameters.values()]
    defaults = "".join(_default(p.default) and f" {p.name}{_default(p.default)}" for p in signature.parameters.values())
    return f"{inspect.Signature(plain, __validate_parameters__=False)}{defaults}"


def _signatures(framework, space):
    module = importlib.import_module(f"{framework.__name__}.{space}".rstrip("."))
    found = {}
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or not callable(value) or not (value.__module__ or "").startswith(framework.__name__):
            continue
        try:
            found[name] = _signature(value)
        except (TypeError, ValueError):  # a builtin that does not say
            continue
    return found


@pytest.mark.parametrize("space", SPACES)
def test_signatures(space):
    ours, theirs = _signatures(torch, space), answer(lambda pytorch: _signatures(pytorch, space))
    common = [name for name in theirs if name in ours and theirs[name] not in NAMED_HERE and name not in OTHERWISE]
    assert len(common) >= 10
    assert {name: ours[name] for name in common} == {name: theirs[name] for name in common}
