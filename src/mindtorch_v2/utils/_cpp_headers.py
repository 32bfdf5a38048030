"""The C++ headers that are written from the operators' schemas, and those that only carry PyTorch's file names.

What is written by hand lies in `include/mindtorch`, installed with the package. The rest follows from the registry of
this very installation, so it is made when it is first asked for and kept in the user's cache.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mindtorch_v2
from mindtorch_v2 import _C
from mindtorch_v2._as_torch import TORCH_VERSION
from mindtorch_v2._operators.table.names import BOUND
from mindtorch_v2.utils import _cpp_cmake

__all__ = [
    "cache_path",
    "cmake_prefix_path",
    "generated_include_path",
    "installed_include_path",
    "library_path",
    "link_names_path",
]

_PACKAGE = Path(mindtorch_v2.__file__).parent

# PyTorch's header -> ours that has what it declares.
_FORWARDS = {
    "mindtorch/all.h": "torch/all.h torch/types.h torch/autograd.h torch/cuda.h torch/utils.h torch/version.h "
    "torch/print.h torch/sparse.h torch/nested.h torch/script.h torch/data.h torch/csrc/api/include/torch/types.h torch/csrc/api/include/torch/all.h torch/arg.h torch/enum.h "
    "torch/csrc/jit/runtime/custom_operator.h torch/csrc/jit/runtime/operator.h torch/csrc/autograd/functions/basic_ops.h",
    "mindtorch/record.h": "torch/csrc/autograd/record_function_ops.h ATen/record_function.h torch/csrc/autograd/profiler.h",
    "mindtorch/backend_meta.h": "torch/csrc/jit/serialization/pickler_helper.h torch/csrc/jit/serialization/pickler.h",
    "mindtorch/decoding.h": "torch/csrc/jit/python/utf8_decoding_ignore.h",
    "mindtorch/ordered_map.h": "c10/util/order_preserving_flat_hash_map.h",
    "mindtorch/serialize.h": "torch/serialize.h torch/serialize/tensor.h torch/csrc/jit/serialization/pickle.h",
    "mindtorch/jit.h": "torch/jit.h torch/csrc/jit/api/module.h torch/csrc/jit/api/method.h torch/csrc/jit/api/object.h "
    "torch/csrc/jit/serialization/import.h torch/csrc/jit/serialization/export.h torch/csrc/jit/runtime/graph_executor.h",
    "mindtorch/c10d.h": "torch/csrc/distributed/c10d/Types.hpp torch/csrc/distributed/c10d/Work.hpp "
    "torch/csrc/distributed/c10d/Store.hpp torch/csrc/distributed/c10d/Backend.hpp torch/csrc/distributed/c10d/Utils.hpp "
    "torch/csrc/distributed/c10d/ProcessGroup.hpp torch/csrc/distributed/c10d/GroupRegistry.hpp "
    "torch/csrc/distributed/c10d/PrefixStore.hpp torch/csrc/distributed/c10d/c10d.h",
    "mindtorch/symbol.h": "ATen/core/symbol.h ATen/core/interned_strings.h ATen/Dimname.h ATen/core/Dimname.h "
    "c10/core/QScheme.h ATen/NamedTensor.h ATen/core/NamedTensor.h ATen/NamedTensorUtils.h",
    "mindtorch/optim/all.h": "torch/optim.h",
    "mindtorch/optim/optimizer.h": "torch/optim/optimizer.h torch/optim/serialize.h",
    "mindtorch/optim/optimizers.h": "torch/optim/adam.h torch/optim/adamw.h torch/optim/adagrad.h torch/optim/rmsprop.h torch/optim/sgd.h",
    "mindtorch/optim/lbfgs.h": "torch/optim/lbfgs.h",
    "mindtorch/optim/schedulers.h": "torch/optim/schedulers/lr_scheduler.h torch/optim/schedulers/step_lr.h "
    "torch/optim/schedulers/reduce_on_plateau_scheduler.h",
    "mindtorch/data/example.h": "torch/data/example.h torch/data/worker_exception.h",
    "mindtorch/data/datasets.h": "torch/data/datasets/base.h torch/data/datasets/map.h torch/data/datasets/mnist.h "
    "torch/data/datasets/shared.h torch/data/datasets/stateful.h torch/data/datasets/tensor.h",
    "mindtorch/data/chunks.h": "torch/data/datasets.h torch/data/datasets/chunk.h",
    "mindtorch/data/samplers.h": "torch/data/samplers.h torch/data/samplers/base.h torch/data/samplers/custom_batch_request.h "
    "torch/data/samplers/distributed.h torch/data/samplers/random.h torch/data/samplers/sequential.h "
    "torch/data/samplers/serialize.h torch/data/samplers/stream.h",
    "mindtorch/data/transforms.h": "torch/data/transforms.h torch/data/transforms/base.h torch/data/transforms/collate.h "
    "torch/data/transforms/lambda.h torch/data/transforms/stack.h torch/data/transforms/tensor.h",
    "mindtorch/data/loader.h": "torch/data/dataloader.h torch/data/dataloader_options.h torch/data/iterator.h "
    "torch/data/dataloader/base.h torch/data/dataloader/stateful.h torch/data/dataloader/stateless.h",
    "mindtorch/nn/all.h": "torch/nn.h torch/nn/module.h torch/nn/functional.h torch/nn/modules.h torch/nn/init.h torch/nn/options.h "
    "torch/nn/pimpl.h torch/nn/cloneable.h torch/nn/utils.h torch/nn/utils/clip_grad.h torch/nn/utils/rnn.h torch/nn/utils/convert_parameters.h torch/nn/modules/rnn.h torch/nn/modules/container/any.h torch/ordered_dict.h torch/expanding_array.h "
    + " ".join(
        f"torch/nn/{folder}/{name}.h"
        for folder, names in {
            "modules": "activation adaptive batchnorm common conv distance dropout embedding fold instancenorm linear loss "
            "normalization padding pixelshuffle pooling transformer transformercoder transformerlayer upsampling utils",
            "modules/container": "any_module_holder any_value functional moduledict modulelist named_any parameterdict "
            "parameterlist sequential",
            "options": "activation adaptive batchnorm conv distance dropout embedding fold instancenorm linear loss "
            "normalization padding pixelshuffle pooling rnn transformer transformercoder transformerlayer upsampling vision",
            "functional": "activation batchnorm conv distance dropout embedding fold instancenorm linear loss normalization "
            "padding pixelshuffle pooling upsampling vision",
        }.items()
        for name in names.split()
    ),
    "mindtorch/python.h": "torch/csrc/python_headers.h torch/csrc/utils/python_compat.h torch/extension.h torch/python.h torch/csrc/utils/pybind.h torch/csrc/Exceptions.h "
    "torch/csrc/autograd/python_variable.h torch/csrc/jit/python/module_python.h torch/csrc/utils/python_arg_parser.h",
    "mindtorch/python_values.h": "torch/csrc/utils/python_numbers.h torch/csrc/utils/python_strings.h torch/csrc/utils/python_tuples.h "
    "torch/csrc/utils.h",
    "mindtorch/python_types.h": "torch/csrc/Device.h torch/csrc/Dtype.h torch/csrc/Layout.h torch/csrc/MemoryFormat.h torch/csrc/Generator.h "
    "torch/csrc/Size.h torch/csrc/DynamicTypes.h torch/csrc/utils/tensor_dtypes.h torch/csrc/utils/tensor_layouts.h "
    "torch/csrc/utils/tensor_memoryformats.h torch/csrc/THP.h torch/csrc/Types.h",
    "mindtorch/python_ivalues.h": "torch/csrc/jit/python/pybind_utils.h torch/csrc/jit/python/pybind.h",
    "mindtorch/library.h": "ATen/core/enum_tag.h ATen/core/boxing/BoxedKernel.h ATen/core/boxing/OperatorKernel.h "
    "ATen/core/dispatch/DispatchKeyExtractor.h ATen/core/dispatch/OperatorEntry.h c10/core/CompileTimeFunctionPointer.h ATen/core/op_registration/op_registration.h ATen/core/dispatch/Dispatcher.h "
    "ATen/core/LegacyTypeDispatch.h c10/core/DispatchKey.h c10/core/DispatchKeySet.h ATen/core/stack.h "
    "c10/core/impl/LocalDispatchKeySet.h ATen/core/boxing/KernelFunction.h ATen/core/op_registration/infer_schema.h "
    "ATen/core/function_schema_inl.h",
    "mindtorch/schema.h": "torch/csrc/jit/frontend/function_schema_parser.h torch/csrc/jit/frontend/schema_type_parser.h "
    "ATen/core/function_schema.h ATen/core/alias_info.h ATen/core/jit_type.h ATen/core/jit_type_base.h ATen/core/operator_name.h ATen/core/type_ptr.h",
    "mindtorch/autograd.h": "torch/csrc/autograd/node.h torch/csrc/autograd/InferenceMode.h torch/csrc/autograd/function_hook.h torch/csrc/autograd/custom_function.h torch/csrc/autograd/function.h torch/csrc/autograd/variable.h "
    "torch/csrc/autograd/autograd.h torch/csrc/autograd/grad_mode.h torch/csrc/autograd/VariableTypeUtils.h "
    "torch/csrc/autograd/generated/variable_factories.h ATen/core/grad_mode.h c10/core/GradMode.h "
    "ATen/core/VariableHooksInterface.h c10/core/InferenceMode.h torch/csrc/autograd/engine.h torch/csrc/autograd/edge.h "
    "torch/csrc/autograd/saved_variable.h torch/csrc/autograd/functions/utils.h torch/csrc/autograd/functions/accumulate_grad.h",
    "mindtorch/not_implemented.h": "torch/csrc/autograd/autograd_not_implemented_fallback.h",
    "mindtorch/custom_class.h": "ATen/core/custom_class.h torch/library.h torch/custom_class.h torch/custom_class_detail.h",
    "mindtorch/ivalue.h": "ATen/core/ivalue.h ATen/core/List.h ATen/core/Dict.h ATen/core/IListRef.h "
    "ATen/core/ivalue_inl.h ATen/core/ivalue_to.h ATen/core/IListRef_inl.h ATen/core/List_inl.h ATen/core/Dict_inl.h",
    "mindtorch/parallel.h": "ATen/Parallel.h ATen/Parallel-inl.h ATen/ParallelOpenMP.h ATen/ParallelNative.h",
    "mindtorch/dispatch.h": "ATen/Dispatch.h ATen/Dispatch_v2.h",
    "mindtorch/aten.h": "ATen/ATen.h",
    "mindtorch/config.h": "ATen/Config.h",
    "mindtorch/functions.h": "ATen/Storage.h ATen/Formatting.h ATen/core/Formatting.h ATen/Version.h ATen/InferSize.h ATen/WrapDimUtilsMulti.h "
    "ATen/core/ATen_fwd.h ATen/core/ATenGeneral.h c10/core/StorageImpl.h c10/core/WrapDimMinimal.h ATen/Functions.h ATen/Tensor.h "
    "ATen/core/Tensor.h ATen/core/TensorBody.h ATen/core/TensorBase.h ATen/TensorOperators.h ATen/TensorIndexing.h "
    "ATen/TensorUtils.h ATen/TensorGeometry.h ATen/ScalarOps.h ATen/WrapDimUtils.h ATen/DeviceGuard.h "
    "ATen/Utils.h ATen/Generator.h ATen/core/Generator.h ATen/ATenVersion.h "
    "ATen/TypeDefault.h ATen/TensorSubclassLikeUtils.h ATen/native/TypeProperties.h c10/core/DeviceGuard.h "
    "torch/csrc/utils/tensor_flatten.h c10/core/Backend.h c10/core/UndefinedTensorImpl.h c10/core/Storage.h c10/core/TensorImpl.h ATen/core/DeprecatedTypeProperties.h",
    "mindtorch/accessor.h": "ATen/core/TensorAccessor.h ATen/TensorAccessor.h",
    "mindtorch/allocator.h": "c10/core/Allocator.h c10/core/CPUAllocator.h c10/util/UniqueVoidPtr.h c10/core/alignment.h c10/core/impl/alloc_cpu.h",
    "mindtorch/distributions.h": "ATen/core/DistributionsHelper.h ATen/core/TransformationHelper.h",
    "mindtorch/fixed_array.h": "ATen/core/Array.h",
    "mindtorch/own_generator.h": "c10/core/GeneratorImpl.h",
    "mindtorch/own_device.h": "c10/core/impl/DeviceGuardImplInterface.h c10/core/impl/VirtualGuardImpl.h c10/core/impl/InlineDeviceGuard.h "
    "c10/core/impl/InlineStreamGuard.h c10/core/impl/InlineEvent.h c10/core/Event.h c10/core/DeviceCapability.h "
    "ATen/detail/PrivateUse1HooksInterface.h ATen/detail/AcceleratorHooksInterface.h ATen/core/GeneratorForPrivateuseone.h",
    "mindtorch/random.h": "ATen/native/DistributionTemplates.h ATen/native/cpu/DistributionTemplates.h",
    "mindtorch/expand.h": "ATen/ExpandUtils.h",
    "mindtorch/functional.h": "ATen/FunctionalTensorWrapper.h ATen/MemoryOverlap.h",
    "mindtorch/empty_tensor.h": "ATen/EmptyTensor.h",
    "mindtorch/cpu_fallback.h": "ATen/native/CPUFallback.h",
    "mindtorch/scalar.h": "ATen/TensorOptions.h ATen/core/Scalar.h c10/core/Scalar.h c10/core/TensorOptions.h c10/core/DefaultDtype.h ATen/Scalar.h",
    "mindtorch/types.h": "c10/util/MaybeOwned.h ATen/DimVector.h ATen/core/DimVector.h ATen/Layout.h ATen/ScalarType.h ATen/SmallVector.h c10/util/typeid.h "
    "c10/core/SymBool.h c10/core/ScalarType.h c10/core/Device.h c10/core/DeviceType.h c10/core/Layout.h "
    "c10/core/MemoryFormat.h c10/util/bits.h c10/util/Float4_e2m1fn_x2.h c10/core/ScalarTypeToTypeMeta.h c10/util/ArrayRef.h c10/util/Optional.h c10/util/OptionalArrayRef.h "
    "c10/util/SmallVector.h c10/util/intrusive_ptr.h c10/util/irange.h c10/util/string_view.h c10/util/typeid.h "
    "c10/core/SymInt.h c10/core/SymIntArrayRef.h c10/core/SymFloat.h c10/util/accumulate.h ATen/OpMathType.h "
    "ATen/AccumulateType.h ATen/core/ScalarType.h ATen/ArrayRef.h ATen/Device.h c10/util/DimVector.h",
    "mindtorch/numbers.h": "c10/util/Half.h c10/util/BFloat16.h c10/util/complex.h c10/util/Float8_e4m3fn.h "
    "c10/util/Float8_e5m2.h c10/util/Float8_e4m3fnuz.h c10/util/Float8_e5m2fnuz.h c10/util/Float8_e8m0fnu.h ATen/NumericUtils.h",
    "mindtorch/language.h": "c10/util/C++17.h c10/util/Metaprogramming.h c10/util/Type.h c10/util/TypeList.h c10/util/TypeTraits.h c10/util/hash.h "
    "c10/util/FunctionRef.h c10/util/ScopeExit.h c10/util/bit_cast.h c10/util/overloaded.h c10/util/ssize.h c10/util/Load.h c10/util/TypeCast.h c10/util/env.h ATen/core/functional.h",
    "mindtorch/math.h": "ATen/ceil_div.h ATen/div_rtn.h ATen/core/Reduction.h c10/util/MathConstants.h c10/util/TypeSafeSignMath.h "
    "c10/util/copysign.h c10/util/generic_math.h c10/util/safe_numerics.h c10/util/strides.h",
    "mindtorch/dispatch_stub.h": "ATen/native/DispatchStub.h",
    "mindtorch/stream.h": "c10/core/Stream.h c10/core/StreamGuard.h",
    "mindtorch/dlpack.h": "ATen/dlpack.h ATen/DLConvertor.h",
    "mindtorch/engines.h": "ATen/core/MT19937RNGEngine.h ATen/core/PhiloxRNGEngine.h",
    "mindtorch/registry.h": "c10/util/Registry.h",
    "mindtorch/synchronized.h": "c10/util/Synchronized.h c10/util/CallOnce.h",
    "mindtorch/thread_state.h": "ATen/ThreadLocalState.h",
    "mindtorch/python_objects.h": "torch/csrc/utils/object_ptr.h torch/csrc/utils/tensor_numpy.h torch/csrc/utils/numpy_stub.h",
    "mindtorch/bits.h": "c10/util/llvmMathExtras.h",
    "mindtorch/unroll.h": "c10/util/Unroll.h",
    "mindtorch/context.h": "ATen/Context.h",
    "mindtorch/processor.h": "ATen/cpu/Utils.h",
    "mindtorch/cpu_generator.h": "ATen/CPUGeneratorImpl.h",
    "mindtorch/autocast.h": "ATen/autocast_mode.h",
    "mindtorch/archive.h": "torch/serialize/archive.h torch/serialize/input-archive.h torch/serialize/output-archive.h",
    "mindtorch/vec.h": "ATen/cpu/vec/vec.h ATen/cpu/vec/functional.h ATen/cpu/vec/vec_base.h ATen/cpu/vec/functional_base.h "
    "ATen/cpu/vec256/vec256.h ATen/cpu/vec256/functional.h ATen/cpu/vec/functional_bfloat16.h ATen/cpu/vec/vec_convert.h "
    "ATen/cpu/vec/vec_half.h ATen/cpu/vec/vec256/vec256.h ATen/cpu/vec/vec256/vec256_float.h "
    "ATen/cpu/vec/vec256/vec256_bfloat16.h ATen/cpu/vec/vec256/vec256_double.h ATen/cpu/vec/vec256/vec256_int.h "
    "ATen/cpu/vec/vec512/vec512.h ATen/cpu/vec/vec512/vec512_float.h ATen/cpu/vec/vec512/vec512_bfloat16.h "
    "ATen/cpu/vec/vec512/vec512_double.h ATen/cpu/vec/vec512/vec512_int.h",
    "mindtorch/intrinsics.h": "ATen/cpu/vec/intrinsics.h ATen/native/cpu/Intrinsics.h",
    "mindtorch/iterator.h": "ATen/native/TensorIterator.h ATen/native/cpu/Loops.h ATen/TensorIterator.h",
    "mindtorch/function_traits.h": "ATen/detail/FunctionTraits.h",
    "mindtorch/reduce.h": "ATen/native/cpu/Reduce.h ATen/native/ReduceOpsUtils.h",
    "mindtorch/blas.h": "ATen/native/CPUBlas.h ATen/native/TransposeType.h",
    "mindtorch/quantized.h": "ATen/native/quantized/AffineQuantizerBase.h ATen/native/quantized/AffineQuantizer.h "
    "c10/util/qint8.h c10/util/quint8.h c10/util/qint32.h c10/util/quint4x2.h c10/util/quint2x4.h",
    "mindtorch/upsample.h": "ATen/native/UpSample.h",
    "mindtorch/native.h": "ATen/native/cpu/utils.h ATen/native/EmbeddingBag.h ATen/native/IndexingUtils.h "
    "ATen/native/Resize.h ATen/native/ResizeCommon.h ATen/native/CanUse32BitIndexMath.h ATen/native/Pool.h ATen/native/NonEmptyUtils.h "
    "ATen/native/cpu/AtomicAddFloat.h",
    "mindtorch/hash_map.h": "c10/util/flat_hash_map.h",
    "mindtorch/generated/spaces.h": "torch/fft.h torch/linalg.h torch/special.h",
    "mindtorch/sparse.h": "ATen/SparseTensorUtils.h",
    "mindtorch/api.h": "torch/csrc/Export.h c10/util/Exception.h c10/macros/Macros.h c10/macros/Export.h c10/util/StringUtil.h "
    "c10/util/Deprecated.h",
    "mindtorch/logging.h": "c10/util/Logging.h",
    # Of torch_npu and CANN, for plug-ins that call Ascend's operators.
    "mindtorch/npu/acl.h": "acl/acl_base.h aclnn/acl_meta.h aclnn/aclnn_base.h third_party/acl/inc/acl/acl_base.h",
    "mindtorch/npu/runtime.h": "acl/acl.h acl/acl_rt.h acl/acl_op.h third_party/acl/inc/acl/acl.h third_party/acl/inc/acl/acl_rt.h",
    "mindtorch/npu/stream.h": "torch_npu/csrc/core/npu/NPUStream.h torch_npu/csrc/core/npu/NPUFunctions.h "
    "torch_npu/csrc/core/npu/DeviceUtils.h torch_npu/csrc/npu/Module.h",
    "mindtorch/npu/guard.h": "torch_npu/csrc/core/npu/NPUGuard.h torch_npu/csrc/core/npu/SecondaryStreamGuard.h",
    "mindtorch/npu/event.h": "torch_npu/csrc/core/npu/NPUEvent.h",
    "mindtorch/npu/exception.h": "torch_npu/csrc/core/npu/NPUException.h torch_npu/csrc/core/npu/NPUMacros.h",
    "mindtorch/npu/generator.h": "torch_npu/csrc/aten/NPUGeneratorImpl.h",
    "mindtorch/npu/memory.h": "torch_npu/csrc/core/npu/NPUFormat.h torch_npu/csrc/aten/common/from_blob.h",
    "mindtorch/npu/command.h": "torch_npu/csrc/framework/OpCommand.h torch_npu/csrc/framework/utils/OpAdapter.h "
    "torch_npu/csrc/framework/utils/OpPreparation.h torch_npu/csrc/framework/utils/CalcuOpUtil.h "
    "torch_npu/csrc/framework/interface/EnvVariables.h torch_npu/csrc/aten/NPUNativeFunctions.h "
    "torch_npu/csrc/framework/utils/RandomOpAdapter.h torch_npu/csrc/include/ops.h",
    "mindtorch/npu/op_api.h": "op_plugin/utils/op_api_common.h op_plugin/utils/op_api_common.hpp "
    "torch_npu/csrc/framework/utils/op_api_common.h",
    # What needs no library of ours when it runs: the stable ABI.
    "mindtorch/stable/c.h": "torch/csrc/inductor/aoti_torch/c/shim.h torch/csrc/stable/c/shim.h torch/csrc/stable/version.h "
    "torch/csrc/inductor/aoti_torch/generated/c_shim_aten.h torch/headeronly/version.h",
    "mindtorch/stable/check.h": "torch/headeronly/util/Exception.h",
    "mindtorch/stable/headeronly.h": "torch/headeronly/core/ScalarType.h torch/headeronly/core/DeviceType.h "
    "torch/headeronly/core/MemoryFormat.h torch/headeronly/core/Layout.h torch/headeronly/core/TensorAccessor.h "
    "torch/headeronly/util/Half.h torch/headeronly/util/BFloat16.h torch/headeronly/util/complex.h "
    "torch/headeronly/util/Float8_e4m3fn.h torch/headeronly/util/Float8_e5m2.h "
    "torch/headeronly/util/Float8_e4m3fnuz.h torch/headeronly/util/Float8_e5m2fnuz.h torch/headeronly/util/Float8_e8m0fnu.h "
    "torch/headeronly/util/Float4_e2m1fn_x2.h torch/headeronly/util/bits.h torch/headeronly/util/qint8.h "
    "torch/headeronly/util/qint32.h torch/headeronly/util/quint8.h torch/headeronly/util/quint4x2.h "
    "torch/headeronly/util/quint2x4.h torch/headeronly/util/HeaderOnlyArrayRef.h "
    "torch/headeronly/util/shim_utils.h torch/headeronly/macros/Macros.h torch/headeronly/macros/Export.h "
    "torch/headeronly/util/Metaprogramming.h torch/headeronly/util/TypeTraits.h",
    "mindtorch/stable/dispatch.h": "torch/headeronly/core/Dispatch.h torch/headeronly/core/Dispatch_v2.h",
    "mindtorch/stable/objects.h": "torch/csrc/stable/tensor.h torch/csrc/stable/tensor_struct.h torch/csrc/stable/tensor_inl.h "
    "torch/csrc/stable/device.h torch/csrc/stable/device_struct.h torch/csrc/stable/device_inl.h torch/csrc/stable/macros.h "
    "torch/csrc/stable/accelerator.h torch/csrc/stable/generator.h torch/csrc/stable/generator_struct.h "
    "torch/csrc/stable/generator_inl.h torch/csrc/inductor/aoti_torch/utils.h",
    "mindtorch/stable/values.h": "torch/csrc/stable/stableivalue_conversions.h",
    "mindtorch/stable/library.h": "torch/csrc/stable/library.h",
    "mindtorch/stable/ops.h": "torch/csrc/stable/ops.h",
}
# How one begins that only carries a name. Whatever it brings is not the user's: nothing is warned of there, also with -I.
_FORWARD = "#pragma once\n#pragma GCC system_header\n"
# PyTorch's headers whose content does not exist here: including one says so in one line.
_MISSING = {
    "CUDA": "ATen/cuda/CUDAContext.h ATen/cuda/CUDABlas.h ATen/cuda/Exceptions.h c10/cuda/CUDAGuard.h c10/cuda/CUDAStream.h "
    "c10/cuda/CUDAException.h c10/cuda/CUDAFunctions.h c10/cuda/CUDACachingAllocator.h ATen/cuda/CUDAEvent.h THC/THC.h",
}

_RESERVED = frozenset(
    "and and_eq asm auto bitand bitor bool break case catch char class compl const continue default delete do double else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new not not_eq operator or or_eq "
    "private protected public register return short signed sizeof static struct switch template this throw true try typedef "
    "typeid typename union unsigned using virtual void volatile while xor xor_eq".split()
)

_ARGUMENTS = {
    "Tensor": "const at::Tensor&",
    "Tensor?": "const std::optional<at::Tensor>&",
    "Tensor[]": "at::TensorList",
    "Tensor?[]": "const c10::List<std::optional<at::Tensor>>&",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "at::IntArrayRef",
    "int[]?": "at::OptionalIntArrayRef",
    "float": "double",
    "float?": "std::optional<double>",
    "float[]": "at::ArrayRef<double>",
    "float[]?": "std::optional<at::ArrayRef<double>>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "Scalar": "const at::Scalar&",
    "Scalar?": "const std::optional<at::Scalar>&",
    "Scalar[]": "at::ArrayRef<at::Scalar>",
    "str": "std::string_view",
    "str?": "std::optional<std::string_view>",
    "ScalarType": "at::ScalarType",
    "ScalarType?": "std::optional<at::ScalarType>",
    "Layout": "at::Layout",
    "Layout?": "std::optional<at::Layout>",
    "Device": "at::Device",
    "Device?": "std::optional<at::Device>",
    "MemoryFormat": "at::MemoryFormat",
    "MemoryFormat?": "std::optional<at::MemoryFormat>",
    "Generator?": "std::optional<at::Generator>",
}
# What makes a value of each. Names of their own: choosing among overloads was most of what reading the header took.
_PACKERS = {
    "const at::Tensor&": "of_tensor",
    "at::Tensor&": "of_tensor",
    "const std::optional<at::Tensor>&": "of_tensor_opt",
    "at::TensorList": "of_tensors",
    "const c10::List<std::optional<at::Tensor>>&": "of_indices",
    "int64_t": "of_int",
    "std::optional<int64_t>": "of_int_opt",
    "at::IntArrayRef": "of_ints",
    "at::OptionalIntArrayRef": "of_ints_opt",
    "double": "of_double",
    "std::optional<double>": "of_double_opt",
    "at::ArrayRef<double>": "of_doubles",
    "std::optional<at::ArrayRef<double>>": "of_doubles_opt",
    "bool": "of_bool",
    "std::optional<bool>": "of_bool_opt",
    "const at::Scalar&": "of_scalar",
    "const std::optional<at::Scalar>&": "of_scalar_opt",
    "std::string_view": "of_string",
    "std::optional<std::string_view>": "of_string_opt",
    "at::ScalarType": "of_dtype",
    "std::optional<at::ScalarType>": "of_dtype_opt",
    "at::Layout": "of_layout",
    "std::optional<at::Layout>": "of_layout_opt",
    "at::Device": "of_device",
    "std::optional<at::Device>": "of_device_opt",
    "at::MemoryFormat": "of_memory_format",
    "std::optional<at::MemoryFormat>": "of_memory_format_opt",
    "std::optional<at::Generator>": "of_generator_opt",
}
_OPTIONS = ["ScalarType?", "Layout?", "Device?", "bool?"]
_OPTION_NAMES = ["dtype", "layout", "device", "pin_memory"]
_ENUMS = {"torch.contiguous_format": "Contiguous", "torch.preserve_format": "Preserve", "torch.strided": "Strided"}
_DTYPES = {"torch.int64": "Long", "torch.float32": "Float", "torch.float64": "Double", "torch.bool": "Bool"}


def _default(type_text, value):
    """The default of an argument as C++ writes it."""
    if value is None:
        return "{}" if type_text in ("Tensor?", "Scalar?") or "[" in type_text else "std::nullopt"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return "{" + ", ".join(_default("", item) for item in value) + "}"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
        return repr(value)
    if str(value) in _ENUMS:
        return f"at::{'Layout' if 'Layout' in type_text else 'MemoryFormat'}::{_ENUMS[str(value)]}"
    if str(value) in _DTYPES:
        return f"at::ScalarType::{_DTYPES[str(value)]}"
    return str(value)


class _Parameter:
    """One parameter of a C++ function: its type, name, default, and the values it gives to the call."""

    def __init__(self, cpp: str, name: str, default: str | None, values: Sequence[str], written: bool = False) -> None:
        self.cpp, self.name, self.default, self.values, self.written = cpp, name, default, values, written


def _packed(cpp, name):
    return f"mindtorch::{_PACKERS.get(cpp, 'arg')}({name})"


def _parameter(argument):
    text = argument["type"].replace("SymInt", "int")
    name = argument["name"] + ("_" if argument["name"] in _RESERVED else "")
    sized = re.fullmatch(r"(\w+)\[(\d+)\](\??)", text)
    if sized:
        kind, count, optional = sized.groups()
        if kind == "bool":
            cpp: Any = f"std::array<bool, {count}>"
            default = None
            return _Parameter(f"const {cpp}&", name, default, [f"mindtorch::arg({name})"])
        text = f"{kind}[]{optional}"
    cpp = _ARGUMENTS.get(text)
    if cpp is None:
        return None
    if argument["is_write"] and text == "Tensor":
        cpp = "at::Tensor&"
    default = _default(text, argument["default"]) if argument["has_default"] else None
    if default is not None and text in ("int[]", "int[]?") and isinstance(argument["default"], int):
        default = "{" + default + "}"
    return _Parameter(cpp, name, default, [_packed(cpp, name)], argument["is_write"])


def _trailing_defaults(parameters, name, callable_as):
    """The parameter list. C++ has defaults at the end only, and none that makes a call fit two overloads.

    `callable_as` are the names and types that calls so far may have; those of this function are added.
    """
    required = len(parameters)
    callable_as.add((name, tuple(p.cpp for p in parameters)))
    while required and parameters[required - 1].default is not None:
        key = (name, tuple(p.cpp for p in parameters[: required - 1]))
        if key in callable_as:
            break
        callable_as.add(key)
        required -= 1
    return ", ".join(
        f"{p.cpp} {p.name}" + (f" = {p.default}" if i >= required else "") for i, p in enumerate(parameters)
    )


def _without_defaults(parameters):
    return ", ".join(f"{p.cpp} {p.name}" for p in parameters)


# PyTorch writes these into tensors that are const, and returns such.
_CHANGES_SIZES = re.compile("as_strided_|_?(sparse_)?resize.*")


class _Function:
    """The C++ functions that one operator gives."""

    def __init__(self, handle: Any, name: str) -> None:
        self.handle = handle
        self.name = name
        self.parameters = []
        self.usable = name.isidentifier() and name not in _RESERVED
        for argument in handle.arguments:
            parameter = _parameter(argument)
            if parameter is None:
                self.usable = False
                return
            parameter.kwarg_only = argument["kwarg_only"]
            parameter.type_text = argument["type"]
            self.parameters.append(parameter)
        self.values = [value for p in self.parameters for value in p.values]
        self.returns = [(r["type"], r["is_write"]) for r in handle.returns]
        self.out = [p for p in self.parameters if p.written and p.kwarg_only]
        self.writes = [p for p in self.parameters if p.written]
        if _CHANGES_SIZES.fullmatch(name):
            for written in self.writes:
                written.cpp = "const at::Tensor&"
        self.result = self._result()
        self.usable = self.usable and self.result is not None

    def _result(self):
        """The C++ result type, and how a body makes it; None for what no type exists for."""
        types = [t for t, _ in self.returns]
        if not types:
            return "void", "mindtorch::call_writing(ARGS, 0);"
        if self.writes and all(written for _, written in self.returns):
            count = len(types)
            if count == 1:
                return self.writes[0].cpp, f"mindtorch::call_writing(ARGS, 1);\n    return {self.writes[0].name};"
            names = ", ".join(p.name for p in self.writes[:count])
            tuple_type = "std::tuple<" + ", ".join(["at::Tensor&"] * count) + ">"
            if count > len(self.writes):
                return None
            return tuple_type, f"mindtorch::call_writing(ARGS, {count});\n    return {tuple_type}({names});"
        plain = {
            "Tensor": ("at::Tensor", "call_tensor"),
            "Tensor[]": ("std::vector<at::Tensor>", "call_tensors"),
            "int": ("int64_t", "call_int"),
            "SymInt": ("int64_t", "call_int"),
            "bool": ("bool", "call_bool"),
            "float": ("double", "call_double"),
            "Scalar": ("at::Scalar", "call_scalar"),
        }
        if len(types) == 1:
            if types[0] not in plain:
                return None
            cpp, call = plain[types[0]]
            return cpp, f"return mindtorch::{call}(ARGS);"
        made = {"Tensor": "mindtorch::tensor_of", "Tensor[]": "mindtorch::tensors_of"}
        made |= dict.fromkeys(("int", "SymInt"), "mindtorch::int_of") | {"float": "mindtorch::double_of"}
        if any(t not in made for t in types):
            return None
        cpp = "std::tuple<" + ", ".join(plain[t][0] for t in types) + ">"
        parts = ", ".join(f"{made[t]}(rets[{i}])" for i, t in enumerate(types))
        return (
            cpp,
            f"mt_value rets[{len(types)}] = {{}};\n    mindtorch::call(ARGS, rets, {len(types)});\n    return {cpp}({parts});",
        )

    def body(self, values: Sequence[str] | None = None) -> str:
        """Statements that call the operator."""
        lines = [f'static mindtorch::Op op{{"aten::{self.handle.name}", "{self.handle.overload}"}};']
        values = list(values or self.values)
        for i, p in enumerate(self.parameters):
            if p.cpp == "at::ArrayRef<at::Scalar>":
                lines.append(f"const mindtorch::Scalars values_{p.name}({p.name});")
                values[i] = f"values_{p.name}.value()"
        count = len(values)
        lines.append(f"mt_value args[] = {{{', '.join(values) or 'mt_value{}'}}};")
        lines.append(self.result[1].replace("ARGS", f"op, args, {count}"))
        return "\n    ".join(lines)

    def with_options(self) -> list[_Parameter] | None:
        """The parameters with dtype, layout, device and pin_memory put together; None if they are not all there."""
        texts = [p.type_text for p in self.parameters]
        for i in range(len(texts) - 3):
            if texts[i : i + 4] == _OPTIONS and [p.name for p in self.parameters[i : i + 4]] == _OPTION_NAMES:
                options = _Parameter(
                    "const at::TensorOptions&",
                    "options",
                    "{}" if all(p.default is not None for p in self.parameters[i : i + 4]) else None,
                    [
                        "mindtorch::of_dtype_opt(options.dtype_opt())",
                        "mindtorch::of_layout_opt(options.layout_opt())",
                        "mindtorch::of_device_opt(options.device_opt())",
                        "mindtorch::of_bool_opt(options.pinned_memory_opt())",
                    ],
                )
                return [*self.parameters[:i], options, *self.parameters[i + 4 :]]
        return None


def _with_sizes(function, name, parameters, place, suffix=""):
    """PyTorch's other form of what takes sizes: here sizes are numbers, so that it calls the same function.

    Parameters up to the first list of sizes have their types, so that the list may be written in braces.
    """
    count = next((i + 1 for i, p in enumerate(parameters) if p.type_text.startswith("SymInt[")), 0)
    if function.out:
        count = 0
    types = ["c10::SymIntArrayRef" if i == count - 1 else p.cpp for i, p in enumerate(parameters[:count])]
    declared = ", ".join([*(f"{t} p{i}" for i, t in enumerate(types)), "A&&... a"])
    given = ", ".join([*(f"p{i}" for i in range(count)), "std::forward<A>(a)..."])
    return (
        f"template <class... A> decltype(auto) {name}_symint({declared}){suffix} {{ return {place}{name}({given}); }}"
    )


_SPACES = ("fft", "linalg", "special")


def _space_functions(function, seen):
    """Definitions in the namespaces torch::fft, torch::linalg and torch::special: names without their prefix."""
    space, _, name = function.name.partition("_")
    key = (space, name, tuple(p.cpp for p in function.parameters))
    if space not in _SPACES or name in _RESERVED or key in seen:
        return []
    seen.add(key)
    ordered = [*function.out, *(p for p in function.parameters if p not in function.out)]
    name += "_out" if function.out else ""
    given = ", ".join(p.name for p in ordered)
    declared = _trailing_defaults(ordered, f"{space}::{name}", seen)
    suffix = "_out" if function.out else ""
    body = f"return at::{function.name}{suffix}({given});"
    if name in ("fftfreq", "rfftfreq"):  # PyTorch's take options as one
        head = f"namespace {space} {{\ninline at::Tensor {name}(int64_t n, "
        return [
            f"{head}double d, const at::TensorOptions& o = {{}}) {{ return at::{function.name}(n, d, o); }}\n}}",
            f"{head}const at::TensorOptions& o = {{}}) {{ return at::{function.name}(n, 1.0, o); }}\n}}",
        ]
    return [f"namespace {space} {{\ninline {function.result[0]} {name}({declared}) {{ {body} }}\n}}"]


def _place(name):
    """The namespace of an operator's function: what PyTorch has as a method alone must not meet a program's own name."""
    of_methods = hasattr(mindtorch_v2.Tensor, name) and not callable(getattr(mindtorch_v2, name, None))
    # The form that makes a new tensor is a function of C++ alone, though Python has a method of that name.
    of_methods = of_methods and (name in BOUND["method"] or f"{name}_" not in BOUND["method"])
    return "at::method::" if of_methods else "at::"


class _Definition(NamedTuple):
    """A function in namespace at, or at::method."""

    operator: str
    name: str
    result: str
    declared: str
    given: str
    body: str

    @property
    def text(self):
        text = f"inline {self.result} {self.name}({self.declared}) {{\n    {self.body}\n}}"
        return text if _place(self.name) == "at::" else f"namespace method {{\n{text}\n}}"

    def of_own_kernel(self, which: str) -> str:
        """A function of that name and type which calls this one past what libraries registered (call_own_kernel)."""
        call = f"{_place(self.name)}{self.name}({self.given})"
        return f"inline {self.result} {self.name}({self.declared}) {{ const mindtorch::OwnKernel own('{which}'); return {call}; }}"


def _functions(function, seen):
    """Definitions in namespace at."""
    parts = []

    def define(name: str, parameters: Sequence[_Parameter], body: str, defaults: bool = True) -> None:
        key = (name, tuple(p.cpp for p in parameters))
        if key in seen:
            return
        declared = _trailing_defaults(parameters, name, seen) if defaults else _without_defaults(parameters)
        seen.add(key)
        given = ", ".join(p.name for p in parameters)
        parts.append(_Definition(function.handle.name, name, function.result[0], declared, given, body))

    if function.out:
        inputs = [p for p in function.parameters if p not in function.out]
        define(f"{function.name}_out", [*function.out, *inputs], function.body())
        define(f"{function.name}_outf", [*inputs, *function.out], function.body(), defaults=False)
        return parts
    options = function.with_options()
    if options is not None:
        values = [value for p in options for value in p.values]
        given = "mindtorch::of_memory_format_opt(memory_format)"
        if given in values:  # as an argument, or among the options
            both = "mindtorch::of_memory_format_opt(memory_format ? memory_format : options.memory_format_opt())"
            values[values.index(given)] = both
        body = function.body(values)
        if function.result[0] == "at::Tensor":
            body = body.replace(
                "return mindtorch::call_tensor(", "return mindtorch::with_options(mindtorch::call_tensor("
            )
            body = body[:-1] + ", options);"
        define(function.name, options, body)
        define(function.name, function.parameters, function.body(), defaults=False)
    else:
        define(function.name, function.parameters, function.body())
    return parts


def _gradient_into(function, seen):
    """`at::name_backward_out(grad_input, ...)` of derivatives that have no form with a result: computed, then copied."""
    if not function.name.endswith("_backward") or function.result[0] != "at::Tensor" or function.writes:
        return []
    if any(key[0] == f"{function.name}_out" for key in seen):
        return []
    out = _Parameter("at::Tensor&", "grad_input", None, [])
    given = ", ".join(p.name for p in function.parameters)
    declared = _trailing_defaults([out, *function.parameters], f"{function.name}_out", seen)
    return [
        f"inline at::Tensor& {function.name}_out({declared}) {{\n    const at::Tensor made = at::{function.name}({given});\n"
        "    grad_input.resize_(made.sizes());\n    return grad_input.copy_(made);\n}"
    ]


# PyTorch's Tensor has these though their names are private here.
_PRIVATE_METHODS = frozenset(
    "_conj _is_all_true _is_any_true _neg_view _reshape_alias _to_dense _to_sparse _to_sparse_csc _to_sparse_csr".split()
)


def _methods(function, by_hand, seen):
    """(declaration, definition) pairs of methods of Tensor."""
    parameters = function.parameters
    place_of_self = next((i for i, p in enumerate(parameters) if p.name == "self"), -1)
    if place_of_self < 0:
        return []
    if place_of_self and not hasattr(mindtorch_v2.Tensor, function.name) and function.name != "hardshrink_backward":
        return []  # an only one of PyTorch's methods with a later `self` is not Python's, too
    if not parameters[place_of_self].cpp.endswith("at::Tensor&") or function.out:
        return []
    # PyTorch's C++ tensors have what Python's have, and what Python says otherwise: slice, index, alias.
    public = not function.name.startswith("_") and not hasattr(mindtorch_v2, function.name)
    known = public or function.name in _PRIVATE_METHODS or place_of_self > 0
    if function.name in by_hand or not (hasattr(mindtorch_v2.Tensor, function.name) or known):
        return []
    pairs = []
    lists = (
        [function.with_options(), function.parameters] if function.with_options() is not None else [function.parameters]
    )
    for place, parameters in enumerate(lists):
        rest = [*parameters[:place_of_self], *parameters[place_of_self + 1 :]]
        key = (function.name, tuple(p.cpp for p in rest))
        if key in seen:
            continue
        declared = _trailing_defaults(rest, function.name, seen) if place == 0 else _without_defaults(rest)
        seen.add(key)
        result = function.result[0]
        own = "const_cast<at::Tensor&>(*this)" if parameters[place_of_self].written else "*this"
        call = ", ".join(own if i == place_of_self else p.name for i, p in enumerate(parameters))
        returned = "" if result == "void" else "return "
        pairs.append(
            (
                f"{result} {function.name}({declared}) const;",
                f"inline {result} Tensor::{function.name}({_without_defaults(rest)}) const {{ {returned}{_place(function.name)}{function.name}({call}); }}",
            )
        )
    return pairs


def _names_by_hand(tensor_header):
    """Methods that tensor.h declares itself."""
    text = tensor_header[
        tensor_header.index("class TensorBase {") : tensor_header.index("#include <mindtorch/generated/methods.h>")
    ]
    return set(re.findall(r"\b(\w+)\(", text)) - {"index", "index_put_"}


def _names(handles):
    """Operators with their names: first all own ones, then further ones (`alias` of the rows)."""
    yield from ((handle, handle.name) for handle in handles)
    for place in ("function", "method"):
        for name, bound in BOUND[place].items():
            yield from ((handle, name) for handle in bound if handle.name != name)


def _functions_by_hand(text: str) -> set[str]:
    """The functions that stand in for Python's: their operators have no others."""
    _, _, section = text.partition("// ---- functions of Python's, which need no operator ----")
    return set(re.findall(r"^inline [\w:<>]+ (\w+)\(", section, re.MULTILINE))


def _operator_headers(handles):
    by_hand = _names_by_hand((installed_include_path() / "mindtorch" / "tensor.h").read_text())
    functions_by_hand = _functions_by_hand((installed_include_path() / "mindtorch" / "functions.h").read_text())
    declarations, definitions, methods, spaces = [], [], [], []
    with_sizes: dict[str, None] = {}
    methods_with_sizes: dict[str, None] = {}
    seen: set[Any] = set()
    seen_spaces: set[Any] = set()
    seen_methods: set[Any] = set()
    defined: list[_Definition] = []
    for function in (_Function(handle, name) for handle, name in _names(handles)):
        if not function.usable:
            continue
        if function.name not in functions_by_hand:
            defined += _functions(function, seen)
        spaces += _space_functions(function, seen_spaces)
        made = _methods(function, by_hand, seen_methods)
        for declaration, definition in made:
            declarations.append(declaration)
            methods.append(definition)
        if any("SymInt" in p.type_text for p in function.parameters):
            name = f"{function.name}{'_out' if function.out else ''}"
            with_sizes.setdefault(_with_sizes(function, name, function.parameters, _place(name)))
            if made:
                methods_with_sizes.setdefault(
                    _with_sizes(function, function.name, function.parameters[1:], "this->", " const")
                )
    for function in (_Function(handle, name) for handle, name in _names(handles)):
        if function.usable:
            definitions += _gradient_into(function, seen)
    declarations += methods_with_sizes
    definitions = [*(d.text for d in defined), *definitions, *with_sizes]
    head = "// Written from the operators' schemas.\n"
    functions = (
        f"{head}#pragma once\nnamespace at {{\n"
        + "\n".join(definitions)
        + "\n"
        + "\n".join(methods)
        + "\n}  // namespace at\n"
    )
    return {
        "mindtorch/generated/methods.h": head + "\n".join(declarations) + "\n",
        "mindtorch/generated/functions.h": functions,
        "mindtorch/generated/spaces.h": f"{head}#pragma once\n#include <mindtorch/functions.h>\nnamespace torch {{\n"
        + "\n".join(spaces)
        + "\n}  // namespace torch\n",
        **_own_kernel_headers(defined),
    }


def _family(name):
    """The name of the headers of an operator and its forms: that of `add_` is in those of `add`."""
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _own_kernel_headers(defined):
    """`at::native` and `at::cpu`: each operator's functions again, past the kernels that libraries registered for it."""
    families: dict[str, list[_Definition]] = {}
    for one in defined:
        families.setdefault(_family(one.operator), []).append(one)
    files = {}
    for space, which, suffix, whole in (
        ("native", "n", "native", "ATen/NativeFunctions.h"),
        ("cpu", "c", "cpu_dispatch", "ATen/CPUFunctions.h"),
    ):
        for family, definitions in families.items():
            text = "\n".join(d.of_own_kernel(which) for d in definitions)
            by_hand = "#include <mindtorch/set_storage.h>\n" if family == "set" else ""
            files[f"ATen/ops/{family}_{suffix}.h"] = (
                f"{_FORWARD}#include <mindtorch/functions.h>\n{by_hand}namespace at {{\nnamespace {space} {{\n{text}\n}}\n}}\n"
            )
        files[whole] = _FORWARD + "".join(f"#include <ATen/ops/{family}_{suffix}.h>\n" for family in sorted(families))
    return files


def _files():
    handles = sorted((h for h in _C._all_operators() if h.namespace == "aten"), key=lambda h: h.sequence)
    files = _operator_headers(handles)
    for target, names in _FORWARDS.items():
        for name in names.split():
            files[name] = f"{_FORWARD}#include <{target}>\n"
    # Setup scripts and load() define the macro: then it brings pybind11's part too.
    files["torch/torch.h"] = (
        f"{_FORWARD}#include <mindtorch/all.h>\n#ifdef TORCH_API_INCLUDE_EXTENSION_H\n#include <mindtorch/python.h>\n#endif\n"
    )
    for what, names in _MISSING.items():
        for name in names.split():
            files[name] = f'#error "<{name}>: mindtorch_v2 has no {what}; docs/cpp-operators.md lists what there is"\n'
    for name in {n for h in handles for n in (h.name, _family(h.name))}:
        for suffix in ("", "_native", "_cpu_dispatch"):
            files.setdefault(f"ATen/ops/{name}{suffix}.h", f"{_FORWARD}#include <mindtorch/functions.h>\n")
    files |= _operator_forms(handles)
    # A library names what it calls: our core, or for the stable ABI alone libtorch_cpu.so, and then it runs with PyTorch too.
    both = f"AS_NEEDED({library_path() / 'libmindtorch_core.so'} {library_path() / 'stable' / 'libtorch_cpu.so'})"
    for name in ("c10", "torch", "torch_cpu", "torch_npu", "torch_python"):
        files[f"lib/lib{name}.so"] = f"INPUT({both})\n"
    return files | _cmake_files()


def _operator_forms(handles):
    """`at::_ops`: of each overload the type, its names, and calls of it alone, in a header for each name."""
    forms: dict[str, list[str]] = {}
    for function in (_Function(handle, handle.name) for handle in handles):
        if not function.usable:
            continue
        overload = function.handle.overload
        name = f"{function.name}_{overload}" if overload else function.name
        kind = f"{function.result[0]}({', '.join(p.cpp for p in function.parameters)})"
        kind = re.sub(r"\b(std|at|c10|mindtorch)::", r"::\1::", kind)  # an operator is called `std`
        forms.setdefault(_family(function.name), []).append(
            f"struct {name} : ::mindtorch::OperatorForm<{name}, {kind}> {{\n"
            f'    static constexpr const char *name = "aten::{function.name}", *overload_name = "{overload}";\n}};'
        )
    files = {
        f"ATen/ops/{name}_ops.h": f"{_FORWARD}#include <mindtorch/operator_form.h>\nnamespace at {{\nnamespace _ops {{\n"
        + "\n".join(made)
        + "\n}\n}\n"
        for name, made in forms.items()
    }
    files["ATen/Operators.h"] = _FORWARD + "".join(f"#include <ATen/ops/{name}_ops.h>\n" for name in sorted(forms))
    return files


def _cmake_files():
    folders = [str(installed_include_path())]
    pybind11 = importlib.util.find_spec("pybind11")  # PyTorch has it among its own headers
    if pybind11 is not None and pybind11.origin:
        folders.append(str(Path(pybind11.origin).parent / "include"))
    return _cpp_cmake.package_files(TORCH_VERSION, folders)


def installed_include_path() -> Path:
    """The folder of the headers that are written by hand."""
    installed = _PACKAGE / "include"
    return installed if installed.is_dir() else _PACKAGE.parent.parent / "csrc" / "include"  # built in place


def library_path() -> Path:
    """The folder of libmindtorch_core."""
    return _PACKAGE / "_lib"


def link_names_path() -> Path:
    """A folder in which the linker finds PyTorch's libraries by name: each stands for those of ours that are called."""
    return generated_include_path() / "lib"


def cmake_prefix_path() -> Path:
    """The folder in which CMake's find_package(Torch) finds its files."""
    return generated_include_path() / "share" / "cmake"


def cache_path() -> Path:
    """Where generated and precompiled headers are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mindtorch_v2"


@functools.lru_cache(maxsize=1)
def _folder_name(handles: tuple[_C.Operator, ...]) -> str:
    """The name of the folder of these operators' headers; a build asks for it five times, and it reads every schema."""
    key = hashlib.sha256(Path(__file__).read_bytes() + str(_PACKAGE).encode())
    key.update((installed_include_path() / "mindtorch" / "tensor.h").read_bytes())
    key.update(repr(_cmake_files()).encode())
    for handle in handles:
        key.update(handle.schema.encode())
    return f"include-{key.hexdigest()[:16]}"


def generated_include_path() -> Path:
    """The folder of the generated headers; they are written if they do not lie there yet."""
    folder = cache_path() / _folder_name(tuple(h for h in _C._all_operators() if h.namespace == "aten"))
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and moved into place: another process finds all of it or nothing.
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        for name, text in _files().items():
            path = Path(made) / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        try:
            os.rename(Path(made) / "include", folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder
