"""The parts of the torch namespace that are neither types nor operators, and what of it is loaded on first use."""

from __future__ import annotations

import functools
import importlib
import math
import sys
import types
import warnings
from typing import Any

from . import _C
from ._core import float32_products
from ._core.above import provide
from ._core.absent_modules import PARTS, provide_absent_modules
from ._core.deterministic import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    use_deterministic_algorithms,
)
from ._core.overridable import overridable
from ._core.storage import UntypedStorage
from ._core.torch_function import hand_over, has_torch_function
from ._core.warn_once import is_warn_always_enabled, set_warn_always, warn_once
from ._sizes.numbers import (
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sum,
)
from ._tensor import Tensor

LAZY_MODULES = frozenset(
    "accelerator amp ao autograd backends compiler cpu cuda distributed distributions export fft func functional futures "
    "fx hub interop jit library linalg masked mps mtia multiprocessing nested nn npu onnx package optim overrides profiler quasirandom random return_types "
    "serialization signal sparse special storage testing types utils version xpu _dynamo _functorch _logging "
    "__future__ _inductor _library _prims _prims_common _refs _subclasses _tensor_str _utils_internal _vendor "
    "_utils _VF _vmap_internals __config__ torch_version".split()
)
"""Submodules that `torch.<name>` loads when first asked for."""

LAZY_NAMES: dict[str, str] = {
    **dict.fromkeys("manual_seed seed initial_seed get_rng_state set_rng_state".split(), "random"),
    **dict.fromkeys("save load".split(), "serialization"),
    **dict.fromkeys("set_printoptions".split(), "_tensor_str"),
    **dict.fromkeys("quantized_gru quantized_lstm".split(), "_quantized.recurrent"),
    **dict.fromkeys("autocast".split(), "amp"),
    **dict.fromkeys(
        "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype "
        "get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype "
        "set_autocast_enabled set_autocast_gpu_dtype".split(),
        "amp._state",
    ),
    **dict.fromkeys(
        "TypedStorage FloatStorage DoubleStorage HalfStorage BFloat16Storage LongStorage IntStorage ShortStorage CharStorage "
        "ByteStorage BoolStorage ComplexFloatStorage ComplexDoubleStorage QUInt8Storage QInt8Storage QInt32Storage "
        "QUInt4x2Storage QUInt2x4Storage Storage _storage_classes".split(),
        "storage",
    ),
    **dict.fromkeys(
        "einsum split dsmm spmm meshgrid broadcast_tensors broadcast_shapes atleast_1d atleast_2d atleast_3d cartesian_prod cdist norm stft "
        "tensordot unique unique_consecutive block_diag chain_matmul lu istft unravel_index gradient".split(),
        "functional",
    ),
    **dict.fromkeys(
        "_disable_functionalization _enable_functionalization _from_functional_tensor _functionalize_commit_update "
        "_functionalize_has_data_mutation _functionalize_has_metadata_mutation _functionalize_replace _functionalize_sync "
        "_is_functional_tensor _sync _to_functional_tensor".split(),
        "_behaviours.functional._functions",
    ),
    **dict.fromkeys("Stream Event".split(), "_core.stream"),
    **dict.fromkeys(
        "qscheme per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
        "per_channel_affine_float_qparams".split(),
        "_core.qscheme",
    ),
    **dict.fromkeys("from_mindspore set_interop_warning to_mindspore".split(), "interop"),
    "_tensor_classes": "_operators.tensor_types",
    "Future": "futures",
    "GradScaler": "amp",
    **dict.fromkeys("get_device_module _register_device_module".split(), "_core.device"),
    **dict.fromkeys("ScriptFunction ScriptModule".split(), "jit"),
    **dict.fromkeys("PyTorchFileReader PyTorchFileWriter".split(), "serialization._records"),
    **dict.fromkeys("svd_lowrank pca_lowrank".split(), "_lowrank"),
    "lobpcg": "_lobpcg",
    "symeig": "_core.removed",
    **dict.fromkeys("eig lstsq matrix_rank solve".split(), "_linalg_utils"),
    "compile": "compiler",
    "_disable_dynamo": "_compile",
    "cond": "_higher_order_ops.cond",
    "while_loop": "_higher_order_ops.while_loop",
    "ops": "_ops",
    "Tag": "_dispatch.tags",
    "DispatchKey": "_dispatch.keys",
    "FunctionSchema": "_dispatch.schema",
    "TensorType": "_dispatch.schema",
    "classes": "_ops",
    "vmap": "func",
    "is_vulkan_available": "backends._vulkan",
    "set_anomaly_enabled": "autograd.anomaly_mode",
}
"""Names of the torch namespace that live in a submodule loaded on first use."""

inf = math.inf
nan = math.nan
pi = math.pi
e = math.e
newaxis = None


# ---- what the layers below ask of those above, which few programs need and are loaded then ----


def _companion_operators(namespace: str) -> bool:
    module = {
        "_c10d_functional": ".distributed._functional_operators",
        "aten": "._as_torch.vendor_operators",
        "atb": "._backends.npu.rows",
        "c10d": ".distributed._functional_operators",
        "c10d_functional": ".distributed._functional_operators",
        "higher_order": "._higher_order_ops",
        "npu": "._backends.npu.rows",
        "mkldnn": "._as_torch.mkldnn",
        "quantized": "._quantized",
        "_quantized": "._quantized",
        "quantized_decomposed": "._quantized.decomposed",
        "torchvision": "._as_torch.torchvision",
    }.get(namespace)
    if module is not None:
        importlib.import_module(module, __package__)  # it registers them
    return module is not None


def _device_module(kind: str) -> Any:
    return getattr(importlib.import_module(__package__), kind, None)


def _generator_maker() -> Any:
    from . import random

    return random._generator


def _is_pinned(storage: UntypedStorage) -> bool:
    own = _own_device()
    if own is not None:
        return own.is_pinned(storage)
    for kind in ("npu", "cuda"):
        state = sys.modules.get(f"{__package__}._backends.{kind}.state")  # nothing is page-locked before it is imported
        if state is not None and state.started() and storage.data_ptr() in state.get().pinned.blocks:
            return True
    return False


def _is_tracing() -> bool:
    recorder = sys.modules.get(f"{__package__}.jit._recorder")  # nobody records before it is imported
    return recorder is not None and recorder.is_recording()


def _kernel_checks() -> Any:
    from ._library import honesty

    return honesty


def _load_backend(kind: str) -> bool:
    """Whether there is such a back end, and hardware or an emulator for it."""
    own = _own_device()
    if own is not None and kind == own.name():
        own.load()
        return True
    if kind == "npu":
        from ._backends import npu

        npu.load()
        return True
    if kind == "cuda":
        from ._backends import cuda

        if cuda.libraries.has_driver():
            cuda.load()
            return True
    return False


def _functional_form(handle: Any) -> Any:
    from ._behaviours.functional import functional_variant

    return functional_variant(handle)


def _load_functionalization() -> None:
    from ._behaviours import functional  # noqa: F401  (it registers the handler)


def _install_parts() -> None:
    from ._behaviours import composed, whole

    composed.install()
    whole.install()


def _operators() -> Any:
    from ._ops import ops

    return ops


def _own_device() -> Any:
    if not _C._own_device_name()[1]:
        return None
    return importlib.import_module("._library.own_devices", __package__)


def _pinned_memory() -> Any:
    from . import cuda, npu

    own = _own_device()
    if own is not None:
        return own.pinned_memory()
    for module in (npu, cuda):
        if module.is_available():
            kind = module.__name__.rpartition(".")[2]
            return importlib.import_module(f"{__package__}._backends.{kind}.state").get().pinned
    return None


def _reduced(tensor: Tensor) -> tuple:
    from ._utils import reduce_tensor

    return reduce_tensor(tensor)


def _save(obj: object, f: Any) -> None:
    from .serialization import save

    save(obj, f)


def _file_check() -> Any:
    from mindtorch_v2.testing import FileCheck

    return FileCheck


def _file_records() -> Any:
    from .serialization import _records

    return _records


def _text(tensor: Tensor, tensor_contents: str | None) -> str:
    from ._tensor_str import _str

    return _str(tensor, tensor_contents=tensor_contents)


def _is_onednn_enabled() -> bool:
    from .backends import mkldnn

    return mkldnn.enabled


def _to_mindspore(tensor: Tensor) -> Any:
    from .interop import to_mindspore

    return to_mindspore(tensor)


def _to_onednn(tensor: Tensor, dtype: Any = None) -> Any:
    from ._behaviours.onednn import to_onednn

    return to_onednn(tensor, dtype)


def _typed_storage(tensor: Tensor, warns: bool) -> Any:
    from .storage import TypedStorage, _warn_typed_storage_removal

    if warns:
        _warn_typed_storage_removal(3)
    return TypedStorage(wrap_storage=tensor.untyped_storage(), dtype=tensor.dtype, _internal=True)


def _functional() -> Any:
    from . import functional

    return functional


def late_function(name: str) -> Any:
    """The function of an operator whose row is read when it is asked for."""
    from ._operators.table import aten

    function = getattr(aten, name)
    if sys.modules.get("torch") is sys.modules[__package__] and isinstance(function, _C.Function):
        function.__module__ = "torch"  # as those have it that were there when the package took this name
    return function


def _functorch_names() -> dict[str, Any]:
    from ._behaviours.batched._functorch_names import NAMES  # which few programs ask for

    return NAMES


PARTS["torch._C._functorch"] = _functorch_names

_OF_DISTRIBUTED = (  # names that PyTorch's own torch.distributed takes from its native part, and libraries with it
    "AllToAllOptions AllgatherOptions AllreduceCoalescedOptions AllreduceOptions Backend BarrierOptions BroadcastOptions "
    "BuiltinCommHookType DebugLevel FakeProcessGroup FileStore GatherOptions GradBucket HashStore PrefixStore ProcessGroup ProcessGroupGloo "
    "ReduceOp ReduceOptions ReduceScatterOptions ScatterOptions Store TCPStore Work _create_work_from_future _set_thread_isolation_mode _compute_bucket_assignment_by_size "
    "get_debug_level set_debug_level set_debug_level_from_env"
).split()


def _distributed_names() -> dict[str, Any]:
    from . import distributed  # which few programs ask for
    from .distributed import _fake

    parts = (distributed, distributed.distributed_c10d, _fake)
    return {name: getattr(part, name) for name in _OF_DISTRIBUTED for part in parts if hasattr(part, name)}


PARTS["torch._C._distributed_c10d"] = _distributed_names


def _moved(new: str) -> dict[str, Any]:
    """The objects of a module that PyTorch keeps under an old name too; classes and functions are found by the list."""
    listed = (types.ModuleType, types.FunctionType, type)
    names = vars(importlib.import_module(new))
    return {name: value for name, value in names.items() if name[0] != "_" and not isinstance(value, listed)}


for _name in (
    "",
    *(f".{each}" for each in "fake_quantize observer qconfig quant_type quantization_mappings utils fx.utils".split()),
):
    PARTS[f"torch.quantization{_name}"] = functools.partial(_moved, f"mindtorch_v2.ao.quantization{_name}")
provide_absent_modules()
provide(
    companion_operators=_companion_operators,
    device_module=_device_module,
    file_check=_file_check,
    file_records=_file_records,
    functional=_functional,
    functional_form=_functional_form,
    generator_maker=_generator_maker,
    install_parts=_install_parts,
    is_onednn_enabled=_is_onednn_enabled,
    is_pinned=_is_pinned,
    is_tracing=_is_tracing,
    kernel_checks=_kernel_checks,
    late_function=late_function,
    load_backend=_load_backend,
    load_functionalization=_load_functionalization,
    operators=_operators,
    own_device=_own_device,
    pinned_memory=_pinned_memory,
    reduced=_reduced,
    save=_save,
    text=_text,
    to_mindspore=_to_mindspore,
    to_onednn=_to_onednn,
    typed_storage=_typed_storage,
)

# ---- functions of the namespace ----


def vitals_enabled() -> bool:
    """Whether facts about the program are collected to be told at its end: False."""
    return False


def set_vital(vital: str, attr: str, value: str) -> bool:
    """Keep a fact about the program if they are collected; whether it was kept: False.

    >>> torch.set_vital("Dataloader", "enabled", "True")
    False
    """
    return vitals_enabled()


def is_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: Any, /) -> bool:
    """Whether ``obj`` is a storage.

    >>> torch.is_storage(torch.ones(1).untyped_storage())
    True
    """
    return isinstance(obj, _C.StorageBase) or type(obj).__name__ == "TypedStorage"


def _checked(name: str, input: Any) -> Tensor:
    """``input``, if it is a tensor; TypeError, in PyTorch's words, for anything else."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input


@overridable
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype of ``input`` is floating.

    >>> torch.is_floating_point(torch.ones(1))
    True
    """
    return _checked("is_floating_point", input).is_floating_point()


@overridable
def is_complex(input: Tensor) -> bool:
    """Whether the dtype of ``input`` is complex.

    >>> torch.is_complex(torch.ones(1))
    False
    """
    return _checked("is_complex", input).is_complex()


@overridable
def is_conj(input: Tensor) -> bool:
    """Whether ``input`` shows the conjugates of what its memory holds.

    >>> torch.is_conj(torch.ones(1, dtype=torch.complex64).conj())
    True
    """
    return _checked("is_conj", input).is_conj()


@overridable
def is_neg(input: Tensor) -> bool:
    """Whether ``input`` shows the negatives of what its memory holds.

    >>> torch.is_neg(torch.ones(1))
    False
    """
    return _checked("is_neg", input).is_neg()


@overridable
def _is_zerotensor(input: Tensor) -> bool:
    """Whether ``input`` is one that takes no memory because it is all zeros: there are none."""
    checked: Any = _checked("_is_zerotensor", input)  # the method is no public name
    return checked._is_zerotensor()


@overridable
def is_inference(input: Tensor) -> bool:
    """Whether ``input`` was made under inference mode.

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return _checked("is_inference", input).is_inference()


@overridable
def numel(input: Tensor) -> int:
    """Number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return _checked("numel", input).numel()


@overridable
def get_device(input: Tensor) -> int:
    """Index of the device of ``input``; -1 on the CPU.

    >>> torch.get_device(torch.ones(2))
    -1
    """
    return _checked("get_device", input).get_device()


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether the data of ``from_`` can be put in place of that of ``input``: same kind of device and layout."""
    return input.device.type == from_.device.type and input.layout == from_.layout


def typename(obj: Any, /) -> str:
    """The type of ``obj`` as text; a tensor's is "torch.FloatTensor" and the like.

    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(obj, "__module__", "") or ""
    qualname = getattr(obj, "__qualname__", "") or type(obj).__qualname__
    if not module or module == "builtins":
        module = getattr(type(obj), "__module__", "")
    return f"{module}.{qualname}" if module not in ("", "builtins") else qualname


_DEFAULT_TYPES = {
    "torch.FloatTensor": "float32",
    "torch.DoubleTensor": "float64",
    "torch.HalfTensor": "float16",
    "torch.BFloat16Tensor": "bfloat16",
}


def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype by a tensor type or its name, "torch.DoubleTensor"; TypeError for other than floating ones.

    >>> torch.set_default_tensor_type("torch.DoubleTensor")
    >>> torch.tensor(0.5).dtype
    torch.float64
    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    name = t if isinstance(t, str) else f"torch.{getattr(t, '__name__', t)}"
    if name not in _DEFAULT_TYPES:
        raise TypeError(
            "invalid type object: only floating-point types are supported as the default type "
            f"({', '.join(_DEFAULT_TYPES)}), got {t}"
        )
    _C.set_default_dtype(_C._dtypes[_DEFAULT_TYPES[name]])


def get_num_interop_threads() -> int:
    """Threads that run independent operators side by side: 1, operators run in program order.

    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility; operators run in program order.

    >>> torch.set_num_interop_threads(4)
    >>> torch.get_num_interop_threads()
    1
    """
    if not isinstance(n, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def set_float32_matmul_precision(precision: str) -> None:
    """How exact products of float32 matrices have to be: a GPU shortens the factors to TF32 for "high" and "medium".

    The CPU's are exact to float32 always. A UserWarning, and no change, for another word.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in float32_products.PRECISIONS:
        float32_products.set(precision)
    else:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )


def get_float32_matmul_precision() -> str:
    """The value that ``set_float32_matmul_precision`` was last given.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return float32_products.get()


def compiled_with_cxx11_abi() -> bool:
    """Whether the native core uses the C++11 ABI: yes.

    >>> torch.compiled_with_cxx11_abi()
    True
    """
    return True


def is_autocast_available(device_type: str) -> bool:
    """Whether ``torch.autocast`` supports the type of a device; RuntimeError for a text that names none."""
    from ._operators.autocast import is_supported  # operators may still be loading

    if is_supported(device_type):
        return True
    try:
        return is_supported(_C.device(device_type).type)
    except RuntimeError as error:
        if "Invalid device string" in str(error):
            raise
        return False  # a device that there is with PyTorch only


@overridable
def is_distributed(input: Tensor) -> bool:
    """Whether ``input`` was marked as held by several processes, as early versions of PyTorch did: never.

    >>> torch.is_distributed(torch.ones(2))
    False
    """
    _checked("is_distributed", input)
    return False


def _debug_has_internal_overlap(input: Tensor) -> int:
    """Whether two positions of a tensor show one element: 0 no, 1 yes, 2 its strides do not tell at once.

    >>> torch._debug_has_internal_overlap(torch.ones(1, 3).expand(2, 3))
    1
    """
    sizes_and_strides = [(size, stride) for size, stride in zip(input.shape, input.stride(), strict=True) if size > 1]
    if any(stride == 0 for _, stride in sizes_and_strides):
        return 1
    expected = 1
    for size, stride in sorted(sizes_and_strides, key=lambda pair: pair[1]):
        if stride != expected and input.numel():
            return 2
        expected *= size
    return 0


def _running_with_deploy() -> bool:
    """Whether this runs in an interpreter that PyTorch embeds: False."""
    return False


def _nnpack_available() -> bool:
    """Whether NNPACK computes: False."""
    return False


def _assert(condition: Any, message: str) -> None:
    """Assert as a function, for programs that are traced: AssertionError with ``message`` unless ``condition``."""
    if type(condition) is not Tensor and has_torch_function((condition,)):
        return hand_over(_assert, (condition,), condition, message)
    assert condition, message


def _check_error(kind: type, cond: Any, message: Any) -> None:
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all "
            "elements are true."
        )
    if not isinstance(cond, (bool, SymBool)):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not (isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {kind}")
    if cond.node.shape_env.expect(cond.node.expr, cond.node.values) if isinstance(cond, SymBool) else cond:
        return
    if message is None:
        text = "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)"
    else:
        if not callable(message):
            raise TypeError("message must be a callable")
        text = str(message())
    raise kind(text)


def _check(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError with ``message()`` unless ``cond``."""
    _check_error(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """Raise IndexError with ``message()`` unless ``cond``."""
    _check_error(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """Raise ValueError with ``message()`` unless ``cond``."""
    _check_error(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """Raise TypeError with ``message()`` unless ``cond``."""
    _check_error(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Any = None) -> None:
    """Raise NotImplementedError with ``message()`` unless ``cond``."""
    _check_error(NotImplementedError, cond, message)


def _check_with(error_type: type, cond: Any, message: Any) -> None:
    """Raise ``error_type`` with ``message()`` unless ``cond``."""
    _check_error(error_type, cond, message)


def _check_is_size(i: int, message: Any = None, *, max: int | None = None) -> None:
    """Raise unless ``i`` is a size: not negative, at most ``max``."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type, cond: Any, message: Any = None) -> None:
    """Raise ``error_type`` unless every element of the tensor ``cond`` is true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C._dtypes["bool"]:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_error(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """Raise RuntimeError unless every element of the tensor ``cond`` is true."""
    _check_tensor_all_with(RuntimeError, cond, message)


__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "_assert",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_tensor_all_with",
    "_check_type",
    "_check_value",
    "_check_with",
    "_debug_has_internal_overlap",
    "_has_compatible_shallow_copy_type",
    "_is_zerotensor",
    "_nnpack_available",
    "_running_with_deploy",
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "e",
    "get_deterministic_debug_mode",
    "get_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "inf",
    "is_autocast_available",
    "is_complex",
    "is_conj",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_distributed",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_storage",
    "is_tensor",
    "is_warn_always_enabled",
    "nan",
    "newaxis",
    "numel",
    "pi",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_vital",
    "set_warn_always",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
    "typename",
    "use_deterministic_algorithms",
    "vitals_enabled",
]
