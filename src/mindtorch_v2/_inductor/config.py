"""Settings of PyTorch's compiler, with the values that it has: accepted, and without effect on this package's back ends."""

from __future__ import annotations

from mindtorch_v2._core.settings import Patch

aggressive_fusion = False
allow_buffer_reuse = True
compile_threads = 1
conv_1x1_as_mm = False
coordinate_descent_tuning = False
cpp_wrapper = False
debug = False
deterministic = False
disable_progress = True
epilogue_fusion = True
fallback_random = False
force_fuse_int_mm_with_mul = False
force_same_precision = False
freezing = False
fx_graph_cache = True
fx_graph_remote_cache: bool | None = None
implicit_fallbacks = True
inplace_buffers = True
max_autotune = False
max_autotune_gemm = False
max_autotune_pointwise = False
permute_fusion = False
reorder_for_locality = True
shape_padding = True
size_asserts = True
split_reductions = True
use_mixed_mm = True
verbose_progress = False


class cpp:
    """Settings of code in C++."""

    enable_kernel_profile = False
    simdlen: int | None = None
    threads = -1


class triton:
    """Settings of code in Triton."""

    cudagraph_trees = True
    cudagraphs = False
    unique_kernel_names = True


patch = Patch(__name__)
