"""Names of torch_npu that this package has no means for: they are there, and say so when they are called."""

from mindtorch_v2._core.unavailable import unavailable_names

NAMES = unavailable_names(
    "torch.npu",
    functions="change_current_allocator check_uce_in_memory "
    "empty_virt_addr_cache finalize_dump get_stream_limit init_dump obfuscation_calculate obfuscation_finalize "
    "obfuscation_initialize profile reset_stream_limit restart_device set_aoe set_dump "
    "set_stream_limit stop_device stress_detect",
    classes="NPUPluggableAllocator",
)
