// DLPack's structures, and tensors as such: at::toDLPack, at::fromDLPack.
#pragma once

#include <mindtorch/functions.h>

#include <functional>

#ifndef DLPACK_DLPACK_H_  // what DLPack's own header is guarded by: it declares the same
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 1
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
extern "C" {
typedef struct {
    uint32_t major, minor;
} DLPackVersion;
typedef enum {
    kDLCPU = 1,
    kDLCUDA = 2,
    kDLCUDAHost = 3,
    kDLOpenCL = 4,
    kDLVulkan = 7,
    kDLMetal = 8,
    kDLVPI = 9,
    kDLROCM = 10,
    kDLROCMHost = 11,
    kDLExtDev = 12,
    kDLCUDAManaged = 13,
    kDLOneAPI = 14,
    kDLWebGPU = 15,
    kDLHexagon = 16,
    kDLMAIA = 17
} DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef enum {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLOpaqueHandle = 3,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e4m3fnuz = 11,
    kDLFloat8_e5m2 = 12,
    kDLFloat8_e5m2fnuz = 13,
    kDLFloat8_e8m0fnu = 14
} DLDataTypeCode;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned* self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;
}
#endif

namespace mindtorch MINDTORCH_HIDDEN {

struct DLPackType {
    c10::ScalarType dtype;
    uint8_t code, bits;
};
inline constexpr DLPackType dlpack_types[] = {
    {c10::ScalarType::Bool, kDLBool, 8},
    {c10::ScalarType::Byte, kDLUInt, 8},
    {c10::ScalarType::UInt16, kDLUInt, 16},
    {c10::ScalarType::UInt32, kDLUInt, 32},
    {c10::ScalarType::UInt64, kDLUInt, 64},
    {c10::ScalarType::Char, kDLInt, 8},
    {c10::ScalarType::Short, kDLInt, 16},
    {c10::ScalarType::Int, kDLInt, 32},
    {c10::ScalarType::Long, kDLInt, 64},
    {c10::ScalarType::Half, kDLFloat, 16},
    {c10::ScalarType::Float, kDLFloat, 32},
    {c10::ScalarType::Double, kDLFloat, 64},
    {c10::ScalarType::BFloat16, kDLBfloat, 16},
    {c10::ScalarType::ComplexHalf, kDLComplex, 32},
    {c10::ScalarType::ComplexFloat, kDLComplex, 64},
    {c10::ScalarType::ComplexDouble, kDLComplex, 128},
    {c10::ScalarType::Float8_e4m3fn, kDLFloat8_e4m3fn, 8},
    {c10::ScalarType::Float8_e5m2, kDLFloat8_e5m2, 8},
};

// A tensor as it is given away: the structure, and the sizes and strides it points to.
template <class Managed>
struct GivenAway {
    explicit GivenAway(const at::Tensor& tensor);
    Managed managed{};
    at::Tensor tensor;
    std::vector<int64_t> sizes, strides;
};

// Memory of another library. It is given back with the last tensor that has it.
template <class Managed>
at::Tensor taken(Managed* managed, std::function<void(void*)> give_back);

}  // namespace mindtorch MINDTORCH_HIDDEN

namespace at {

inline DLDataType getDLDataType(const Tensor& tensor) {
    for (const auto& type : mindtorch::dlpack_types)
        if (type.dtype == tensor.scalar_type()) return {type.code, type.bits, 1};
    TORCH_CHECK(false, "DLPack has no type for ", tensor.scalar_type());
}
inline ScalarType toScalarType(const DLDataType& dtype) {
    TORCH_CHECK(dtype.lanes == 1, "a DLPack type of ", dtype.lanes, " lanes has no equal here: expected 1");
    for (const auto& type : mindtorch::dlpack_types)
        if (type.code == dtype.code && type.bits == dtype.bits) return type.dtype;
    TORCH_CHECK(false, "a DLPack type of code ", int{dtype.code}, " and ", int{dtype.bits}, " bits has no equal here");
}
inline DLDevice getDLDevice(const Tensor& tensor, const int64_t& device_id) {
    const Device device = tensor.device();
    TORCH_CHECK(device.is_cpu() || device.is_privateuseone(), "tensors of ", device, " cannot be given to DLPack");
    return {device.is_cpu() ? kDLCPU : kDLExtDev, static_cast<int32_t>(device_id)};
}

inline DLManagedTensor* toDLPack(const Tensor& tensor) {
    auto* given = new mindtorch::GivenAway<DLManagedTensor>(tensor);
    return &given->managed;
}
inline DLManagedTensorVersioned* toDLPackVersioned(const Tensor& tensor) {
    auto* given = new mindtorch::GivenAway<DLManagedTensorVersioned>(tensor);
    given->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    return &given->managed;
}
// The tensor's; with a deleter, that one is called instead of the structure's own.
inline Tensor fromDLPack(DLManagedTensor* managed, std::function<void(void*)> deleter) {
    return mindtorch::taken(managed, std::move(deleter));
}
inline Tensor fromDLPack(DLManagedTensor* managed) {
    return fromDLPack(managed, [managed](void*) {
        if (managed->deleter) managed->deleter(managed);
    });
}
inline Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed, std::function<void(void*)> deleter) {
    TORCH_CHECK(managed == nullptr || managed->version.major <= DLPACK_MAJOR_VERSION, "DLPack of version ",
                managed->version.major, " is not known here: expected ", DLPACK_MAJOR_VERSION, " at most");
    return mindtorch::taken(managed, std::move(deleter));
}
inline Tensor fromDLPackVersioned(DLManagedTensorVersioned* managed) {
    return fromDLPackVersioned(managed, [managed](void*) {
        if (managed->deleter) managed->deleter(managed);
    });
}

}  // namespace at

namespace mindtorch MINDTORCH_HIDDEN {

template <class Managed>
GivenAway<Managed>::GivenAway(const at::Tensor& t)
    : tensor(t), sizes(t.sizes().begin(), t.sizes().end()), strides(t.strides().begin(), t.strides().end()) {
    TORCH_CHECK(!tensor.requires_grad(), "Can't export tensors that require gradient, use tensor.detach()");
    for (size_t i = 0; i < sizes.size(); i++)
        if (sizes[i] < 2) strides[i] = 1;  // what no element is reached by
    const c10::Device device = tensor.device();
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { delete static_cast<GivenAway*>(self->manager_ctx); };
    managed.dl_tensor = {tensor.data_ptr(),
                         at::getDLDevice(tensor, device.is_cpu() ? 0 : device.index()),
                         static_cast<int32_t>(sizes.size()),
                         at::getDLDataType(tensor),
                         sizes.data(),
                         strides.data(),
                         0};
}

template <class Managed>
at::Tensor taken(Managed* managed, std::function<void(void*)> give_back) {
    TORCH_CHECK(managed != nullptr, "fromDLPack: expected a DLPack tensor, got a null pointer");
    const DLTensor& t = managed->dl_tensor;
    TORCH_CHECK(t.device.device_type == kDLCPU, "fromDLPack: a tensor of DLPack's device type ",
                static_cast<int>(t.device.device_type), " cannot be taken in C++: expected the CPU");
    TORCH_CHECK(t.ndim >= 0 && (t.ndim == 0 || t.shape != nullptr), "fromDLPack: ", t.ndim,
                " dimensions without sizes");
    const at::IntArrayRef sizes(t.shape, static_cast<size_t>(t.ndim));
    for (const int64_t size : sizes) TORCH_CHECK(size >= 0, "fromDLPack: a size is negative: ", sizes);
    const auto options = at::TensorOptions().dtype(at::toScalarType(t.dtype));
    void* data = static_cast<char*>(t.data) + t.byte_offset;
    if (!t.strides) return at::from_blob(data, sizes, std::move(give_back), options);
    return at::from_blob(data, sizes, at::IntArrayRef(t.strides, static_cast<size_t>(t.ndim)), std::move(give_back),
                         options);
}

}  // namespace mindtorch MINDTORCH_HIDDEN
