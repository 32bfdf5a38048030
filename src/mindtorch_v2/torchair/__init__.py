"""`torchair`'s names: converters of operators to Ascend's graph engine, and the back end that uses them. docs/ge.md is the guide.

`import torchair` finds this package where `torch` means ours and no other torchair is installed.
"""

from mindtorch_v2._backends.ge.backend import GEConversionError, dump, ge_compile, get_compiler, get_npu_backend
from mindtorch_v2._backends.ge.compositions import lower
from mindtorch_v2._backends.ge.registry import register_fx_node_ge_converter

from . import _ge_concrete_graph, configs, core, ge, ge_concrete_graph, inference, npu_fx_compiler, ops, scope
from .configs.compiler_config import CompilerConfig
from .core.utils import logger
from .inference import use_internal_format_weight
from .patterns import register_replacement

__all__ = [
    "CompilerConfig",
    "GEConversionError",
    "dump",
    "ge",
    "ge_compile",
    "get_compiler",
    "get_npu_backend",
    "inference",
    "logger",
    "lower",
    "ops",
    "patch_for_hcom",
    "register_fx_node_ge_converter",
    "register_replacement",
    "scope",
    "use_internal_format_weight",
]


def patch_for_hcom() -> None:
    """Nothing: collectives need no patch to be traced since PyTorch 2.3.1, which a warning says, as torchair does.

    >>> from mindtorch_v2 import torchair
    >>> torchair.patch_for_hcom()
    """
    logger.warning("For versions 2.3.1 and above of PyTorch, there is no need to call patch_for_hcom anymore.")
