# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from typing import Any
from . import attention as attention, functional as functional, grad as grad, init as init, modules as modules, parallel as parallel, parameter as parameter, utils as utils
from .modules import *
from .modules.module import Module as Module
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer, Parameter as Parameter, UninitializedBuffer as UninitializedBuffer, UninitializedParameter as UninitializedParameter

def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]: ...
