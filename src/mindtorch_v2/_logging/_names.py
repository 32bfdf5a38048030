"""Names that `TORCH_LOGS` and `set_logs` take: PyTorch's components with their loggers, and its artifacts."""

from __future__ import annotations

__all__ = ["ARTIFACTS", "COMPONENTS", "SAME", "SILENT"]

_DISTRIBUTED = "torch._dynamo.backends.distributed", "torch.nn.parallel.distributed"
_SYMBOLIC = "torch.fx.experimental.symbolic_shapes", "torch.fx.experimental.sym_node", "torch.fx.experimental.recording"

COMPONENTS: dict[str, tuple[str, ...]] = {
    "aot": ("torch._functorch",),
    "async_compile": ("torch._inductor.async_compile",),
    "autograd": ("torch.autograd",),
    "c10d": ("torch.distributed.distributed_c10d", "torch.distributed.rendezvous"),
    "cache": ("torch._inductor.remote_cache",),
    "ddp": _DISTRIBUTED,
    "distributed": ("torch.distributed", *_DISTRIBUTED),
    "dtensor": ("torch.distributed._tensor", "torch.distributed.tensor"),
    "dynamic": _SYMBOLIC,
    "dynamo": ("torch._dynamo", *_SYMBOLIC),
    "export": ("torch._dynamo", "torch.export", "torch.fx.experimental.proxy_tensor", *_SYMBOLIC),
    "fake_tensor": ("torch._subclasses.fake_tensor",),
    "fsdp": ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"),
    "inductor": ("torch._inductor",),
    "native_dsl": ("torch._native",),
    "onnx": ("torch.onnx",),
    "pp": ("torch.distributed.pipelining",),
    "torch": ("torch",),
}
"""Name of a component -> its loggers."""

ARTIFACTS = {
    "guards": "the conditions under which a captured graph is used",
    "recompiles": "why a function is captured again",
    "recompiles_verbose": "the same, for each graph that there is already",
    "graph_breaks": "why a function is not captured whole",
    "graph": "captured graphs as tables",
    "graph_code": "captured graphs as code",
    "graph_sizes": "the sizes of the values of captured graphs",
    "aot_graphs": "the forward and backward graphs of operators, as code",
    "aot_joint_graph": "the graph of forward and backward in one, as code",
    "fusion": "what was fused, step by step, and whether it is kept",
    "cudagraphs": "which graphs on a GPU are recorded, and why others are not",
    "output_code": "the graphs that run in the end, as code",
}
"""Name of an artifact -> what it tells."""

SAME = {"graph_code_verbose": "graph_code", "verbose_guards": "guards"}
"""Names of PyTorch's that tell here what another does."""

SILENT = frozenset(
    "annotation aot_graphs_effects auto_chunker autotuning benchmarking bytecode caching compiled_autograd "
    "compiled_autograd_verbose compute_dependencies cudagraph_static_inputs ddp_graphs graph_region_expansion "
    "hierarchical_compile incremental inductor_metrics ir_post_fusion ir_pre_fusion kernel_code loop_ordering loop_tiling "
    "node_runtime_estimation not_implemented onnx_diagnostics overlap overlap_scheduling perf_hints post_grad_graphs "
    "pre_grad_graphs schedule side_effects sym_node trace_bytecode trace_call trace_shape_events trace_source".split()
)
"""PyTorch's artifacts of which there is nothing to tell here: of its compiler's steps. They are taken, with a warning."""
