"""Devices that PyTorch has back ends for and this package has not: which functions their modules have, and what those say.

The answers are those of PyTorch's build for CPUs; where that one stumbles over a missing part of its own, the sentence of the
device is raised. `torch.cuda` and the others take their functions from here, and write what reads its arguments.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple


class Refusal(NamedTuple):
    """An exception with its sentence."""

    error: type[Exception]
    sentence: str

    def raised(self) -> Exception:
        """The exception, to be raised."""
        return self.error(self.sentence)


_CUDA = Refusal(AssertionError, "Torch not compiled with CUDA enabled")
_XPU = Refusal(AssertionError, "Torch not compiled with XPU enabled")
_MTIA = Refusal(
    AssertionError,
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in your "
    "python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
)
_MONITORS = (
    "clock_rate(device=None); device_memory_used(device=None); memory_usage(device=None); power_draw(device=None); "
    "temperature(device=None); utilization(device=None)"
)

TENSORS = {
    "cuda": _CUDA,
    "xpu": _XPU,
    "mps": Refusal(RuntimeError, "PyTorch is not linked with support for mps devices"),
}
"""The error that making a tensor on such a device raises."""


def _hooks(backend: str, names: dict[str, str]) -> list[tuple[str | Refusal, str]]:
    """Functions by the hook of the back end that they would execute."""
    return [
        (Refusal(RuntimeError, f"Cannot execute {hook}() without {backend} backend."), functions)
        for hook, functions in names.items()
    ]


# Module -> what its functions do, and their names and parameters: the text of an expression is returned, a refusal raised.
_TABLE: dict[str, list[tuple[str | Refusal, str]]] = {
    "cuda": [
        ("False", "is_available(); is_initialized(); is_bf16_supported(including_emulation=True); is_tf32_supported()"),
        ("0", "device_count()"),
        ("[]", "get_arch_list()"),
        ("''", "get_gencode_flags()"),
        (
            _CUDA,
            "init(); can_device_access_peer(device, peer_device); cudart(); current_blas_handle(); current_device(); "
            "current_solver_handle(); current_stream(device=None); default_stream(device=None); "
            "get_device_capability(device=None); get_device_name(device=None); get_device_properties(device=None); "
            "get_stream_from_external(data_ptr, device=None); get_sync_debug_mode(); ipc_collect(); "
            "set_sync_debug_mode(debug_mode); synchronize(device=None)",
        ),
        (Refusal(RuntimeError, _CUDA.sentence), "graph_pool_handle(); is_current_stream_capturing()"),
        (
            Refusal(ModuleNotFoundError, "nvidia-ml-py does not seem to be installed or it can't be imported."),
            _MONITORS,
        ),
    ],
    "cuda.memory": [
        ("None", "empty_cache(); caching_allocator_enable(value=True)"),
        (
            "0",
            "max_memory_allocated(device=None); max_memory_reserved(device=None); "
            "memory_allocated(device=None); memory_reserved(device=None)",
        ),
        ("OrderedDict()", "host_memory_stats(); memory_stats(device=None)"),
        ("{}", "host_memory_stats_as_nested_dict(); memory_stats_as_nested_dict(device=None)"),
        (
            _CUDA,
            "caching_allocator_alloc(size, device=None, stream=None); caching_allocator_delete(mem_ptr); "
            "change_current_allocator(allocator); get_allocator_backend(); "
            "get_per_process_memory_fraction(device=None); mem_get_info(device=None); "
            "memory_snapshot(mempool_id=None, include_traces=True); memory_summary(device=None, abbreviated=False); "
            "reset_accumulated_host_memory_stats(); reset_accumulated_memory_stats(device=None); "
            ""
            "reset_peak_host_memory_stats(); reset_peak_memory_stats(device=None); "
            "set_per_process_memory_fraction(fraction, device=None)",
        ),
        ("'pynvml module not found, please install nvidia-ml-py'", "list_gpu_processes(device=None)"),
    ],
    "cuda.random": [
        # Without devices nothing happens, as in PyTorch, where seeds wait for the initialisation.
        (
            "None",
            "manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); set_rng_state(new_state, device='cuda'); "
            "set_rng_state_all(new_states)",
        ),
        ("[]", "get_rng_state_all()"),
        (_CUDA, "get_rng_state(device='cuda'); initial_seed()"),
    ],
    "xpu": [
        ("False", "is_available(); is_initialized(); is_bf16_supported(including_emulation=True); is_tf32_supported()"),
        ("0", "device_count()"),
        ("[]", "get_arch_list()"),
        ("''", "get_gencode_flags()"),
        (
            _XPU,
            "init(); can_device_access_peer(device, peer); current_device(); current_stream(device=None); "
            "get_device_capability(device=None); get_device_name(device=None); get_device_properties(device=None); "
            "get_stream_from_external(data_ptr, device=None); set_device(device); set_stream(stream); "
            "synchronize(device=None)",
        ),
        (Refusal(RuntimeError, _XPU.sentence), "graph_pool_handle(); is_current_stream_capturing()"),
        (Refusal(ImportError, "pyzes is required; install it with 'pip install pyzes'."), _MONITORS),
    ],
    "xpu.memory": [
        ("None", "empty_cache()"),
        (
            "0",
            "max_memory_allocated(device=None); max_memory_reserved(device=None); memory_allocated(device=None); "
            "memory_reserved(device=None)",
        ),
        ("[]", "memory_snapshot(mempool_id=None)"),
        ("OrderedDict()", "memory_stats(device=None)"),
        ("{}", "memory_stats_as_nested_dict(device=None)"),
        (
            _XPU,
            "change_current_allocator(allocator); get_per_process_memory_fraction(device=None); "
            "mem_get_info(device=None); reset_accumulated_memory_stats(device=None); "
            "reset_peak_memory_stats(device=None); set_per_process_memory_fraction(fraction, device=None)",
        ),
    ],
    "xpu.random": [
        (
            "None",
            "manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); set_rng_state(new_state, device='xpu'); "
            "set_rng_state_all(new_states)",
        ),
        ("[]", "get_rng_state_all()"),
        (_XPU, "get_rng_state(device='xpu'); initial_seed()"),
    ],
    "mtia": [
        ("False", "is_available(); is_initialized()"),
        ("True", "is_bf16_supported(including_emulation=True)"),
        ("0", "device_count(); max_memory_allocated(device=None); memory_allocated(device=None)"),
        ("[]", "get_rng_state_all()"),
        ("{}", "memory_stats(device=None)"),
        (
            "None",
            "manual_seed(seed); manual_seed_all(seed); seed(); seed_all(); "
            "set_rng_state_all(new_states); "
            "record_memory_history(enabled='all', stacks='python', max_entries=0); reset_peak_memory_stats(device=None)",
        ),
        (_MTIA, "init(); get_rng_state(device='mtia'); initial_seed()"),
        *_hooks(
            "MTIA",
            {
                "emptyCache": "empty_cache()",
                "getCurrentDevice": "current_device(); current_stream(device=None); default_stream(device=None); "
                "get_device_capability(device=None); get_device_properties(device=None); stream(stream); "
                "set_rng_state(new_state, device='mtia'); "
                "synchronize(device=None)",
                "graphPoolHandle": "graph_pool_handle()",
                "memorySnapshot": "snapshot()",
                "setCurrentDevice": "set_device(device)",
            },
        ),
    ],
    "mps": [
        ("False", "is_available()"),
        ("0", "device_count()"),
        ("None", "manual_seed(seed)"),
        (Refusal(RuntimeError, "MPS is not available"), "compile_shader(source)"),
        *_hooks(
            "MPS",
            {
                "deviceSynchronize": "synchronize()",
                "emptyCache": "empty_cache()",
                "getCurrentAllocatedMemory": "current_allocated_memory()",
                "getDefaultGenerator": "seed(); get_rng_state(device='mps'); set_rng_state(new_state, device='mps')",
                "getDriverAllocatedMemory": "driver_allocated_memory()",
                "getRecommendedMaxMemory": "recommended_max_memory()",
                "setMemoryFraction": "set_per_process_memory_fraction(fraction)",
            },
        ),
    ],
}

MODULES = tuple(_TABLE)
_TYPES: dict[str | Refusal, str] = {
    "False": "bool",
    "True": "bool",
    "0": "int",
    "[]": "list",
    "{}": "dict",
    "''": "str",
}
_TYPES |= {"OrderedDict()": "OrderedDict", "None": "None"}


# What the examples give for parameters that have no default.
_GIVEN = {"new_state": "torch.empty(0)", "new_states": "[]", "allocator": "None", "stream": "None", "source": "''"}


def _example(module: str, signature: str, answer: str | Refusal) -> str:
    """A call without the device, and what it gives or raises."""
    name, _, parameters = signature.removesuffix(")").partition("(")
    needed = [each for each in parameters.split(", ") if each and "=" not in each]
    lines = [f">>> torch.{module}.{name}({', '.join(_GIVEN.get(each, '0') for each in needed)})"]
    if isinstance(answer, Refusal):
        lines += ["Traceback (most recent call last):", "    ...", f"{answer.error.__name__}: {answer.sentence}"]
    elif answer != "None":
        lines.append(answer)
    return "\n".join(lines) + "\n"


def functions(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module, "cuda.memory", by name."""
    lines: list[str] = []
    docs: dict[str, str] = {}
    refusals: list[Refusal] = []
    for answer, spelled in _TABLE[module]:
        if isinstance(answer, Refusal):
            body = f"raise refusals[{len(refusals)}].raised()"
            doc = f"Raises {answer.error.__name__}: {answer.sentence}"
            refusals.append(answer)
        else:
            body = f"return {answer}"
            doc = (
                "Does nothing: there is no such device." if answer == "None" else f"{answer}: there is no such device."
            )
        for signature in spelled.split("; "):
            lines.append(f"def {signature} -> {_TYPES.get(answer, 'Any')}: {body}")
            docs[signature.partition("(")[0]] = f"{doc}\n\n{_example(module, signature, answer)}"
    scope: dict[str, Any] = {
        "__name__": f"mindtorch_v2.{module}",
        "Any": Any,
        "OrderedDict": OrderedDict,
        "refusals": refusals,
    }
    exec(compile("\n".join(lines), f"<torch.{module} without the device>", "exec"), scope)
    for name, doc in docs.items():
        scope[name].__doc__ = doc
    return {name: scope[name] for name in docs}
