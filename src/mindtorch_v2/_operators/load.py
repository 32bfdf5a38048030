"""Run the files of rows, then give the operators their Python names."""

from __future__ import annotations

import copyreg
import functools
import gc
import importlib
import os
import sys
import types
from typing import Any

from .. import _C
from .._core.absent_operators import METHODS, absent_function
from .._core.overridable import overridable
from .._core.unavailable import unavailable_function
from .._tensor import Tensor
from . import composite as _composite
from . import inner as _inner
from . import native as _native
from . import properties as _properties
from .deprecated_forms import install as install_deprecated_forms
from .dunders import attach
from .methods import attach as attach_methods
from .table import ROWS, aten, bound, facts_of, late
from .table.names import BOUND

_PACKAGE = _C.__name__.partition(".")[0]


def _run_rows(*packages: types.ModuleType) -> None:
    """Import every file of rows, with the garbage collector off: thousands of objects are made, and none is dropped."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        for package in packages:
            for file in sorted(os.listdir(package.__path__[0])):
                if file.endswith(".py") and file != "__init__.py":
                    importlib.import_module(f"{package.__name__}.{file[:-3]}")
    finally:
        if collecting:
            gc.enable()


_run_rows(_native, _composite)
late.when_asked(functools.partial(_run_rows, _inner))

FUNCTIONS = bound("function")
FUNCTIONS["nonzero"] = _properties.nonzero
# torch.add(1, 2): these take a number for their first tensor too.
for _name, _operators in BOUND["function"].items():
    if any(facts_of(_operator).takes_numbers for _operator in _operators):
        FUNCTIONS[_name]._take_numbers()
install_deprecated_forms(FUNCTIONS)
NN = bound("nn")
LINALG = bound("linalg")
SPECIAL = bound("special")
FFT = bound("fft")

for _name, _method in bound("method").items():
    # x.copy_(1): of operators that are methods only it is the other tensor.
    if _name not in FUNCTIONS and any(facts_of(_operator).takes_numbers for _operator in BOUND["method"][_name]):
        _method._take_numbers()
    if _name != "__matmul__":  # a slot, which leaves operands that it does not know to them
        setattr(Tensor, _name, _method)

for _name in METHODS:
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, overridable(unavailable_function(f"torch.Tensor.{_name}")))

for _name, _dotted in {
    "add": "add.Tensor",
    "as_strided": "as_strided",
    "clone": "clone",
    "copy_": "copy_",
    "detach": "detach",
    "sum_to_size": "sum_to_size",
    "to_dtype": "_to_copy",
    "real": "real",
    "new_empty_strided": "new_empty_strided",
    "zero_": "zero_",
    "zeros": "zeros",
    "_as_strided_backward": "_as_strided_backward",
}.items():
    if _dotted in ROWS:
        _C._set_engine_op(_name, ROWS[_dotted].handle)
if "add.Tensor" in ROWS:
    _C._set_engine_op("add_", ROWS["add.Tensor"].inplace)

importlib.import_module(f"{__package__}.forward")

attach(Tensor)
attach_methods(Tensor)
_properties.attach(Tensor)


def _name_methods() -> None:
    """Let methods that are written in Python have the name by which the class has them, for whoever shows or lists them."""
    for name, method in sorted(vars(Tensor).items()):
        if isinstance(method, types.FunctionType) and method.__name__ not in vars(Tensor):
            method.__name__, method.__qualname__ = name, f"{Tensor.__name__}.{name}"


_name_methods()

__all__ = ["FFT", "FUNCTIONS", "LINALG", "NN", "ROWS", "SPECIAL", "aten"]


def _namespace(name: str, functions: dict):
    """A module object that holds functions: torch._C._nn and its like. They are pickled by its name."""
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(functions)
    for function in functions.values():
        if isinstance(function, _C.Function):
            function.__module__ = name
    vars(module)["__getattr__"] = functools.partial(absent_function, name.replace(_PACKAGE, "torch", 1))
    return module


class _VariableFunctionsClass:
    """Operators that are functions of `torch`: a pickled one is an attribute of this class, here as in PyTorch."""

    __module__ = _C.__name__

    def __getattr__(self, name: str) -> Any:
        """A function of `torch` that is no operator here, or one that is missing."""
        found = None if name.startswith("__") else getattr(sys.modules[_PACKAGE], name, None)
        if callable(found) and not isinstance(found, type):
            return found
        operator = getattr(aten, name, None)  # one that has no place in `torch`
        return absent_function("torch", name) if operator is None else operator


def _reduced_function(function: _C.Function) -> tuple | str:
    name = function.__name__
    if vars(_VariableFunctionsClass).get(name) is function:
        return getattr, (_VariableFunctionsClass, name)
    home = sys.modules[function.__module__]
    if getattr(home, name, None) is function:
        return name
    raise TypeError(f"cannot pickle {function!r}: it is not found as {home.__name__}.{name}")


def _reduced_method(method: _C.Method) -> tuple:
    return getattr, (Tensor, method.__name__)


for _name, _function in FUNCTIONS.items():
    if isinstance(_function, _C.Function):
        setattr(_VariableFunctionsClass, _name, _function)
_C._VariableFunctionsClass = _VariableFunctionsClass
_C._VariableFunctions = _VariableFunctionsClass()
copyreg.pickle(_C.Function, _reduced_function)
copyreg.pickle(_C.Method, _reduced_method)


def _help(function: Any, what: str) -> str | None:
    from . import help as written  # by few programs, and then at a prompt

    return written.text(function, what)


_C._set_help(_help)
late.begin()
