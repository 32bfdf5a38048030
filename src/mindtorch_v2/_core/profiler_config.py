"""Settings of a profile that PyTorch keeps apart, because they may change."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

__all__ = ["_ExperimentalConfig", "check_config"]

# Of kernels on CUDA, of Vulkan, of the library that PyTorch records with, or as it is here anyway.
_WITHOUT_EFFECT = frozenset(
    "profiler_measure_per_kernel verbose enable_cuda_sync_events adjust_profiler_step disable_external_correlation adjust_timestamps".split()
)


@dataclass
class _ExperimentalConfig:
    """Settings for `torch.profiler.profile(experimental_config=...)`, by PyTorch's names.

    `verbose` asks for call stacks in traces, which `with_stack=True` writes here in any case. Six of the settings concern
    devices that are not here or ask for what is so already; with one of the others `profile` raises NotImplementedError.

    >>> from mindtorch_v2._C._profiler import _ExperimentalConfig
    >>> from mindtorch_v2.profiler import profile
    >>> with profile(with_stack=True, experimental_config=_ExperimentalConfig(verbose=True)) as prof:
    ...     _ = torch.ones(2)
    >>> [event.name for event in prof.events()]
    ['aten::ones']
    """

    profiler_metrics: list[str] = field(default_factory=list)
    profiler_measure_per_kernel: bool = False
    verbose: bool = False
    performance_events: list[str] = field(default_factory=list)
    enable_cuda_sync_events: bool = False
    adjust_profiler_step: bool = False
    disable_external_correlation: bool = False
    profile_all_threads: bool = False
    capture_overload_names: bool = False
    record_python_gc_info: bool = False
    expose_kineto_event_metadata: bool = False
    custom_profiler_config: str = ""
    adjust_timestamps: bool = False
    trace_only: bool = False


_ExperimentalConfig.__module__ = "torch._C._profiler"


def check_config(config: object) -> None:
    """TypeError for what are no settings, NotImplementedError for settings that ask for what is not here."""
    if config is None:
        return
    if not isinstance(config, _ExperimentalConfig):
        raise TypeError(
            f"profile(): experimental_config must be torch._C._profiler._ExperimentalConfig(...), got {type(config).__name__}"
        )
    asked = [each.name for each in fields(config) if each.name not in _WITHOUT_EFFECT and getattr(config, each.name)]
    if asked:
        raise NotImplementedError(
            f"profile(): the experimental settings {', '.join(asked)} are not implemented in mindtorch_v2; leave them out"
        )
