"""Modules and functions that torch_npu brings for single models, by their names; those without a counterpart here raise when used."""

from . import function, module
from .function import *
from .function import __all__ as _FUNCTIONS
from .module import *
from .module import __all__ as _MODULES

__all__ = ["function", "module", *_FUNCTIONS, *_MODULES]
