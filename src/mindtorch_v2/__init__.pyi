# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence as _Sequence
from typing import Any, overload
from ._C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout
from ._C import memory_format as _memory_format
from ._core.storage import UntypedStorage as _UntypedStorage
from ._core.stream import Stream as _Stream
from . import _C as _C, return_types as return_types

_Number = _int | _float | _bool | _complex

from . import _VF as _VF
from . import _dynamo as _dynamo
from . import _functorch as _functorch
from . import _inductor as _inductor
from . import _library as _library
from . import _logging as _logging
from . import _prims as _prims
from . import _prims_common as _prims_common
from . import _refs as _refs
from . import _subclasses as _subclasses
from . import _tensor_str as _tensor_str
from . import _utils as _utils
from . import _utils_internal as _utils_internal
from . import _vendor as _vendor
from . import _vmap_internals as _vmap_internals
from . import accelerator as accelerator
from . import amp as amp
from . import ao as ao
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cpu as cpu
from . import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import export as export
from . import fft as fft
from . import func as func
from . import functional as functional
from . import futures as futures
from . import fx as fx
from . import hub as hub
from . import interop as interop
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from . import mps as mps
from . import mtia as mtia
from . import multiprocessing as multiprocessing
from . import nested as nested
from . import nn as nn
from . import npu as npu
from . import onnx as onnx
from . import optim as optim
from . import overrides as overrides
from . import package as package
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from . import torch_version as torch_version
from . import types as types
from . import utils as utils
from . import version as version
from . import xpu as xpu
from ._dispatch.keys import DispatchKey as DispatchKey
from ._core.stream import Event as Event
from ._dispatch.schema import FunctionSchema as FunctionSchema
from .futures import Future as Future
from ._C import Generator as Generator
from .amp import GradScaler as GradScaler
from .serialization._records import PyTorchFileReader as PyTorchFileReader
from .serialization._records import PyTorchFileWriter as PyTorchFileWriter
from .jit import ScriptFunction as ScriptFunction
from .jit import ScriptModule as ScriptModule
from ._core.dtype import Size as Size
from ._core.stream import Stream as Stream
from ._namespace import SymBool as SymBool
from ._namespace import SymFloat as SymFloat
from ._namespace import SymInt as SymInt
from ._dispatch.tags import Tag as Tag
from ._tensor import Tensor as Tensor
from ._dispatch.schema import TensorType as TensorType
from .storage import TypedStorage as TypedStorage
from ._core.storage import UntypedStorage as UntypedStorage
from ._namespace import _assert as _assert
from ._namespace import _check as _check
from ._namespace import _check_index as _check_index
from ._namespace import _check_is_size as _check_is_size
from ._namespace import _check_not_implemented as _check_not_implemented
from ._namespace import _check_tensor_all as _check_tensor_all
from ._namespace import _check_tensor_all_with as _check_tensor_all_with
from ._namespace import _check_type as _check_type
from ._namespace import _check_value as _check_value
from ._namespace import _check_with as _check_with
from ._namespace import _debug_has_internal_overlap as _debug_has_internal_overlap
from ._compile import _disable_dynamo as _disable_dynamo
from ._behaviours.functional._functions import _disable_functionalization as _disable_functionalization
from ._behaviours.functional._functions import _enable_functionalization as _enable_functionalization
from ._behaviours.functional._functions import _from_functional_tensor as _from_functional_tensor
from ._behaviours.functional._functions import _functionalize_commit_update as _functionalize_commit_update
from ._behaviours.functional._functions import _functionalize_has_data_mutation as _functionalize_has_data_mutation
from ._behaviours.functional._functions import _functionalize_has_metadata_mutation as _functionalize_has_metadata_mutation
from ._behaviours.functional._functions import _functionalize_replace as _functionalize_replace
from ._behaviours.functional._functions import _functionalize_sync as _functionalize_sync
from ._namespace import _has_compatible_shallow_copy_type as _has_compatible_shallow_copy_type
from ._behaviours.functional._functions import _is_functional_tensor as _is_functional_tensor
from ._namespace import _is_zerotensor as _is_zerotensor
from ._C import _mkldnn as _mkldnn
from ._core.dtype import _name as _name
from ._namespace import _nnpack_available as _nnpack_available
from ._core.device import _register_device_module as _register_device_module
from ._namespace import _running_with_deploy as _running_with_deploy
from .storage import _storage_classes as _storage_classes
from ._behaviours.functional._functions import _sync as _sync
from ._operators.tensor_types import _tensor_classes as _tensor_classes
from ._behaviours.functional._functions import _to_functional_tensor as _to_functional_tensor
from ._namespace import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._C import as_tensor as as_tensor
from ._as_torch import as_torch as as_torch
from ._C import asarray as asarray
from .functional import atleast_1d as atleast_1d
from .functional import atleast_2d as atleast_2d
from .functional import atleast_3d as atleast_3d
from .amp import autocast as autocast
from .amp._state import autocast_decrement_nesting as autocast_decrement_nesting
from .amp._state import autocast_increment_nesting as autocast_increment_nesting
from .functional import block_diag as block_diag
from .functional import broadcast_shapes as broadcast_shapes
from .functional import broadcast_tensors as broadcast_tensors
from ._C import can_cast as can_cast
from .functional import cartesian_prod as cartesian_prod
from .functional import cdist as cdist
from .functional import chain_matmul as chain_matmul
from ._C import channels_last as channels_last
from ._C import channels_last_3d as channels_last_3d
from ._ops import classes as classes
from .amp._state import clear_autocast_cache as clear_autocast_cache
from .compiler import compile as compile
from ._namespace import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from ._higher_order_ops.cond import cond as cond
from ._C import contiguous_format as contiguous_format
from ._C import default_generator as default_generator
from ._C import device as device
from .functional import dsmm as dsmm
from ._C import dtype as dtype
from ._namespace import e as e
from ._linalg_utils import eig as eig
from .functional import einsum as einsum
from ._core.autograd.grad_mode import enable_grad as enable_grad
from ._core.dtype import finfo as finfo
from ._C import from_dlpack as from_dlpack
from .interop import from_mindspore as from_mindspore
from ._C import from_numpy as from_numpy
from ._C import frombuffer as frombuffer
from .amp._state import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from .amp._state import get_autocast_dtype as get_autocast_dtype
from .amp._state import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from ._core.device import get_default_device as get_default_device
from ._C import get_default_dtype as get_default_dtype
from ._namespace import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._namespace import get_device as get_device
from ._core.device import get_device_module as get_device_module
from ._namespace import get_float32_matmul_precision as get_float32_matmul_precision
from ._namespace import get_num_interop_threads as get_num_interop_threads
from ._C import get_num_threads as get_num_threads
from .random import get_rng_state as get_rng_state
from .functional import gradient as gradient
from ._core.dtype import iinfo as iinfo
from ._namespace import inf as inf
from ._core.autograd.grad_mode import inference_mode as inference_mode
from .random import initial_seed as initial_seed
from ._C import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from ._C import is_anomaly_enabled as is_anomaly_enabled
from ._namespace import is_autocast_available as is_autocast_available
from .amp._state import is_autocast_cache_enabled as is_autocast_cache_enabled
from .amp._state import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .amp._state import is_autocast_enabled as is_autocast_enabled
from ._namespace import is_complex as is_complex
from ._namespace import is_conj as is_conj
from ._namespace import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._namespace import is_distributed as is_distributed
from ._namespace import is_floating_point as is_floating_point
from ._C import is_grad_enabled as is_grad_enabled
from ._namespace import is_inference as is_inference
from ._C import is_inference_mode_enabled as is_inference_mode_enabled
from ._namespace import is_neg as is_neg
from ._namespace import is_storage as is_storage
from ._namespace import is_tensor as is_tensor
from .backends._vulkan import is_vulkan_available as is_vulkan_available
from ._namespace import is_warn_always_enabled as is_warn_always_enabled
from .functional import istft as istft
from ._C import jagged as jagged
from ._C import layout as layout
from .serialization import load as load
from ._lobpcg import lobpcg as lobpcg
from ._linalg_utils import lstsq as lstsq
from .functional import lu as lu
from .random import manual_seed as manual_seed
from ._linalg_utils import matrix_rank as matrix_rank
from ._C import memory_format as memory_format
from .functional import meshgrid as meshgrid
from ._namespace import nan as nan
from ._namespace import newaxis as newaxis
from ._core.autograd.grad_mode import no_grad as no_grad
from .functional import norm as norm
from ._namespace import numel as numel
from ._ops import ops as ops
from ._lowrank import pca_lowrank as pca_lowrank
from ._core.qscheme import per_channel_affine as per_channel_affine
from ._core.qscheme import per_channel_affine_float_qparams as per_channel_affine_float_qparams
from ._core.qscheme import per_channel_symmetric as per_channel_symmetric
from ._core.qscheme import per_tensor_affine as per_tensor_affine
from ._core.qscheme import per_tensor_symmetric as per_tensor_symmetric
from ._namespace import pi as pi
from ._C import preserve_format as preserve_format
from ._C import promote_types as promote_types
from ._core.qscheme import qscheme as qscheme
from ._quantized.recurrent import quantized_gru as quantized_gru
from ._quantized.recurrent import quantized_lstm as quantized_lstm
from ._C import result_type as result_type
from .serialization import save as save
from .random import seed as seed
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .amp._state import set_autocast_cache_enabled as set_autocast_cache_enabled
from .amp._state import set_autocast_cpu_dtype as set_autocast_cpu_dtype
from .amp._state import set_autocast_cpu_enabled as set_autocast_cpu_enabled
from .amp._state import set_autocast_dtype as set_autocast_dtype
from .amp._state import set_autocast_enabled as set_autocast_enabled
from .amp._state import set_autocast_gpu_dtype as set_autocast_gpu_dtype
from ._core.device import set_default_device as set_default_device
from ._C import set_default_dtype as set_default_dtype
from ._namespace import set_default_tensor_type as set_default_tensor_type
from ._namespace import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._namespace import set_float32_matmul_precision as set_float32_matmul_precision
from ._C import set_flush_denormal as set_flush_denormal
from ._core.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .interop import set_interop_warning as set_interop_warning
from ._namespace import set_num_interop_threads as set_num_interop_threads
from ._C import set_num_threads as set_num_threads
from ._tensor_str import set_printoptions as set_printoptions
from .random import set_rng_state as set_rng_state
from ._namespace import set_vital as set_vital
from ._namespace import set_warn_always as set_warn_always
from ._linalg_utils import solve as solve
from ._C import sparse_bsc as sparse_bsc
from ._C import sparse_bsr as sparse_bsr
from ._C import sparse_coo as sparse_coo
from ._C import sparse_csc as sparse_csc
from ._C import sparse_csr as sparse_csr
from .functional import split as split
from .functional import spmm as spmm
from .functional import stft as stft
from ._C import strided as strided
from ._lowrank import svd_lowrank as svd_lowrank
from ._namespace import sym_float as sym_float
from ._namespace import sym_int as sym_int
from ._namespace import sym_ite as sym_ite
from ._namespace import sym_max as sym_max
from ._namespace import sym_min as sym_min
from ._namespace import sym_not as sym_not
from ._namespace import sym_sum as sym_sum
from ._core.removed import symeig as symeig
from ._C import tensor as tensor
from .functional import tensordot as tensordot
from .interop import to_mindspore as to_mindspore
from ._namespace import typename as typename
from .functional import unique as unique
from .functional import unique_consecutive as unique_consecutive
from .functional import unravel_index as unravel_index
from ._namespace import use_deterministic_algorithms as use_deterministic_algorithms
from ._namespace import vitals_enabled as vitals_enabled
from .func import vmap as vmap
from ._higher_order_ops.while_loop import while_loop as while_loop

__version__: str
AcceleratorError: type[Any]
BFloat16Storage: type[Any]
BoolStorage: type[Any]
ByteStorage: type[Any]
CharStorage: type[Any]
ComplexDoubleStorage: type[Any]
ComplexFloatStorage: type[Any]
DoubleStorage: type[Any]
FloatStorage: type[Any]
HalfStorage: type[Any]
IntStorage: type[Any]
LongStorage: type[Any]
OutOfMemoryError: type[Any]
QInt32Storage: type[Any]
QInt8Storage: type[Any]
QUInt2x4Storage: type[Any]
QUInt4x2Storage: type[Any]
QUInt8Storage: type[Any]
ShortStorage: type[Any]
Storage: type[Any]
bfloat16: _dtype
bits16: _dtype
bits1x8: _dtype
bits2x4: _dtype
bits4x2: _dtype
bits8: _dtype
bool: _dtype
cdouble: _dtype
cfloat: _dtype
chalf: _dtype
complex128: _dtype
complex32: _dtype
complex64: _dtype
double: _dtype
float: _dtype
float16: _dtype
float32: _dtype
float4_e2m1fn_x2: _dtype
float64: _dtype
float8_e4m3fn: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
half: _dtype
int: _dtype
int1: _dtype
int16: _dtype
int2: _dtype
int3: _dtype
int32: _dtype
int4: _dtype
int5: _dtype
int6: _dtype
int64: _dtype
int7: _dtype
int8: _dtype
legacy_contiguous_format: Any
long: _dtype
nonzero: Any
qint32: _dtype
qint8: _dtype
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
short: _dtype
sparse_bsc_tensor: Any
sparse_bsr_tensor: Any
sparse_compressed_tensor: Any
sparse_coo_tensor: Any
sparse_csc_tensor: Any
sparse_csr_tensor: Any
uint1: _dtype
uint16: _dtype
uint2: _dtype
uint3: _dtype
uint32: _dtype
uint4: _dtype
uint5: _dtype
uint6: _dtype
uint64: _dtype
uint7: _dtype
uint8: _dtype

class BFloat16Tensor(Tensor): ...
class BoolTensor(Tensor): ...
class ByteTensor(Tensor): ...
class CharTensor(Tensor): ...
class DoubleTensor(Tensor): ...
class FloatTensor(Tensor): ...
class HalfTensor(Tensor): ...
class IntTensor(Tensor): ...
class LongTensor(Tensor): ...
class ShortTensor(Tensor): ...
@overload
def __lshift__(input: Tensor, other: Tensor) -> Tensor:
    """Python's <<."""
@overload
def __lshift__(input: Tensor, other: _Number) -> Tensor:
    """Python's <<."""
def __matmul__(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product with broadcast batch dimensions; vectors count as a row on the left and a column on the right."""
@overload
def __rshift__(input: Tensor, other: Tensor) -> Tensor:
    """Python's >>."""
@overload
def __rshift__(input: Tensor, other: _Number) -> Tensor:
    """Python's >>."""
def _addmm_activation(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., use_gelu: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """ReLU, or GELU, of `beta * self + alpha * mat1 @ mat2`."""
def _amp_foreach_non_finite_check_and_unscale_(input: _Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies tensors by `inv_scale`, in place; `found_inf` becomes 1 where one of them had a number that is not finite."""
def _amp_update_scale_(input: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: _float, scale_backoff_factor: _float, growth_interval: _int) -> Tensor:
    """The next scale, in place: smaller after a step with numbers that were not finite, larger after so many without."""
@overload
def _assert_async(input: Tensor) -> None:
    """Raise RuntimeError unless the one element is nonzero."""
@overload
def _assert_async(input: Tensor, assert_msg: str) -> None:
    """Raise RuntimeError(assert_msg) unless nonzero."""
def _assert_tensor_metadata(a: Tensor, size: _Sequence[_int] | None = ..., stride: _Sequence[_int] | None = ..., dtype: _dtype | None = ..., *, device: _device | str | _int | None = ..., layout: _layout | None = ...) -> None:
    """Raise RuntimeError unless the tensor has the sizes, strides, dtype, device and layout that are given."""
def _batch_norm_with_update(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Batch norm of training: the result, the batch's mean and inverse deviation, and memory that only GPUs reserve."""
def _cast_Byte(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as uint8."""
def _cast_Char(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as int8."""
def _cast_Double(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as float64."""
def _cast_Float(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as float32."""
def _cast_Half(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as float16."""
def _cast_Int(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as int32."""
def _cast_Long(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as int64."""
def _cast_Short(input: Tensor, non_blocking: _bool = ...) -> Tensor:
    """The elements as int16."""
def _choose_qparams_per_tensor(input: Tensor, reduce_range: _bool = ...) -> tuple[_float, _int]:
    """The scale and the zero point by which the numbers of `self`, and zero, become 0 to 255; to 127 with `reduce_range`."""
def _chunk_cat(tensors: _Sequence[Tensor], dim: _int, num_chunks: _int, *, out: Tensor | None = ...) -> Tensor:
    """Each tensor padded with zeros along `dim` to a multiple of `num_chunks`, cut into so many flat chunks, and these joined: row i of the result holds chunk i of every tensor."""
def _compute_linear_combination(input: Tensor, coefficients: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Row i is the sum over k of `coefficients[i, k] * input[k]`."""
def _conj(input: Tensor) -> Tensor:
    """The conjugate: a view of memory on the CPU, else computed at once."""
def _conj_physical(input: Tensor) -> Tensor:
    """The conjugate, in memory of its own."""
def _convert_indices_from_coo_to_csr(input: Tensor, size: _int, *, out_int32: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Where each of `size` rows begins among sorted row numbers, and where the last one ends."""
def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: _bool = ..., transpose: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The coordinates of the values of a csr tensor, or of a batch of them; `transpose` names columns first."""
def _convert_weight_to_int4pack_for_cpu(input: Tensor, innerKTiles: _int) -> Tensor:
    """Packs a matrix of whole numbers from 0 to 15 (int32), two to a byte, in an order of this package's own."""
def _convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: _Sequence[_int], padding: _Sequence[_int], dilation: _Sequence[_int], transposed: _bool, output_padding: _Sequence[_int], groups: _int, benchmark: _bool, deterministic: _bool, cudnn_enabled: _bool, allow_tf32: _bool) -> Tensor:
    """convolution with the settings of other libraries, which are ignored."""
@overload
def _ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = ..., zero_infinity: _bool = ...) -> tuple[Tensor, Tensor]:
    """Negative log likelihoods of label sequences, lengths given as tensors."""
@overload
def _ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: _Sequence[_int], target_lengths: _Sequence[_int], blank: _int = ..., zero_infinity: _bool = ...) -> tuple[Tensor, Tensor]:
    """Negative log likelihoods of label sequences, and the forward variables."""
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """How a coordinate of a Dirichlet point moves with its concentration, at a given total concentration."""
def _efficient_attention_backward(grad_out_: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, out: Tensor, cu_seqlens_q: Tensor | None, cu_seqlens_k: Tensor | None, max_seqlen_q: _int, max_seqlen_k: _int, logsumexp: Tensor, dropout_p: _float, philox_seed: Tensor, philox_offset: Tensor, custom_mask_type: _int, bias_requires_grad: _bool, *, scale: _float | None = ..., num_splits_key: _int | None = ..., window_size: _int | None = ..., shared_storage_dqdkdv: _bool = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A kernel of GPUs: on other devices it raises."""
def _efficient_attention_forward(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, cu_seqlens_q: Tensor | None, cu_seqlens_k: Tensor | None, max_seqlen_q: _int | None, max_seqlen_k: _int | None, dropout_p: _float, custom_mask_type: _int, compute_log_sumexp: _bool = ..., *, scale: _float | None = ..., seqlen_k: Tensor | None = ..., window_size: _int | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor, _int, _int]:
    """A kernel of GPUs: on other devices it raises."""
def _embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums, means or maxima of bags of table rows; also the bag of each index, bag sizes and winning rows."""
def _embedding_bag_forward_only(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`_embedding_bag` for when no gradient is needed."""
@overload
def _empty_affine_quantized(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., scale: _float = ..., zero_point: _int = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of a quantized dtype with one scale and one zero point, whose whole numbers are whatever was in memory."""
@overload
def _empty_affine_quantized(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., scale: _float = ..., zero_point: _int = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of a quantized dtype with one scale and one zero point, whose whole numbers are whatever was in memory."""
@overload
def _empty_per_channel_affine_quantized(size: _Sequence[_int], *, scales: Tensor, zero_points: Tensor, axis: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The same with a scale and a zero point for each index of the dimension `axis`."""
@overload
def _empty_per_channel_affine_quantized(*size: _int, scales: Tensor, zero_points: Tensor, axis: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The same with a scale and a zero point for each index of the dimension `axis`."""
def _fake_quantize_per_tensor_affine_cachemask_tensor_qparams(input: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: _int, quant_max: _int) -> tuple[Tensor, Tensor]:
    """`self` rounded to the numbers of a quantized tensor where that is switched on, and where it lay in their range."""
def _fft_c2c(input: Tensor, dim: _Sequence[_int], normalization: _int, forward: _bool, *, out: Tensor | None = ...) -> Tensor:
    """The transform along `dim`, or with `forward=False` its inverse but for the scale."""
def _fft_c2r(input: Tensor, dim: _Sequence[_int], normalization: _int, last_dim_size: _int, *, out: Tensor | None = ...) -> Tensor:
    """The inverse transform, of which only the first half is given in the last of `dim`, of a real signal."""
def _fft_r2c(input: Tensor, dim: _Sequence[_int], normalization: _int, onesided: _bool, *, out: Tensor | None = ...) -> Tensor:
    """The transform of a real signal; `onesided` keeps the first half in the last of `dim`."""
def _flash_attention_backward(grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, cum_seq_q: Tensor, cum_seq_k: Tensor, max_q: _int, max_k: _int, dropout_p: _float, is_causal: _bool, rng_state: Tensor, unused: Tensor, *, scale: _float | None = ..., window_size_left: _int | None = ..., window_size_right: _int | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """A kernel of GPUs: on other devices it raises."""
def _flash_attention_forward(query: Tensor, key: Tensor, value: Tensor, cum_seq_q: Tensor | None, cum_seq_k: Tensor | None, max_q: _int, max_k: _int, dropout_p: _float, is_causal: _bool, return_debug_mask: _bool, *, scale: _float | None = ..., window_size_left: _int | None = ..., window_size_right: _int | None = ..., seqused_k: Tensor | None = ..., alibi_slopes: Tensor | None = ..., block_table: Tensor | None = ..., num_splits: _int | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """A kernel of GPUs: on other devices it raises."""
def _foreach_abs(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`abs` of each tensor."""
def _foreach_abs_(input: _Sequence[Tensor]) -> None:
    """`abs` of each tensor. In place."""
def _foreach_acos(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`acos` of each tensor."""
def _foreach_acos_(input: _Sequence[Tensor]) -> None:
    """`acos` of each tensor. In place."""
@overload
def _foreach_add(input: _Sequence[Tensor], other: Tensor, *, alpha: _Number = ...) -> tuple[Tensor, ...]:
    """`add` of each tensor and `other`."""
@overload
def _foreach_add(input: _Sequence[Tensor], other: _Sequence[Tensor], *, alpha: _Number = ...) -> tuple[Tensor, ...]:
    """`add` of each tensor and its operand."""
@overload
def _foreach_add(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`add` of each tensor and its operand."""
@overload
def _foreach_add(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`add` of each tensor and its operand."""
@overload
def _foreach_add_(input: _Sequence[Tensor], other: Tensor, *, alpha: _Number = ...) -> None:
    """`add` of each tensor and `other`. In place."""
@overload
def _foreach_add_(input: _Sequence[Tensor], other: _Sequence[Tensor], *, alpha: _Number = ...) -> None:
    """`add` of each tensor and its operand. In place."""
@overload
def _foreach_add_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`add` of each tensor and its operand. In place."""
@overload
def _foreach_add_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`add` of each tensor and its operand. In place."""
@overload
def _foreach_addcdiv(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: Tensor) -> tuple[Tensor, ...]:
    """`addcdiv` of each triple."""
@overload
def _foreach_addcdiv(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`addcdiv` of each triple."""
@overload
def _foreach_addcdiv(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], value: _Number = ...) -> tuple[Tensor, ...]:
    """`addcdiv` of each triple."""
@overload
def _foreach_addcdiv_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: Tensor) -> None:
    """`addcdiv` of each triple. In place."""
@overload
def _foreach_addcdiv_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`addcdiv` of each triple. In place."""
@overload
def _foreach_addcdiv_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], value: _Number = ...) -> None:
    """`addcdiv` of each triple. In place."""
@overload
def _foreach_addcmul(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: Tensor) -> tuple[Tensor, ...]:
    """`addcmul` of each triple."""
@overload
def _foreach_addcmul(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`addcmul` of each triple."""
@overload
def _foreach_addcmul(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], value: _Number = ...) -> tuple[Tensor, ...]:
    """`addcmul` of each triple."""
@overload
def _foreach_addcmul_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: Tensor) -> None:
    """`addcmul` of each triple. In place."""
@overload
def _foreach_addcmul_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`addcmul` of each triple. In place."""
@overload
def _foreach_addcmul_(input: _Sequence[Tensor], tensor1: _Sequence[Tensor], tensor2: _Sequence[Tensor], value: _Number = ...) -> None:
    """`addcmul` of each triple. In place."""
def _foreach_asin(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`asin` of each tensor."""
def _foreach_asin_(input: _Sequence[Tensor]) -> None:
    """`asin` of each tensor. In place."""
def _foreach_atan(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`atan` of each tensor."""
def _foreach_atan_(input: _Sequence[Tensor]) -> None:
    """`atan` of each tensor. In place."""
def _foreach_ceil(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`ceil` of each tensor."""
def _foreach_ceil_(input: _Sequence[Tensor]) -> None:
    """`ceil` of each tensor. In place."""
@overload
def _foreach_clamp_max(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`clamp_max` of each tensor and its operand."""
@overload
def _foreach_clamp_max(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`clamp_max` of each tensor and its operand."""
@overload
def _foreach_clamp_max(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`clamp_max` of each tensor and its operand."""
@overload
def _foreach_clamp_max_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`clamp_max` of each tensor and its operand. In place."""
@overload
def _foreach_clamp_max_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`clamp_max` of each tensor and its operand. In place."""
@overload
def _foreach_clamp_max_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`clamp_max` of each tensor and its operand. In place."""
@overload
def _foreach_clamp_min(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`clamp_min` of each tensor and its operand."""
@overload
def _foreach_clamp_min(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`clamp_min` of each tensor and its operand."""
@overload
def _foreach_clamp_min(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`clamp_min` of each tensor and its operand."""
@overload
def _foreach_clamp_min_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`clamp_min` of each tensor and its operand. In place."""
@overload
def _foreach_clamp_min_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`clamp_min` of each tensor and its operand. In place."""
@overload
def _foreach_clamp_min_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`clamp_min` of each tensor and its operand. In place."""
def _foreach_clone(input: _Sequence[Tensor], *, memory_format: _memory_format | None = ...) -> tuple[Tensor, ...]:
    """A copy of each tensor."""
def _foreach_copy_(input: _Sequence[Tensor], src: _Sequence[Tensor], non_blocking: _bool = ...) -> None:
    """Copies each `src` into its tensor."""
def _foreach_cos(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`cos` of each tensor."""
def _foreach_cos_(input: _Sequence[Tensor]) -> None:
    """`cos` of each tensor. In place."""
def _foreach_cosh(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`cosh` of each tensor."""
def _foreach_cosh_(input: _Sequence[Tensor]) -> None:
    """`cosh` of each tensor. In place."""
@overload
def _foreach_div(input: _Sequence[Tensor], other: Tensor) -> tuple[Tensor, ...]:
    """`div` of each tensor and `other`."""
@overload
def _foreach_div(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`div` of each tensor and its operand."""
@overload
def _foreach_div(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`div` of each tensor and its operand."""
@overload
def _foreach_div(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`div` of each tensor and its operand."""
@overload
def _foreach_div_(input: _Sequence[Tensor], other: Tensor) -> None:
    """`div` of each tensor and `other`. In place."""
@overload
def _foreach_div_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`div` of each tensor and its operand. In place."""
@overload
def _foreach_div_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`div` of each tensor and its operand. In place."""
@overload
def _foreach_div_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`div` of each tensor and its operand. In place."""
def _foreach_erf(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`erf` of each tensor."""
def _foreach_erf_(input: _Sequence[Tensor]) -> None:
    """`erf` of each tensor. In place."""
def _foreach_erfc(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`erfc` of each tensor."""
def _foreach_erfc_(input: _Sequence[Tensor]) -> None:
    """`erfc` of each tensor. In place."""
def _foreach_exp(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`exp` of each tensor."""
def _foreach_exp_(input: _Sequence[Tensor]) -> None:
    """`exp` of each tensor. In place."""
def _foreach_expm1(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`expm1` of each tensor."""
def _foreach_expm1_(input: _Sequence[Tensor]) -> None:
    """`expm1` of each tensor. In place."""
def _foreach_floor(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`floor` of each tensor."""
def _foreach_floor_(input: _Sequence[Tensor]) -> None:
    """`floor` of each tensor. In place."""
def _foreach_frac(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`frac` of each tensor."""
def _foreach_frac_(input: _Sequence[Tensor]) -> None:
    """`frac` of each tensor. In place."""
@overload
def _foreach_lerp(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weights: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`lerp` of each pair."""
@overload
def _foreach_lerp(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weight: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`lerp` of each pair."""
@overload
def _foreach_lerp(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weight: _Number) -> tuple[Tensor, ...]:
    """`lerp` of each pair."""
@overload
def _foreach_lerp_(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weights: _Sequence[Tensor]) -> None:
    """`lerp` of each pair. In place."""
@overload
def _foreach_lerp_(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weight: _Sequence[_Number]) -> None:
    """`lerp` of each pair. In place."""
@overload
def _foreach_lerp_(input: _Sequence[Tensor], tensors1: _Sequence[Tensor], weight: _Number) -> None:
    """`lerp` of each pair. In place."""
def _foreach_lgamma(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`lgamma` of each tensor."""
def _foreach_lgamma_(input: _Sequence[Tensor]) -> None:
    """`lgamma` of each tensor. In place."""
def _foreach_log(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`log` of each tensor."""
def _foreach_log10(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`log10` of each tensor."""
def _foreach_log10_(input: _Sequence[Tensor]) -> None:
    """`log10` of each tensor. In place."""
def _foreach_log1p(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`log1p` of each tensor."""
def _foreach_log1p_(input: _Sequence[Tensor]) -> None:
    """`log1p` of each tensor. In place."""
def _foreach_log2(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`log2` of each tensor."""
def _foreach_log2_(input: _Sequence[Tensor]) -> None:
    """`log2` of each tensor. In place."""
def _foreach_log_(input: _Sequence[Tensor]) -> None:
    """`log` of each tensor. In place."""
def _foreach_max(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The largest element of each tensor."""
@overload
def _foreach_maximum(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`maximum` of each tensor and its operand."""
@overload
def _foreach_maximum(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`maximum` of each tensor and its operand."""
@overload
def _foreach_maximum(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`maximum` of each tensor and its operand."""
@overload
def _foreach_maximum_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`maximum` of each tensor and its operand. In place."""
@overload
def _foreach_maximum_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`maximum` of each tensor and its operand. In place."""
@overload
def _foreach_maximum_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`maximum` of each tensor and its operand. In place."""
@overload
def _foreach_minimum(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`minimum` of each tensor and its operand."""
@overload
def _foreach_minimum(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`minimum` of each tensor and its operand."""
@overload
def _foreach_minimum(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`minimum` of each tensor and its operand."""
@overload
def _foreach_minimum_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`minimum` of each tensor and its operand. In place."""
@overload
def _foreach_minimum_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`minimum` of each tensor and its operand. In place."""
@overload
def _foreach_minimum_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`minimum` of each tensor and its operand. In place."""
def _foreach_mm(input: _Sequence[Tensor], mat2: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The matrix product of each tensor with its partner."""
@overload
def _foreach_mul(input: _Sequence[Tensor], other: Tensor) -> tuple[Tensor, ...]:
    """`mul` of each tensor and `other`."""
@overload
def _foreach_mul(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`mul` of each tensor and its operand."""
@overload
def _foreach_mul(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`mul` of each tensor and its operand."""
@overload
def _foreach_mul(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`mul` of each tensor and its operand."""
@overload
def _foreach_mul_(input: _Sequence[Tensor], other: Tensor) -> None:
    """`mul` of each tensor and `other`. In place."""
@overload
def _foreach_mul_(input: _Sequence[Tensor], other: _Sequence[Tensor]) -> None:
    """`mul` of each tensor and its operand. In place."""
@overload
def _foreach_mul_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`mul` of each tensor and its operand. In place."""
@overload
def _foreach_mul_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`mul` of each tensor and its operand. In place."""
def _foreach_neg(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`neg` of each tensor."""
def _foreach_neg_(input: _Sequence[Tensor]) -> None:
    """`neg` of each tensor. In place."""
def _foreach_norm(input: _Sequence[Tensor], ord: _Number = ..., dtype: _dtype | None = ...) -> tuple[Tensor, ...]:
    """The vector norm of each tensor."""
@overload
def _foreach_pow(input: _Sequence[Tensor], exponent: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`pow` of each tensor."""
@overload
def _foreach_pow(input: _Sequence[Tensor], exponent: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`pow` of each tensor."""
@overload
def _foreach_pow(input: _Sequence[Tensor], exponent: _Number) -> tuple[Tensor, ...]:
    """`pow` of each tensor."""
@overload
def _foreach_pow(input: _Number, exponent: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """A number to the power of each tensor."""
@overload
def _foreach_pow_(input: _Sequence[Tensor], exponent: _Sequence[Tensor]) -> None:
    """`pow` of each tensor. In place."""
@overload
def _foreach_pow_(input: _Sequence[Tensor], exponent: _Sequence[_Number]) -> None:
    """`pow` of each tensor. In place."""
@overload
def _foreach_pow_(input: _Sequence[Tensor], exponent: _Number) -> None:
    """`pow` of each tensor. In place."""
def _foreach_reciprocal(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`reciprocal` of each tensor."""
def _foreach_reciprocal_(input: _Sequence[Tensor]) -> None:
    """`reciprocal` of each tensor. In place."""
def _foreach_round(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`round` of each tensor."""
def _foreach_round_(input: _Sequence[Tensor]) -> None:
    """`round` of each tensor. In place."""
def _foreach_rsqrt(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`rsqrt` of each tensor."""
def _foreach_rsqrt_(input: _Sequence[Tensor]) -> None:
    """`rsqrt` of each tensor. In place."""
def _foreach_sigmoid(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`sigmoid` of each tensor."""
def _foreach_sigmoid_(input: _Sequence[Tensor]) -> None:
    """`sigmoid` of each tensor. In place."""
def _foreach_sign(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`sign` of each tensor."""
def _foreach_sign_(input: _Sequence[Tensor]) -> None:
    """`sign` of each tensor. In place."""
def _foreach_sin(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`sin` of each tensor."""
def _foreach_sin_(input: _Sequence[Tensor]) -> None:
    """`sin` of each tensor. In place."""
def _foreach_sinh(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`sinh` of each tensor."""
def _foreach_sinh_(input: _Sequence[Tensor]) -> None:
    """`sinh` of each tensor. In place."""
def _foreach_sqrt(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`sqrt` of each tensor."""
def _foreach_sqrt_(input: _Sequence[Tensor]) -> None:
    """`sqrt` of each tensor. In place."""
@overload
def _foreach_sub(input: _Sequence[Tensor], other: _Sequence[Tensor], *, alpha: _Number = ...) -> tuple[Tensor, ...]:
    """`sub` of each tensor and its operand."""
@overload
def _foreach_sub(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> tuple[Tensor, ...]:
    """`sub` of each tensor and its operand."""
@overload
def _foreach_sub(input: _Sequence[Tensor], scalar: _Number) -> tuple[Tensor, ...]:
    """`sub` of each tensor and its operand."""
@overload
def _foreach_sub_(input: _Sequence[Tensor], other: _Sequence[Tensor], *, alpha: _Number = ...) -> None:
    """`sub` of each tensor and its operand. In place."""
@overload
def _foreach_sub_(input: _Sequence[Tensor], scalars: _Sequence[_Number]) -> None:
    """`sub` of each tensor and its operand. In place."""
@overload
def _foreach_sub_(input: _Sequence[Tensor], scalar: _Number) -> None:
    """`sub` of each tensor and its operand. In place."""
def _foreach_tan(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`tan` of each tensor."""
def _foreach_tan_(input: _Sequence[Tensor]) -> None:
    """`tan` of each tensor. In place."""
def _foreach_tanh(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`tanh` of each tensor."""
def _foreach_tanh_(input: _Sequence[Tensor]) -> None:
    """`tanh` of each tensor. In place."""
def _foreach_trunc(input: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`trunc` of each tensor."""
def _foreach_trunc_(input: _Sequence[Tensor]) -> None:
    """`trunc` of each tensor. In place."""
def _foreach_zero_(input: _Sequence[Tensor]) -> None:
    """Sets every tensor to 0."""
@overload
def _fused_adagrad_(input: _Sequence[Tensor], grads: _Sequence[Tensor], state_sums: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: _float, lr_decay: _float, weight_decay: _float, eps: _float, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of Adagrad."""
@overload
def _fused_adagrad_(input: _Sequence[Tensor], grads: _Sequence[Tensor], state_sums: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: Tensor, lr_decay: _float, weight_decay: _float, eps: _float, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of Adagrad, the learning rate a tensor."""
@overload
def _fused_adam_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avgs: _Sequence[Tensor], exp_avg_sqs: _Sequence[Tensor], max_exp_avg_sqs: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: _float, beta1: _float, beta2: _float, weight_decay: _float, eps: _float, amsgrad: _bool, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of Adam."""
@overload
def _fused_adam_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avgs: _Sequence[Tensor], exp_avg_sqs: _Sequence[Tensor], max_exp_avg_sqs: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: Tensor, beta1: _float, beta2: _float, weight_decay: _float, eps: _float, amsgrad: _bool, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of Adam, the learning rate a tensor."""
@overload
def _fused_adamw_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avgs: _Sequence[Tensor], exp_avg_sqs: _Sequence[Tensor], max_exp_avg_sqs: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: _float, beta1: _float, beta2: _float, weight_decay: _float, eps: _float, amsgrad: _bool, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of AdamW."""
@overload
def _fused_adamw_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avgs: _Sequence[Tensor], exp_avg_sqs: _Sequence[Tensor], max_exp_avg_sqs: _Sequence[Tensor], state_steps: _Sequence[Tensor], *, lr: Tensor, beta1: _float, beta2: _float, weight_decay: _float, eps: _float, amsgrad: _bool, maximize: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of AdamW, the learning rate a tensor."""
def _fused_dropout(input: Tensor, p: _float, generator: _Generator | None = ...) -> tuple[Tensor, Tensor]:
    """Keeps each element with probability `p` and divides it by `p`; also the mask."""
def _fused_rms_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None, eps: _float | None) -> tuple[Tensor, Tensor]:
    """RMS norm over the trailing dimensions, and the reciprocal root mean squares."""
def _fused_sdp_choice(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., *, scale: _float | None = ..., enable_gqa: _bool = ...) -> _int:
    """Which implementation scaled_dot_product_attention takes: 1 in blocks, 0 by separate operators."""
@overload
def _fused_sgd_(input: _Sequence[Tensor], grads: _Sequence[Tensor], momentum_buffer_list: _Sequence[Tensor], *, weight_decay: _float, momentum: _float, lr: _float, dampening: _float, nesterov: _bool, maximize: _bool, is_first_step: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of SGD."""
@overload
def _fused_sgd_(input: _Sequence[Tensor], grads: _Sequence[Tensor], momentum_buffer_list: _Sequence[Tensor], *, weight_decay: _float, momentum: _float, lr: Tensor, dampening: _float, nesterov: _bool, maximize: _bool, is_first_step: _bool, grad_scale: Tensor | None = ..., found_inf: Tensor | None = ...) -> None:
    """One step of SGD, the learning rate a tensor."""
def _grouped_mm(input: Tensor, mat2: Tensor, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: _dtype | None = ...) -> Tensor:
    """Products of groups of rows (or columns) that end at `offs` with one matrix each."""
def _histogramdd_bin_edges(input: Tensor, bins: _Sequence[_int], *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> tuple[Tensor, ...]:
    """The edges of even bins along each dimension of the points."""
def _histogramdd_from_bin_cts(input: Tensor, bins: _Sequence[_int], *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """How many points fall into each box of even bins."""
def _histogramdd_from_bin_tensors(input: Tensor, bins: _Sequence[Tensor], *, weight: Tensor | None = ..., density: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """How many points fall into each box between the edges."""
def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The product of two matrices of 8-bit whole numbers, in int32."""
def _is_all_true(input: Tensor) -> Tensor:
    """Whether every element of a boolean tensor is true, as a 0-dim tensor."""
def _is_any_true(input: Tensor) -> Tensor:
    """Whether any element of a boolean tensor is true, as a 0-dim tensor."""
def _lazy_clone(input: Tensor) -> Tensor:
    """A copy whose memory is copied when it, or the tensor that it was made from, is next written."""
def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: _bool) -> None:
    """Raises what LAPACK's error codes mean."""
def _log_softmax(input: Tensor, dim: _int, half_to_float: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the softmax along `dim`."""
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """The gradient of log_softmax."""
def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int) -> Tensor:
    """The quantized tensor of the whole numbers of `self` (int8, uint8 or int32), with a scale and a zero point for each index of `axis`."""
def _make_per_tensor_quantized_tensor(input: Tensor, scale: _float, zero_point: _int) -> Tensor:
    """The quantized tensor of the whole numbers of `self` (int8, uint8 or int32)."""
def _masked_scale(input: Tensor, mask: Tensor, scale: _float) -> Tensor:
    """`self * mask * scale`."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: _bool, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm that says that it updates its running statistics."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: _bool, momentum: _float, eps: _float, *, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`_native_batch_norm_legit` into `out`, and its means and reciprocal standard deviations."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, training: _bool, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm without running statistics."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`_native_batch_norm_legit` into `out`, and its means and reciprocal standard deviations."""
def _native_batch_norm_legit_no_training(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm with its running statistics."""
def _neg_view(input: Tensor) -> Tensor:
    """The negative: a view of memory on the CPU, else computed at once."""
def _new_zeros_with_same_feature_meta(input: Tensor, other: Tensor, *, self_num_batch_dims: _int = ...) -> Tensor:
    """Zeros of `other`'s dtype, laid out in memory as `other`, behind the first `self_num_batch_dims` dimensions of `self`."""
def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Padded sequences (T, N, *) to all first steps, all second ones, and so on; and how many there are of each."""
def _pad_packed_sequence(data: Tensor, batch_sizes: Tensor, batch_first: _bool, padding_value: _Number, total_length: _int) -> tuple[Tensor, Tensor]:
    """The inverse of `_pack_padded_sequence`: padded sequences (T, N, *) and their lengths."""
def _prelu_kernel(input: Tensor, weight: Tensor) -> Tensor:
    """`self` where positive, `weight * self` elsewhere."""
def _safe_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ...) -> Tensor:
    """softmax whose rows of nothing but -inf are zero instead of NaN."""
def _sample_dirichlet(input: Tensor, generator: _Generator | None = ...) -> Tensor:
    """Points of a Dirichlet distribution."""
def _scaled_dot_product_attention_math(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., dropout_mask: Tensor | None = ..., *, scale: _float | None = ..., enable_gqa: _bool = ...) -> tuple[Tensor, Tensor]:
    """Attention by separate operators: output and weights."""
def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = ..., scale_result: Tensor | None = ..., out_dtype: _dtype | None = ..., use_fast_accum: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The product of two float8 matrices, each times its scale: one number, or one for each row of the product (M, 1) and each column (1, N)."""
def _scaled_mm_v2(input: Tensor, mat2: Tensor, scale_a: _Sequence[Tensor], recipe_a: _Sequence[_int], swizzle_a: _Sequence[_int], scale_b: _Sequence[Tensor], recipe_b: _Sequence[_int], swizzle_b: _Sequence[_int], bias: Tensor | None, out_dtype: _dtype | None, contraction_dim: _Sequence[_int] = ..., use_fast_accum: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The product of scaled matrices by the recipes of GPUs, which PyTorch has for no CPU: it raises."""
def _segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Number | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum, mean, max, min or prod of each of the segments of `data` along `axis`, given by lengths or offsets."""
def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes as a tensor of int64."""
def _softmax(input: Tensor, dim: _int, half_to_float: _bool, *, out: Tensor | None = ...) -> Tensor:
    """Exponentials along `dim`, divided by their sum."""
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """The gradient of softmax."""
def _sparse_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * (mat1 @ mat2)`; the gradient of a sparse `mat1` has its pattern."""
def _sparse_compressed_tensor_unsafe(compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of a compressed layout of parts that are not checked."""
def _sparse_coo_tensor_unsafe(indices: Tensor, values: Tensor, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., is_coalesced: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A coordinate tensor of indices and values that are not checked."""
def _sparse_coo_tensor_with_dims_and_tensors(sparse_dim: _int, dense_dim: _int, size: _Sequence[_int], indices: Tensor, values: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., is_coalesced: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A coordinate tensor of indices and values."""
@overload
def _sparse_log_softmax(input: Tensor, dim: _int, half_to_float: _bool) -> Tensor:
    """Over the stored values: what is not stored counts as minus infinity."""
@overload
def _sparse_log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ...) -> Tensor:
    """Logarithm of the softmax of the stored values."""
@overload
def _sparse_mm(sparse: Tensor, dense: Tensor) -> Tensor:
    """The product of a sparse matrix and another."""
@overload
def _sparse_mm(sparse: Tensor, dense: Tensor, reduce: str) -> Tensor:
    """The product of a csr matrix and a dense one, whose terms are joined as `reduce` says."""
@overload
def _sparse_softmax(input: Tensor, dim: _int, half_to_float: _bool) -> Tensor:
    """Over the stored values: what is not stored counts as minus infinity."""
@overload
def _sparse_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ...) -> Tensor:
    """Softmax of the stored values."""
def _sparse_sparse_matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of two coordinate matrices, a coordinate matrix."""
@overload
def _sparse_sum(input: Tensor) -> Tensor:
    """The sum of all values."""
@overload
def _sparse_sum(input: Tensor, *, dtype: _dtype) -> Tensor:
    """The sum of all values."""
@overload
def _sparse_sum(input: Tensor, dim: _Sequence[_int] | _int) -> Tensor:
    """Sums over some dimensions; sparse while a sparse dimension is left."""
@overload
def _sparse_sum(input: Tensor, dim: _Sequence[_int] | _int, *, dtype: _dtype) -> Tensor:
    """Sums over some dimensions."""
def _spdiags(diagonals: Tensor, offsets: Tensor, shape: _Sequence[_int], layout: _layout | None = ...) -> Tensor:
    """A sparse matrix of some of its diagonals."""
def _standard_gamma(input: Tensor, generator: _Generator | None = ...) -> Tensor:
    """Numbers of gamma distributions of rate one."""
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """How a gamma number moves with its shape parameter."""
@overload
def _test_autograd_multiple_dispatch(input: Tensor) -> Tensor:
    """A copy, with a formula of its own."""
@overload
def _test_autograd_multiple_dispatch(input: Tensor, b: _bool) -> Tensor:
    """A copy, which autograd sees through."""
def _test_autograd_multiple_dispatch_view(input: Tensor) -> Tensor:
    """The elements in a row, as a view."""
def _test_autograd_multiple_dispatch_view_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements in a row, as a copy."""
def _test_check_tensor(input: Tensor) -> Tensor:
    """A copy; RuntimeError unless all elements are true."""
def _test_parallel_materialize(input: Tensor, num_parallel: _int, skip_first: _bool = ...) -> Tensor:
    """Asks for memory of the tensor's own in a parallel loop, which is refused where it is a lazy copy."""
def _unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ...) -> tuple[Tensor, Tensor]:
    """Distinct elements in ascending order, and where each element went."""
def _unique2(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ...) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct elements in ascending order, where each element went, and how often each occurs."""
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: _Sequence[Tensor | None], fill: _Number) -> Tensor:
    """Elements by index where the mask is set, whose other indices may be anything, and `fill` elsewhere."""
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: _Sequence[Tensor | None], values: Tensor) -> Tensor:
    """The tensor with values added by index where the mask is set, whose other indices may be anything."""
def _validate_sparse_bsc_tensor_args(ccol_indices: Tensor, row_indices: Tensor, values: Tensor, size: _Sequence[_int], check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a tensor of the layout `sparse_bsc` can be made of these parts."""
def _validate_sparse_bsr_tensor_args(crow_indices: Tensor, col_indices: Tensor, values: Tensor, size: _Sequence[_int], check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a tensor of the layout `sparse_bsr` can be made of these parts."""
def _validate_sparse_compressed_tensor_args(compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: _Sequence[_int], layout: _layout, check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a tensor of a compressed layout can be made of these parts."""
def _validate_sparse_coo_tensor_args(indices: Tensor, values: Tensor, size: _Sequence[_int], is_coalesced: _bool | None = ..., check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a coordinate tensor can be made of these parts."""
def _validate_sparse_csc_tensor_args(ccol_indices: Tensor, row_indices: Tensor, values: Tensor, size: _Sequence[_int], check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a tensor of the layout `sparse_csc` can be made of these parts."""
def _validate_sparse_csr_tensor_args(crow_indices: Tensor, col_indices: Tensor, values: Tensor, size: _Sequence[_int], check_pinning: _bool | None = ...) -> None:
    """RuntimeError unless a tensor of the layout `sparse_csr` can be made of these parts."""
def _weight_int4pack_mm_for_cpu(input: Tensor, mat2: Tensor, qGroupSize: _int, qScaleAndZeros: Tensor) -> Tensor:
    """Product with the transpose of a packed weight, whose numbers are (q - 8) * scale + zero of their group."""
def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """Product with the transpose of an int8 weight, with a scale for each of its rows."""
def _weight_norm(v: Tensor, g: Tensor, dim: _int = ...) -> Tensor:
    """`v` scaled so that its norms over all dimensions but `dim` are `g`."""
def _weight_norm_interface(v: Tensor, g: Tensor, dim: _int = ...) -> tuple[Tensor, Tensor]:
    """`v` scaled so that its norms over all dimensions but `dim` are `g`, and the norms it had."""
def _weight_norm_interface_backward(grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: _int) -> tuple[Tensor, Tensor]:
    """The gradients of weight normalisation by direction and by norm."""
def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Absolute value; of a complex number its modulus."""
def abs_(input: Tensor) -> Tensor:
    """Absolute value; of a complex number its modulus."""
def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Absolute value; of a complex number its modulus."""
def absolute_(input: Tensor) -> Tensor:
    """Absolute value; of a complex number its modulus."""
def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse cosine."""
def acos_(input: Tensor) -> Tensor:
    """Inverse cosine."""
def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic cosine."""
def acosh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine."""
def adaptive_avg_pool1d(input: Tensor, output_size: _Sequence[_int] | _int) -> Tensor:
    """Mean over windows that split the last dimension evenly."""
def adaptive_max_pool1d(input: Tensor, output_size: _Sequence[_int] | _int) -> tuple[Tensor, Tensor]:
    """Maximum over windows that split the last dimension evenly, and its index."""
@overload
def add(input: Tensor, other: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`self + alpha * other`."""
@overload
def add(input: Tensor, other: _Number, alpha: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self + alpha * other`."""
@overload
def add_(input: Tensor, other: Tensor, *, alpha: _Number = ...) -> Tensor:
    """`self + alpha * other`."""
@overload
def add_(input: Tensor, other: _Number, alpha: _Number = ...) -> Tensor:
    """`self + alpha * other`."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`beta * self` plus the sum over the batch of the products."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self` plus the sum over the batch of the products."""
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`self + value * tensor1 / tensor2`."""
def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
    """`self + value * tensor1 / tensor2`."""
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`self + value * tensor1 * tensor2`."""
def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Tensor:
    """`self + value * tensor1 * tensor2`."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`beta * self + alpha * (mat1 @ mat2)`."""
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * (mat1 @ mat2)`."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`beta * self + alpha * (mat @ vec)`."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * (mat @ vec)`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`beta * self + alpha * outer(vec1, vec2)`."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the last two dimensions exchanged."""
def affine_grid_generator(theta: Tensor, size: _Sequence[_int], align_corners: _bool) -> Tensor:
    """Sampling positions of affine maps: (batch, 2, 3) or (batch, 3, 4) matrices to grids."""
def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `alias` gives."""
@overload
def all(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements are nonzero."""
@overload
def all(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements along `dim` are nonzero."""
@overload
def all(input: Tensor, dim: _Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements along the dimensions `dim` are nonzero."""
def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """Whether all elements are close; see `isclose`."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Sets elements to SELU's saturation value and keeps mean and variance."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout in place."""
def amax(input: Tensor, dim: _Sequence[_int] | _int = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The largest elements along the dimensions `dim`; NaN where there is one."""
def amin(input: Tensor, dim: _Sequence[_int] | _int = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The smallest elements along the dimensions `dim`; NaN where there is one."""
def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.aminmax:
    """The smallest and the largest elements along `dim`, or of all."""
def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Angle in the complex plane, in radians; 0 or pi for real numbers."""
@overload
def any(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Whether any element is nonzero."""
@overload
def any(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether any element along `dim` is nonzero."""
@overload
def any(input: Tensor, dim: _Sequence[_int] | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether any element along the dimensions `dim` is nonzero."""
@overload
def arange(end: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """0, 1, ... below `end`."""
@overload
def arange(end: _Number, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`arange` into `out`."""
@overload
def arange(start: _Number, end: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`start`, `start + 1`, ... below `end`."""
@overload
def arange(start: _Number, end: _Number, step: _Number = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`start`, `start + step`, ... before `end`."""
@overload
def arange(start: _Number, end: _Number, step: _Number = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`arange` into `out`."""
def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse cosine."""
def arccos_(input: Tensor) -> Tensor:
    """Inverse cosine."""
def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic cosine."""
def arccosh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine."""
def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse sine."""
def arcsin_(input: Tensor) -> Tensor:
    """Inverse sine."""
def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine."""
def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse tangent."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Angle of the point (`other`, `self`)."""
def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (`other`, `self`)."""
def arctan_(input: Tensor) -> Tensor:
    """Inverse tangent."""
def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic tangent."""
def arctanh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent."""
def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The position of the largest element along `dim`, or of all elements in row-major order."""
def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The position of the smallest element along `dim`, or of all elements in row-major order."""
@overload
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ...) -> Tensor:
    """The positions that sort the tensor along `dim`."""
@overload
def argsort(input: Tensor, *, stable: _bool, dim: _int = ..., descending: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The positions that sort the tensor along `dim`, ties in their order."""
def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero."""
def as_strided(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """A view with any sizes and strides over the storage."""
def as_strided_(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ...) -> Tensor:
    """Gives the tensor itself other sizes and strides."""
def as_strided_copy(input: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `as_strided` gives."""
def as_strided_scatter(input: Tensor, src: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of `self` whose strided view is replaced by `src`."""
def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse sine."""
def asin_(input: Tensor) -> Tensor:
    """Inverse sine."""
def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine."""
def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse tangent."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Angle of the point (`other`, `self`)."""
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (`other`, `self`)."""
def atan_(input: Tensor) -> Tensor:
    """Inverse tangent."""
def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic tangent."""
def atanh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent."""
def avg_pool1d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """Mean over windows of the last dimension."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`beta * self + alpha * (batch1 @ batch2)`, matrix by matrix."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * (batch1 @ batch2)`, matrix by matrix."""
@overload
def bartlett_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A triangle from zero to one and back."""
@overload
def bartlett_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A triangle from zero to one and back."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Normalises each channel over all other dimensions."""
@overload
def bernoulli(input: Tensor, *, generator: _Generator | None = ...) -> Tensor:
    """1 with the probability that the element gives, else 0."""
@overload
def bernoulli(input: Tensor, p: _float, *, generator: _Generator | None = ...) -> Tensor:
    """1 with probability `p`, else 0, shaped like `self`."""
@overload
def bernoulli(input: Tensor, *, generator: _Generator | None = ..., out: Tensor) -> Tensor:
    """`bernoulli` into `out`, which is of any dtype and takes the size without a warning."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """`input1 @ weight[k] @ input2` for each output feature k."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor:
    """Cross entropy of sigmoid(self) with targets in [0, 1], computed without the sigmoid."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
    """How often each non-negative integer occurs, or the sum of its weights."""
def binomial(count: Tensor, prob: Tensor, generator: _Generator | None = ...) -> Tensor:
    """How many of `count` trials succeed."""
@overload
def bitwise_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise and; logical for bool."""
@overload
def bitwise_and(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise and; logical for bool."""
@overload
def bitwise_and(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise and; logical for bool."""
@overload
def bitwise_and_(input: Tensor, other: Tensor) -> Tensor:
    """Bitwise and; logical for bool."""
@overload
def bitwise_and_(input: Tensor, other: _Number) -> Tensor:
    """Bitwise and; logical for bool."""
@overload
def bitwise_left_shift(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the left by `other` places."""
@overload
def bitwise_left_shift(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the left by `other` places."""
@overload
def bitwise_left_shift(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the left by `other` places."""
@overload
def bitwise_left_shift_(input: Tensor, other: Tensor) -> Tensor:
    """Bits moved to the left by `other` places."""
@overload
def bitwise_left_shift_(input: Tensor, other: _Number) -> Tensor:
    """Bits moved to the left by `other` places."""
def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise complement; logical not for bool."""
def bitwise_not_(input: Tensor) -> Tensor:
    """Bitwise complement; logical not for bool."""
@overload
def bitwise_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise or; logical for bool."""
@overload
def bitwise_or(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise or; logical for bool."""
@overload
def bitwise_or(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise or; logical for bool."""
@overload
def bitwise_or_(input: Tensor, other: Tensor) -> Tensor:
    """Bitwise or; logical for bool."""
@overload
def bitwise_or_(input: Tensor, other: _Number) -> Tensor:
    """Bitwise or; logical for bool."""
@overload
def bitwise_right_shift(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the right by `other` places."""
@overload
def bitwise_right_shift(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the right by `other` places."""
@overload
def bitwise_right_shift(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bits moved to the right by `other` places."""
@overload
def bitwise_right_shift_(input: Tensor, other: Tensor) -> Tensor:
    """Bits moved to the right by `other` places."""
@overload
def bitwise_right_shift_(input: Tensor, other: _Number) -> Tensor:
    """Bits moved to the right by `other` places."""
@overload
def bitwise_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise xor; logical for bool."""
@overload
def bitwise_xor(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise xor; logical for bool."""
@overload
def bitwise_xor(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise xor; logical for bool."""
@overload
def bitwise_xor_(input: Tensor, other: Tensor) -> Tensor:
    """Bitwise xor; logical for bool."""
@overload
def bitwise_xor_(input: Tensor, other: _Number) -> Tensor:
    """Bitwise xor; logical for bool."""
@overload
def blackman_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Three terms of a cosine series, zero at the ends."""
@overload
def blackman_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Three terms of a cosine series, zero at the ends."""
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of two batches of matrices."""
def broadcast_to(input: Tensor, size: _Sequence[_int]) -> Tensor:
    """`expand`, as a function."""
@overload
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The bucket of each element between sorted boundaries."""
@overload
def bucketize(input: _Number, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ...) -> Tensor:
    """The bucket of a number between sorted boundaries."""
def cat(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after the other along a dimension."""
def ccol_indices_copy(input: Tensor) -> Tensor:
    """A copy of what `ccol_indices` gives."""
def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smallest integer not below."""
def ceil_(input: Tensor) -> Tensor:
    """The smallest integer not below."""
def celu(input: Tensor, alpha: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`max(0, self) + min(0, alpha * (exp(self / alpha) - 1))`."""
def celu_(input: Tensor, alpha: _Number = ...) -> Tensor:
    """`celu` in place."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Takes channels from the groups in turn."""
def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Cholesky factor of a positive-definite matrix."""
def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of the matrix whose Cholesky factor is given."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Solves with a Cholesky factor."""
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size, the last one shorter."""
@overload
def clamp(input: Tensor, min: _Number | None = ..., max: _Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clamp(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clamp_(input: Tensor, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clamp_(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clamp_max(input: Tensor, max: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of `self` and `max`."""
@overload
def clamp_max(input: Tensor, max: _Number, *, out: Tensor | None = ...) -> Tensor:
    """The smaller of `self` and `max`."""
@overload
def clamp_max_(input: Tensor, max: Tensor) -> Tensor:
    """The smaller of `self` and `max`."""
@overload
def clamp_max_(input: Tensor, max: _Number) -> Tensor:
    """The smaller of `self` and `max`."""
@overload
def clamp_min(input: Tensor, min: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The larger of `self` and `min`."""
@overload
def clamp_min(input: Tensor, min: _Number, *, out: Tensor | None = ...) -> Tensor:
    """The larger of `self` and `min`."""
@overload
def clamp_min_(input: Tensor, min: Tensor) -> Tensor:
    """The larger of `self` and `min`."""
@overload
def clamp_min_(input: Tensor, min: _Number) -> Tensor:
    """The larger of `self` and `min`."""
@overload
def clip(input: Tensor, min: _Number | None = ..., max: _Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clip(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clip_(input: Tensor, min: _Number | None = ..., max: _Number | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
@overload
def clip_(input: Tensor, min: Tensor | None = ..., max: Tensor | None = ...) -> Tensor:
    """`self` moved into [min, max]."""
def clone(input: Tensor, *, memory_format: _memory_format | None = ..., out: Tensor | None = ...) -> Tensor:
    """A copy of the tensor."""
def col_indices_copy(input: Tensor) -> Tensor:
    """A copy of what `col_indices` gives."""
def column_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Tensors as columns, side by side."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor:
    """Choices of `r` elements, one row each."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
def concat(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after the other along a dimension."""
def concatenate(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors one after the other along a dimension."""
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; real tensors as they are."""
def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The conjugate, computed at once; of real numbers the tensor itself."""
def conj_physical_(input: Tensor) -> Tensor:
    """The conjugate, computed at once; of real numbers the tensor itself."""
def constant_pad_nd(input: Tensor, pad: _Sequence[_int], value: _Number = ...) -> Tensor:
    """Adds items of one value at the ends of the last dimensions; negative amounts take items away."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over one spatial dimension."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv1d with padding 'valid' or 'same'."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over two spatial dimensions."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv2d with padding 'valid' or 'same'."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over three spatial dimensions."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv3d with padding 'valid' or 'same'."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ...) -> Tensor:
    """conv1d of (time, batch, channels) with weights (kernel, in, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over one spatial dimension."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over two spatial dimensions."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over three spatial dimensions."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: _Sequence[_int], padding: _Sequence[_int], dilation: _Sequence[_int], transposed: _bool, output_padding: _Sequence[_int], groups: _int, *, out: Tensor | None = ...) -> Tensor:
    """Convolution (or its transpose) over 1 to 3 spatial dimensions."""
@overload
def copysign(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The size of `self` with the sign of `other`."""
@overload
def copysign(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """The size of `self` with the sign of `other`."""
@overload
def copysign_(input: Tensor, other: Tensor) -> Tensor:
    """The size of `self` with the sign of `other`."""
@overload
def copysign_(input: Tensor, other: _Number) -> Tensor:
    """The size of `self` with the sign of `other`."""
def corrcoef(input: Tensor) -> Tensor:
    """Correlation coefficients of the rows."""
def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Cosine of radians."""
def cos_(input: Tensor) -> Tensor:
    """Cosine of radians."""
def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """Hyperbolic cosine."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ...) -> Tensor:
    """Cosine of the angle between vectors along `dim`."""
@overload
def count_nonzero(input: Tensor, dim: _Sequence[_int]) -> Tensor:
    """How many elements along the dimensions `dim` are nonzero."""
@overload
def count_nonzero(input: Tensor, dim: _int | None = ...) -> Tensor:
    """How many elements are nonzero, along `dim` or in all."""
def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """The covariance matrix of the rows, observations in columns."""
def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Cross product; without dim along the first dimension of three items."""
def crow_indices_copy(input: Tensor) -> Tensor:
    """A copy of what `crow_indices` gives."""
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """Connectionist temporal classification, lengths given as tensors."""
@overload
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: _Sequence[_int], target_lengths: _Sequence[_int], blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor:
    """Connectionist temporal classification."""
def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.cummax:
    """The largest element so far along `dim`, and its position."""
def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.cummin:
    """The smallest element so far along `dim`, and its position."""
def cumprod(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Running products along `dim`."""
def cumprod_(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """Running products along `dim`."""
def cumsum(input: Tensor, dim: _int, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Running sums along `dim`."""
def cumsum_(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """Running sums along `dim`."""
@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """Running integrals by the trapezoidal rule at given places."""
@overload
def cumulative_trapezoid(y: Tensor, *, dx: _Number = ..., dim: _int = ...) -> Tensor:
    """Running integrals by the trapezoidal rule, equal steps."""
def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """Degrees to radians."""
@overload
def dequantize(input: Tensor) -> Tensor:
    """The numbers of a quantized tensor, or of any other, in float32."""
@overload
def dequantize(tensors: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`dequantize` of each."""
def det(input: Tensor) -> Tensor:
    """Determinant."""
def detach(input: Tensor) -> Tensor:
    """The same data without history."""
def detach_(input: Tensor) -> Tensor:
    """Cuts the tensor out of the graph that made it."""
def detach_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `detach` gives."""
def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The diagonal of a matrix, or the matrix with this diagonal."""
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Matrices with the last dimension on their diagonals."""
def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """The matrix with the elements on its diagonal."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """The diagonal of two dimensions, as last dimension."""
def diagonal_copy(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `diagonal` gives."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of `self` with a diagonal replaced by `src`."""
@overload
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor) -> Tensor:
    """`diff` into `out`, which is of the dtype of `self` where nothing is subtracted."""
@overload
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ...) -> Tensor:
    """Differences of neighbours along `dim`, n times."""
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithmic derivative of the gamma function."""
def digamma_(input: Tensor) -> Tensor:
    """Logarithmic derivative of the gamma function."""
def dist(input: Tensor, other: Tensor, p: _Number = ...) -> Tensor:
    """The p-norm of self - other."""
@overload
def div(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def div(input: Tensor, other: Tensor, *, rounding_mode: str | None, out: Tensor | None = ...) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def div(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def div(input: Tensor, other: _Number, *, rounding_mode: str | None, out: Tensor | None = ...) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def div_(input: Tensor, other: Tensor) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def div_(input: Tensor, other: Tensor, *, rounding_mode: str | None) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def div_(input: Tensor, other: _Number) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def div_(input: Tensor, other: _Number, *, rounding_mode: str | None) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def divide(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def divide(input: Tensor, other: Tensor, *, rounding_mode: str | None, out: Tensor | None = ...) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def divide(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def divide(input: Tensor, other: _Number, *, rounding_mode: str | None, out: Tensor | None = ...) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def divide_(input: Tensor, other: Tensor) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def divide_(input: Tensor, other: Tensor, *, rounding_mode: str | None) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
@overload
def divide_(input: Tensor, other: _Number) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def divide_(input: Tensor, other: _Number, *, rounding_mode: str | None) -> Tensor:
    """Division rounded as `rounding_mode` says: None, "trunc" (toward zero) or "floor"."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inner product of two vectors, nothing conjugated."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In training sets each element to zero with probability `p` and divides the others by 1 - p."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout in place."""
@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal parts along one dimension."""
@overload
def dsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
    """Parts that end before each index."""
def dstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Joined along the third dimension."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The rows of a table that the indices name."""
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums, means or maxima of bags of table rows."""
@overload
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool, mode: _int, sparse: _bool, per_sample_weights: Tensor | None, include_last_offset: _bool, padding_idx: _int | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of table rows, one row left out."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Rows that are looked up and longer than `max_norm`, shortened to it in place."""
@overload
def empty(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uninitialised."""
@overload
def empty(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uninitialised."""
@overload
def empty(size: _Sequence[_int], *, memory_format: _memory_format | None = ..., out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`empty` into `out`."""
@overload
def empty(*size: _int, memory_format: _memory_format | None = ..., out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`empty` into `out`."""
def empty_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uninitialised, shaped like `self`."""
def empty_permuted(size: _Sequence[_int], physical_layout: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uninitialised, with the dimensions in the given order in memory."""
def empty_quantized(size: _Sequence[_int], qtensor: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor of other sizes, quantized as `qtensor` is, whose whole numbers are whatever was in memory."""
def empty_strided(size: _Sequence[_int], stride: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uninitialised, with the given strides."""
@overload
def eq(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is equal to `other`."""
@overload
def eq(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is equal to `other`."""
@overload
def eq_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is equal to `other`."""
@overload
def eq_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is equal to `other`."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether the two tensors have the same size and the same elements."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Error function."""
def erf_(input: Tensor) -> Tensor:
    """Error function."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 - erf(self)`, accurate in the tail."""
def erfc_(input: Tensor) -> Tensor:
    """`1 - erf(self)`, accurate in the tail."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse of the error function."""
def erfinv_(input: Tensor) -> Tensor:
    """Inverse of the error function."""
def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """e to the power `self`."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """2 to the power `self`."""
def exp2_(input: Tensor) -> Tensor:
    """2 to the power `self`."""
def exp_(input: Tensor) -> Tensor:
    """e to the power `self`."""
def expand_copy(input: Tensor, size: _Sequence[_int], *, implicit: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A copy of what `expand` gives."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(self) - 1`, accurate near 0."""
def expm1_(input: Tensor) -> Tensor:
    """`exp(self) - 1`, accurate near 0."""
@overload
def eye(n: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The identity matrix."""
@overload
def eye(n: _int, m: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Ones on the diagonal of an n by m matrix."""
@overload
def eye(n: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`eye` into `out`."""
@overload
def eye(n: _int, m: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`eye` into `out`."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """`self` rounded to the numbers of a tensor quantized by channels; the gradient is that of the identity in their range."""
@overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: _int, quant_max: _int) -> Tensor:
    """The same with a scale and a zero point in tensors."""
@overload
def fake_quantize_per_tensor_affine(input: Tensor, scale: _float, zero_point: _int, quant_min: _int, quant_max: _int) -> Tensor:
    """`self` rounded to the numbers of a quantized tensor; the gradient is that of the identity in their range."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout of whole channels."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_alpha_dropout in place."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout of whole channels."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_dropout in place."""
@overload
def fill(input: Tensor, value: Tensor) -> Tensor:
    """A tensor of the same size filled with `value`."""
@overload
def fill(input: Tensor, value: _Number) -> Tensor:
    """A tensor of the same size filled with `value`."""
@overload
def fill_(input: Tensor, value: Tensor) -> Tensor:
    """Sets every element to `value`, a 0-dim tensor."""
@overload
def fill_(input: Tensor, value: _Number) -> Tensor:
    """Sets every element to `value`."""
def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The integer part."""
def fix_(input: Tensor) -> Tensor:
    """The integer part."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """Dimensions merged into one."""
def flip(input: Tensor, dims: _Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """Dimensions in reverse."""
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse."""
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse."""
@overload
def float_power(input: Tensor, exponent: Tensor, *, out: Tensor) -> Tensor:
    """`float_power` into a tensor in double precision."""
@overload
def float_power(input: Tensor, exponent: Tensor) -> Tensor:
    """`self ** exponent` in double precision."""
@overload
def float_power(input: _Number, exponent: Tensor, *, out: Tensor) -> Tensor:
    """`float_power` into a tensor in double precision."""
@overload
def float_power(input: Tensor, exponent: _Number, *, out: Tensor) -> Tensor:
    """`float_power` into a tensor in double precision."""
@overload
def float_power(input: Tensor, exponent: _Number) -> Tensor:
    """`self ** exponent` in double precision."""
@overload
def float_power(input: _Number, exponent: Tensor) -> Tensor:
    """`self ** exponent` in double precision."""
def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The largest integer not above."""
def floor_(input: Tensor) -> Tensor:
    """The largest integer not above."""
@overload
def floor_divide(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Quotient rounded toward minus infinity, as Python's `//`."""
@overload
def floor_divide(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Quotient rounded toward minus infinity, as Python's `//`."""
@overload
def floor_divide_(input: Tensor, other: Tensor) -> Tensor:
    """Quotient rounded toward minus infinity, as Python's `//`."""
@overload
def floor_divide_(input: Tensor, other: _Number) -> Tensor:
    """Quotient rounded toward minus infinity, as Python's `//`."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The larger operand; a NaN is passed over."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller operand; a NaN is passed over."""
@overload
def fmod(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Remainder with the sign of `self`, as C's fmod."""
@overload
def fmod(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Remainder with the sign of `self`, as C's fmod."""
@overload
def fmod_(input: Tensor, other: Tensor) -> Tensor:
    """Remainder with the sign of `self`, as C's fmod."""
@overload
def fmod_(input: Tensor, other: _Number) -> Tensor:
    """Remainder with the sign of `self`, as C's fmod."""
def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The part after the point, with the sign of `self`."""
def frac_(input: Tensor) -> Tensor:
    """The part after the point, with the sign of `self`."""
def frexp(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.frexp:
    """A number of magnitude in [0.5, 1), and the power of two by which it is multiplied."""
def frobenius_norm(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Square root of the sum of squares along one or two dimensions."""
def from_file(filename: str, shared: _bool | None = ..., size: _int | None = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The elements of a file as a tensor of one dimension; with shared=True what is written to one is in the other."""
@overload
def full(size: _Sequence[_int], fill_value: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """One number everywhere; its kind gives the dtype."""
@overload
def full(size: _Sequence[_int], fill_value: _Number, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`full` into `out`."""
def full_like(input: Tensor, fill_value: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """One number everywhere, shaped like `self`."""
def fused_moving_avg_obs_fake_quant(input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor, running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: _float, quant_min: _int, quant_max: _int, ch_axis: _int, per_row_fake_quant: _bool = ..., symmetric_quant: _bool = ...) -> Tensor:
    """`self` rounded to what quantized numbers hold, by averages of its ends that are moved (in `running_min`, `running_max`, `scale` and `zero_point`) where `observer_on` is not 0; rounded where `fake_quant_on` is not 0."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """out[i][j] = self[index[i][j]][j] for dim 0, and so on."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Greatest common divisor."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor."""
@overload
def ge(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def ge(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def ge_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def ge_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
def geqrf(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.geqrf:
    """QR as LAPACK leaves it: reflectors below the diagonal."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of all pairs of items of two vectors."""
@overload
def greater(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def greater(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def greater_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def greater_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def greater_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def greater_equal(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def greater_equal_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
@overload
def greater_equal_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is greater than or equal to `other`."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """An image read at the positions of a grid."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """An image read at the positions of a grid."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor:
    """A volume read at the positions of a grid."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ...) -> Tensor:
    """Normalises each sample's groups of channels."""
@overload
def gru(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """Gated recurrent units over packed sequences."""
@overload
def gru(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Gated recurrent units over (T, N, in), from (layers, N, H)."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of a GRU: (N, in) and (N, H) to (N, H)."""
@overload
def gt(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def gt(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def gt_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def gt_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is greater than `other`."""
@overload
def hamming_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`alpha - beta * cos`: a cosine on a pedestal."""
@overload
def hamming_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`alpha - beta * cos`: a cosine on a pedestal."""
@overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`alpha - beta * cos`: a cosine on a pedestal."""
@overload
def hamming_window(window_length: _int, periodic: _bool, alpha: _float, beta: _float, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`alpha - beta * cos`: a cosine on a pedestal."""
@overload
def hann_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A raised cosine."""
@overload
def hann_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A raised cosine."""
def hardshrink(input: Tensor, lambd: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """0 within [-lambd, lambd], `self` elsewhere."""
def hash_tensor(input: Tensor, dim: _Sequence[_int] | _int = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Exclusive or of the elements' bits, floats as float64 and integers as int64, along dimensions: all for none."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """0 below zero, 1 above, `values` at zero."""
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero, 1 above, `values` at zero."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
def histc(input: Tensor, bins: _int = ..., min: _Number = ..., max: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """Counts of the elements in `bins` equal intervals of [min, max], or of the data's own range."""
@overload
def histogram(input: Tensor, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.histogram:
    """How many elements fall between each two of the edges `bins`."""
@overload
def histogram(input: Tensor, bins: _int = ..., *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.histogram:
    """How many elements fall into each of `bins` even bins, and the edges between them."""
@overload
def histogramdd(input: Tensor, bins: _Sequence[_int], range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """How many points, the rows of the last dimension, fall into each box of even bins, and the edges."""
@overload
def histogramdd(input: Tensor, bins: _int, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """The same number of bins along every dimension."""
@overload
def histogramdd(input: Tensor, bins: _Sequence[Tensor], range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> return_types.histogramdd:
    """The edges as tensors."""
@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal parts along one dimension."""
@overload
def hsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
    """Parts that end before each index."""
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, with whole rows as values."""
def hstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Joined along the second dimension (the first of one-dimensional ones)."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`sqrt(self**2 + other**2)` without overflow."""
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """`sqrt(self**2 + other**2)` without overflow."""
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def i0_(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised lower incomplete gamma function."""
def igamma_(input: Tensor, other: Tensor) -> Tensor:
    """Regularised lower incomplete gamma function."""
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised upper incomplete gamma function."""
def igammac_(input: Tensor, other: Tensor) -> Tensor:
    """Regularised upper incomplete gamma function."""
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """Slices of `source`, times alpha, added to the slices of `self` that `index` names."""
def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...) -> Tensor:
    """Slices of `source`, times alpha, added to the slices of `self` that `index` names."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The slices that `index` names, replaced by those of `source`."""
def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """The slices that `index` names, replaced by those of `source`."""
@overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor) -> Tensor:
    """The slices that `index` names, filled with the value of a 0-dim tensor."""
@overload
def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor:
    """The slices that `index` names, filled with a number."""
@overload
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor) -> Tensor:
    """The slices that `index` names, filled with the value of a 0-dim tensor."""
@overload
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor:
    """The slices that `index` names, filled with a number."""
def index_put(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """`values` put (or added) at the positions that the index tensors name."""
def index_put_(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """`values` put (or added) at the positions that the index tensors name."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Slices of `source` reduced (prod, mean, amax, amin) into the slices of `self` that `index` names."""
def index_reduce_(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
    """Slices of `source` reduced (prod, mean, amax, amin) into the slices of `self` that `index` names."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The slices along `dim` that `index` names."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sum product over the last dimension of both."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Normalises each channel of each sample."""
def int_repr(input: Tensor) -> Tensor:
    """The whole numbers of a quantized tensor, copied; of those with several to a byte the bytes."""
def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse of square matrices."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element of the tensor is not 0."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether both have the same sizes."""
def is_signed(input: Tensor) -> _bool:
    """Whether the dtype has negative numbers."""
def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """True where `|self - other| <= atol + rtol * |other|`."""
def isfinite(input: Tensor) -> Tensor:
    """True where `self` is neither infinite nor NaN."""
@overload
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element is among the test elements."""
@overload
def isin(element: _Number, test_elements: Tensor, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether a number is among the test elements."""
@overload
def isin(elements: Tensor, test_element: _Number, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element equals a number."""
def isinf(input: Tensor) -> Tensor:
    """True where `self` is positive or negative infinity."""
def isnan(input: Tensor) -> Tensor:
    """True where `self` is NaN."""
def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is positive infinity."""
def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0."""
@overload
def kaiser_window(window_length: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The window of the modified Bessel function of order zero."""
@overload
def kaiser_window(window_length: _int, periodic: _bool, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The window of the modified Bessel function of order zero."""
@overload
def kaiser_window(window_length: _int, periodic: _bool, beta: _float, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """The window of the modified Bessel function of order zero."""
def kl_div(input: Tensor, target: Tensor, reduction: _int = ..., *, log_target: _bool = ...) -> Tensor:
    """target * (log target - self), pointwise; `self` holds log-probabilities."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Kronecker product."""
def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.kthvalue:
    """The k-th smallest elements along `dim`, counted from 1, and their positions."""
def layer_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Layer norm over the trailing dimensions."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Least common multiple."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * 2**other`."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """`ldexp` in place."""
@overload
def le(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def le(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def le_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def le_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def lerp(input: Tensor, end: Tensor, weight: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self + weight * (end - self)`."""
@overload
def lerp(input: Tensor, end: Tensor, weight: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`self + weight * (end - self)`."""
@overload
def lerp_(input: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """`self + weight * (end - self)`."""
@overload
def lerp_(input: Tensor, end: Tensor, weight: _Number) -> Tensor:
    """`self + weight * (end - self)`."""
@overload
def less(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def less(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def less_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def less_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def less_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def less_equal(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def less_equal_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is less than or equal to `other`."""
@overload
def less_equal_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is less than or equal to `other`."""
def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the size of the gamma function."""
def lgamma_(input: Tensor) -> Tensor:
    """Logarithm of the size of the gamma function."""
@overload
def linspace(start: Tensor, end: Tensor, steps: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def linspace(start: Tensor, end: Tensor, steps: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`linspace` between ends in tensors, into `out`."""
@overload
def linspace(start: _Number, end: Tensor, steps: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def linspace(start: Tensor, end: _Number, steps: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def linspace(start: _Number, end: Tensor, steps: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`linspace` between ends in tensors, into `out`."""
@overload
def linspace(start: Tensor, end: _Number, steps: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`linspace` between ends in tensors, into `out`."""
@overload
def linspace(start: _Number, end: _Number, steps: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced numbers, both ends included."""
@overload
def linspace(start: _Number, end: _Number, steps: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`linspace` into `out`."""
def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """Logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`log(1 + self)`, accurate near 0."""
def log1p_(input: Tensor) -> Tensor:
    """`log(1 + self)`, accurate near 0."""
def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """Logarithm to base 2."""
def log_(input: Tensor) -> Tensor:
    """Natural logarithm."""
def log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the softmax along `dim`, computed in `dtype`."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`log(exp(self) + exp(other))` without overflow."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`log2(2**self + 2**other)` without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """Logarithms of the running sums of exponentials along `dim`."""
def logdet(input: Tensor) -> Tensor:
    """Log of the determinant; nan where that is negative."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where both are nonzero."""
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """True where both are nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is zero."""
def logical_not_(input: Tensor) -> Tensor:
    """True where `self` is zero."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where either is nonzero."""
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """True where either is nonzero."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where exactly one is nonzero."""
def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """True where exactly one is nonzero."""
def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`log(self / (1 - self))`, `self` moved into [eps, 1 - eps] first."""
def logit_(input: Tensor, eps: _float | None = ...) -> Tensor:
    """`log(self / (1 - self))`, `self` moved into [eps, 1 - eps] first."""
@overload
def logspace(start: Tensor, end: Tensor, steps: _int, base: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def logspace(start: Tensor, end: Tensor, steps: _int, base: _float = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`logspace` between ends in tensors, into `out`."""
@overload
def logspace(start: _Number, end: Tensor, steps: _int, base: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def logspace(start: Tensor, end: _Number, steps: _int, base: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Evenly spaced between ends given as tensors."""
@overload
def logspace(start: _Number, end: Tensor, steps: _int, base: _float = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`logspace` between ends in tensors, into `out`."""
@overload
def logspace(start: Tensor, end: _Number, steps: _int, base: _float = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`logspace` between ends in tensors, into `out`."""
@overload
def logspace(start: _Number, end: _Number, steps: _int, base: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`base` to the power of evenly spaced exponents."""
@overload
def logspace(start: _Number, end: _Number, steps: _int, base: _float = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`logspace` into `out`."""
def logsumexp(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the sum of exponentials along the dimensions `dim`."""
@overload
def lstm(data: Tensor, batch_sizes: Tensor, hx: _Sequence[Tensor], params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory over packed sequences."""
@overload
def lstm(input: Tensor, hx: _Sequence[Tensor], params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """Long short-term memory over (T, N, in), from a pair of (layers, N, H)."""
def lstm_cell(input: Tensor, hx: _Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: (N, in) and a pair of (N, H) to a pair of (N, H)."""
@overload
def lt(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def lt(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def lt_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is less than `other`."""
@overload
def lt_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is less than `other`."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Solves with LU factors."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.lu_unpack:
    """Permutation, lower and upper triangle of LU factors."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
@overload
def masked_fill(input: Tensor, mask: Tensor, value: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`value`, a 0-dim tensor, where `mask` is True, `self` elsewhere."""
@overload
def masked_fill(input: Tensor, mask: Tensor, value: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`value` where `mask` is True, `self` elsewhere."""
@overload
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """`value`, a 0-dim tensor, where `mask` is True, `self` elsewhere."""
@overload
def masked_fill_(input: Tensor, mask: Tensor, value: _Number) -> Tensor:
    """`value` where `mask` is True, `self` elsewhere."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements under the mask, replaced by those of `source` one after the other."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The elements under the mask, replaced by those of `source` one after the other."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements under the mask, one-dimensional."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product with broadcast batch dimensions; vectors count as a row on the left and a column on the right."""
def matrix_exp(input: Tensor) -> Tensor:
    """Exponential of square matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Integer power of square matrices."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
    """`max` of two tensors into `out`."""
@overload
def max(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements."""
@overload
def max(input: Tensor) -> Tensor:
    """The largest element; NaN if there is one."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.max:
    """The largest elements along `dim` and their positions."""
@overload
def max(input: Tensor, *, out: Tensor) -> Tensor:
    """`max` into `out`."""
def max_pool1d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """Maximum over windows of the last dimension."""
def max_pool1d_with_indices(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> tuple[Tensor, Tensor]:
    """Maximum over windows of the last dimension, and its index."""
def max_pool2d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """Maximum over windows of the last two dimensions."""
def max_pool3d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """Maximum over windows of the last three dimensions."""
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The larger operand, NaN if either is; equal operands share the gradient."""
@overload
def mean(input: Tensor, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The mean of all elements."""
@overload
def mean(input: Tensor, dim: _Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The mean along the dimensions `dim`."""
@overload
def median(input: Tensor) -> Tensor:
    """The lower median of all elements; NaN if there is one."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.median:
    """The lower medians along `dim` and their positions."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
    """`min` of two tensors into `out`."""
@overload
def min(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements."""
@overload
def min(input: Tensor) -> Tensor:
    """The smallest element; NaN if there is one."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.min:
    """The smallest elements along `dim` and their positions."""
@overload
def min(input: Tensor, *, out: Tensor) -> Tensor:
    """`min` into `out`."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The smaller operand, NaN if either is; equal operands share the gradient."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of two matrices."""
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.mode:
    """The most frequent values along `dim` and where each occurs last."""
@overload
def moveaxis(input: Tensor, source: _int, destination: _int) -> Tensor:
    """One dimension moved to another place."""
@overload
def moveaxis(input: Tensor, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor:
    """Dimensions moved to other places."""
@overload
def movedim(input: Tensor, source: _int, destination: _int) -> Tensor:
    """One dimension moved to another place."""
@overload
def movedim(input: Tensor, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor:
    """Dimensions moved to other places."""
def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements sorted along the first dimension."""
@overload
def mul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product."""
@overload
def mul(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Product."""
@overload
def mul_(input: Tensor, other: Tensor) -> Tensor:
    """Product."""
@overload
def mul_(input: Tensor, other: _Number) -> Tensor:
    """Product."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: _Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Categories drawn with the weights of each row."""
@overload
def multiply(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product."""
@overload
def multiply(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Product."""
@overload
def multiply_(input: Tensor, other: Tensor) -> Tensor:
    """Product."""
@overload
def multiply_(input: Tensor, other: _Number) -> Tensor:
    """Product."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the multivariate gamma function."""
def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """Logarithm of the multivariate gamma function."""
def nan_to_num(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """NaN and infinities replaced: by 0 and the largest and smallest finite number, or as given."""
def nan_to_num_(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
    """NaN and infinities replaced: by 0 and the largest and smallest finite number, or as given."""
def nanmean(input: Tensor, dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The mean of what is not NaN."""
@overload
def nanmedian(input: Tensor) -> Tensor:
    """The lower median of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.nanmedian:
    """The lower medians, NaN left out, along `dim` and their positions."""
@overload
def nanquantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Quantiles of what is not NaN."""
@overload
def nanquantile(input: Tensor, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Quantiles of what is not NaN."""
def nansum(input: Tensor, dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum along the dimensions `dim`, NaN counted as zero."""
@overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int) -> Tensor:
    """`narrow` whose start is a tensor."""
@overload
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """`length` elements of a dimension from `start` on."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of `length` elements of a dimension from `start` on."""
@overload
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises each channel over all other dimensions; in training updates the running statistics."""
@overload
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: Tensor, save_mean: Tensor, save_invstd: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm` into `out`, and its means and reciprocal standard deviations."""
def native_batch_norm_backward(grad_out: Tensor, input: Tensor, weight: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, save_mean: Tensor | None, save_invstd: Tensor | None, train: _bool, eps: _float, output_mask: _Sequence[_bool] | _bool) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of batch norm by input, weight and bias."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Takes channels from the groups in turn."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """Drops each element with probability `p` and scales the others by 1 / (1 - p); also the mask."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Normalises each sample's groups of channels."""
def native_group_norm_backward(grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, output_mask: _Sequence[_bool] | _bool) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of group norm by input, weight and bias."""
def native_layer_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]:
    """Layer norm over the trailing dimensions, with the means and reciprocal standard deviations."""
@overload
def native_norm(input: Tensor, p: _Number | None, dim: _Sequence[_int] | _int, keepdim: _bool, dtype: _dtype | None) -> Tensor:
    """The norm of a sparse tensor over all its dimensions."""
@overload
def native_norm(input: Tensor, p: _Number = ...) -> Tensor:
    """The norm of a sparse tensor."""
@overload
def ne(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def ne(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def ne_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def ne_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is not equal to `other`."""
def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Negative."""
def neg_(input: Tensor) -> Tensor:
    """Negative."""
def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Negative."""
def negative_(input: Tensor) -> Tensor:
    """Negative."""
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The next number after `self` toward `other`."""
def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """The next number after `self` toward `other`."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
    """`nonzero` cut or filled up to `size` rows."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ...) -> Tensor:
    """The norms over all dimensions but `dim`."""
@overload
def normal(mean: Tensor, std: Tensor, *, generator: _Generator | None = ..., out: Tensor) -> Tensor:
    """`normal` into `out`."""
@overload
def normal(mean: Tensor, std: Tensor, *, generator: _Generator | None = ...) -> Tensor:
    """Normal numbers, each with its own mean and deviation."""
@overload
def normal(mean: Tensor, std: _float = ..., *, generator: _Generator | None = ..., out: Tensor) -> Tensor:
    """`normal` into `out`."""
@overload
def normal(mean: _float, std: Tensor, *, generator: _Generator | None = ..., out: Tensor) -> Tensor:
    """`normal` into `out`."""
@overload
def normal(mean: Tensor, std: _float = ..., *, generator: _Generator | None = ...) -> Tensor:
    """Normal numbers, each with its own mean."""
@overload
def normal(mean: _float, std: Tensor, *, generator: _Generator | None = ...) -> Tensor:
    """Normal numbers, each with its own deviation."""
@overload
def normal(mean: _float, std: _float, size: _Sequence[_int], *, generator: _Generator | None = ..., dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Normal numbers of one mean and deviation."""
@overload
def normal(mean: _float, std: _float, size: _Sequence[_int], *, generator: _Generator | None = ..., out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`normal` into `out`."""
@overload
def not_equal(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def not_equal(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def not_equal_(input: Tensor, other: Tensor) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def not_equal_(input: Tensor, other: _Number) -> Tensor:
    """True where `self` is not equal to `other`."""
@overload
def nuclear_norm(input: Tensor, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum of a matrix's singular values."""
@overload
def nuclear_norm(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Sum of the singular values of the matrices in two dimensions."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """Ones at the positions that the elements name."""
@overload
def ones(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Ones."""
@overload
def ones(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Ones."""
@overload
def ones(size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`ones` into `out`."""
@overload
def ones(*size: _int, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`ones` into `out`."""
def ones_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Ones, shaped like `self`."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.linalg.householder_product`."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input3` multiplied by the orthogonal matrix whose reflectors `geqrf` gave as `self` and `input2`."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of all pairs of items of two vectors."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor:
    """p-norm of the differences along the last dimension."""
def pdist(input: Tensor, p: _float = ...) -> Tensor:
    """p-norm distances between every two rows."""
def permute(input: Tensor, dims: _Sequence[_int]) -> Tensor:
    """Dimensions in another order."""
def permute_copy(input: Tensor, dims: _Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `permute` gives."""
def pinverse(input: Tensor, rcond: _float = ...) -> Tensor:
    """Pseudo-inverse."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels become pixels: (..., C r r, H, W) to (..., C, H r, W r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels: (..., C, H r, W r) to (..., C r r, H, W)."""
def poisson(input: Tensor, generator: _Generator | None = ...) -> Tensor:
    """Poisson numbers with the elements as rates."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor:
    """Negative log likelihood of counts under a Poisson distribution."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Complex numbers from their magnitudes and angles."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The `n`-th derivative of digamma."""
def positive(input: Tensor) -> Tensor:
    """The tensor itself."""
@overload
def pow(input: Tensor, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self` to the power `exponent`."""
@overload
def pow(input: Tensor, exponent: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`self` to the power `exponent`."""
@overload
def pow(input: _Number, exponent: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A number to the power of each element of `exponent`."""
@overload
def pow_(input: Tensor, exponent: Tensor) -> Tensor:
    """`self` to the power `exponent`."""
@overload
def pow_(input: Tensor, exponent: _Number) -> Tensor:
    """`self` to the power `exponent`."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`self` where positive, `weight * self` elsewhere; one weight, or one for each channel."""
@overload
def prod(input: Tensor, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The product of all elements."""
@overload
def prod(input: Tensor, dim: _int, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The product along `dim`."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """`source` put (or added) at positions of the flattened tensor."""
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """`source` put (or added) at positions of the flattened tensor."""
def q_per_channel_axis(input: Tensor) -> _int:
    """The dimension whose indices have scales of their own."""
def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scale of each index."""
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The zero point of each index."""
def q_scale(input: Tensor) -> _float:
    """The scale."""
def q_zero_point(input: Tensor) -> _int:
    """The zero point."""
def qr(input: Tensor, some: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.qr:
    """Orthonormal columns times an upper triangle."""
@overload
def quantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Quantiles along `dim`; NaN where there is one."""
@overload
def quantile(input: Tensor, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Tensor | None = ...) -> Tensor:
    """Quantiles along `dim`; NaN where there is one."""
def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: _int, dtype: _dtype) -> Tensor:
    """`quantize_per_tensor` with a scale and a zero point for each index of `axis`; floating zero points are added first."""
@overload
def quantize_per_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, dtype: _dtype) -> Tensor:
    """The same with a scale and a zero point from tensors of one element."""
@overload
def quantize_per_tensor(tensors: _Sequence[Tensor], scales: Tensor, zero_points: Tensor, dtype: _dtype) -> tuple[Tensor, ...]:
    """The same for each tensor, with a scale and a zero point of its own."""
@overload
def quantize_per_tensor(input: Tensor, scale: _float, zero_point: _int, dtype: _dtype) -> Tensor:
    """round(self / scale + zero_point), kept in the range of a quantized dtype (`qint8`, `quint8`, `qint32`, `quint4x2`)."""
def quantize_per_tensor_dynamic(input: Tensor, dtype: _dtype, reduce_range: _bool) -> Tensor:
    """`quantize_per_tensor` by the least and the greatest number of `self`; one bit is left free with `reduce_range`."""
def quantized_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, eps: _float, output_scale: _float, output_zero_point: _int) -> Tensor:
    """Batch normalization of a quantized tensor by a given mean and variance."""
def quantized_max_pool1d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest element of each window of a quantized tensor."""
def quantized_max_pool2d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest element of each window of a quantized tensor."""
def quantized_max_pool3d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., ceil_mode: _bool = ...) -> Tensor:
    """The greatest element of each window of a quantized tensor."""
def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """Radians to degrees."""
@overload
def rand(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1)."""
@overload
def rand(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1)."""
@overload
def rand(size: _Sequence[_int], *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1)."""
@overload
def rand(*size: _int, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1)."""
@overload
def rand(size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`rand` into `out`."""
@overload
def rand(*size: _int, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`rand` into `out`."""
@overload
def rand(size: _Sequence[_int], *, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`rand` into `out`."""
@overload
def rand(*size: _int, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`rand` into `out`."""
@overload
def rand_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1), shaped like `self`."""
@overload
def rand_like(input: Tensor, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Uniform in [0, 1), shaped like `self`."""
@overload
def randint(high: _int, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high)."""
@overload
def randint(high: _int, size: _Sequence[_int], *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high)."""
@overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [low, high)."""
@overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [low, high)."""
@overload
def randint(high: _int, size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randint` into `out`."""
@overload
def randint(high: _int, size: _Sequence[_int], *, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randint` into `out`."""
@overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randint` into `out`."""
@overload
def randint(low: _int, high: _int, size: _Sequence[_int], *, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randint` into `out`."""
@overload
def randint_like(input: Tensor, high: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high), shaped like `self`."""
@overload
def randint_like(input: Tensor, high: Tensor, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high), shaped like `self`."""
@overload
def randint_like(input: Tensor, high: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high), shaped like `self`."""
@overload
def randint_like(input: Tensor, high: _int, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [0, high), shaped like `self`."""
@overload
def randint_like(input: Tensor, low: _int, high: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [low, high), shaped like `self`."""
@overload
def randint_like(input: Tensor, low: _int, high: _int, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Integers of [low, high), shaped like `self`."""
@overload
def randn(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers."""
@overload
def randn(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers."""
@overload
def randn(size: _Sequence[_int], *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers."""
@overload
def randn(*size: _int, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers."""
@overload
def randn(size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randn` into `out`."""
@overload
def randn(*size: _int, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randn` into `out`."""
@overload
def randn(size: _Sequence[_int], *, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randn` into `out`."""
@overload
def randn(*size: _int, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randn` into `out`."""
@overload
def randn_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers, shaped like `self`."""
@overload
def randn_like(input: Tensor, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Standard normal numbers, shaped like `self`."""
@overload
def randperm(n: _int, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """0 to n - 1 in random order."""
@overload
def randperm(n: _int, *, generator: _Generator | None, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """0 to n - 1 in random order."""
@overload
def randperm(n: _int, *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randperm` into `out`."""
@overload
def randperm(n: _int, *, generator: _Generator | None, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`randperm` into `out`."""
@overload
def range(start: _Number, end: _Number, step: _Number = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`start`, `start + step`, ... up to and with `end`."""
@overload
def range(start: _Number, end: _Number, step: _Number = ..., *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`range` into `out`."""
def ravel(input: Tensor) -> Tensor:
    """One-dimensional, in row-major order."""
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; of real numbers the tensor itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 / self`."""
def reciprocal_(input: Tensor) -> Tensor:
    """`1 / self`."""
def relu(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self` where positive, 0 elsewhere."""
def relu_(input: Tensor) -> Tensor:
    """`self` where positive, 0 elsewhere."""
@overload
def remainder(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""
@overload
def remainder(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""
@overload
def remainder(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""
@overload
def remainder_(input: Tensor, other: Tensor) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""
@overload
def remainder_(input: Tensor, other: _Number) -> Tensor:
    """Remainder with the sign of `other`, as Python's `%`."""
def renorm(input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
def renorm_(input: Tensor, p: _Number, dim: _int, maxnorm: _Number) -> Tensor:
    """Slices along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Each position of a dimension, as often as `repeats` says."""
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = ...) -> Tensor:
    """0 repeats[0] times, 1 repeats[1] times, and so on."""
@overload
def repeat_interleave(input: Tensor, repeats: _int, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Each position of a dimension `repeats` times."""
def reshape(input: Tensor, shape: _Sequence[_int]) -> Tensor:
    """A view where the strides allow it, else a copy."""
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: _memory_format | None = ...) -> Tensor:
    """The sizes of another tensor."""
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself; of a view that shows conjugates, these in memory of their own."""
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself; of a view that shows negatives, these in memory of their own."""
def rms_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """Divides by the root mean square over the trailing dimensions."""
@overload
def rnn_relu(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """Elman network with relu over packed sequences."""
@overload
def rnn_relu(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Elman network with relu over (T, N, in), from (layers, N, H)."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of an Elman network with relu: (N, in) and (N, H) to (N, H)."""
@overload
def rnn_tanh(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]:
    """Elman network with tanh over packed sequences."""
@overload
def rnn_tanh(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Elman network with tanh over (T, N, in), from (layers, N, H)."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of an Elman network with tanh: (N, in) and (N, H) to (N, H)."""
def roll(input: Tensor, shifts: _Sequence[_int] | _int, dims: _Sequence[_int] | _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Elements moved along dimensions; those that leave come in again at the other end."""
def rot90(input: Tensor, k: _int = ..., dims: _Sequence[_int] = ...) -> Tensor:
    """A quarter turn, k times, in the plane of two dimensions."""
@overload
def round(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Nearest integer, halves to even."""
@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = ...) -> Tensor:
    """Rounded to `decimals` decimal places, halves to even."""
@overload
def round_(input: Tensor) -> Tensor:
    """Nearest integer, halves to even."""
@overload
def round_(input: Tensor, *, decimals: _int) -> Tensor:
    """Rounded to `decimals` decimal places, halves to even."""
def row_indices_copy(input: Tensor) -> Tensor:
    """A copy of what `row_indices` gives."""
def row_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Joined along the first dimension."""
def rrelu(input: Tensor, lower: _Number = ..., upper: _Number = ..., training: _bool = ..., generator: _Generator | None = ...) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper] in training and is their mean otherwise."""
def rrelu_(input: Tensor, lower: _Number = ..., upper: _Number = ..., training: _bool = ..., generator: _Generator | None = ...) -> Tensor:
    """`rrelu` in place."""
def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 / sqrt(self)`."""
def rsqrt_(input: Tensor) -> Tensor:
    """`1 / sqrt(self)`."""
@overload
def rsub(input: Tensor, other: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`other - alpha * self`."""
@overload
def rsub(input: Tensor, other: _Number, alpha: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`other - alpha * self`."""
def scalar_tensor(s: _Number, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A 0-dim tensor of a number, of the default dtype."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., *, scale: _float | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str, out: Tensor | None = ...) -> Tensor:
    """`src` added to or multiplied into the positions that `index` names."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`src` written to the positions that `index` names."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, out: Tensor | None = ...) -> Tensor:
    """A number written to the positions that `index` names."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: str, out: Tensor | None = ...) -> Tensor:
    """A number added to or multiplied into the positions that `index` names."""
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """`src` added to or multiplied into the positions that `index` names."""
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """`src` written to the positions that `index` names."""
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _Number) -> Tensor:
    """A number written to the positions that `index` names."""
@overload
def scatter_(input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: str) -> Tensor:
    """A number added to or multiplied into the positions that `index` names."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`src` added to the positions that `index` names."""
def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """`src` added to the positions that `index` names."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """`src` reduced (sum, prod, mean, amax, amin) into the positions that `index` names."""
def scatter_reduce_(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor:
    """`src` reduced (sum, prod, mean, amax, amin) into the positions that `index` names."""
@overload
def searchsorted(sorted_sequence: Tensor, input: Tensor, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where each element would be inserted to keep the innermost dimension of a sequence sorted."""
@overload
def searchsorted(sorted_sequence: Tensor, input: _Number, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where a number would be inserted to keep a sequence sorted."""
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Number | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum, mean, max, min or prod of each of the segments of `data` along `axis`, given by lengths or offsets."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One position of a dimension, which goes away."""
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `select` gives."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of `self` with one position of a dimension replaced by `src`."""
def selu(input: Tensor) -> Tensor:
    """Scaled ELU: keeps mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sign; of a complex number `self / |self|`."""
def sgn_(input: Tensor) -> Tensor:
    """Sign; of a complex number `self / |self|`."""
def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`1 / (1 + exp(-self))`."""
def sigmoid_(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-self))`."""
def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-1, 0 or 1."""
def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1."""
def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where `self` is negative, the sign of zero and NaN included."""
def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sine of radians."""
def sin_(input: Tensor) -> Tensor:
    """Sine of radians."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`sin(pi self) / (pi self)`, 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """`sin(pi self) / (pi self)`, 1 at 0."""
def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """Hyperbolic sine."""
def slice_copy(input: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `slice` gives."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy of `self` with a slice replaced by `src`."""
def slogdet(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.slogdet:
    """Sign and log of the determinant's size."""
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Exponentials along `dim`, divided by their sum, computed in `dtype`."""
@overload
def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.sort:
    """The elements sorted along `dim` (ties keep their order, NaN is largest), and where each came from."""
@overload
def sort(input: Tensor, *, stable: _bool | None, dim: _int = ..., descending: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.sort:
    """The elements sorted along `dim`, ties in their order, and where each came from."""
def special_log_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the softmax along `dim`, computed in `dtype`."""
def special_logsumexp(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the sum of exponentials along the dimensions `dim`."""
def special_softmax(input: Tensor, dim: _int, dtype: _dtype | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Exponentials along `dim`, divided by their sum, computed in `dtype`."""
def split_copy(input: Tensor, split_size: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """A copy of what `split` gives."""
def split_with_sizes(input: Tensor, split_sizes: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Parts of the given sizes."""
def split_with_sizes_copy(input: Tensor, split_sizes: _Sequence[_int], dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """A copy of what `split_with_sizes` gives."""
def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Square root."""
def sqrt_(input: Tensor) -> Tensor:
    """Square root."""
def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * self`."""
def square_(input: Tensor) -> Tensor:
    """`self * self`."""
@overload
def squeeze(input: Tensor) -> Tensor:
    """Without dimensions of size one."""
@overload
def squeeze(input: Tensor, dim: _int) -> Tensor:
    """Without this dimension if its size is one."""
@overload
def squeeze(input: Tensor, dim: _Sequence[_int]) -> Tensor:
    """Without these dimensions where their size is one."""
@overload
def squeeze_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `squeeze` gives."""
@overload
def squeeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `squeeze` gives."""
@overload
def squeeze_copy(input: Tensor, dim: _Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `squeeze` gives."""
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """`beta * self + alpha * mat1 @ mat2`, with `self` and `mat1` sparse."""
def stack(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Tensors of one shape along a new dimension."""
@overload
def std(input: Tensor, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The standard deviation along the dimensions `dim`."""
@overload
def std(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The standard deviation."""
@overload
def std(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The standard deviation."""
@overload
def std_mean(input: Tensor, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean along the dimensions `dim`."""
@overload
def std_mean(input: Tensor, unbiased: _bool = ...) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
@overload
def std_mean(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean."""
@overload
def sub(input: Tensor, other: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def sub(input: Tensor, other: _Number, alpha: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def sub_(input: Tensor, other: Tensor, *, alpha: _Number = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def sub_(input: Tensor, other: _Number, alpha: _Number = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def subtract(input: Tensor, other: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def subtract(input: Tensor, other: _Number, alpha: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def subtract_(input: Tensor, other: Tensor, *, alpha: _Number = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def subtract_(input: Tensor, other: _Number, alpha: _Number = ...) -> Tensor:
    """`self - alpha * other`."""
@overload
def sum(input: Tensor, *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum of all elements."""
@overload
def sum(input: Tensor, dim: _Sequence[_int] | _int | None, keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The sum along the dimensions `dim`."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.svd:
    """Singular values and vectors; V itself, not its adjoint."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """`torch.transpose`, whose dimensions have NumPy's names here."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def t(input: Tensor) -> Tensor:
    """The transposed matrix; tensors of less than two dimensions as they are."""
def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `t` gives."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Elements by their position in the flattened tensor."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`gather` whose other dimensions broadcast; without dim, of the flattened tensor."""
def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Tangent of radians."""
def tan_(input: Tensor) -> Tensor:
    """Tangent of radians."""
def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """Sections or indices given as a tensor."""
@overload
def tensor_split(input: Tensor, indices: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """Parts that end before each index."""
@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Parts of sizes that differ by at most one."""
def threshold(input: Tensor, threshold: _Number, value: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`self` where above `threshold`, `value` elsewhere."""
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """`self` where above `threshold`, `value` elsewhere."""
def tile(input: Tensor, dims: _Sequence[_int]) -> Tensor:
    """`repeat` that adds leading dimensions to the counts where they are missing."""
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.topk:
    """The k largest (or smallest) elements along `dim`, in order, and their positions."""
def trace(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """Two dimensions exchanged."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `transpose` gives."""
@overload
def trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """Integral by the trapezoidal rule at given places."""
@overload
def trapezoid(y: Tensor, *, dx: _Number = ..., dim: _int = ...) -> Tensor:
    """Integral by the trapezoidal rule, equal steps."""
@overload
def trapz(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """Integral by the trapezoidal rule at given places."""
@overload
def trapz(y: Tensor, *, dx: _Number = ..., dim: _int = ...) -> Tensor:
    """Integral by the trapezoidal rule, equal steps."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.triangular_solve:
    """X of AX = B for a triangular A, and a copy of A."""
def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangle of matrices, zeros above."""
def tril_(input: Tensor, diagonal: _int = ...) -> Tensor:
    """The lower triangle of matrices, zeros above."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Row and column numbers of the lower triangle."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: _int = ...) -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|)."""
def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The upper triangle of matrices, zeros below."""
def triu_(input: Tensor, diagonal: _int = ...) -> Tensor:
    """The upper triangle of matrices, zeros below."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Row and column numbers of the upper triangle."""
@overload
def true_divide(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def true_divide(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def true_divide_(input: Tensor, other: Tensor) -> Tensor:
    """True division; integers give the default floating dtype."""
@overload
def true_divide_(input: Tensor, other: _Number) -> Tensor:
    """True division; integers give the default floating dtype."""
def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The integer part."""
def trunc_(input: Tensor) -> Tensor:
    """The integer part."""
def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """One tensor for each position of a dimension."""
def unbind_copy(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """A copy of what `unbind` gives."""
def unflatten(input: Tensor, dim: _int, sizes: _Sequence[_int]) -> Tensor:
    """One dimension seen as several."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `unfold` gives."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """`chunk` whose parts do not count as views."""
def unsafe_split(input: Tensor, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """`split` whose parts do not count as views."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: _Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]:
    """`split_with_sizes` whose parts do not count as views."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A new dimension of size one."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `unsqueeze` gives."""
def values_copy(input: Tensor) -> Tensor:
    """A copy of what `values` gives."""
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor:
    """Powers of the elements, one column each."""
@overload
def var(input: Tensor, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The variance along the dimensions `dim`."""
@overload
def var(input: Tensor, unbiased: _bool = ...) -> Tensor:
    """The variance."""
@overload
def var(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The variance."""
@overload
def var_mean(input: Tensor, dim: _Sequence[_int] | _int | None = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The variance and the mean along the dimensions `dim`."""
@overload
def var_mean(input: Tensor, unbiased: _bool = ...) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
@overload
def var_mean(input: Tensor, dim: _Sequence[_int] | _int | None, unbiased: _bool = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]:
    """The variance and the mean."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inner product of two vectors, the first conjugated."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of the last dimension as complex numbers."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `view_as_complex` gives."""
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs in a new last dimension."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `view_as_real` gives."""
@overload
def view_copy(input: Tensor, size: _Sequence[_int], *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `view` gives."""
@overload
def view_copy(input: Tensor, dtype: _dtype, *, out: Tensor | None = ...) -> Tensor:
    """A copy of what `view` gives."""
@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal parts along one dimension."""
@overload
def vsplit(input: Tensor, indices: _Sequence[_int]) -> tuple[Tensor, ...]:
    """Parts that end before each index."""
def vstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Joined along the first dimension."""
@overload
def where(condition: Tensor, input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self` where `condition` is True, `other` elsewhere."""
@overload
def where(condition: Tensor, input: _Number, other: Tensor) -> Tensor:
    """`self` where `condition` is True, `other` elsewhere."""
@overload
def where(condition: Tensor, input: Tensor, other: _Number) -> Tensor:
    """`self` where `condition` is True, `other` elsewhere."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, one tensor a dimension."""
@overload
def where(condition: Tensor, input: _Number, other: _Number) -> Tensor:
    """`self` where `condition` is True, `other` elsewhere."""
@overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * log(other)`, 0 where `self` is 0."""
@overload
def xlogy(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * log(other)`, 0 where `self` is 0."""
@overload
def xlogy(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`self * log(other)`, 0 where `self` is 0."""
@overload
def xlogy_(input: Tensor, other: Tensor) -> Tensor:
    """`self * log(other)`, 0 where `self` is 0."""
@overload
def xlogy_(input: Tensor, other: _Number) -> Tensor:
    """`self * log(other)`, 0 where `self` is 0."""
def zero_(input: Tensor) -> Tensor:
    """Sets every element to 0."""
@overload
def zeros(size: _Sequence[_int], *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Zeros."""
@overload
def zeros(*size: _int, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Zeros."""
@overload
def zeros(size: _Sequence[_int], *, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`zeros` into `out`."""
@overload
def zeros(*size: _int, out: Tensor, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """`zeros` into `out`."""
def zeros_like(input: Tensor, *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., memory_format: _memory_format | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Zeros, shaped like `self`."""
