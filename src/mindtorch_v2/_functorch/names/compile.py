"""`functorch.compile`: programs as graphs of operators, forward and backward, for compilers of one's own."""

from mindtorch_v2._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_func
from mindtorch_v2._functorch.compilers import make_boxed_compiler, nop, print_compile
from mindtorch_v2._lowered.partition import default_partition, min_cut_rematerialization_partition

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
    "print_compile",
]

compiled_function = aot_function
compiled_module = aot_module
