"""`functorch.compile`: programs as graphs of operators, forward and backward, for compilers of one's own."""

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2._functorch.aot_autograd import aot_function, aot_module, aot_module_simplified, make_boxed_func
from mindtorch_v2._functorch.compilers import default_decompositions, make_boxed_compiler, nop, print_compile
from mindtorch_v2._lowered.partition import default_partition, min_cut_rematerialization_partition

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "compiled_function",
    "compiled_module",
    "default_decompositions",
    "default_partition",
    "get_aot_compilation_context",
    "make_boxed_compiler",
    "make_boxed_func",
    "memory_efficient_fusion",
    "min_cut_rematerialization_partition",
    "nnc_jit",
    "nop",
    "print_compile",
]

compiled_function = aot_function
compiled_module = aot_module

get_aot_compilation_context = unavailable_function("functorch.compile.get_aot_compilation_context")
memory_efficient_fusion = unavailable_function(
    "functorch.compile.memory_efficient_fusion",
    "aot_function(f, nop, partition_fn=min_cut_rematerialization_partition)",
)
nnc_jit = unavailable_function("functorch.compile.nnc_jit")
