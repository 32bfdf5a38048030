"""Settings of PyTorch's ahead-of-time autograd, with the values that it has: accepted, and without effect here."""

from __future__ import annotations

from mindtorch_v2._core.settings import Patch

check_custom_op_aliasing = True
debug_assert = False
enable_autograd_cache = False
fake_tensor_allow_meta = True
fake_tensor_propagate_real_tensors = False
functionalize_rng_ops = False
generate_fake_kernels_from_real_mismatches = False
recompute_views = False
view_replay_for_aliased_outputs = True

patch = Patch(__name__)
