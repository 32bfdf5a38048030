"""Modules of PyTorch that are here to be imported: their names can be handed on and tested for, and raise when they are used.

Libraries and test suites import far more than they use. What none of these modules lists is missing, as an AttributeError says.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.unavailable import unavailable_names

_PACKAGE = "mindtorch_v2."

# Module below torch -> its functions, its classes.
_TABLE: dict[str, tuple[str, str]] = {
    "_C._autograd": ("", "DeviceType"),
    "_C._distributed_c10d": (
        "_create_work_from_future",
        "AllToAllOptions AllgatherOptions AllreduceOptions BarrierOptions BroadcastOptions FakeProcessGroup ReduceOp ReduceScatterOptions ScatterOptions Store _SymmetricMemory",
    ),
    "_C._functorch": ("_add_batch_dim get_unwrapped is_batchedtensor reshape_dim_into reshape_dim_outof", ""),
    "_C._profiler": ("gather_traceback symbolize_tracebacks", "_ExperimentalConfig _ExtraFields_PyCall"),
    "_custom_op.impl": ("custom_op infer_schema", "CustomOp"),
    "_dispatch.python": ("enable_crossref_functionalize", "enable_python_dispatcher"),
    "_dynamo.trace_rules": ("_as_posix_path", ""),
    "_export.pass_base": ("", "_ExportPassBaseDeprecatedDoNotUse"),
    "_export.utils": ("_is_cia_op get_buffer get_param is_buffer is_param register_dataclass_as_pytree_node", ""),
    "_functorch._aot_autograd.autograd_cache": ("", "AOTAutogradCache"),
    "_functorch.config": ("", ""),
    "_functorch.eager_transforms": ("_as_tuple _slice_argnums jvp", ""),
    "_functorch.make_functional": ("functional_init functional_init_with_buffers", ""),
    "_functorch.utils": ("enable_single_level_autograd_function", ""),
    "_functorch.vmap": ("restore_vmap", ""),
    "_guards": ("tracing", "TracingContext"),
    "_higher_order_ops.flex_attention": ("flex_attention", ""),
    "_higher_order_ops.hints_wrap": ("hints_wrapper", ""),
    "_higher_order_ops.inline_asm_elementwise": ("inline_asm_elementwise", ""),
    "_higher_order_ops.invoke_subgraph": ("mark_compile_region", ""),
    "_higher_order_ops.out_dtype": ("out_dtype", ""),
    "_higher_order_ops.register_hook": ("register_hook_op", ""),
    "_inductor.async_compile": ("", ""),
    "_inductor.codecache": ("compiled_fx_graph_hash", "CppCodeCache"),
    "_inductor.codegen.common": (
        "get_custom_backend_config_for_device get_custom_backend_pass_for_device get_scheduling_for_device get_wrapper_codegen_for_device init_backend_registration register_backend_for_device",
        "",
    ),
    "_inductor.codegen.wrapper": ("", "PythonWrapperCodegen"),
    "_inductor.compile_fx": ("shape_env_from_inputs split_const_gm", ""),
    "_inductor.custom_graph_pass": ("", "CustomGraphModulePass CustomGraphPass"),
    "_inductor.graph": ("", "GraphLowering"),
    "_inductor.output_code": ("", "MockFXGraphCacheOutput"),
    "_lazy": ("", ""),
    "_lazy.config": ("", ""),
    "_lazy.ir_cache": ("", ""),
    "_lazy.metrics": ("", ""),
    "_lazy.ts_backend": ("", ""),
    "_prims.context": ("", "TorchRefsMode"),
    "_prims.debug_prims": ("load_tensor_reader", ""),
    "_prims.executor": ("make_traced", ""),
    "_prims_common.wrappers": ("_maybe_remove_out_wrapper", ""),
    "_python_dispatcher": ("", "PythonDispatcher"),
    "_subclasses.fake_utils": ("outputs_alias_inputs", ""),
    "_subclasses.functional_tensor": ("dispatch_functionalize", "FunctionalTensor FunctionalTensorMode"),
    "_subclasses.schema_check_mode": ("", "SchemaCheckMode"),
    "ao.nn.intrinsic": ("", "_FusedModule"),
    "ao.nn.intrinsic.quantized.dynamic": ("", ""),
    "ao.nn.qat.modules": ("", ""),
    "ao.nn.quantizable.modules": ("", ""),
    "ao.nn.quantized": ("", "MaxPool2d"),
    "ao.nn.quantized.dynamic": ("", ""),
    "ao.nn.quantized.modules": ("", ""),
    "ao.pruning": ("", "BaseSparsifier"),
    "ao.quantization.quantization_mappings": (
        "get_default_dynamic_quant_module_mappings get_default_qat_module_mappings get_default_qconfig_propagation_list",
        "",
    ),
    "autograd._functions": ("", ""),
    "autograd._functions.utils": ("check_onnx_broadcast", ""),
    "autograd.profiler_legacy": ("", "profile"),
    "cuda.nccl": ("", ""),
    "distributed.tensor.experimental": ("local_map register_sharding", ""),
    "distributed.tensor.parallel": (
        "loss_parallel parallelize_module",
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel SequenceParallel",
    ),
    "fx.experimental.accelerator_partitioner": ("", "Partitioner"),
    "fx.experimental.meta_tracer": ("", ""),
    "fx.experimental.normalize": ("", "NormalizeArgs NormalizeOperators"),
    "fx.experimental.optimization": ("", ""),
    "fx.experimental.partitioner_utils": (
        "get_latency_of_partitioned_graph get_partition_to_latency_mapping",
        "Device NodeLatency PartitionMode PartitionerConfig",
    ),
    "fx.experimental.rewriter": ("", "RewritingTracer"),
    "fx.experimental.schema_type_annotation": ("", "AnnotateTypesWithSchema"),
    "fx.experimental.sym_node": ("method_to_operator to_node", "SymNode"),
    "fx.experimental.validator": ("z3str", "SympyToZ3 TranslationValidator ValidationException"),
    "fx.operator_schemas": (
        "_torchscript_type_to_python_type create_type_hint get_signature_for_torch_op normalize_function normalize_module type_matches",
        "",
    ),
    "fx.passes.annotate_getitem_nodes": ("annotate_getitem_nodes", ""),
    "fx.passes.infra.partitioner": ("", "CapabilityBasedPartitioner"),
    "fx.passes.operator_support": ("", "OperatorSupport"),
    "fx.passes.param_fetch": ("lift_lowering_attrs_to_nodes", ""),
    "fx.passes.reinplace": ("reinplace", ""),
    "fx.passes.runtime_assert": ("insert_deferred_runtime_asserts", ""),
    "fx.passes.utils.fuser_utils": ("fuse_by_partitions", ""),
    "jit._logging": ("", ""),
    "jit.frontend": ("", ""),
    "jit.mobile": ("_load_for_lite_interpreter", ""),
    "jit.quantized": ("", ""),
    "monitor": (
        "log_event register_event_handler unregister_event_handler",
        "Aggregation Event Stat TensorboardEventHandler _WaitCounter",
    ),
    "nested._internal.nested_int": ("", "NestedIntNode"),
    "nested._internal.nested_tensor": (
        "buffer_from_jagged jagged_from_list nested_view_from_values_offsets",
        "NestedTensor ViewNestedFromBuffer",
    ),
    "nn.parallel._functions": ("", "Broadcast"),
    "nn.utils._expanded_weights": ("", "ExpandedWeight"),
    "nn.utils._expanded_weights.expanded_weights_utils": (
        "forward_helper set_grad_sample_if_exists standard_kwargs sum_over_all_but_batch_and_last_n unpack_expanded_weight_or_tensor",
        "",
    ),
    "nn.utils._per_sample_grad": ("call_for_per_sample_grads", ""),
    "onnx.symbolic_opset9": ("_prepare_onnx_paddings", ""),
    "profiler._pattern_matcher": (
        "report_all_anti_patterns",
        "Conv2dBiasFollowedByBatchNorm2dPattern ExtraCUDACopyPattern FP32MatMulPattern ForLoopIndexingPattern GradNotSetToNonePattern MatMulDimInFP16Pattern NamePattern OptimizerSingleTensorPattern Pattern SynchronizedDataLoaderPattern",
    ),
    "quantization._quantized_conversions": (
        "pack_int4_to_int8 quantized_weight_reorder_for_mixed_dtypes_linear_cutlass",
        "",
    ),
    "sparse._triton_ops_meta": ("get_meta minimize update", ""),
    "utils._config_module": ("Config install_config_module", "ConfigModule"),
    "utils._content_store": ("hash_storage", "ContentStoreReader ContentStoreWriter"),
    "utils._helion": ("has_helion", ""),
    "utils._pallas": ("has_pallas_package has_tpu_pallas", ""),
    "utils._traceback": ("format_traceback_short report_compile_source_on_error", "CapturedTraceback"),
    "utils.bundled_inputs": ("", ""),
    "utils.data.datapipes.dataframe": ("", "CaptureDataFrame"),
    "utils.data.datapipes.iter.sharding": ("", "SHARDING_PRIORITIES"),
    "utils.data.datapipes.utils.common": ("", "StreamWrapper"),
    "utils.data.datapipes.utils.decoder": ("basichandlers", ""),
    "utils.data.datapipes.utils.snapshot": ("_simple_graph_snapshot_restoration", ""),
    "utils.data.graph": ("traverse_dps", ""),
    "utils.data.graph_settings": ("", ""),
    "utils.mobile_optimizer": ("optimize_for_mobile", ""),
    "utils.show_pickle": ("", ""),
}

_PARENTS = {".".join(parts[:count]) for name in _TABLE for parts in [name.split(".")] for count in range(1, len(parts))}


def absent_modules() -> list[str]:
    """The names of the modules, below torch, that are here to be imported."""
    return sorted(_TABLE)


class AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes them; asked after all others, so that a module which exists is never covered."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of the table, or of a package that holds one."""
        name = fullname.removeprefix(_PACKAGE)
        if name == fullname or (name not in _TABLE and name not in _PARENTS):
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leave the making of the module to the import system."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Put the names into the module."""
        name = "torch." + module.__name__.removeprefix(_PACKAGE)
        functions, classes = _TABLE.get(name.removeprefix("torch."), ("", ""))
        names = unavailable_names(name, functions, classes)
        module.__doc__ = f"`{name}`, of which only names are here: using them raises NotImplementedError."
        module.__dict__.update(names, __all__=sorted(names), __getattr__=_no_such_name(name))


def _no_such_name(module: str) -> Any:
    def __getattr__(name: str) -> types.ModuleType:
        inside = f"{module.removeprefix('torch.')}.{name}"
        if inside in _TABLE or inside in _PARENTS:
            return importlib.import_module(_PACKAGE + inside)
        raise AttributeError(f"module '{module}' has no attribute '{name}': it is not implemented in mindtorch_v2")

    return __getattr__


def provide_absent_modules() -> None:
    """Let the modules of the table be found, those below the native core too."""
    vars(_C).setdefault("__path__", [])
    if not any(isinstance(finder, AbsentModules) for finder in sys.meta_path):
        sys.meta_path.append(AbsentModules())
