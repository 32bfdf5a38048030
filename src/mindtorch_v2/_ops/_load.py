"""Runs every file of rows, then gives the operators their Python names."""

from __future__ import annotations

import gc
import importlib
import os
import types

from .. import _C
from .._tensor import Tensor
from . import _composite, _native, _properties
from ._deprecated_forms import install as install_deprecated_forms
from ._dunders import attach
from ._methods import attach as attach_methods
from ._table import ROWS, aten, bound


def _run_rows() -> None:
    """Import every file of rows, with the garbage collector off: thousands of objects are made, and none is dropped."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        for package in (_native, _composite):
            for file in sorted(os.listdir(package.__path__[0])):
                if file.endswith(".py") and file != "__init__.py":
                    importlib.import_module(f"{package.__name__}.{file[:-3]}")
    finally:
        if collecting:
            gc.enable()


_run_rows()

FUNCTIONS = bound("function")
FUNCTIONS["nonzero"] = _properties.nonzero
# torch.add(1, 2): these take a number for their first tensor too.
for _name in "add sub subtract mul multiply div divide true_divide floor_divide".split():
    FUNCTIONS[_name]._take_numbers()
install_deprecated_forms(FUNCTIONS)
NN = bound("nn")
LINALG = bound("linalg")
SPECIAL = bound("special")
FFT = bound("fft")

for _name, _method in bound("method").items():
    if _name != "__matmul__":  # a slot, which leaves operands that it does not know to them
        setattr(Tensor, _name, _method)

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
}.items():
    if _dotted in ROWS:
        _C._set_engine_op(_name, ROWS[_dotted].handle)
if "add.Tensor" in ROWS:
    _C._set_engine_op("add_", ROWS["add.Tensor"].inplace)

importlib.import_module(f"{__package__}._forward")

attach(Tensor)
attach_methods(Tensor)
_properties.attach(Tensor)

__all__ = ["FFT", "FUNCTIONS", "LINALG", "NN", "ROWS", "SPECIAL", "aten"]


def _namespace(name: str, functions: dict):
    """A module object that holds functions: torch._C._nn and its like."""
    module = types.ModuleType(name)
    module.__dict__.update(functions)
    return module
