"""`torchair`'s names: converters of operators to Ascend's graph engine, and the back end that uses them. docs/ge.md is the guide.

`import torchair` finds this package where `torch` means ours and no other torchair is installed.
"""

from mindtorch_v2._backends.ge.backend import GEConversionError, dump, ge_compile, get_compiler, get_npu_backend
from mindtorch_v2._backends.ge.compositions import lower
from mindtorch_v2._backends.ge.registry import register_fx_node_ge_converter

from . import _ge_concrete_graph, configs, core, ge, ge_concrete_graph, npu_fx_compiler
from .configs.compiler_config import CompilerConfig
from .core.utils import logger
from .patterns import register_replacement

__all__ = [
    "CompilerConfig",
    "GEConversionError",
    "dump",
    "ge",
    "ge_compile",
    "get_compiler",
    "get_npu_backend",
    "logger",
    "lower",
    "register_fx_node_ge_converter",
    "register_replacement",
]
