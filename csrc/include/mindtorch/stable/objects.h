// torch::stable: tensors, devices, generators and streams over C functions.
#pragma once

#include <mindtorch/stable/c.h>
#include <mindtorch/stable/headeronly.h>

#include <memory>
#include <string>

// Each library has its own: none may take another one's, made with other headers.
#pragma GCC visibility push(hidden)

#define TORCH_SUCCESS AOTI_TORCH_SUCCESS
#define TORCH_FAILURE AOTI_TORCH_FAILURE

namespace torch::stable::detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void throw_exception(const char* call, const char* file, int line) {
#if MINDTORCH_STABLE_SINCE(13)
    const std::string said = torch_exception_get_what_without_backtrace();
    throw std::runtime_error(
        mindtorch_stable::joined(said, " (originally from ", call, " API call failed at ", file, ", line ", line, ")"));
#else
    throw std::runtime_error(mindtorch_stable::joined(call, " API call failed at ", file, ", line ", line));
#endif
}

}  // namespace torch::stable::detail

#define STABLE_TORCH_ERROR_CODE_CHECK(call)                                      \
    do {                                                                         \
        if (__builtin_expect((call) != TORCH_SUCCESS, 0))                        \
            ::torch::stable::detail::throw_exception(#call, __FILE__, __LINE__); \
    } while (false)
#define TORCH_ERROR_CODE_CHECK(call) STABLE_TORCH_ERROR_CODE_CHECK(call)

namespace torch::stable::accelerator {

using DeviceIndex = int32_t;
using StreamId = int64_t;

// Another current device for a scope.
class DeviceGuard {
  public:
    explicit DeviceGuard(DeviceIndex index) {
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_create_device_guard(index, &guard_));
    }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;
    DeviceGuard(DeviceGuard&& o) noexcept : guard_(std::exchange(o.guard_, nullptr)) {}
    ~DeviceGuard() {
        if (guard_) (void)aoti_torch_delete_device_guard(guard_);
    }
    void set_index(DeviceIndex index) {
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_device_guard_set_index(guard_, index));
    }

  private:
    DeviceGuardHandle guard_ = nullptr;
};

class Stream {
  public:
    explicit Stream(StreamHandle h) : stream_(h, [](StreamHandle s) { (void)aoti_torch_delete_stream(s); }) {}
    StreamId id() const {
        StreamId id;
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_stream_id(stream_.get(), &id));
        return id;
    }
#if MINDTORCH_STABLE_SINCE(13)
    void* nativeHandle() const {
        void* handle;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_stream_native_handle(stream_.get(), &handle));
        return handle;
    }
#endif

  private:
    std::shared_ptr<std::remove_pointer_t<StreamHandle>> stream_;
};

inline Stream getCurrentStream(DeviceIndex index) {
    StreamHandle stream;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_stream(index, &stream));
    return Stream(stream);
}
inline DeviceIndex getCurrentDeviceIndex() {
    DeviceIndex index;
    STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_device_index(&index));
    return index;
}

}  // namespace torch::stable::accelerator

namespace torch::stable {

using headeronly::IntHeaderOnlyArrayRef;
using headeronly::Layout;
using headeronly::MemoryFormat;
using headeronly::ScalarType;
using DeviceType = headeronly::DeviceType;
using DeviceIndex = accelerator::DeviceIndex;

class Device {
  public:
    Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {
        STD_TORCH_CHECK(index >= -1, "Device index must be -1 or non-negative, got ", index);
        STD_TORCH_CHECK(type != DeviceType::CPU || index <= 0, "CPU device index must be -1 or zero, got ", index);
    }
    Device(const std::string& text) : Device(parsed(text)) {}
    DeviceType type() const noexcept { return type_; }
    DeviceIndex index() const noexcept { return index_; }
    bool has_index() const noexcept { return index_ != -1; }
    bool is_cuda() const noexcept { return type_ == DeviceType::CUDA; }
    bool is_cpu() const noexcept { return type_ == DeviceType::CPU; }
    void set_index(DeviceIndex index) { *this = Device(type_, index); }
    bool operator==(const Device& o) const noexcept { return type_ == o.type_ && index_ == o.index_; }
    bool operator!=(const Device& o) const noexcept { return !(*this == o); }

  private:
    static Device parsed(const std::string& text) {
        uint32_t type;
        int32_t index;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_parse_device_string(text.c_str(), &type, &index));
        return Device(static_cast<DeviceType>(type), index);
    }
    DeviceType type_;
    DeviceIndex index_;
};

#if MINDTORCH_STABLE_SINCE(13)
class Generator {
  public:
    explicit Generator(AtenGeneratorHandle h)  // takes the handle
        : generator_(h, [](AtenGeneratorHandle g) { (void)torch_delete_generator(g); }) {}
    AtenGeneratorHandle get() const { return generator_.get(); }
    Device device() const {
        int32_t type, index;
        STABLE_TORCH_ERROR_CODE_CHECK(torch_generator_get_device(get(), &type, &index));
        return Device(static_cast<DeviceType>(type), index);
    }

  private:
    std::shared_ptr<std::remove_pointer_t<AtenGeneratorHandle>> generator_;
};
#endif

class Tensor {
  public:
    Tensor() {  // undefined
        AtenTensorHandle h;
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_new_uninitialized_tensor(&h));
        *this = Tensor(h);
    }
    explicit Tensor(AtenTensorHandle h)  // takes the handle
        : tensor_(h, [](AtenTensorHandle t) { (void)aoti_torch_delete_tensor_object(t); }) {}
    AtenTensorHandle get() const { return tensor_.get(); }

    bool defined() const { return asked<bool>(aoti_torch_is_defined); }
    int64_t dim() const { return asked<int64_t>(aoti_torch_get_dim); }
    int64_t numel() const { return asked<int64_t>(aoti_torch_get_numel); }
    bool is_contiguous() const { return asked<bool>(aoti_torch_is_contiguous); }
    int64_t storage_offset() const { return asked<int64_t>(aoti_torch_get_storage_offset); }
    IntHeaderOnlyArrayRef sizes() const { return {asked<int64_t*>(aoti_torch_get_sizes), static_cast<size_t>(dim())}; }
    IntHeaderOnlyArrayRef strides() const {
        return {asked<int64_t*>(aoti_torch_get_strides), static_cast<size_t>(dim())};
    }
    int64_t size(int64_t d) const {
        int64_t n;
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_size(get(), d, &n));
        return n;
    }
    int64_t stride(int64_t d) const {
        int64_t n;
        STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_stride(get(), d, &n));
        return n;
    }

    ScalarType scalar_type() const { return static_cast<ScalarType>(asked<int32_t>(aoti_torch_get_dtype)); }
    size_t element_size() const { return aoti_torch_dtype_element_size(asked<int32_t>(aoti_torch_get_dtype)); }
    Layout layout() const;
    Device device() const { return Device(device_type(), get_device_index()); }
    DeviceIndex get_device_index() const { return asked<int32_t>(aoti_torch_get_device_index); }
    int8_t get_device() const { return static_cast<int8_t>(get_device_index()); }
    bool is_cuda() const { return device_type() == DeviceType::CUDA; }
    bool is_cpu() const { return device_type() == DeviceType::CPU; }

    void* data_ptr() const { return asked<void*>(aoti_torch_get_data_ptr); }
    void* mutable_data_ptr() const { return asked<void*>(torch_get_mutable_data_ptr); }
    const void* const_data_ptr() const { return asked<const void*>(torch_get_const_data_ptr); }
    const Tensor& set_requires_grad(bool on) const {
        STABLE_TORCH_ERROR_CODE_CHECK(torch_set_requires_grad(get(), on));
        return *this;
    }
    template <class T>
    T* mutable_data_ptr() const {
        check_type<T>();
        return static_cast<T*>(mutable_data_ptr());
    }
    template <class T>
    const T* const_data_ptr() const {
        check_type<T>();
        return static_cast<const T*>(const_data_ptr());
    }

  private:
    DeviceType device_type() const { return static_cast<DeviceType>(asked<int32_t>(aoti_torch_get_device_type)); }
    template <class R, class F>
    R asked(F* function) const {
        R result;
        STABLE_TORCH_ERROR_CODE_CHECK(function(get(), &result));
        return result;
    }
    template <class T>
    void check_type() const {
        constexpr ScalarType expected = headeronly::CppTypeToScalarType<std::remove_const_t<T>>::value;
        STD_TORCH_CHECK(scalar_type() == expected, "expected scalar type ", headeronly::toString(expected),
                        " but found ", headeronly::toString(scalar_type()));
    }
    std::shared_ptr<std::remove_pointer_t<AtenTensorHandle>> tensor_;
};

}  // namespace torch::stable

namespace torch::stable::detail {
// PyTorch counts sparse_csr before mkldnn, the headers here the other way round. Both ways.
inline int32_t layout_number(int32_t n) { return n == 2 ? 3 : n == 3 ? 2 : n; }
}  // namespace torch::stable::detail

inline torch::stable::Layout torch::stable::Tensor::layout() const {
    return static_cast<Layout>(detail::layout_number(asked<int32_t>(aoti_torch_get_layout)));
}

#pragma GCC visibility pop
