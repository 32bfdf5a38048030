"""Settings of `torch.compile`.

`recompile_limit` (also `cache_size_limit`): so many graphs are kept of one function; beyond it runs eagerly, or, with
`fullgraph=True` or `fail_on_recompile_limit_hit`, is an error. `accumulated_recompile_limit`: the same for a function that
several objects share. `suppress_errors`: where a back end fails, the function runs eagerly. `disable`: nothing is compiled.
`error_on_recompile`: a second graph is an error. `automatic_dynamic_shapes`, `assume_static_by_default`: what is done with
sizes that change. The others are accepted, and what they ask for is so, or there is nothing that they would change here:
they are plain names of this module. `capture_scalar_outputs` and `capture_dynamic_output_shape_ops` cannot be set: numbers
and sizes that depend on values end a graph; nor can `compiled_autograd`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from mindtorch_v2._core.settings import Patch

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


class _Config(types.ModuleType):
    """A module whose settings have two names, and of which some cannot be set."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _REFUSED and value:
            raise NotImplementedError(
                f"torch._dynamo.config.{name} is not implemented in mindtorch_v2: {_REFUSED[name]}"
            )
        if not name.startswith("__") and name not in self.__dict__:
            raise AttributeError(f"torch._dynamo.config.{name} does not exist")
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


sys.modules[__name__].__class__ = _Config
