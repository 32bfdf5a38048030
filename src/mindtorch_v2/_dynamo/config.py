"""Settings of `torch.compile`.

`recompile_limit` (also `cache_size_limit`): so many graphs are kept of one function; beyond it runs eagerly, or, with
`fullgraph=True` or `fail_on_recompile_limit_hit`, is an error. `suppress_errors`: where a back end fails, the function runs
eagerly. `disable`: nothing is compiled. `error_on_recompile`: a second graph is an error. `automatic_dynamic_shapes`,
`assume_static_by_default`, `dynamic_shapes`: what is done with sizes that change. `same_two_models_use_fp64` and
`repro_tolerance` are read by `torch._dynamo.debug_utils`. The others change nothing here: setting one to another value than
PyTorch's says so, with a warning and the reason. `capture_scalar_outputs` and `capture_dynamic_output_shape_ops` cannot be
set: numbers and sizes that depend on values end a graph; nor can `compiled_autograd`.
"""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

from mindtorch_v2._core.settings import Patch
from mindtorch_v2._core.warn_once import is_due

accumulated_recompile_limit = 256
allow_ignore_mark_dynamic = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
accumulated_cache_size_limit = 256
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
fail_on_recompile_limit_hit = False
fake_tensor_cache_crosscheck_enabled = False
fake_tensor_cache_enabled = True
force_parameter_static_shapes = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
recompile_limit = 8
repro_tolerance = 1e-3
same_two_models_use_fp64 = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
specialize_int = False
suppress_errors = False
verbose = False

# What these ask for is so already, or they are about parts of PyTorch's compiler that are not here.
allow_rnn = False
allow_unspec_int_on_nn_module = False
assume_dunder_attributes_remain_unchanged = True
automatic_dynamic_local_pgo = True
capture_autograd_function = True
capture_func_transforms = True
capture_profiler_record_function = False
capture_sparse_compute = True
do_not_emit_runtime_asserts = False
enable_faithful_generator_behavior = True
enable_trace_contextlib = True
enable_trace_unittest = False
error_on_nested_fx_trace = True
force_nn_module_property_static_shapes = True
guard_nn_modules = True
guard_nn_modules_using_dict_tags = True
install_free_tensors = False
nontraceable_tensor_subclasses: set[type] = set()
only_allow_pt2_compliant_ops = False
prefer_deferred_runtime_asserts_over_guards = False
prepare_freezing = False
raise_on_ctx_manager_usage = True
report_guard_failures = True
rewrite_assert_with_torch_assert = True
run_gc_after_compile = True
skip_nnmodule_hook_guards = True
specialize_float = False
traceable_tensor_subclasses: set[type] = set()
use_graph_deduplication = False
use_lazy_graph_module = True

_SAME = {"cache_size_limit": "recompile_limit", "accumulated_cache_size_limit": "accumulated_recompile_limit"}
_SAME |= {other: name for name, other in _SAME.items()}
_REFUSED = {
    "capture_scalar_outputs": "numbers that depend on values end a graph",
    "capture_dynamic_output_shape_ops": "sizes that depend on values end a graph",
    "compiled_autograd": "the way back is compiled with the way there, and runs as it is where nothing was compiled",
}


# The settings that nothing reads, with what is done whatever they say.
_CHANGES_NOTHING = {
    "accumulated_cache_size_limit": "a function has one limit, `recompile_limit`",
    "accumulated_recompile_limit": "a function has one limit, `recompile_limit`",
    "allow_ignore_mark_dynamic": "a size that was marked and cannot differ is an error",
    "allow_rnn": "recurrent layers are captured as any other",
    "allow_unspec_int_on_nn_module": "whole numbers of modules are constants of a graph",
    "assume_dunder_attributes_remain_unchanged": "what a program reads of them is guarded",
    "automatic_dynamic_local_pgo": "which sizes changed is known to one process only",
    "capture_autograd_function": "functions with a backward of their own are captured",
    "capture_func_transforms": "transforms of functions are captured",
    "capture_profiler_record_function": "names for profilers are not part of a graph",
    "capture_sparse_compute": "a program with sparse tensors runs in parts",
    "do_not_emit_runtime_asserts": "a graph has no checks that its program has not",
    "enable_faithful_generator_behavior": "generators are run as they are asked",
    "enable_trace_contextlib": "context managers made of generators are captured",
    "enable_trace_unittest": "what unittest does is not captured",
    "error_on_nested_fx_trace": "a compiled function that fx traces runs as it is",
    "fake_tensor_cache_crosscheck_enabled": "results of operators on fake tensors are not kept",
    "fake_tensor_cache_enabled": "results of operators on fake tensors are not kept",
    "force_nn_module_property_static_shapes": "sizes of what a module holds are constants",
    "force_parameter_static_shapes": "sizes of parameters are constants",
    "guard_nn_modules": "what a program reads of modules is guarded",
    "guard_nn_modules_using_dict_tags": "what a program reads of modules is guarded",
    "inline_inbuilt_nn_modules": "modules are read through, those of torch.nn too",
    "install_free_tensors": "tensors that a program reads are inputs of the graph",
    "nontraceable_tensor_subclasses": "which classes can be captured their methods say",
    "only_allow_pt2_compliant_ops": "operators are captured whatever tags they have",
    "optimize_ddp": "a graph is not cut where gradients are put together",
    "prefer_deferred_runtime_asserts_over_guards": "what a program decides by sizes is guarded",
    "prepare_freezing": "parameters are inputs of the graph",
    "raise_on_ctx_manager_usage": "a context manager that cannot be captured ends the graph",
    "report_guard_failures": "why a function was compiled again is told where TORCH_LOGS=recompiles asks",
    "rewrite_assert_with_torch_assert": "an assert decides by its condition",
    "run_gc_after_compile": "Python's collector runs when it wants to",
    "skip_fwd_side_effects_in_bwd_under_checkpoint": "what is computed again has no effects on the program",
    "skip_nnmodule_hook_guards": "hooks that run are read with the module",
    "specialize_float": "numbers with a fraction are constants of a graph",
    "specialize_int": "whole numbers are constants of a graph",
    "traceable_tensor_subclasses": "which classes can be captured their methods say",
    "use_graph_deduplication": "parts of a graph that are equal stay apart",
    "use_lazy_graph_module": "the code of a graph is made when the graph is",
    "verbose": "errors always say where in the program",
}


class _Config(types.ModuleType):
    """A module whose settings have two names, and of which some cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _REFUSED and value:
            raise NotImplementedError(
                f"torch._dynamo.config.{name} is not implemented in mindtorch_v2: {_REFUSED[name]}"
            )
        if not name.startswith("__") and name not in self.__dict__:
            raise AttributeError(f"torch._dynamo.config.{name} does not exist")
        if name in _CHANGES_NOTHING and value != self.__dict__[name] and value != _PLAIN[name]:
            text = f"torch._dynamo.config.{name} changes nothing in mindtorch_v2: {_CHANGES_NOTHING[name]}"
            if is_due(text):
                warnings.warn(text, stacklevel=2)
        super().__setattr__(name, value)
        if name in _SAME:
            super().__setattr__(_SAME[name], value)


patch = Patch(__name__)


def is_fbcode() -> bool:
    """Whether this is a build for Meta: no."""
    return False


def get_config_copy() -> dict:
    """The settings, by name."""
    return {name: value for name, value in globals().items() if name[0] != "_" and isinstance(value, (bool, int))}


_PLAIN = {name: globals()[name] for name in _CHANGES_NOTHING}
sys.modules[__name__].__class__ = _Config
