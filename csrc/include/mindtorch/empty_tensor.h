// Tensors that are made of an allocator, and what their memory takes: ATen/EmptyTensor.h.
#pragma once

#include <mindtorch/functions.h>

#include <limits>

namespace at {
namespace detail {

inline void check_size_nonnegative(IntArrayRef size) {
    for (int64_t n : size) TORCH_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": ", size);
}
// Elements up to the last one that strides reach, in bytes with those before the first.
inline size_t computeStorageNbytes(IntArrayRef sizes, IntArrayRef strides, size_t itemsize, size_t offset = 0) {
    TORCH_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
                ") must match dimensionality of strides (", strides.size(), ")");
    size_t last = offset + 1;
    for (size_t i = 0; i < sizes.size(); i++) {
        if (sizes[i] == 0) return 0;
        size_t step = 0;
        TORCH_CHECK(
            !__builtin_mul_overflow(static_cast<size_t>(strides[i]), static_cast<size_t>(sizes[i] - 1), &step) &&
                !__builtin_add_overflow(last, step, &last),
            "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    }
    size_t bytes = 0;
    TORCH_CHECK(!__builtin_mul_overflow(last, itemsize, &bytes) &&
                    bytes <= static_cast<size_t>(std::numeric_limits<int64_t>::max()),
                "Storage size calculation overflowed with sizes=", sizes, " and strides=", strides);
    return bytes;
}
inline size_t computeStorageNbytesContiguous(IntArrayRef sizes, size_t itemsize, size_t offset = 0) {
    size_t elements = 1;
    bool fits = true;
    for (int64_t n : sizes) fits = fits && !__builtin_mul_overflow(elements, static_cast<size_t>(n), &elements);
    size_t bytes = 0;
    fits = fits && !__builtin_mul_overflow(elements + (elements ? offset : 0), itemsize, &bytes) &&
           bytes <= static_cast<size_t>(std::numeric_limits<int64_t>::max());
    TORCH_CHECK(fits, "Storage size calculation overflowed with sizes=", sizes);
    return bytes;
}

// Uninitialised, from `allocator`. On a program's own device the allocator is the one of that device from then on.
inline Tensor empty_strided_generic(IntArrayRef size, IntArrayRef stride, c10::Allocator* allocator,
                                    c10::DispatchKeySet keys, ScalarType dtype) {
    check_size_nonnegative(size);
    const size_t bytes = computeStorageNbytes(size, stride, c10::elementSize(dtype));
    mt_tensor made = nullptr;
    if (keys.has(c10::DispatchKey::PrivateUse1)) {
        if (const auto maker = c10::GetStorageImplCreate(DeviceType::PrivateUse1)) {
            const auto of_bytes = c10::SymInt(static_cast<int64_t>(bytes));
            return mindtorch::tensor_over(maker(c10::StorageImpl::use_byte_size_t(), of_bytes, {}, allocator, true),
                                          dtype, size, stride, 0);
        }
        auto* const known = mindtorch::own_part<c10::Allocator>("allocator");
        if (!known) c10::SetAllocator(DeviceType::PrivateUse1, allocator);
        if (!known || known == allocator) {
            const auto* guard = mindtorch::guard_of(DeviceType::PrivateUse1);
            const int8_t index = guard ? std::max<int8_t>(guard->getDevice().index(), 0) : int8_t(0);
            mindtorch::check(mindtorch::api().empty(
                static_cast<int32_t>(size.size()), size.data(), stride.data(), static_cast<uint8_t>(dtype),
                mt_device{static_cast<uint8_t>(DeviceType::PrivateUse1), index}, &made));
            return Tensor::steal(made);
        }
    }
    auto* const block = new c10::DataPtr(allocator->allocate(bytes));
    const Device d = block->device();
    const int8_t index = d.is_cpu() || d.is_meta() ? d.index() : std::max<int8_t>(d.index(), 0);
    mindtorch::check(mindtorch::api().from_blob(
        block->get(), static_cast<int32_t>(size.size()), size.data(), stride.data(), static_cast<uint8_t>(dtype),
        mt_device{static_cast<uint8_t>(d.type()), index}, block, [](void* p) { delete static_cast<c10::DataPtr*>(p); },
        &made));
    return Tensor::steal(made);
}
inline Tensor empty_generic(IntArrayRef size, c10::Allocator* allocator, c10::DispatchKeySet keys, ScalarType dtype,
                            std::optional<MemoryFormat> format) {
    check_size_nonnegative(size);
    const DimVector stride = mindtorch::strides_of(size, format.value_or(MemoryFormat::Contiguous));
    return empty_strided_generic(size, stride, allocator, keys, dtype);
}
inline Tensor empty_cpu(IntArrayRef size, ScalarType dtype, bool /*pin_memory*/ = false,
                        std::optional<MemoryFormat> format = std::nullopt) {
    return at::empty(size, TensorOptions(dtype), format);
}
inline Tensor empty_cpu(IntArrayRef size, const TensorOptions& options) { return at::empty(size, options); }
inline Tensor empty_strided_cpu(IntArrayRef size, IntArrayRef stride, ScalarType dtype, bool /*pin_memory*/ = false) {
    return at::empty_strided(size, stride, TensorOptions(dtype));
}

}  // namespace detail
}  // namespace at
